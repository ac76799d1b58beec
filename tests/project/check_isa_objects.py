#!/usr/bin/python3
"""What is compiled for an instruction set beyond the baseline runs only where somebody calls it.

usage: check_isa_objects.py COMPILE_COMMANDS     the objects of every source with such options
       check_isa_objects.py --control            objects that break the law must be refused

Such an object may hold no initialiser (it would run at program start, on any processor) and define no weak
symbol (the linker keeps one of several definitions, and may keep this one for all). Exit status: 0 none does,
1 one does, or an object is missing.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

WIDE = re.compile(r"-m(avx|fma|f16c|bmi|sse[34]|arch=)")


def wide_objects(commands):
    """The objects of a compile_commands.json whose commands go beyond the baseline; tests choose their processor."""
    found = []
    for entry in json.loads(commands.read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        if "/tests/" not in entry["file"] and any(WIDE.match(word) for word in words):
            found.append(pathlib.Path(entry["directory"], words[words.index("-o") + 1]))
    return found


def faults(path):
    """What of an object would run, or be linked, where nobody asked for it."""
    if not path.exists():
        return [f"{path}: not built"]
    headers = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    symbols = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return ([f"{path}: an initialiser at program start"] if re.search(r" \.(init_array|ctors)", headers) else []) + [
        f"{path}: weak symbol {line.split()[-1]}" for line in symbols.splitlines() if line.split()[-2] in "VWu"]


def control():
    """Two broken sources, compiled as the real ones are."""
    sources = {"initialiser": "int first(); extern const int kFirst; const int kFirst = first();",
               "weak symbol _Z4plusi": "inline int plus(int x) { return x + 1; }\nint (*use())(int) { return plus; }",
               "": "static int plus(int x) { return x + 1; }\nint (*use())(int) { return plus; }"}  # fmt: skip
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (expected, source) in enumerate(sources.items()):
            path = pathlib.Path(folder, f"{number}.cpp")
            path.write_text(source + "\n")
            subprocess.run(["g++", "-c", path, "-o", path.with_suffix(".o")], check=True)
            found = faults(path.with_suffix(".o"))
            if not (expected in found[0] if expected and len(found) == 1 else found == []):
                errors.append(f"{source!r}: expected '{expected}', found {found}")
        if len(faults(pathlib.Path(folder, "none.o"))) != 1:
            errors.append("an object that is not there must be refused")
    return errors


def main(words):
    if words == ["--control"]:
        errors, what = control(), "each broken object is refused"
    else:
        objects = wide_objects(pathlib.Path(words[0]))
        errors = [error for path in objects for error in faults(path)] or ([] if objects else ["no such object"])
        what = f"{len(objects)} objects run nothing by themselves"
    print("\n".join(errors) or what)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
