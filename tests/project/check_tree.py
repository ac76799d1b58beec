#!/usr/bin/python3
"""Checks laws about the source tree that no compiler enforces.

usage: check_tree.py CHECK ROOT       look at the tree; 1 and one line per fault where it breaks the law
       check_tree.py --control CHECK  seed a tree with each fault; 1 where one is not found

NoIdInCode       no id of a circuit, contract or kernel map in a string literal under compiler/ or ir/
NoEnvironment    no environment variable is read under compiler/, ir/ or runtime/, unless the line
                 before the statement says '// environment: does not change numerics'
IncludeArrows    runtime/ includes neither compiler/ nor ir/ nor MLIR; ir/ does not include compiler/;
                 no CUDA header under ir/ or compiler/; ir/Reference/ includes nothing of the project
                 but itself, so that it shares no code with the kernels
MapsHaveSources  each kernel map has a source of the same stem and an id that equals it
"""

import json
import pathlib
import re
import sys
import tempfile

CPP = {".h", ".hpp", ".cpp", ".cc", ".c", ".inc", ".def", ".td", ".cuh", ".cu"}
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | R"(?P<fence>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=fence)"
      | "(?P<string>(?:\\.|[^"\\\n])*)"
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.VERBOSE | re.DOTALL,
)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
ENVIRONMENT = re.compile(r"\b(?:secure_)?getenv\b|\benviron\b")
PERMIT = "// environment: does not change numerics"
CUDA = re.compile(r"^(cuda|cublas|nvrtc|cuda_\w+)[\w/]*\.(h|hpp|cuh)$|^cuda/")


def sources(root, *folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CPP and path.is_file():
                yield path, path.read_text(encoding="utf-8")


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def strings(text):
    """(line, content) of each string literal; comments and include lines hold none."""
    text = INCLUDE.sub(lambda match: " " * len(match.group()), text)
    for match in TOKEN.finditer(text):
        content = match["raw"] if match["raw"] is not None else match["string"]
        if content is not None:
            yield line_of(text, match.start()), content


def without_comments(text):
    def blank(match):
        if match["comment"] is None:
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())

    return TOKEN.sub(blank, text)


def data_files(root, folder):
    """JSON files that are entries, not schemas, profiles or records: circuits/NAME.json,
    contracts/FAMILY/ID.json, kernel_maps/OP/ID.json."""
    for path in sorted((root / folder).glob("*.json" if folder == "circuits" else "*/*.json")):
        if path.parent.name not in ("schema", "evidence", "profiles"):
            yield path


def ids(root):
    """id → the file that declares it. Profiles are not among them: 'f32' is also a storage type."""
    found = {}
    for folder in ("circuits", "contracts", "kernel_maps"):
        for path in data_files(root, folder):
            document = json.loads(path.read_text(encoding="utf-8"))
            for name in {path.stem, document.get("id") if isinstance(document, dict) else None}:
                if isinstance(name, str):
                    found[name] = path.relative_to(root)
    return found


def check_no_id_in_code(root):
    known = ids(root)
    if not known:
        yield "no ids found: circuits/, contracts/ and kernel_maps/ hold no entry"
        return
    # A hyphen or letter beside an id makes another word ('llama-bpe'); a dot does not
    # ('llama.block_count'), except in the proper name llama.cpp.
    longest_first = sorted(known, key=len, reverse=True)
    pattern = re.compile(
        r"(?<![\w-])(" + "|".join(map(re.escape, longest_first)) + r")(?![\w-]|\.cpp\b)"
    )
    for path, text in sources(root, "compiler", "ir"):
        for line, content in strings(text):
            if match := pattern.search(content):
                yield (f"{path.relative_to(root)}:{line}: the string \"{content}\" holds the id "
                       f"'{match[1]}' of {known[match[1]]}; code must not know it")  # fmt: skip


def permitted(lines, number):
    """Whether the line before the statement that line `number` belongs to is the permit."""
    while number > 0 and PERMIT not in lines[number - 1]:
        number -= 1
        if lines[number].rstrip().endswith((";", "{", "}")) or not lines[number].strip():
            return False
    return number > 0


def check_no_environment(root):
    for path, text in sources(root, "compiler", "ir", "runtime"):
        lines = text.split("\n")
        for number, line in enumerate(without_comments(text).split("\n")):
            if ENVIRONMENT.search(line) and not permitted(lines, number):
                yield (f"{path.relative_to(root)}:{number + 1}: reads the environment; if no bit of a "
                       f"result depends on it, say '{PERMIT}' on the line before")  # fmt: skip


def is_foreign(root, path, name):
    """Whether an include of ir/Reference/ names a file of the project outside that folder."""
    folders = (path.parent, root, root / "runtime", root / "runtime" / "include", root / "runtime" / "src")
    found = [(folder / name).resolve() for folder in folders if (folder / name).is_file()]
    generated = name.split("/")[0] in ("runtime", "writ", "compiler", "ir") and not found
    reference = (root / "ir" / "Reference").resolve()
    return generated or any(reference not in file.parents for file in found)


def check_include_arrows(root):
    for path, text in sources(root, "compiler", "ir", "runtime", "contracts"):
        relative = path.relative_to(root)
        top = relative.parts[0]
        for match in INCLUDE.finditer(without_comments(text)):
            name = match[1]
            first = name.split("/")[0]
            where = f"{relative}:{line_of(text, match.start())}: <{name}>"
            if top == "runtime" and first in ("compiler", "ir"):
                yield f"{where}: runtime/ must not include {first}/"
            if top == "runtime" and first in ("mlir", "llvm", "mlir-c"):
                yield f"{where}: no MLIR header under runtime/"
            if top == "ir" and first == "compiler":
                yield f"{where}: arrows point from compiler/ to ir/"
            if relative.parts[:2] == ("ir", "Reference") and is_foreign(root, path, name):
                yield f"{where}: ir/Reference/ shares no code with the rest of the project"
            if top in ("ir", "compiler") and CUDA.search(name):
                yield f"{where}: no CUDA header under {top}/"


def check_maps_have_sources(root):
    count = 0
    for path in data_files(root, "kernel_maps"):
        count += 1
        relative = path.relative_to(root)
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.get("id") != path.stem:
            yield f"{relative}: id '{document.get('id')}' is not the file's stem"
        folder = root / "runtime" / "kernels" / document.get("target", "cpu") / path.parent.name
        if not any(folder.glob(f"{path.stem}.c*")):
            yield f"{relative}: no source {folder.relative_to(root)}/{path.stem}.cpp"
        if document.get("op") != path.parent.name:
            yield f"{relative}: op '{document.get('op')}' is not the folder's name"
    if count == 0:
        yield "kernel_maps/ holds no map"


CHECKS = {
    "NoIdInCode": check_no_id_in_code,
    "NoEnvironment": check_no_environment,
    "IncludeArrows": check_include_arrows,
    "MapsHaveSources": check_maps_have_sources,
}

# A small tree that keeps every law, then one file each that breaks one.
GOOD = {
    "circuits/toy.json": '{"id": "toy"}',
    "circuits/schema/circuit.json": '{"id": "compiler"}',
    "contracts/words.json": '{"id": "toys"}',
    "contracts/linear/linear_toy_v0.json": '{"id": "linear_toy_v0"}',
    "kernel_maps/linear/linear_toy.json": '{"id": "linear_toy", "op": "linear", "target": "cpu"}',
    "runtime/kernels/cpu/linear/linear_toy.cpp": '#include "writ/a.h"\nconst char *id = "linear_toy";\n',
    "compiler/A.cpp": '#include "ir/toy/B.h"\n// "toy" getenv("X")\n'
    'const char *a = "toy-bpe", *b = "toys", *c = R"(a " b)"; char q = \'"\'; int n = 1\'000;\n'
    f'{PERMIT}\nauto home = std::getenv("HOME");\n'
    f'{PERMIT}\nint started =\n    spawn(environ);\n',
    "ir/toy/B.h": "/* #include <cuda.h> */\n",
    "ir/toy/C.cpp": '#include "writ/a.h"\n',
    "ir/Reference/R.h": "#include <cmath>\n",
    "ir/Reference/R.cpp": '#include "ir/Reference/R.h"\n#include "R.h"\n#include <nlohmann/json.hpp>\n',
    "runtime/include/writ/a.h": "",
    "runtime/kernels/cpu/simd/a.h": "",
}
BAD = {
    "NoIdInCode": [
        {"compiler/X.cpp": 'bool f(S s) { return s == "toy"; }'},
        {"compiler/X.cpp": 'auto key = "toy.block_count";'},
        {"ir/Reference/X.cpp": 'auto c = R"x(\n "linear_toy_v0")x";'},
        {"ir/G/Ops.td": 'let summary = "like linear_toy";'},
    ],
    "NoEnvironment": [
        {"runtime/src/X.cpp": 'int n = atoi(std::getenv("THREADS"));'},
        {"ir/X.cpp": "extern char **environ;"},
        {"compiler/X.cpp": f'{PERMIT}\nint a;\nauto b = secure_getenv("B");'},
    ],
    "IncludeArrows": [
        {"runtime/src/X.cpp": '#include "compiler/Support/Json.h"'},
        {"runtime/src/X.cpp": ' # include "ir/Reference/R.h"'},
        {"runtime/src/X.cpp": "#include <mlir/IR/Builders.h>"},
        {"ir/X.cpp": '#include "compiler/Support/Json.h"'},
        {"ir/X.cpp": "#include <cuda.h>"},
        {"ir/Reference/X.cpp": '#include "writ/a.h"'},
        {"ir/Reference/X.cpp": '#include "writ/generated.h"'},
        {"ir/Reference/X.cpp": '#include "runtime/kernels/cpu/simd/a.h"'},
        {"ir/Reference/X.cpp": '#include "kernels/cpu/simd/a.h"'},
        {"ir/Reference/X.cpp": '#include "../../runtime/kernels/cpu/simd/a.h"'},
        {"ir/Reference/X.h": '#include "ir/toy/B.h"'},
        {"compiler/X.cpp": "#include <cuda_runtime.h>"},
    ],
    "MapsHaveSources": [
        {"kernel_maps/linear/other.json": '{"id": "other", "op": "linear"}'},
        {"kernel_maps/linear/linear_toy.json": '{"id": "linear_toi", "op": "linear"}'},
        {"kernel_maps/linear/linear_toy.json": '{"id": "linear_toy", "op": "rope"}'},
    ],
}


def faults_of(check, files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(CHECKS[check](root))


def control(check):
    wrong = [f"refused a good tree: {fault}" for fault in faults_of(check, GOOD)]
    for seed in BAD[check]:
        faults = faults_of(check, {**GOOD, **seed})
        if len(faults) != 1:
            wrong.append(f"seeded {seed}, expected one fault, got {faults}")
    return wrong


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 2 and arguments[0] == "--control" and arguments[1] in CHECKS:
        faults = control(arguments[1])
    elif len(arguments) == 2 and arguments[0] in CHECKS:
        faults = list(CHECKS[arguments[0]](pathlib.Path(arguments[1])))
    else:
        print(__doc__)
        return 2
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
