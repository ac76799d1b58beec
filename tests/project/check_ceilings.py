#!/usr/bin/python3
"""The peak loops execute every operation that they count.

usage: check_ceilings.py ARCHIVE SOURCES     the compiled loops, the folder of their sources
       check_ceilings.py --control           a listing whose sums were merged must be refused

A compiler may see that all sums of a loop are equal and compute one of them; the ceiling would then be
several times too high. Exit status: 0 all there, 1 some are missing.
"""

import collections
import pathlib
import re
import subprocess
import sys

# What stands for one multiply-add of a sum, by the source's name.
OPERATIONS = {"PeakAvx2": ("vpmaddubsw", "vfmadd"), "PeakAvx512": ("vpdpbusd", "vfmadd"),
              "PeakAvx512Bf16": ("vdpbf16ps",)}


def missing(listing, sums):
    """What is wrong with a disassembly, given {source: the sums it has}."""
    found, source = collections.Counter(), ""
    for line in listing.splitlines():
        if match := re.match(r"(\w+)\.cpp\.o:", line):
            source = match[1]
        for operation in OPERATIONS.get(source, ()):
            found[source, operation] += bool(re.search(rf"\t{operation}", line))
    return [f"{source}: {found[source, operation]} of {count} {operation}" for source, count in sums.items()
            for operation in OPERATIONS[source] if found[source, operation] < count]  # fmt: skip


def control():
    merged = "PeakAvx2.cpp.o:\n" + "\tvpmaddubsw\n" * 2 + "\tvfmadd132ps\n"
    assert missing(merged, {"PeakAvx2": 2}) == ["PeakAvx2: 1 of 2 vfmadd"], missing(merged, {"PeakAvx2": 2})
    assert missing(merged, {"PeakAvx512": 1}), "a source without code must be refused"
    return []


def main(words):
    if words == ["--control"]:
        errors = control()
    else:
        archive, sources = words
        listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", archive], capture_output=True, text=True,
                                 check=True).stdout  # fmt: skip
        count = int(re.search(r"kPeakSums = (\d+)", pathlib.Path(sources, "PeakSums.h").read_text())[1])
        sums = dict.fromkeys(OPERATIONS, count)
        errors = missing(listing, sums)
    print("\n".join(errors) or "every operation that is counted is executed")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
