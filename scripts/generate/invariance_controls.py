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
nothing changes proves little by itself, so each dimension has controls. *Positive*: real kernels of a contract that
derives the invariance, run in every way, give one digest. *Negative*: where a contract derives no invariance, the bits are
seen to change, twice:

- by kernels (`tests/invariance/open`), which keep a contract that leaves something open and decide it as libraries do, over
  the runtime's pool, paged KV, instruction sets and compilers. Each of their results is the reference's for the order
  that was taken, so that nothing but the open word moves a bit; beside each, a provider of the portable class in the same
  ways keeps its bits.
- by the reference: the contract of the positive control with one word that says less, run in two ways that differ in this
  dimension alone. It takes whatever a word leaves open from the schedule of the call (`ir/Reference/Schedule.h`), which
  shows that the derivation follows the arithmetic, and nothing of a machine. `derivation_test` runs these, and beside
  them every word that breaks something, every registered contract, and random ones.

Where a contract breaks a dimension from a threshold on, as a partition by workers does, each row is seen to change at the
threshold and one above it, and none one below. What no test of kernels has is *unresolved*, and no pass.

"""
UNRESOLVED = "**unresolved**: the reference alone was run"


def read(path):
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def cell(claim):
    """What kernels showed, with the tests that did it."""
    return "".join([claim["claim"], *(f"<br>`{name}`" for name in claim["tests"])]) if claim["tests"] else UNRESOLVED


def render(rules, controls):
    lines = ["| dimension | the bits do not depend on | positive control, kernels | negative control, kernels "
             "| negative control, reference |",
             "| --- | --- | --- | --- | --- |"]  # fmt: skip
    for control in controls["controls"]:
        dimension = rules["dimensions"][control["dimension"]]
        altered = control["negative"]
        lines.append(f"| `{control['dimension']}` ({', '.join(dimension['obligations'])}) | {dimension['meaning']} | "
                     f"{cell(control['positive'])} | {cell(altered['kernel'])} | "
                     f"`{altered['contract']}` with `{altered['field']}`: `{altered['word']}` |")  # fmt: skip
    return HEAD + "\n".join(lines) + "\n"


def exists(name, sources):
    """Whether a test of Python (invariance.CLASS.METHOD) or of GoogleTest (SUITE.NAME) is in the sources."""
    *folder, suite, test = name.split(".")
    if folder:
        return bool(re.search(rf"^class {suite}\b", sources, re.MULTILINE)) and f"def {test}(" in sources
    return f"TEST({suite}, {test})" in sources


def faults(rules, controls, sources):
    """Dimensions without a control, and tests that are not there, or do not say whose obligation they are."""
    wrong = []
    named = [control["dimension"] for control in controls["controls"]]
    if named != list(rules["dimensions"]):
        wrong.append(f"controls are of {named}, dimensions are {list(rules['dimensions'])}")
    for control in controls["controls"]:
        wanted = rules["dimensions"].get(control["dimension"], {"obligations": []})["obligations"]
        for claim in (control["positive"], control["negative"]["kernel"]):
            for name in claim["tests"]:
                if not exists(name, sources):
                    wrong.append(f"{control['dimension']}: there is no test {name}")
            ids = {part for name in claim["tests"] for part in name.rsplit(".", 1)[-1].split("_")}
            if claim["tests"] and not ids & set(wanted):
                wrong.append(f"{control['dimension']}: no test is named after {', '.join(wanted)}")
            if bool(claim["claim"]) != bool(claim["tests"]):
                wrong.append(f"{control['dimension']}: a claim has tests, and tests have a claim")
    return wrong


def load():
    sources = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/invariance").glob("*test*.*")))
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
    if not faults(rules, controls, sources.replace("TEST(OpenOrders, S2_", "TEST(OpenOrders, ")):
        wrong.append("a kernel's test that is gone goes unnoticed")
    silent = json.loads(json.dumps(controls))
    silent["controls"][0]["negative"]["kernel"]["tests"] = []
    if not faults(rules, silent, sources):
        wrong.append("a claim without a test goes unnoticed")
    strange = json.loads(json.dumps(controls))
    strange["controls"][0]["negative"]["kernel"]["tests"] = strange["controls"][2]["negative"]["kernel"]["tests"]
    if not faults(rules, strange, sources):
        wrong.append("a test of another dimension goes unnoticed")
    none = json.loads(json.dumps(controls))
    none["controls"][0]["negative"]["kernel"] = {"claim": "", "tests": []}
    if render(rules, none).count(UNRESOLVED) != page.count(UNRESOLVED) + 1:
        wrong.append("a dimension without kernels is not called unresolved")
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
