#!/usr/bin/python3
"""How far a model under the `ggml` profile is from llama.cpp, beside how far llama.cpp is from itself.

usage: ggml_model.py [--texts NAME,NAME] [--tokens N] [--writ build/bin/writ] MODEL...

Each text of tests/data/texts that is named is cut after N tokens and read teacher-forced by
`writ score --profile ggml`, by llama.cpp in the pinned build (scripts/setup-oracles --pinned) with
micro-batches of 512, 32 and 1 and with one thread, and by llama.cpp as its users build it. All are
compared with the pinned build at micro-batch 512 and two threads. The table goes into
docs/ggml-profile.md. Exit status: 0 done, 3 unresolved (something needed is absent).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numerics
from oracles import ROOT, LlamaOracle, Model, Unresolved, machine, text_ids

PAGE = ROOT / "docs/ggml-profile.md"
BEGIN, END = "<!-- model: written by scripts/evidence/ggml_model.py -->", "<!-- end of model -->"


class Engine:
    """llama.cpp of one build, with one setting."""

    def __init__(self, name, program, threads=2, ubatch=512, tiled=False):
        self.name, self.program, self.threads, self.ubatch = name, program, threads, ubatch
        self.tiled = tiled

    def logits(self, model, ids_file, out):
        command = [str(self.program), "logits", str(model.path), str(ids_file), str(out),
                   "--threads", str(self.threads), "--ubatch", str(self.ubatch)]  # fmt: skip
        environment = os.environ | {"GGML_CPU_TILED_MM": str(int(self.tiled)), "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} failed: {done.stderr.strip()}")


class Writ:
    def __init__(self, program, profile):
        if not os.access(program, os.X_OK):
            raise Unresolved(f"{program} is absent; run make build")
        self.name, self.program, self.profile = f"writ, profile `{profile}`", program, profile

    def logits(self, model, ids_file, out):
        command = [str(self.program), "score", str(model.path), "--bringup", "--profile", self.profile,
                   "--ids", str(ids_file), "--json", "--logits", str(out)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} failed: {done.stderr.strip()}")


def engines(options):
    users = LlamaOracle().program
    pinned = users.with_name("llama-oracle-pinned")
    if not pinned.exists():
        raise Unresolved(f"{pinned.name} is not built; run scripts/setup-oracles --pinned")
    return Engine("pinned", pinned), [
        Writ(options.writ, "ggml"),
        Writ(options.writ, "portable"),
        Engine("the pinned build, micro-batch 32", pinned, ubatch=32),
        Engine("the pinned build, micro-batch 1", pinned, ubatch=1),
        Engine("the pinned build, 1 thread", pinned, threads=1),
        Engine("the pinned build, K-quants in tiles", pinned, tiled=True),
        Engine("llama.cpp as its users build it", users, tiled=True),
    ]


def measure(name, options, folder):
    """One row for each engine: NMSE and flips over all texts."""
    model = Model(name)
    model.check()
    base, others = engines(options)
    ids = text_ids(LlamaOracle(), model)
    ids_file, base_file, other_file = (folder / part for part in ("ids.json", "base.st", "other.st"))
    totals = {engine.name: numerics.Difference() for engine in others}
    rows = 0
    for text in options.texts.split(","):
        ids_file.write_text(json.dumps(ids[text][: options.tokens]), encoding="utf-8")
        base.logits(model, ids_file, base_file)
        expected = numerics.read_safetensors(base_file)["logits"]
        rows += len(expected)
        for engine in others:
            engine.logits(model, ids_file, other_file)
            got = numerics.read_safetensors(other_file)["logits"]
            totals[engine.name] += numerics.compare(got, expected)
            print(f"{name}, {text}: {engine.name}: NMSE {totals[engine.name].nmse:.3g}", file=sys.stderr)
    return [f"| {name} | {engine} | {rows} | {total.nmse:.2e} | {total.flips} |"
            for engine, total in totals.items()]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--texts", default="chat,dialogue,prose")
    parser.add_argument("--tokens", type=int, default=500)
    parser.add_argument("--writ", type=pathlib.Path, default=ROOT / "build/bin/writ")
    options = parser.parse_args()
    lines = [
        "Against llama.cpp's pinned build with micro-batches of 512 and 2 threads, flash attention off, KV in F16;",
        f"texts {options.texts.replace(',', ', ')} of `tests/data/texts`, at most {options.tokens} tokens each,",
        f"teacher-forced, on {machine()['processor']}. A flip is a row whose largest logit is another one.",
        "",
        "| model | engine | rows | NMSE | flips |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in options.models:
                lines += measure(name, options, pathlib.Path(folder))
    except Unresolved as missing:
        print(f"ggml at model level: unresolved: {missing}")
        return 3
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
