#!/usr/bin/python3
"""How far a model under the `ggml` profile is from llama.cpp, beside how far llama.cpp is from itself.

usage: ggml_model.py [--check | --renew | --page] [--texts NAME,NAME] [--tokens N] [--build build] [MODEL...]

Each text of tests/data/texts that is named is cut after N tokens and read teacher-forced by writ under
`ggml` and under `portable`, and by llama.cpp: in the pinned build (scripts/setup-oracles --pinned), also
with other settings and with libm's functions rounded correctly (tests/oracles/rounded_libm.c), and as its
users build it. MODEL is a name of scripts/models.json; NAME:f32 is its F32 copy, of which no activation
is quantized. Written: tests/data/ggml/models.json, and the table of docs/ggml-profile.md between its marks.

--check   asks nothing of llama.cpp: the page's table is the record's, the contracts and kernel sources are
          those that were measured, and writ gives the recorded bits of the first text
--renew   the same of all texts; where sources changed and the bits did not, the record is bound anew
--page    writes the table from the record and measures nothing

Exit status: 0 done or as recorded, 1 different, 3 unresolved (something needed is absent).
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import ggml_ops
import numerics
from oracles import ORACLE_RELEASE, ROOT, LlamaOracle, Model, Unresolved, machine, sha256_of, text_ids, write_json

RECORD = ROOT / "tests/data/ggml/models.json"
PAGE = ROOT / "docs/ggml-profile.md"
BEGIN, END = "<!-- model: written by scripts/evidence/ggml_model.py -->", "<!-- end of model -->"
PROGRAM, LIBM = ROOT / "tests/oracles/llama_oracle.cpp", ROOT / "tests/oracles/rounded_libm.c"
# What others are compared with: the name in the record → what the page says of it.
BASES = {
    "pinned": "pinned llama.cpp",
    "rounded": "pinned llama.cpp, libm's functions rounded correctly",
    "users": "llama.cpp as its users build it",
}


class Llama:
    """llama.cpp of one build, with one setting, and which of BASES it is compared with."""

    def __init__(self, name, program, *against, threads=2, ubatch=512, tiled=False, libm=None):
        self.name, self.program, self.against = name, program, against
        self.options = ["--threads", str(threads), "--ubatch", str(ubatch)]
        # Threads that spin at barriers crawl on a busy machine; waiting asleep changes no bit.
        self.environment = os.environ | {"GGML_CPU_TILED_MM": str(int(tiled)), "OMP_WAIT_POLICY": "passive"}
        if libm:
            self.environment["LD_PRELOAD"] = str(libm)

    def logits(self, path, ids_file, out):
        run([self.program, "logits", path, ids_file, out, *self.options], self.environment)
        return numerics.read_safetensors(out)["logits"]


class Writ:
    """A package of the model under one profile, compiled when it is first asked."""

    def __init__(self, build, profile, path, folder, *against):
        self.program = build / "bin" / "writ"
        if not os.access(self.program, os.X_OK):
            raise Unresolved(f"{self.program} is absent; run make build")
        self.name, self.profile, self.path = f"writ, profile `{profile}`", profile, path
        self.package, self.said, self.against = folder / f"package-{profile}", None, against

    def logits(self, path, ids_file, out):
        del path
        self.score(ids_file, "--logits", out)
        return numerics.read_safetensors(out)["logits"]

    def score(self, ids_file, *options):
        """The digest of the logits."""
        if not self.package.exists():
            run([self.program, "compile", self.path, "--bringup", "--profile", self.profile, "--data", ROOT,
                 "-o", self.package])  # fmt: skip
        self.said = json.loads(run([self.program, "score", self.package, "--ids", ids_file, "--json", *options]))
        return self.said["logits_sha256"]

    def bound(self):
        """What decides over its bits: contracts and kernel sources → digest."""
        said = json.loads(run([self.program, "digests", self.path, "--json", "--profile", self.profile,
                               "--data", ROOT]))  # fmt: skip
        keys = {"contract": "contract:", "provider": "source:"}
        needed = [keys[need["kind"]] + need["subject"] for need in said["needs"] if need["kind"] in keys]
        return {key: said["digests"][key] for key in sorted(needed)}


def run(command, environment=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          env=environment)  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))} failed: {done.stderr.strip()}")
    return done.stdout


def file_of(name):
    """The file of NAME or NAME:f32, and who knows its tokens."""
    model = Model(name.removesuffix(":f32"))
    model.check()
    if name.endswith(":f32"):
        model.check_f32()
        return model.f32_path, model
    return model.path, model


def llamas(folder):
    """Those of BASES, and the others."""
    users = LlamaOracle().program
    pinned = users.with_name("llama-oracle-pinned")
    if not pinned.exists():
        raise Unresolved(f"{pinned.name} is not built; run scripts/setup-oracles --pinned")
    libm = folder / "librounded.so"
    run(["gcc", "-O2", "-fPIC", "-shared", "-fno-builtin", LIBM, "-o", libm, "-lm"])
    bases = [Llama("pinned", pinned), Llama("rounded", pinned, "pinned", libm=libm),
             Llama("users", users, "pinned", tiled=True)]  # fmt: skip
    return bases, [
        Llama("pinned llama.cpp, micro-batch 32, 1 thread", pinned, "pinned", ubatch=32, threads=1),
        Llama("pinned llama.cpp, K-quants in tiles", pinned, "pinned", tiled=True),
        Llama("as its users build it, micro-batch 32", users, "users", ubatch=32, tiled=True),
        Llama("as its users build it, micro-batch 1", users, "users", ubatch=1, tiled=True),
    ]


class Figures:
    """One engine against one base, text by text."""

    def __init__(self):
        self.difference, self.rows, self.surprise = numerics.Difference(), 0, 0.0

    def add(self, got, expected, ids):
        self.difference += numerics.compare(got, expected)
        self.rows += len(got)
        self.surprise += math.log(numerics.perplexity(got, ids)) * (len(ids) - 1)

    def record(self, name, against, texts):
        return {"engine": name, "against": against, "nmse": self.difference.nmse,
                "largest_difference": self.difference.largest,
                "same_top": (self.rows - self.difference.flips) / self.rows,
                "perplexity": math.exp(self.surprise / (self.rows - texts))}  # fmt: skip


def measure(name, options, folder):
    """A model's record."""
    path, model = file_of(name)
    bases, others = llamas(folder)
    ours = [Writ(options.build, "ggml", path, folder, "pinned", "rounded"),
            Writ(options.build, "portable", path, folder, "pinned")]  # fmt: skip
    ids = text_ids(LlamaOracle(), model)
    engines = [bases[0], *ours, *bases[1:], *others]
    figures = {(engine.name, key): Figures() for engine in engines for key in engine.against or ("pinned",)}
    digests, texts = {}, options.texts.split(",")
    ids_file, out = folder / "ids.json", folder / "other.st"
    for text in texts:
        read = ids[text][: options.tokens]
        ids_file.write_text(json.dumps(read), encoding="utf-8")
        given = {base.name: base.logits(path, ids_file, folder / f"{base.name}.st") for base in bases}
        for engine in engines:
            got = given[engine.name] if engine.name in given else engine.logits(path, ids_file, out)
            for (whose, key), of in figures.items():
                if whose == engine.name:
                    of.add(got, given[key], read)
                    print(f"{name}, {text}: {whose} against {key}: NMSE {of.difference.nmse:.3g}",
                          file=sys.stderr, flush=True)  # fmt: skip
        digests[text] = ours[0].said["logits_sha256"]
    pinned = figures.pop(("pinned", "pinned"))
    return {
        "file": path.name,
        "sha256": sha256_of(path),
        "machine": machine(),
        "tokens": options.tokens,
        "rows": pinned.rows,
        "pinned_perplexity": pinned.record("", "", len(texts))["perplexity"],
        "ids": {text: ids[text][: options.tokens] for text in texts},
        "logits_sha256": digests,
        "bound": ours[0].bound(),
        "engines": [of.record(engine, against, len(texts)) for (engine, against), of in figures.items()],
    }


def head():
    return {
        "schema": "writ.ggml_models.v1",
        "oracle": f"{ORACLE_RELEASE}, flash attention off, KV in F16, micro-batch 512, 2 threads",
        "build": ggml_ops.BUILD,
        "programs": {path.name: sha256_of(path) for path in (PROGRAM, LIBM)},
        "command": "scripts/evidence/ggml_model.py",
    }


def table_of(record):
    """The page's table."""
    lines = ["| model | rows | logits of | against | NMSE | largest difference | same top token | perplexity |",
             "| --- | ---: | --- | --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for name, model in record["models"].items():
        lines.append(f"| {name} | {model['rows']} | {BASES['pinned']} | — | | | | "
                     f"{model['pinned_perplexity']:.4f} |")  # fmt: skip
        for engine in model["engines"]:
            exact = engine["nmse"] == 0
            lines.append(
                f"| {name} | {model['rows']} | {BASES.get(engine['engine'], engine['engine'])} | "
                f"{BASES[engine['against']]} | {'0: bit for bit' if exact else format(engine['nmse'], '.2e')} | "
                f"{engine['largest_difference']:.2g} | {engine['same_top']:.1%} | {engine['perplexity']:.4f} |"
            )
    return "\n".join(lines)


def page_with(table):
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1]


def read_record():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def static_faults(record):
    """What record, page and sources say of each other, without a model."""
    if head() | {"models": record["models"]} != record:
        yield "the oracle's build or program is not the recorded one; measure anew"
    if page_with(table_of(record)) != PAGE.read_text(encoding="utf-8"):
        yield f"{PAGE.relative_to(ROOT)}: the table is not that of the record; --page writes it"


def stale(model, current):
    """The contracts and sources that are not those that were measured."""
    return sorted(key for key, digest in model["bound"].items() if current.get(key) != digest)


def check(name, model, options, folder):
    """What the machine says otherwise than the record."""
    path, _ = file_of(name)
    if sha256_of(path) != model["sha256"]:
        yield f"{path.name} is another file"
        return
    writ = Writ(options.build, "ggml", path, folder)
    texts = list(model["ids"]) if options.renew else list(model["ids"])[:1]
    for text in texts:
        (folder / "ids.json").write_text(json.dumps(model["ids"][text]), encoding="utf-8")
        if writ.score(folder / "ids.json") != model["logits_sha256"][text]:
            yield f"'{text}' gives other logits than recorded; measure anew"
            return
    if options.renew:
        model["bound"] = writ.bound()
        return
    for key in stale(model, writ.bound()):
        yield f"'{key}' is not what was measured; --renew looks whether the bits are the same"


def checked(options):
    record, status = read_record(), 0
    faults = list(static_faults(record))
    names = options.models or list(record["models"])
    for name in names:
        if name not in record["models"]:
            faults.append(f"{name} is not recorded")
            continue
        with tempfile.TemporaryDirectory() as folder:
            faults += [f"{name}: {fault}"
                       for fault in check(name, record["models"][name], options, pathlib.Path(folder))]  # fmt: skip
    for fault in faults:
        print(f"ggml at model level: {fault}")
        status = 1
    if not faults and options.renew:
        write_json(RECORD, record)
    print(f"ggml at model level: {', '.join(names)}: " + ("different" if faults else "as recorded"))
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--texts", default="chat,prose")
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    try:
        if options.check or options.renew:
            return checked(options)
        record = read_record() if RECORD.exists() else {"models": {}}
        if not options.page:
            record = head() | {"models": record["models"]}
        for name in [] if options.page else options.models:
            with tempfile.TemporaryDirectory() as folder:
                record["models"][name] = measure(name, options, pathlib.Path(folder))
            write_json(RECORD, record)
    except Unresolved as missing:
        print(f"ggml at model level: unresolved: {missing}")
        return 3
    PAGE.write_text(page_with(table_of(record)), encoding="utf-8")
    print(table_of(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
