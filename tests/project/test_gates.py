#!/usr/bin/python3
"""Each topic of each gate (tests/gates) selects a test that is registered, and that the gate would run.

usage: test_gates.py BUILD       1 where a topic selects nothing: its suite has another name now
       test_gates.py --control   1 where such a topic would go unnoticed
"""
import pathlib
import re
import runpy
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))  # what the runner imports
RUNNER = runpy.run_path(str(ROOT / "scripts" / "run-tests"), run_name="gates")


def names_of(build):
    """Names of the tests of a build folder that no label keeps for long runs."""
    return [test["name"] for test in RUNNER["registered"](build) if not RUNNER["is_long"](test)]


def empty_topics(topics, names):
    return [topic for topic, pattern in topics.items() if not any(re.search(pattern, name) for name in names)]


def faults(names):
    found = []
    gates = sorted(path for path in (ROOT / "tests" / "gates").glob("*.txt"))
    if not gates:
        return ["there is no gate"]
    for gate in gates:
        found += [f"{gate.name}: '{topic}' selects no registered test"
                  for topic in empty_topics(RUNNER["read_gate"](gate), names)]  # fmt: skip
    return found


def control():
    topics = {"kept": "^Kv\\.", "renamed": "^Paging\\."}
    wrong = []
    if empty_topics(topics, ["Kv.F9_Bijection"]) != ["renamed"]:
        wrong.append("a topic whose suite has another name goes unnoticed")
    if not faults([]):
        wrong.append("a registry without tests goes unnoticed")
    if not RUNNER["is_long"]({"properties": [{"name": "LABELS", "value": ["functions", "long"]}]}):
        wrong.append("a long test counts as one that the gate runs")
    return wrong


if __name__ == "__main__":
    wrong = control() if sys.argv[1:] == ["--control"] else faults(names_of(sys.argv[1]))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
