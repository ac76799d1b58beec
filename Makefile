# The front of the project: thin, every target calls CMake presets or one script.
#   make demo    fresh machine to generated text          make test    fresh machine to tested build
SHELL := /bin/bash
.DEFAULT_GOAL := help
MODEL ?= smollm2
JOBS ?= $(shell nproc)
# Clones in different folders share what ccache keeps.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# What clang++ builds and runs beside g++: everything whose bits a model's answer is made of.
BITS := kernels runtime conformance functions invariance tokenizer
# What runs under ThreadSanitizer: everything that starts a thread.
THREADED := kernels runtime invariance

# $(call configure-and-build,PRESET,TARGETS): configuring takes a second and finds new kernel maps.
define configure-and-build
	@echo "== configure and build: $(1)"
	@cmake --preset $(1) >build-$(1).log 2>&1 || { cat build-$(1).log; echo "error: cmake --preset $(1) failed; its output stands above"; exit 1; }
	@rm -f build-$(1).log
	cmake --build --preset $(1) -j $(JOBS) $(if $(2),--target $(2))
endef
# $(call folders,PRESET,NAMES): the tests-NAME targets that exist, for folders that are there.
folders = $(foreach name,$(1),$(if $(wildcard tests/$(name)/CMakeLists.txt),tests-$(name)))
empty :=
space := $(empty) $(empty)
pipe := |
labels = ^($(subst $(space),$(pipe),$(strip $(1))))$$

# $(call gate,NAME): what the topics of tests/gates/NAME.txt select; each of them must have run.
gate = scripts/run-tests build --gate tests/gates/$(1).txt

.PHONY: help setup build build-clang models demo test test-unit test-numerical-contracts test-threadpool-parity \
	test-attention-full test-attention-f16-split-kv regression-fast test-faults test-sanitize run-sanitizers \
	test-aarch64 test-same-bits test-long test-functions-exhaustive fuzz bench evidence obligations format format-check tidy clean

help: ## list the targets
	@echo "usage: make TARGET [MODEL=$(MODEL)] [JOBS=$(JOBS)] [SHAPES=CELLS]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-26s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "models: $$(scripts/fetch-model --list | cut -f 1 | tr '\n' ' ')"

setup: ## install the Debian packages that are missing (root)
	@scripts/setup

build: setup ## build build/bin/writ and build/bin/writ-opt
	$(call configure-and-build,default)

build-clang: setup
	$(call configure-and-build,clang,$(call folders,$(BITS)))

demo: setup ## build the tool alone, compile MODEL and let it answer
	$(call configure-and-build,default,writ writ_runtime)
	@scripts/demo $(MODEL)

# Tests that need a model say so when it is absent; they are reported as skipped, not as passed.
models:
	@for model in $$(scripts/fetch-model --list | cut -f 1); do scripts/fetch-model $$model >/dev/null || \
	  echo "warning: $$model is not there: tests that need it will be skipped"; done

test: build build-clang models ## build with both compilers, run every test
	@scripts/run-tests build -LE '^long$$' --and build-clang -L '$(call labels,$(BITS))' -LE '^long$$'

test-unit: build ## the tests that need no model
	@scripts/run-tests build -LE '^(e2e|model|long)$$'

test-numerical-contracts: build ## the arithmetic of every contract, and a table of what keeps it
	@$(call gate,numerical-contracts); status=$$?; echo; \
	  scripts/evidence/contract_table.py --junit build/junit.xml || status=1; exit $$status

test-threadpool-parity: build ## every provider over the pool: 1, 2, 3, 7 threads and more than cores
	@$(call gate,threadpool-parity)

regression-fast: build ## what broke engines before, in less than a minute
	@$(call gate,regression-fast)

test-faults: build ## seed faults in kernels, data and records; each must be caught by the right check
	@scripts/test-faults

test-aarch64: build models ## the runtime, the kernels and the same bits on AArch64, under qemu-user
	@scripts/setup --aarch64
	$(call configure-and-build,aarch64)
	@scripts/run-tests build-aarch64

test-same-bits: build build-clang models ## one digest for each model and history, whatever computes it (S1 to S8)
	@scripts/run-tests build -L '^invariance$$' --and build-clang -L '^invariance$$'

test-attention-full: build ## every contract and kernel of attention and of the KV state
	@$(call gate,attention-full)

test-attention-f16-split-kv: build ## attention split among workers: one below, at and above its threshold
	@$(call gate,attention-f16-split-kv)

test-long: build build-clang models ## the full products of threads, chunks, instruction sets, compilers
	@scripts/run-tests build --and build-clang -L '$(call labels,$(BITS))' \
	  --and build-clang -L '^long$$' -R '^invariance\.'

test-functions-exhaustive: build ## every elementary function over all 2^32 arguments, against its record
	@scripts/run-tests build -R '^functions\.F8_AllArguments_'

# Sanitizers of clang 14 want their shadow memory where newer kernels put other things at random;
# without address space randomization (where the machine lets us turn it off) they never collide.
no_aslr = $(shell setarch $$(uname -m) -R true 2>/dev/null && echo setarch $$(uname -m) -R)

# The tests ask the optimised build's tool for packages, so that stands beside them.
test-sanitize: build models ## ASan and UBSan over the suite, TSan over the threaded parts
	@$(no_aslr) $(MAKE) --no-print-directory run-sanitizers

run-sanitizers:
	$(call configure-and-build,asan)
	$(call configure-and-build,tsan,$(call folders,$(THREADED)))
	@scripts/run-tests build-asan -LE '^(long|project)$$' \
	  --and build-tsan -L '$(call labels,$(THREADED))' -LE '^long$$' \
	  --and build-tsan -R '^runtime\.S1_AMillionBarriers'

fuzz: setup ## mutate every input format for FUZZ_SECONDS each (default 60)
	$(call configure-and-build,fuzz,fuzzers)
	@scripts/fuzz $(FUZZ_SECONDS)

bench: build ## measure this machine beside the oracle (scripts/setup-oracles); SHAPES="smollm2 qwen2-0.5b:q8_0" for a part
	@cmake --build --preset default -j $(JOBS) --target kernel_bench machine_ceilings
	@scripts/bench $(SHAPES)
	@echo "single kernels: build/bin/kernel_bench --benchmark_filter=REGEX"

evidence: build models ## make the evidence records anew from the live oracles
	@scripts/setup-oracles $(MODEL)
	@scripts/evidence/run $(MODEL)

obligations: build ## write docs/obligations.md, docs/contracts.md, docs/invariance.md and the README's table from tests and data
	@scripts/generate/obligations.py
	@scripts/generate/support_table.py
	@scripts/generate/contracts_table.py
	@scripts/generate/invariance_controls.py

# generated/ is written by the emitter, which has its own layout.
cxx = $(shell git ls-files '*.h' '*.hpp' '*.c' '*.cpp' '*.cuh' '*.cu' ':!generated')

format: setup ## clang-format every C and C++ file
	@clang-format-14 -i $(cxx)

format-check: setup ## fail where a file is not formatted
	@clang-format-14 --dry-run -Werror $(cxx) && echo "all $(words $(cxx)) files are formatted"

tidy: setup ## clang-tidy over compiler, ir and runtime
	@JOBS=$(JOBS) scripts/tidy

clean: ## remove every build folder
	rm -rf build build-*
