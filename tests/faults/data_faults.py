"""Faults of data: contracts, maps, circuits, records, and the code between a leaf and its caller."""
import json
import os
import pathlib
import re
import shutil
import sys

from bench import ROOT, Broken, Fault, Survived, first_match, main_error

sys.path.insert(0, str(ROOT / "tests" / "evidence"))
import seeded  # noqa: E402


def replace(path, old, new):
    text = path.read_text()
    if text.count(old) < 1:
        raise Broken(f"{path} does not hold {old!r}")
    path.write_text(text.replace(old, new, 1))


def edit_json(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value, indent=1))


class Data:
    """A model, and data folders with current records of it; each fault gets a copy."""

    def __init__(self, bench):
        self.bench = bench
        self.model = bench.work / "model.gguf"
        maker = ROOT / "scripts" / "make-random-model"
        bench.must("making a model", sys.executable, maker, self.model, "--layers", "1")
        self.whole = seeded.copy_data(bench.folder("data"))
        self.needs = seeded.seed(bench.writ, self.whole, self.model)
        code, text = self.compile(self.whole)
        if code:
            raise Broken(f"the model does not compile without a fault: {main_error(text)}")

    def copy(self, name):
        path = self.bench.work / f"data-{name}"
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.whole, path)
        return path

    def compile(self, data, *options, env=None):
        """A production compile, nothing built: (exit status, text)."""
        return self.bench.output(self.bench.writ, "compile", self.model, "--data", data, "--no-build", "-o",
                                 self.bench.work / "package", *options, env=env)

    def record(self, data, kind, subject=None):
        need = next(need for need in self.needs
                    if need["kind"] == kind and subject in (None, need["subject"]))
        return need["subject"], data / need["record"]

    def map_of(self, data, op, contract=None):
        """The map of the first provider of an op that the model uses."""
        for need in self.needs:
            for path in (data / "kernel_maps" / op).glob(f"{need['subject']}.json"):
                return path
        raise Broken(f"the model has no provider of '{op}'")


class DataFault(Fault):
    """`seed(data, folder)` breaks the folder; the compile must say `says`, with exit status 1."""

    def __init__(self, name, check, seed, says, options=()):
        super().__init__(name, check)
        self.seed, self.says, self.options = seed, says, options

    def run(self, data):
        folder = data.copy("fault")
        env = self.seed(data, folder)
        code, text = data.compile(folder, *self.options, env=env)
        shutil.rmtree(folder)
        if code == 0:
            raise Survived("the model compiles")
        said = first_match(self.says, text)
        if code != 1 or not said or f"[{self.check}]" not in main_error(text):
            raise Survived(f"another check speaks first: {main_error(text)}")
        return said


# --- what each fault does -----------------------------------------------------------------------


def oracle_is_production(data, folder):
    path = data.map_of(folder, "linear")
    edit_json(path, lambda kernel: kernel["functions"].update(contract_oracle=kernel["functions"]["production"]))


def threshold_moved(data, folder):
    def move(kernel):
        for numbers in kernel["thresholds"].values():
            numbers[0] += 256

    edit_json(data.map_of(folder, "attention"), move)


def raw_keys(data, folder):
    """The map of a kernel that reads K and V as they were before they were rounded."""
    edit_json(data.map_of(folder, "attention"), lambda kernel: kernel["operands"]["kv"].update(storage="f32"))


def contract_of(data, folder, op):
    kernel = json.loads(data.map_of(folder, op).read_text())
    return folder / "contracts" / op / f"{kernel['contracts'][0]}.json"


def partition_by_workers(data, folder):
    def by_workers(contract):
        contract["partition"].update(kind="kv_chunks_by_workers")
        contract["partition"].pop("chunk")  # it takes none

    edit_json(contract_of(data, folder, "attention"), by_workers)


def scheduling_alters_order(data, folder):
    edit_json(data.map_of(folder, "attention"), lambda kernel: kernel["threading"].update(scheduling_alters_order=True))


def another_contract_in_decode(data, folder):
    circuit = next(need["subject"] for need in data.needs if need["kind"] == "circuit")
    own = contract_of(data, folder, "attention")
    other = own.with_name(f"{own.stem}_other.json")
    edit_json(own, lambda contract: None)
    contract = json.loads(own.read_text()) | {"id": other.stem, "value_accumulator": "fp16_rounded_each_update"}
    other.write_text(json.dumps(contract))
    text = (folder / "circuits" / f"{circuit}.json").read_text()
    changed = re.sub(r'("op": "attention".*?"decode": )"profile"', rf'\1"{other.stem}"', text, count=1, flags=re.S)
    if changed == text:
        raise Broken("the circuit has no attention that follows the profile")
    (folder / "circuits" / f"{circuit}.json").write_text(changed)


def edited_verdict(data, folder):
    _, path = data.record(folder, "provider")
    seeded.edit(path, lambda record: record.update(verdict="failed", because="a case failed"), seal=True)
    seeded.edit(path, lambda record: (record.update(verdict="validated"), record.pop("because")))


def edited_digest(data, folder):
    """Somebody changed a contract and wrote its new digest into the record."""
    _, path = data.record(folder, "provider")
    key = next(key for key in json.loads(path.read_text())["bound"] if key.startswith("contract:"))
    seeded.edit(path, lambda record: record["bound"].update({key: "0" * 64}))


def another_kernels_record(data, folder):
    (_, mine), (_, other) = (data.record(folder, "provider", data.map_of(folder, op).stem)
                             for op in ("rope", "residual"))  # fmt: skip
    shutil.copy(other, mine)


def another_kernels_record_renamed(data, folder):
    subject, mine = data.record(folder, "provider", data.map_of(folder, "rope").stem)
    _, other = data.record(folder, "provider", data.map_of(folder, "residual").stem)
    shutil.copy(other, mine)
    seeded.edit(mine, lambda record: record.update(subject=subject), seal=True)


def changed_build(data, change):
    """The environment of a tool whose kernels were built of a changed tree: their table says so.

    Kernel maps and sources are those of the project but for the change. Only the table is compiled
    and takes the place of the runtime's: its digests are all that the compiler reads of kernels."""
    bench = data.bench
    tree = bench.folder("changed")
    for part in ("runtime/kernels", "runtime/include", "kernel_maps"):
        shutil.copytree(ROOT / part, tree / part)
    commands = (bench.build / "compile_commands.json").read_text()
    commands = change(tree, commands.replace(f"{ROOT}/runtime/kernels", f"{tree}/runtime/kernels"))
    (tree / "commands.json").write_text(commands)
    generator = tree / "kernels.py"  # where the change is one of it
    if not generator.exists():
        generator = ROOT / "scripts" / "generate" / "kernels.py"
    bench.must("the generator", sys.executable, generator, "generate", "--maps",
               tree / "kernel_maps", "--sources", tree / "runtime/kernels/cpu", "--include", tree, "--include",
               tree / "runtime/include", "--out", tree / "out", "--compile-commands", tree / "commands.json")
    for header in (tree / "out/include/writ/kernels").glob("*.h"):  # no body is there, nor called
        header.write_text(header.read_text().replace('extern "C" void', 'extern "C" __attribute__((weak)) void'))
    bench.must("the table", "c++", "-std=c++20", "-fPIC", "-shared", f"-I{tree}/out/include",
               f"-I{tree}/runtime/include", tree / "out" / "kernel_table.cpp", "-o", tree / "table.so")
    return os.environ | {"LD_PRELOAD": str(tree / "table.so")}


def duplicate_provider(data, folder):
    """A second kernel for the same requirement, with its source, and built."""
    own = data.map_of(folder, "residual")
    again = f"{own.stem}_again"

    def renamed(text):
        kernel = json.loads(text) | {"id": again}
        kernel["functions"] |= {"production": again, "threaded": f"{again}_threaded"}
        return json.dumps(kernel, indent=1)

    def change(tree, commands):
        source = tree / "runtime/kernels/cpu/residual" / f"{own.stem}.cpp"
        source.with_name(f"{again}.cpp").write_text(source.read_text().replace(own.stem, again))
        (tree / "kernel_maps/residual" / f"{again}.json").write_text(renamed(own.read_text()))
        entries = json.loads(commands)
        own_entries = [entry for entry in entries if f"/{own.stem}.cpp" in entry["file"]]
        more = json.dumps(own_entries).replace(f"{own.stem}.cpp", f"{again}.cpp")
        return json.dumps(entries + json.loads(more))

    own.with_name(f"{again}.json").write_text(renamed(own.read_text()))
    return changed_build(data, change)


def source_changed(data, _):
    def change(tree, commands):
        path = sorted((tree / "runtime/kernels/cpu/residual").glob("*.cpp"))[0]
        path.write_text(path.read_text() + " ")
        return commands

    return changed_build(data, change)


def wrapper_changed(data, _):
    """Every threaded entry without a merge loses its last unit; no written source differs."""
    def change(tree, commands):
        text = (ROOT / "scripts" / "generate" / "kernels.py").read_text()
        changed = text.replace(", {extent}, {grain});", ", ({extent}) - 1, {grain});")
        if changed == text:
            raise Broken("kernels.py writes no such launch any more")
        (tree / "kernels.py").write_text(changed)
        return commands

    return changed_build(data, change)


def flag_changed(data, _):
    return changed_build(data, lambda tree, commands: commands.replace("-ffp-contract=off", "-ffp-contract=fast"))


class WrongWrapper(Fault):
    """The leaf is right and its own tests pass; what the model calls runs another one."""

    def __init__(self):
        super().__init__("the right leaf behind the wrong wrapper", "stitched_parity")

    def run(self, data):
        bench, package = data.bench, data.bench.work / "wrapper"
        shutil.rmtree(package, ignore_errors=True)
        bench.must("compiling a package", bench.writ, "compile", data.model, "--bringup", "--data", data.whole, "-o",
                   package)
        parity = [bench.build / "bin" / "stitched_parity", "--package", package, "--model", data.model, "--data",
                  data.whole, "--history", "40"]
        bench.must("stitched parity without a fault", *parity)
        # In the headers that the model is compiled with, the wrapper of one activation runs the other.
        wrong, right = sorted(path.stem for path in (ROOT / "kernel_maps" / "gate_quantize").glob("*_b32.json"))
        own = data.map_of(data.whole, "gate_quantize").stem
        other = wrong if own == right else right
        include = bench.folder("wrapper-include")
        shutil.copytree(bench.build / "include" / "writ", include / "writ")
        header = include / "writ" / "kernels" / f"{own}.h"
        text = header.read_text()
        changed = text.replace(f"writ_launch(step, call, &{own}_provider", f"writ_launch(step, call, &{other}_provider")
        if changed == text:
            raise Broken(f"{header.name} does not launch {own}")
        declared = f'extern "C" const writ_provider {own}_provider;'
        header.write_text(changed.replace(declared, declared + declared.replace(own, other)))
        library = package / "lib" / "libmodel.so"
        bench.must("building it", "c++", "-std=c++20", "-O1", "-fPIC", "-shared", "-ffp-contract=off", f"-I{include}",
                   *sorted((package / "src").glob("*.cpp")), "-o", library)
        digest = bench.must("sha256sum", "sha256sum", library.name, cwd=library.parent)
        library.with_name(library.name + ".sha256").write_text(digest)
        code, text = bench.output(*parity)
        said = first_match(rf"ran '{other}', the package says '{own}'", text)
        if code != 1 or not said:
            raise Survived(text.strip()[-300:])
        return said


STALE = r"provider '\w+' is not validated: it is stale: it binds '{}:\w+' at \w+, which is \w+ now"


def load():
    return [
        DataFault("oracle = production", "E124", oracle_is_production, r"evidence compares three different ones"),
        DataFault("duplicate provider", "E102", duplicate_provider, r"both provide 'residual' under one contract"),
        DataFault("threshold moved in the map", "E303", threshold_moved, r"kernel splits at kv_len \d+, but contract"),
        DataFault("raw keys and values", "E128", raw_keys,
                  r"operand 'kv' is 'f32' in kernel '\w+', but 'f16' in contract"),
        DataFault("a contract that partitions by workers", "E104", partition_by_workers,
                  r"partition.kind is 'kv_chunks_by_workers', which breaks threads",
                  ("--bringup", "--require", "threads")),
        DataFault("scheduling alters a portable order", "E127", scheduling_alters_order,
                  r"scheduling alters the order of"),
        DataFault("decode by another contract", "E110", another_contract_in_decode,
                  r"'attention' requires contract '\w+_other', but profile"),
        DataFault("evidence edited by hand: the verdict", "E103", edited_verdict, r"it was edited after it was made"),
        DataFault("evidence edited by hand: a digest", "E103", edited_digest, r"it was edited after it was made"),
        DataFault("evidence of another kernel", "E103", another_kernels_record, r"the record speaks of provider '\w+'"),
        DataFault("evidence of another kernel, renamed", "E103", another_kernels_record_renamed,
                  r"it does not bind 'map:\w+'"),
        DataFault("stale evidence: one character of a source", "E103", source_changed, STALE.format("source")),
        DataFault("stale evidence: a generated wrapper", "E103", wrapper_changed, STALE.format("source")),
        DataFault("stale evidence: one flag of a body", "E103", flag_changed, STALE.format("flags")),
        WrongWrapper(),
    ]  # fmt: skip


def run(bench, faults):
    data = Data(bench)
    results = []
    for fault in faults:
        try:
            results.append((fault, fault.run(data)))
        except (Broken, Survived) as reason:
            results.append((fault, reason))
    return results
