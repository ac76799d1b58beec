#!/usr/bin/env python3
"""Records llama.cpp's logits of small models with scaled rotary positions, for tests/e2e/test_rope_scaling.py.

usage: record_rope_scaling.py            write tests/data/rope_scaling.json
       record_rope_scaling.py --check    ask the oracle anew: 1 where it is outside the recorded tolerance,
                                         3 where it is absent

The models are those of scripts/make-random-model with the options that the record holds, with weights
that no engine rounds (F32). Kept are the logits of some positions, f32 in hexadecimal, the last one far beyond
the original context.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import numerics
from oracles import ORACLE_SETTINGS, ROOT, LlamaOracle, Unresolved, machine, write_json

RECORD = ROOT / "tests" / "data" / "rope_scaling.json"
MODELS = {
    "plain": [],
    "linear": ["--parameter", "rope_factor=4.0"],
    "yarn": ["--set", "llama.rope.scaling.type=yarn", "--parameter", "rope_factor=4.0",
             "--parameter", "rope_original_context=64"],
    "factors": ["--rope-factors"],
}  # fmt: skip
IDS = [3 + (i * i * 7 + i * 31) % 256 for i in range(160)]
POSITIONS = [0, 63, 159]
TOLERANCE_NMSE = 2e-6


def ask(oracle):
    """name → the rows of POSITIONS."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        ids, out = pathlib.Path(folder, "ids.json"), pathlib.Path(folder, "out.safetensors")
        ids.write_text(json.dumps(IDS))
        for name, options in MODELS.items():
            model = pathlib.Path(folder, f"{name}.gguf")
            subprocess.run([sys.executable, ROOT / "scripts" / "make-random-model", model, "--type", "f32", *options],
                           check=True)  # fmt: skip
            oracle.logits(model, ids, out)
            found[name] = np.array(numerics.read_safetensors(out)["logits"][POSITIONS])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="compare with the recorded file")
    arguments = parser.parse_args()
    oracle = LlamaOracle()
    found = ask(oracle)
    if arguments.check:
        recorded, wrong = json.loads(RECORD.read_text(encoding="utf-8")), []
        for name, rows in found.items():
            old = np.frombuffer(bytes.fromhex(recorded["models"][name]["logits"]), "<f4").reshape(rows.shape)
            nmse = numerics.compare(rows, old).nmse
            print(f"{name}: NMSE {nmse:.2e}")
            if not nmse <= TOLERANCE_NMSE:
                wrong.append(f"{name}: NMSE {nmse:.3e} against the record, bound {TOLERANCE_NMSE:.0e}")
        print("\n".join(wrong) or f"{RECORD.name}: the live oracle agrees")
        return 1 if wrong else 0
    provenance = {"oracle": "llama.cpp", "version": oracle.version(), "settings": ORACLE_SETTINGS, "machine": machine(),
                  "command": "scripts/evidence/record_rope_scaling.py", "tolerance_nmse": TOLERANCE_NMSE}  # fmt: skip
    models = {name: {"options": ["--type", "f32", *MODELS[name]], "logits": rows.astype("<f4").tobytes().hex()}
              for name, rows in found.items()}  # fmt: skip
    write_json(RECORD, {"provenance": provenance, "ids": IDS, "positions": POSITIONS, "models": models})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unresolved as reason:
        print(f"unresolved: {reason}")
        sys.exit(3)
