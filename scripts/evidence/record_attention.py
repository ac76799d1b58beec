#!/usr/bin/python3
"""Asks ggml and PyTorch for attention, and records their answers in tests/data/attention/.

usage: record_attention.py [--check] [BUILD]     BUILD: the build folder, default build

ggml is the pinned build of scripts/setup-oracles (ggml-oracle, one flash_attn op for each case);
PyTorch is Debian's python3-torch: matmul, softmax in float32 and matmul over bfloat16 tensors.
--check compares with what is recorded instead of writing. An oracle that is absent is unresolved:
its record stays as it is, and this says so.

exit status: 0 recorded, or the same; 1 another answer, or a failure; 3 an oracle is absent
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from oracles import ORACLE_PROGRAMS, ORACLE_RELEASE

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDER = SOURCE / "tests/data/attention"
GGML = ORACLE_PROGRAMS / "ggml-oracle"


class Absent(Exception):
    """An oracle that is not here."""


def ask_ggml(cases, data, folder):
    """The answers by name, each as hexadecimal bytes, and where they come from."""
    if not GGML.is_file():
        raise Absent(f"{GGML} is not there; run scripts/setup-oracles --ggml")
    asked, inputs = [], b""
    for case in cases:
        tensors = []
        for name, kind, shape in (("q", "f32", [case["heads"], case["queries"], case["head_dim"]]),
                                  ("k", "f16", [1, case["keys"], case["head_dim"]]),
                                  ("v", "f16", [1, case["keys"], case["head_dim"]])):
            place = case[name]
            taken = data[place["offset"]:place["offset"] + place["bytes"]]
            if name == "q":  # each head's query as often as it is asked
                row = 4 * case["head_dim"]
                taken = b"".join(taken[at:at + row] * case["queries"] for at in range(0, len(taken), row))
            tensors.append({"type": kind, "shape": shape, "offset": len(inputs)})
            inputs += taken + bytes(-len(taken) % 64)
        asked.append({"op": "flash_attn", "threads": case["threads"], "inputs": tensors,
                      "parameters": {"scale": case["scale"]}})
    (folder / "cases.json").write_text(json.dumps(asked))
    (folder / "in.bin").write_bytes(inputs)
    table = json.loads(subprocess.run([GGML, "run", folder / "cases.json", folder / "in.bin", folder / "out.bin"],
                                      check=True, capture_output=True).stdout)
    out = (folder / "out.bin").read_bytes()
    answers = {}
    for case, place in zip(cases, table):
        one = place["bytes"] // case["queries"]
        rows = {out[at:at + one] for at in range(place["offset"], place["offset"] + place["bytes"], one)}
        if len(rows) != 1:
            raise SystemExit(f"error: {case['name']}: ggml gives one query different answers")
        answers[case["name"]] = rows.pop().hex()
    version = json.loads(subprocess.run([GGML, "version"], check=True, capture_output=True).stdout)
    return answers, {"oracle": f"ggml, built by scripts/setup-oracles --ggml from {ORACLE_RELEASE}",
                     "version": version, "command": "scripts/evidence/record_attention.py"}


def ask_torch(cases, data, _folder):
    try:
        import torch
    except ImportError:
        raise Absent("PyTorch is not there; run scripts/setup-oracles") from None

    def tensor(case, name, shape):
        place = case[name]
        taken = bytearray(data[place["offset"]:place["offset"] + place["bytes"]])
        return torch.frombuffer(taken, dtype=torch.bfloat16).reshape(shape)

    answers = {}
    for case in cases:
        dim = case["head_dim"]
        q, k, v = (tensor(case, name, (-1, dim)) for name in "qkv")
        scores = torch.matmul(q, k.transpose(0, 1)) * case["scale"]
        weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(torch.bfloat16)
        out = torch.matmul(weights, v)
        answers[case["name"]] = out.contiguous().view(torch.int16).numpy().tobytes().hex()
    return answers, {"oracle": "PyTorch, Debian's python3-torch", "version": torch.__version__,
                     "command": "scripts/evidence/record_attention.py"}


def record(oracle, ask, cases, data, folder, check):
    """0, or 1 where the answer is another than the record."""
    answers, provenance = ask(cases, data, folder)
    path = FOLDER / f"{oracle}.json"
    made = {"provenance": provenance,
            "cases": [{"name": case["name"], "inputs": case["inputs"], "out": answers[case["name"]]} for case in cases]}
    if check:
        same = json.loads(path.read_text())["cases"] == made["cases"]
        print(f"{oracle}: {len(cases)} answers are {'as recorded' if same else 'NOT as recorded in ' + str(path)}")
        return 0 if same else 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=1) + "\n")
    print(f"{oracle}: {len(cases)} answers recorded in {path.relative_to(SOURCE)}")
    return 0


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    build = pathlib.Path(next((a for a in arguments if a != "--check"), SOURCE / "build"))
    status = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = build / "bin/attention_cases"
        cases = json.loads(subprocess.run([program, folder / "inputs.bin"], check=True, capture_output=True).stdout)
        data = (folder / "inputs.bin").read_bytes()
        for oracle, ask in (("ggml", ask_ggml), ("torch", ask_torch)):
            try:
                status = max(status, record(oracle, ask, [c for c in cases if c["oracle"] == oracle], data, folder, check))
            except Absent as absent:
                print(f"{oracle}: unresolved, {absent}")
                status = max(status, 3)
    return status


if __name__ == "__main__":
    sys.exit(main())
