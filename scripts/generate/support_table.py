#!/usr/bin/python3
"""Writes the README's table of what works, from the data that makes it work.

usage: support_table.py              write the table between its marks in README.md
       support_table.py --check      1 where README.md does not hold what would be written
       support_table.py --control    1 where a change of the data goes unnoticed

Families and what was measured of them come from circuits/ and contracts/evidence/end_to_end/, storage
types from the rules of the profiles, tokenizers from the runtime's tables, instruction sets from the
kernel maps.
"""

import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import profiles  # noqa: E402

MARKS = ("<!-- written by scripts/generate/support_table.py -->", "<!-- end of the table -->")
ISAS = {"x86-64 Linux": {"scalar": "scalar", "avx2": "AVX2", "avx512": "AVX-512 VNNI",
                         "avx512bf16": "AVX-512 BF16"},
        "AArch64 Linux (seen under qemu-user)": {"scalar": "scalar", "neon": "NEON", "dotprod": "NEON with dotprod"}}
TOKENIZER_MODEL = re.compile(r'^TOKENIZER_MODEL\("(\w+)", \w+, (\w+),', re.MULTILINE)
QUANTIZED = re.compile(r"q\d")


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def listed(names):
    return ", ".join(f"`{name}`" for name in names)


def weights(rules):
    """Storage types that some rule of a profile takes as the weight of `linear`: quantized ones first."""
    found = {rule["match"]["weight"] for rule in rules if rule["op"] == "linear"}
    return sorted(found, key=lambda name: (QUANTIZED.match(name) is None, name))


def render(root):
    names = sorted(path.stem for path in (root / "contracts" / "profiles").glob("*.json"))
    circuits = {path.stem: read(path) for path in sorted((root / "circuits").glob("*.json"))}
    maps = [read(path) for path in sorted((root / "kernel_maps").glob("*/*.json"))
            if path.parent.name != "schema"]
    measured = {}
    for path in sorted((root / "contracts" / "evidence" / "end_to_end").glob("*.json")):
        record = read(path)
        if record["verdict"] == "validated":
            circuit, profile, storages = path.stem.split(".", 2)
            measured.setdefault(circuit, []).append(f"`{profile}` on {storages.replace('+', ' + ').upper()}")
    lines = ["| | |", "| --- | --- |"]
    for name, circuit in circuits.items():
        evidence = "; ".join(measured.get(name, [])) or "no end-to-end evidence yet: `--bringup` only"
        lines.append(f"| family `{name}` | {circuit['description']}; in production: {evidence} |")
    for name in names:
        storages = weights(profiles.rules(root / "contracts", name))
        lines.append(f"| profile `{name}` | weights in {', '.join(w.upper() for w in storages)} |")
    states = sorted({entry["operands"]["kv"]["storage"] for entry in maps if "kv" in entry["operands"]})
    lines.append(f"| KV cache | {', '.join(s.upper() for s in states)} |")
    tokenizer = root / "runtime" / "src" / "tokenizer"
    models = TOKENIZER_MODEL.findall((tokenizer / "TokenizerModels.def").read_text(encoding="utf-8"))
    lines.append("| tokenizers | " + ", ".join(f"`{name}` (byte pairs by {order})" for name, order in models) + "; "
                 f"pre-tokenizers {listed(read(tokenizer / 'pre_tokenizers.json'))} |")  # fmt: skip
    isas = {system: ", ".join(text for isa, text in names.items() if any(isa in entry["isa"] for entry in maps))
            for system, names in ISAS.items()}
    lines.append(f"| target `cpu` | {'; '.join(f'{system}: {names}' for system, names in isas.items())} |")
    return "\n".join(lines)


def replaced(text, table):
    begin, end = (text.index(mark) for mark in MARKS)
    return f"{text[:begin]}{MARKS[0]}\n{table}\n{text[end:]}"


def control():
    """Every source of the table moves it."""
    wrong, table = [], render(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for pattern in ("circuits/*.json", "contracts/profiles/*.json", "kernel_maps/*/*.json",
                        "contracts/evidence/end_to_end/*.json", "runtime/src/tokenizer/*.json",
                        "runtime/src/tokenizer/*.def"):  # fmt: skip
            for path in ROOT.glob(pattern):
                copy = root / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
        if render(root) != table:
            wrong.append("a copy of the data gives another table")
        for pattern in ("circuits/*.json", "contracts/profiles/*.json", "contracts/evidence/end_to_end/*.json"):
            path = sorted(root.glob(pattern))[0]
            content = path.read_bytes()
            path.unlink()
            if render(root) == table:
                wrong.append(f"{path.relative_to(root)} was taken away and nothing was noticed")
            path.write_bytes(content)
        path = sorted(root.glob("contracts/evidence/end_to_end/*.json"))[0]
        path.write_text(json.dumps({**read(path), "verdict": "unresolved"}), encoding="utf-8")
        if render(root) == table:
            wrong.append("an unresolved record counts as evidence")
    return wrong


def main():
    readme = ROOT / "README.md"
    if sys.argv[1:] == ["--control"]:
        wrong = control()
        print("\n".join(wrong))
        return 1 if wrong else 0
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    text = readme.read_text(encoding="utf-8")
    wanted = replaced(text, render(ROOT))
    if not sys.argv[1:]:
        readme.write_text(wanted, encoding="utf-8")
        return 0
    if text != wanted:
        print("the table of README.md is not what the data says: run 'make obligations' and commit the result")
    return int(text != wanted)


if __name__ == "__main__":
    sys.exit(main())
