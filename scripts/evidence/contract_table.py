#!/usr/bin/env python3
"""Prints contract × provider × oracle × worst error × verdict.

usage: contract_table.py [--build DIR] [--junit F] [--data DIR]

Oracle and worst error (in units of the contract's bound) come from the records of
contracts/evidence. The verdict is that of the records of contract and provider as `writ digests`
sees them now, so that a stale or absent one is no `validated`; a contract that no kernel keeps has
no provider to validate. With --junit, the last column counts the comparisons of the provider with
the reference in that run of ctest; where one was not kept, the verdict is `failed`.

A contract of which another program has given answers has one more row for it (tests/data): they are
compared with the reference now, and the error is in units of what is allowed there. An oracle without
an answer is unresolved.

exit status: 0 where each row is `validated` or has no provider, 1 otherwise
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

from measure import read_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPARISON = "C8_(?:Production|Threaded)EqualsReference\\.BitForBit/({providers})_({bodies})_"
# Who else has answered (tests/data), and the tests that compare the answers with the reference: each
# says by its properties which contract and which oracle it is about, and its error over what is allowed.
ANSWERS = {"ggml_test": ("C8_GgmlOps", ["ggml"]), "torch_test": ("C8_PyTorchOps", ["PyTorch"]),
           "attention_oracle_test": ("C8_IndependentOracle", ["ggml", "PyTorch"])}  # fmt: skip
KEPT = {"validated", "no provider"}


def verdicts(writ, data):
    """(kind, subject) → "validated", or why not."""
    command = [writ, "digests", "--json", "--data", data]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    states = {}
    for need in json.loads(done.stdout)["needs"]:
        fault = need["fault"]
        short = ("stale" if re.search("stale|does not bind", fault) else "edited" if "edited" in fault else
                 "no record" if "no record" in fault else
                 (re.search(r"'(failed|unresolved)'", fault) or ["", "malformed"])[1])  # fmt: skip
        states[need["kind"], need["subject"]] = short if fault else "validated"
    return states


def comparisons(junit, kernels):
    """provider → [kept, not kept], of a run of ctest."""
    counts = collections.defaultdict(lambda: [0, 0])
    bodies = {isa for _, kernel in kernels for isa in kernel["isa"]}
    # The longest first: one id may begin as another ends.
    ids = sorted((path.stem for path, _ in kernels), key=len, reverse=True)
    comparison = re.compile(COMPARISON.format(providers="|".join(ids), bodies="|".join(sorted(bodies))))
    for case in xml.parse(junit).getroot().iter("testcase"):
        found = comparison.search(case.get("name"))
        if found and case.find("skipped") is None:
            counts[found[1]][case.get("status") != "run"] += 1
    return counts


def maps(data):
    """Each kernel map, with its path."""
    return [(path, json.loads(path.read_text())) for path in sorted((data / "kernel_maps").glob("*/*.json"))
            if path.parent.name != "schema"]  # fmt: skip


def providers(kernels):
    """contract → ids of the providers whose maps claim to keep it."""
    found = collections.defaultdict(list)
    for path, kernel in kernels:
        for contract in kernel["contracts"]:
            found[contract].append(path.stem)
    return found


def contract_cells(data, contract):
    """Oracle and worst error of a contract, as its record says."""
    if "+" in contract:  # of a fusion: the contracts of its parts, one after the other
        return ["its parts", "–"]
    record = data / "contracts" / "evidence" / "contract" / f"{contract}.json"
    measured = json.loads(record.read_text())["measured"] if record.exists() else {}
    worst = measured.get("worst_error_over_bound")
    oracle = measured.get("oracle", "unresolved")
    return [oracle, "–" if not measured else "exact" if worst is None else f"{worst:.3f}"]


def own_rows(states, kernels, data, counts):
    """One row for each contract and provider; a contract without one has a row of its own."""
    claimed = providers(kernels)
    subjects = {subject for kind, subject in states if kind == "contract"}
    for contract in sorted(subjects | {contract for contract in claimed if "+" in contract}):
        parts = [states.get(("contract", part), "unresolved") for part in contract.split("+")]
        own = next((verdict for verdict in parts if verdict != "validated"), "validated")
        cells = contract_cells(data, contract)
        for kernel in claimed[contract] or [None]:
            kept, lost = counts.get(kernel, (0, 0))
            verdict = own
            if verdict == "validated":
                verdict = states.get(("provider", kernel), "no record") if kernel else "no provider"
            if lost:
                verdict = "failed"
            yield [contract, kernel or "none", *cells, verdict, f"{kept} of {kept + lost}" if kept + lost else "–"]


def answers(build):
    """(contract, oracle) → the tests that compare recorded answers of that oracle with the reference; and
    the oracles that a program which is to have answers of them has not, or that was not built."""
    found, absent = collections.defaultdict(list), []
    for program, (suite, oracles) in ANSWERS.items():
        path, seen = build / "bin" / program, set()
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "tests.json")
            if path.exists():
                subprocess.run([str(path), f"--gtest_filter={suite}.*", f"--gtest_output=json:{out}",
                                "--gtest_brief=1"], stdout=subprocess.DEVNULL, check=False)  # fmt: skip
            for test in read_tests(out).values():
                if "oracle" in test and not test["skipped"]:
                    found[test["contract"], test["oracle"]].append(test)
                    seen.add(test["oracle"])
        absent += [(oracle, program) for oracle in oracles if oracle not in seen]
    return found, absent


def oracle_rows(found, absent):
    """One row for each contract and oracle, and one for each oracle that is absent."""
    for (contract, oracle), tests in sorted(found.items()):
        worst = max(float(test.get("error_over_allowed", "inf")) for test in tests)
        kept = sum(test["passed"] for test in tests)
        verdict = "validated" if kept == len(tests) and worst <= 1 else "failed"
        yield [contract, "reference", oracle, f"{worst:.3f}", verdict, f"{kept} of {len(tests)}"]
    for oracle, program in absent:
        yield [f"any of {program}", "reference", oracle, "–", "unresolved", "–"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--junit", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, default=ROOT)
    arguments = parser.parse_args()
    kernels = maps(arguments.data)
    states = verdicts(arguments.build / "bin" / "writ", arguments.data)
    counts = comparisons(arguments.junit, kernels) if arguments.junit and arguments.junit.exists() else {}
    rows = [*own_rows(states, kernels, arguments.data, counts), *oracle_rows(*answers(arguments.build))]
    title = ["contract", "provider", "oracle", "error/bound", "verdict", "kept now"]
    widths = [max(len(row[i]) for row in [title, *rows]) for i in range(len(title))]
    for row in [title, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    tally = collections.Counter(row[4] for row in rows)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.items())))
    has_contract = any(kind == "contract" for kind, _ in states)
    return 0 if has_contract and set(tally) <= KEPT else 1


if __name__ == "__main__":
    sys.exit(main())
