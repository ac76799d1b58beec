#!/usr/bin/python3
"""Records what ggml's CPU backend answers for the ops of the `ggml` profile.

usage: ggml_ops.py [--check] [--tools build/bin]

The inputs come from build/bin/ggml_cases, which the conformance test `ggml_test` shares; the answers
from ggml-oracle, the pinned build of scripts/setup-oracles. Written: tests/data/ggml/ops.json, and the
table of docs/ggml-profile.md between its two marks.

--check compares instead of writing. ggml's order is stated where "exact" is true, so that nothing but
the same bytes will do; elsewhere libm decides, which differs between machines, and the recorded values
are compared within the tolerance that the file states. Exit status: 0 done or equal, 1 different, 3 the
oracle is absent: unresolved, which is not a pass.
"""

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

from oracles import ORACLE_PROGRAMS, ORACLE_RELEASE, ROOT, Unresolved, sha256_of

RECORD = ROOT / "tests/data/ggml/ops.json"
PAGE = ROOT / "docs/ggml-profile.md"
BEGIN, END = "<!-- ops: written by scripts/evidence/ggml_ops.py -->", "<!-- end of ops -->"
BUILD = (
    "GGML_NATIVE=OFF, SSE4.2, AVX, AVX2, FMA, F16C and BMI2 on, AVX-512 off, GGML_LLAMAFILE=OFF, "
    "GGML_CPU_REPACK=OFF, GGML_OPENMP=OFF, GGML_BLAS=OFF, -ffp-contract=off; run with GGML_CPU_TILED_MM=0"
)
TOLERANCE = {"nmse": 1e-12}  # of an answer that libm decides, against the recorded one


def oracle_program():
    program = ORACLE_PROGRAMS / "ggml-oracle"
    if not program.exists():
        raise Unresolved("ggml's oracle is not built; run scripts/setup-oracles --ggml")
    return program


def output_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))} failed: {done.stderr.strip()}")
    return done.stdout


def ask(tools):
    """The record as the live oracle gives it."""
    program = oracle_program()
    cases = tools / "ggml_cases"
    if not cases.exists():
        raise Unresolved(f"{cases} is absent; build it first")
    version = json.loads(output_of([program, "version"]))
    wider = [name for name, on in version.items() if name.startswith(("avx5", "avx_")) and on is True]
    if wider or version["llamafile"]:
        raise SystemExit(f"error: {program} is not of the pinned build: {version}")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        output_of([cases, "inputs", folder])
        run = [program, "run", folder / "cases.json", folder / "in.bin", folder / "out.bin"]
        (folder / "answers.json").write_text(output_of(run), encoding="utf-8")
        inputs = sha256_of(folder / "in.bin")
        answers = json.loads(output_of([cases, "record", folder]))
    return {
        "schema": "writ.ggml_ops.v1",
        "oracle": f"{ORACLE_RELEASE}, ggml {version['ggml']}",
        "build": BUILD,
        "compiler": f"GCC {version['compiler']}",
        "program": "tests/oracles/ggml_oracle.cpp",
        "command": "scripts/evidence/ggml_ops.py",
        "inputs_sha256": inputs,
        "tolerance": TOLERANCE,
        "cases": answers,
    }


def text_of(record):
    """One line for each case."""
    head = json.dumps({key: value for key, value in record.items() if key != "cases"}, indent=1)
    lines = ",\n".join("  " + json.dumps(case) for case in record["cases"])
    return head[: head.rindex("\n}")] + ',\n "cases": [\n' + lines + "\n ]\n}\n"


def figure(value):
    return "0" if value == 0 else f"{value:.2g}"


def table_of(tools):
    """One row for each contract and op of ggml: the worst of its cases against the record."""
    rows = {}
    for case in json.loads(output_of([tools / "ggml_cases", "compare", RECORD])):
        row = rows.setdefault((case["contract"], case["op"]), {"exact": True, "values": 0, "different": 0,
                                                 "worst_ulp": 0, "worst_abs": 0, "nmse": 0})  # fmt: skip
        row["exact"] = row["exact"] and case["exact"]
        for name in ("values", "different"):
            row[name] += case[name]
        for name in ("worst_ulp", "worst_abs", "nmse"):
            row[name] = max(row[name], case[name])
    lines = [
        "| contract | ggml's op | claim | values | different | worst ulp | worst absolute | worst NMSE |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (contract, op), row in sorted(rows.items()):
        claim = "bit for bit" if row["exact"] else "bound"
        lines.append(f"| `{contract}` | `{op}` | {claim} | {row['values']} | {row['different']} | "
                     f"{figure(row['worst_ulp'])} | {figure(row['worst_abs'])} | {figure(row['nmse'])} |")  # fmt: skip
    return "\n".join(lines)


def page_with(table):
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1]


def differences(recorded, asked):
    """In words: what the live oracle says otherwise than the record."""
    found = []
    for key in ("oracle", "build", "compiler", "inputs_sha256"):
        if recorded[key] != asked[key]:
            found.append(f"{key}: recorded {recorded[key]}, now {asked[key]}")
    old = {case["name"]: case for case in recorded["cases"]}
    for case in asked["cases"]:
        before = old.get(case["name"])
        if before is None:
            found.append(f"{case['name']}: not recorded")
        elif before["output"] != case["output"]:
            nmse = None if case["exact"] else nmse_of(before["output"], case["output"])
            if nmse is None or not nmse <= recorded["tolerance"]["nmse"]:
                found.append(f"{case['name']}: another answer" + ("" if nmse is None else f", NMSE {nmse:.3g}"))
    return found


def nmse_of(recorded, asked):
    """Of two arrays of binary32 in hexadecimal; NaN where one holds a NaN."""
    a, b = bytes.fromhex(recorded), bytes.fromhex(asked)
    if len(a) != len(b):
        return float("nan")
    pairs = list(zip(struct.unpack(f"<{len(a) // 4}f", a), struct.unpack(f"<{len(b) // 4}f", b)))
    square = sum(x * x for x, _ in pairs)
    return sum((x - y) ** 2 for x, y in pairs) / square if square else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/bin")
    options = parser.parse_args()
    try:
        asked = ask(options.tools)
    except Unresolved as missing:
        print(f"ggml ops: unresolved: {missing}")
        return 3
    if not options.check:
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(text_of(asked), encoding="utf-8")
        PAGE.write_text(page_with(table_of(options.tools)), encoding="utf-8")
        print(f"ggml ops: {len(asked['cases'])} cases recorded")
        return 0
    found = differences(json.loads(RECORD.read_text(encoding="utf-8")), asked)
    if not found and page_with(table_of(options.tools)) != PAGE.read_text(encoding="utf-8"):
        found.append(f"{PAGE.relative_to(ROOT)}: the table is not that of the record")
    for line in found:
        print(f"ggml ops: {line}")
    print(f"ggml ops: {len(asked['cases'])} cases, " + (f"{len(found)} differ" if found else "as recorded"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
