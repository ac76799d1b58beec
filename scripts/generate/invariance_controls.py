#!/usr/bin/python3
"""Writes docs/invariance.md: each dimension of invariance, with what is seen to hold and seen to break.

usage: invariance_controls.py              write docs/invariance.md
       invariance_controls.py --check      1 where it does not hold what would be written, or names no test
       invariance_controls.py --control    1 where a change of the data goes unnoticed

Dimensions and obligations are those of contracts/invariance.json; the controls, of which the tests run
each, are tests/data/invariance/controls.json.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "invariance.md"
HEAD = """# What cannot change the bits, and how that is known

<!-- written by scripts/generate/invariance_controls.py; edit tests/data/invariance/controls.json -->

The compiler derives from the fields of a contract what its bits do not depend on
([contracts/README.md](../contracts/README.md#what-cannot-change-the-bits)); `writ contracts` lists it. A claim that
nothing changes proves little by itself, so each dimension has two controls. *Positive*: real kernels of a contract that
derives the invariance, run in every way, give one digest. *Negative*: the same contract with one word that says less
derives no invariance, and its arithmetic, run by the reference in two ways that differ in this dimension alone, gives
other bits. (The reference takes whatever a word leaves open from the schedule of the call, `ir/Reference/Schedule.h`; no
provider keeps such a contract.) `derivation_test` runs the negative controls, and beside them every word that breaks
something, every registered contract, and random ones. Where a contract breaks a dimension from a threshold on, as a
partition by workers does, each row is seen to change at the threshold and one above it, and none one below.

"""


def read(path):
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def render(rules, controls):
    lines = ["| dimension | the bits do not depend on | positive control, real kernels | negative control, reference |",
             "| --- | --- | --- | --- |"]  # fmt: skip
    for control in controls["controls"]:
        dimension = rules["dimensions"][control["dimension"]]
        tests = "".join(f"<br>`{name}`" for name in control["positive"]["tests"])
        altered = control["negative"]
        lines.append(f"| `{control['dimension']}` ({', '.join(dimension['obligations'])}) | {dimension['meaning']} | "
                     f"{control['positive']['claim']}{tests} | "
                     f"`{altered['contract']}` with `{altered['field']}`: `{altered['word']}` |")  # fmt: skip
    return HEAD + "\n".join(lines) + "\n"


def faults(rules, controls, sources):
    """Dimensions without a control, and tests that are not there."""
    wrong = []
    named = [control["dimension"] for control in controls["controls"]]
    if named != list(rules["dimensions"]):
        wrong.append(f"controls are of {named}, dimensions are {list(rules['dimensions'])}")
    for control in controls["controls"]:
        for name in control["positive"]["tests"]:
            _, kind, method = name.split(".")
            if not re.search(rf"^class {kind}\b", sources, re.MULTILINE) or f"def {method}(" not in sources:
                wrong.append(f"{control['dimension']}: there is no test {name}")
    return wrong


def load():
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/invariance").glob("*.py")))
    return read("contracts/invariance.json"), read("tests/data/invariance/controls.json"), sources


def control():
    """A dimension without a control, a test that is gone and another word are noticed."""
    wrong = []
    rules, controls, sources = load()
    page = render(rules, controls)
    if faults(rules, controls, sources):
        wrong.append("the project's own controls have faults")
    fewer = {"controls": controls["controls"][1:]}
    if not faults(rules, fewer, sources):
        wrong.append("a dimension without a control goes unnoticed")
    if not faults(rules, controls, sources.replace("def test_S2_Batches(", "def test_other(")):
        wrong.append("a test that is gone goes unnoticed")
    other = json.loads(json.dumps(controls))
    other["controls"][0]["negative"]["word"] = "another"
    if render(rules, other) == page:
        wrong.append("another word gives the same page")
    return wrong


def main():
    if sys.argv[1:] == ["--control"]:
        wrong = control()
        print("\n".join(wrong))
        return 1 if wrong else 0
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    rules, controls, sources = load()
    wrong = faults(rules, controls, sources)
    if not sys.argv[1:] and not wrong:
        PAGE.write_text(render(rules, controls), encoding="utf-8")
    elif not wrong and (not PAGE.exists() or PAGE.read_text(encoding="utf-8") != render(rules, controls)):
        wrong.append("docs/invariance.md is not what the data say: run 'make obligations' and commit the result")
    if wrong:
        print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
