#!/usr/bin/python3
"""Checks that a test pins the text and the place of each code of compiler/Diagnostics/Codes.def.

usage: check_codes.py ROOT       1 and one line for each code that no test pins, or that is not declared
       check_codes.py --control  seed trees with each fault; 1 where one is not found

A test pins a code where it expects, in one string or in one call, words of the message together with the code, and
where it, or a helper of its file that it calls, also expects a place: `: error: ` after one, or a location.
"""
import pathlib
import re
import sys
import tempfile

DECLARED = re.compile(r"^WRIT_CODE\((E\d{3}),", re.M)
USED = re.compile(r"\[(E\d{3})\]|\"(E\d{3})\"")
# Where a unit of a test begins: a function of C++ (K&R braces) or Python, a module of an IR test.
UNITS = {".cpp": r"(?m)^(?=[ ]{0,2}\w[^\n]*\{$)", ".py": r"(?m)^(?=(?:    )?def )", ".mlir": r"// -----"}
NAME = re.compile(r"(\w+)\([^{]*\{|def (\w+)\(", re.S)
JOINED = re.compile(r"([\"'])\s+f?\1")  # two literals that follow each other are one
WORDS = r"\w[^\[]* "  # the end of a message
PLACE = re.compile(r"error: |\.location\b|position\(")


def declared(root):
    return DECLARED.findall((root / "compiler/Diagnostics/Codes.def").read_text(encoding="utf-8"))


def tests(root):
    """(unit, the unit with the helpers of its file that it calls) of every test program."""
    for path in sorted((root / "tests").rglob("*")):
        if path.suffix not in UNITS or path.name == pathlib.Path(__file__).name:
            continue
        units = re.split(UNITS[path.suffix], path.read_text(encoding="utf-8"))
        helpers = {}
        for unit in units:
            name = NAME.match(unit.split("\n", 1)[0]) or NAME.search(unit.split("\n", 1)[0])
            name = name and (name[1] or name[2])
            if name and not name.startswith(("TEST", "test_")):
                helpers[name] = unit
        for unit in units:
            called = [text for name, text in helpers.items() if re.search(rf"\b{name}\(", unit)]
            yield re.sub(r"\s+", " ", JOINED.sub("", unit)), "".join([unit, *called])


def pins(code, unit, whole):
    """Whether a unit expects words of the message beside the code, and a place."""
    text = re.search(rf"{WORDS}\\?\[{code}\\?\]", unit) or re.search(
        rf"\"[^\"\n]* [^\"\n]*\"[^;]{{0,120}}\"{code}\"\)", unit) or (
        re.search(rf"\.code, \"{code}\"", unit) and ".message" in unit)  # fmt: skip
    return bool(text and PLACE.search(whole))


def check(root):
    codes = declared(root)
    if not codes:
        yield "compiler/Diagnostics/Codes.def declares no code"
    pinned = {code for unit, whole in tests(root) for code in codes if code in unit and pins(code, unit, whole)}
    for code in codes:
        if code not in pinned:
            yield f"{code}: no test pins its text and its place"
    for path in sorted((root / "compiler").rglob("*.cpp")):
        for match in USED.finditer(path.read_text(encoding="utf-8")):
            code = match[1] or match[2]
            if code not in codes:
                yield f"{path.relative_to(root)}: {code} is not declared in Codes.def"


CODES = "compiler/Diagnostics/Codes.def"
GOOD = {
    CODES: 'WRIT_CODE(E001, "one")\nWRIT_CODE(E002, "two")\nWRIT_CODE(E003, "three")\nWRIT_CODE(E004, "four")\n',
    "compiler/A.cpp": 'throw Error(at, "E001", text);\n// raises [E002]\n',
    "tests/a/One.cpp": 'TEST(One, A) {\n  EXPECT_EQ(fault(),\n            "a.json:1:2: error: a key "\n'
                       '            "is missing [E001]\\n");\n}\n',
    "tests/a/Two.cpp": 'std::string refusal(S text, S field, S code) {\n  return "m.gguf: error: " + text;\n}\n'
                       'TEST(Two, A) {\n  EXPECT_EQ(open(), refusal("a count of 3", "count", "E002"));\n}\n',
    "tests/b/test_three.py": 'class Three:\n    def test_a(self):\n'
                             '        self.assertIn(f"x:{position(file, 1)}: error: three is wrong [E003]", err)\n',
    "tests/c/four.mlir": "// CHECK: c.json:7:9: error: no four here [E004]\n",
}  # fmt: skip
BAD = {
    "nothing": {"tests/a/One.cpp": ""},
    "the code alone": {"tests/a/One.cpp": 'TEST(One, A) {\n  EXPECT_NE(fault().find("[E001]"), npos);\n}\n'},
    "no place": {"tests/a/One.cpp": 'TEST(One, A) {\n  EXPECT_NE(fault().find("a key is missing [E001]"), npos);\n}\n'},
    "another test's place": {"tests/a/One.cpp": 'TEST(One, A) {\n  EXPECT_NE(fault().find("a key is missing [E001]"), '
                                                'npos);\n}\nTEST(One, B) {\n  EXPECT_EQ(fault(), "error: x");\n}\n'},
    "a name only": {"tests/b/test_three.py": "class Three:\n    def test_E003_a(self):\n        position(1)\n"},
    "a helper that is not called": {"tests/a/Two.cpp": GOOD["tests/a/Two.cpp"].replace("open(), refusal(", "open(), say(")},
    "an undeclared code": {"compiler/B.cpp": 'throw Error(at, "E999", text);\n'},
}  # fmt: skip


def faults_of(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return list(check(root))


def control():
    for fault in faults_of(GOOD):
        yield f"refused a good tree: {fault}"
    for name, seed in BAD.items():
        if len(faults := faults_of(GOOD | seed)) != 1:
            yield f"seeded '{name}', expected one fault, got {faults}"


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    faults = list(control() if sys.argv[1] == "--control" else check(pathlib.Path(sys.argv[1])))
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
