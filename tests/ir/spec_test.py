"""Holds ir/spec.md, the verifiers and the tests together: each constraint of the specification is
checked by code that carries its label, and violated by a test that carries its name."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])


def constraints_of_specification():
    found, subject = set(), None
    for line in (root / "ir/spec.md").read_text(encoding="utf-8").splitlines():
        named = (re.match(r"^(?:\| )?`[!#]?([a-z]+\.[a-z0-9_]+)`", line)
                 or re.match(r"^Every kernel op \(`([a-z.]+)`\)", line))
        if named:
            subject = named.group(1)
        row = re.match(r"^\|[^|]*\|[^|]*\|([^|]*)\|$", line)
        text = row.group(1) if row else line
        if row or named or line.startswith("- C"):
            for number in re.findall(r"(?:^- |\| ?|; |` | )C(\d+) ", " " + text):
                found.add(f"{subject} C{number}")
    return found


def labels_of_verifiers():
    found = set()
    for source in root.glob("ir/*IR/*.cpp"):
        found |= set(re.findall(r"// ([a-z]+\.[a-z0-9_]+ C\d+)$", source.read_text(encoding="utf-8"),
                                re.MULTILINE))
    return found


def names_of_tests():
    found = set()
    for test in root.glob("tests/ir/*/*_c*.mlir"):
        subject, number = re.fullmatch(r"(.+)_c(\d+)", test.stem).groups()
        found.add(f"{test.parent.name}.{subject} C{number}")
    return found


def main():
    specified = constraints_of_specification()
    faults = []
    for what, present in (("verifier", labels_of_verifiers()), ("test", names_of_tests())):
        faults += [f"{name}: no {what}" for name in sorted(specified - present)]
        faults += [f"{name}: a {what}, but not in ir/spec.md" for name in sorted(present - specified)]
    print("\n".join(faults) or f"{len(specified)} constraints, each with its verifier and its test")
    return 1 if faults or not specified else 0


sys.exit(main())
