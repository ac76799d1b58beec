#!/usr/bin/env python3
"""Prints contract × provider × oracle × worst error × verdict.

usage: contract_table.py [--build DIR] [--junit F]

Oracle and worst error (in units of the contract's bound) come from the records of
contracts/evidence; the verdict is that of the records of contract and provider as `writ digests`
sees them now: a stale or absent one is no `validated`. With --junit, the last column counts the
comparisons of the provider with the reference in that run of ctest.

exit status: 0; the tests decide, the table only shows
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
COMPARISON = re.compile(r"C8_(?:Production|Threaded)EqualsReference\.BitForBit/(\w+?)"
                        r"_(?:scalar|avx2|avx512)_")  # fmt: skip


def verdicts(writ):
    """(kind, subject) → "validated", or why not."""
    command = [writ, "digests", "--json", "--data", ROOT]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    states = {}
    for need in json.loads(done.stdout)["needs"]:
        fault = need["fault"]
        short = ("stale" if "stale" in fault else "no record" if "no record" in fault else
                 (re.search(r"'(failed|unresolved)'", fault) or ["", "malformed"])[1])  # fmt: skip
        states[need["kind"], need["subject"]] = short if fault else "validated"
    return states


def comparisons(junit):
    """provider → [kept, not kept], of a run of ctest."""
    counts = collections.defaultdict(lambda: [0, 0])
    for case in xml.parse(junit).getroot().iter("testcase"):
        found = COMPARISON.search(case.get("name"))
        if found and case.find("skipped") is None:
            counts[found[1]][case.get("status") != "run"] += 1
    return counts


def rows(build, junit):
    states = verdicts(build / "bin" / "writ")
    counts = comparisons(junit) if junit and junit.exists() else {}
    for path in sorted((ROOT / "kernel_maps").glob("*/*.json")):
        if path.parent.name == "schema":
            continue
        kernel = json.loads(path.read_text())
        for contract in kernel["contracts"]:
            record = ROOT / "contracts" / "evidence" / "contract" / f"{contract}.json"
            measured = json.loads(record.read_text())["measured"] if record.exists() else {}
            worst = measured.get("worst_error_over_bound")
            states_of_both = [states.get(("contract", contract), "no record"),
                              states.get(("provider", kernel["id"]), "no record")]  # fmt: skip
            verdict = next((s for s in states_of_both if s != "validated"), "validated")
            kept, lost = counts.get(kernel["id"], (0, 0))
            yield [contract, kernel["id"], measured.get("oracle", "–"),
                   "exact" if worst is None and measured else f"{worst:.3f}" if measured else "–",
                   verdict, f"{kept} of {kept + lost}" if counts else "–"]  # fmt: skip


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
