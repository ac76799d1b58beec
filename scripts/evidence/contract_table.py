#!/usr/bin/env python3
"""Prints contract × provider × oracle × worst error × verdict.

usage: contract_table.py [--build DIR] [--junit F]

Oracle and worst error (in units of the contract's bound) come from the records of
contracts/evidence; an oracle that nobody has asked is unresolved. The verdict is that of the records
of contract and provider as `writ digests` sees them now: a stale or absent one is no `validated`, and
a contract that no kernel keeps has no provider to validate. With --junit, the last column counts the
comparisons of the provider with the reference in that run of ctest.

exit status: 0, or 1 where there is no contract; the tests decide, the table only shows
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPARISON = "C8_(?:Production|Threaded)EqualsReference\\.BitForBit/({providers})_({bodies})_"


def verdicts(writ):
    """(kind, subject) → "validated", or why not."""
    command = [writ, "digests", "--json", "--data", ROOT]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    states = {}
    for need in json.loads(done.stdout)["needs"]:
        fault = need["fault"]
        short = ("stale" if re.search("stale|does not bind", fault) else "edited" if "edited" in fault else
                 "no record" if "no record" in fault else
                 (re.search(r"'(failed|unresolved)'", fault) or ["", "malformed"])[1])  # fmt: skip
        states[need["kind"], need["subject"]] = short if fault else "validated"
    return states


def comparisons(junit):
    """provider → [kept, not kept], of a run of ctest."""
    counts = collections.defaultdict(lambda: [0, 0])
    bodies = {isa for _, kernel in maps() for isa in kernel["isa"]}
    # The longest first: one id may begin as another ends.
    ids = sorted((path.stem for path, _ in maps()), key=len, reverse=True)
    comparison = re.compile(COMPARISON.format(providers="|".join(ids), bodies="|".join(sorted(bodies))))
    for case in xml.parse(junit).getroot().iter("testcase"):
        found = comparison.search(case.get("name"))
        if found and case.find("skipped") is None:
            counts[found[1]][case.get("status") != "run"] += 1
    return counts


def maps():
    """Each kernel map, with its path."""
    return [(path, json.loads(path.read_text())) for path in sorted((ROOT / "kernel_maps").glob("*/*.json"))
            if path.parent.name != "schema"]  # fmt: skip


def providers():
    """contract → ids of the providers whose maps claim to keep it."""
    found = collections.defaultdict(list)
    for path, kernel in maps():
        for contract in kernel["contracts"]:
            found[contract].append(path.stem)
    return found


def contract_cells(contract):
    """Oracle and worst error of a contract, as its record says."""
    record = ROOT / "contracts" / "evidence" / "contract" / f"{contract}.json"
    if "+" in contract:  # of a fusion: the contracts of its parts, one after the other
        return ["its parts", "–"]
    measured = json.loads(record.read_text())["measured"] if record.exists() else {}
    worst = measured.get("worst_error_over_bound")
    oracle = measured.get("oracle", "unresolved")
    return [oracle, "–" if not measured else "exact" if worst is None else f"{worst:.3f}"]


def rows(build, junit):
    """One row for each contract and provider; a contract without one has a row of its own."""
    states = verdicts(build / "bin" / "writ")
    counts = comparisons(junit) if junit and junit.exists() else {}
    kernels = providers()
    subjects = {subject for kind, subject in states if kind == "contract"}
    for contract in sorted(subjects | {contract for contract in kernels if "+" in contract}):
        parts = [states.get(("contract", part), "unresolved") for part in contract.split("+")]
        own = next((verdict for verdict in parts if verdict != "validated"), "validated")
        for kernel in kernels[contract] or [None]:
            verdict = own if own != "validated" else states.get(("provider", kernel), "no provider")
            kept, lost = counts.get(kernel, (0, 0))
            yield [contract, kernel or "none", *contract_cells(contract), verdict,
                   f"{kept} of {kept + lost}" if kept + lost else "–"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--junit", type=pathlib.Path)
    arguments = parser.parse_args()
    title = ["contract", "provider", "oracle", "error/bound", "verdict", "kept now"]
    table = [title, *rows(arguments.build, arguments.junit)]
    widths = [max(len(row[i]) for row in table) for i in range(len(title))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    tally = collections.Counter(row[4] for row in table[1:])
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.items())))
    return 0 if len(table) > 1 else 1


if __name__ == "__main__":
    sys.exit(main())
