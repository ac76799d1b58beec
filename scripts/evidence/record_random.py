#!/usr/bin/env python3
"""Records llama.cpp's logits of small random models, one for each shape of scripts/shapes.json.

usage: record_random.py [NAME...] [--check] [--real]

Weights are F32, so that llama.cpp rounds no activation: it says what the family means. Writes
tests/data/logits/random_CIRCUIT.json: ids, the options of make-random-model, the file's digest, the
oracle's logits (f32, base64) and its provenance.

--check asks the oracle anew and compares within the recorded tolerance.
--real compares `writ score` with the oracle on a model in the shape's real sizes instead (F32 weights:
gigabytes are written and removed); nothing is recorded.

exit status: 0 done, 1 a comparison failed, 3 unresolved (the oracle is absent)
"""

import argparse
import base64
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

import numerics
from oracles import ORACLE_SETTINGS, ROOT, LlamaOracle, Unresolved, machine, sha256_of, write_json

TOKENS = 24
TOLERANCE_NMSE = 2e-6
SHAPES = json.loads((ROOT / "scripts" / "shapes.json").read_text())


def history(vocabulary):
    source = random.Random(24)
    return [source.randrange(vocabulary) for _ in range(TOKENS)]


def make(path, *options):
    subprocess.run([sys.executable, ROOT / "scripts" / "make-random-model", path, *options], check=True)


def oracle_logits(oracle, model, ids, folder):
    ids_file, out = pathlib.Path(folder, "ids.json"), pathlib.Path(folder, "oracle.safetensors")
    ids_file.write_text(json.dumps(ids))
    oracle.logits(model, ids_file, out)
    return np.array(numerics.read_safetensors(out)["logits"], "<f4")


def small(oracle, shape, check):
    """Records, or compares with the record. Whether it is kept."""
    path = ROOT / "tests" / "data" / "logits" / f"random_{shape['circuit']}.json"
    options = ["--circuit", shape["circuit"], *shape["small"], "--type", "f32"]
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder, "small.gguf")
        make(model, *options)
        ids = history(320)
        logits = oracle_logits(oracle, model, ids, folder)
        if not check:
            write_json(path, {
                "provenance": {
                    "oracle": "llama.cpp on a random model with F32 weights", "version": oracle.version(),
                    "settings": ORACLE_SETTINGS, "machine": machine(), "command": "scripts/evidence/record_random.py",
                    "tolerance": {"nmse": TOLERANCE_NMSE},
                },
                "options": options, "model_sha256": sha256_of(model), "ids": ids, "shape": list(logits.shape),
                "logits": base64.b64encode(logits.tobytes()).decode(),
            })  # fmt: skip
            return True
        record = json.loads(path.read_text())
        kept = np.frombuffer(base64.b64decode(record["logits"]), "<f4").reshape(record["shape"])
        nmse = numerics.compare(kept, logits).nmse
        print(f"{path.stem}: NMSE {nmse:.2e} against the record")
        return record["model_sha256"] == sha256_of(model) and record["ids"] == ids and bool(nmse <= TOLERANCE_NMSE)


def real(oracle, name):
    """Whether `writ score` means what the oracle means, in the real sizes."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        model, out = pathlib.Path(folder, "real.gguf"), pathlib.Path(folder, "writ.safetensors")
        make(model, "--shape", name, "--recipe", "f32")
        ids = history(SHAPES[name]["parameters"]["vocabulary"])
        expected = oracle_logits(oracle, model, ids, folder)
        package = pathlib.Path(folder, "package")
        writ = str(ROOT / "build" / "bin" / "writ")
        subprocess.run([writ, "compile", model, "--bringup", "-o", package], check=True)
        subprocess.run([writ, "score", package, "--ids", pathlib.Path(folder, "ids.json"), "--logits", out],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        difference = numerics.compare(numerics.read_safetensors(out)["logits"], expected)
        print(f"{name}: NMSE {difference.nmse:.2e}, {difference.flips} of {TOKENS} largest logits differ")
        return difference.nmse


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--real", action="store_true")
    arguments = parser.parse_args()
    try:
        oracle = LlamaOracle()
        good = True
        for name in arguments.names or SHAPES:
            if arguments.real:
                good = bool(real(oracle, name) <= TOLERANCE_NMSE) and good
            else:
                good = small(oracle, SHAPES[name], arguments.check) and good
        return 0 if good else 1
    except Unresolved as reason:
        print(f"unresolved: {reason}")
        return 3


if __name__ == "__main__":
    sys.exit(main())
