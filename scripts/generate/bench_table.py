#!/usr/bin/python3
"""Writes the table of docs/performance.md from what scripts/bench measured.

usage: bench_table.py [BENCH.json]     default build/bench.json; writes between the marks of the page
       bench_table.py --control        1 where a change of a figure goes unnoticed
"""

import copy
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
MARKS = ("<!-- written by scripts/generate/bench_table.py -->", "<!-- end of the table -->")
HEAD = ("cell", "file", "threads", "prefill", "llama.cpp", "ratio", "of the peak", "decode", "llama.cpp", "ratio",
        "of the bandwidth")  # fmt: skip


def figure(value, form="{:.1f}"):
    return "unresolved" if value is None else form.format(value)


def phase(found, name):
    theirs = found["llama.cpp"] and found["llama.cpp"][name]
    return [figure(found["writ"][name]), figure(theirs), figure(found["ratio"] and found["ratio"][name], "{:.2f}")]


def row(cells):
    return "| " + " | ".join(cells) + " |"


def facts(result):
    machine = result["machine"]
    first = list(result["cells"][0]["threads"].items())
    lines = [
        f"{machine['date']}, {machine['processor']}, {machine['cores']} cores "
        f"({', '.join(machine['instruction_sets'])}), {machine['memory_bytes'] / 2**30:.0f} GiB, {machine['system']}; "
        f"large pages: {machine['transparent_hugepage']}.",
        "",
        "Ceilings of the first cell, measured in the same run: "
        + "; ".join(
            f"{threads} thread(s): {found['ceilings']['mapped_bytes_per_s'] / 1e9:.1f} GB/s from a mapped file, "
            f"{found['ceilings']['large_page_bytes_per_s'] / 1e9:.1f} from large pages, "
            f"{found['ceilings']['int8_ops_per_s'] / 1e9:.0f} GOP/s of 8-bit codes, "
            f"{found['ceilings']['f32_ops_per_s'] / 1e9:.0f} GFLOP/s of binary32, "
            f"{found['ceilings']['bf16_ops_per_s'] / 1e9:.0f} of bfloat16 products"
            for threads, found in first
        )
        + ".",
    ]
    return lines


def table(result):
    """The lines of the section: facts of the machine, speeds, depths, means."""
    cells = result["cells"]
    sizes = {(cell["prompt"], cell["generated"], cell["turns"]) for cell in cells}
    lines = facts(result) + ["", "Tokens/s, medians of " + " and ".join(
        f"{turns} turns (prefill of {prompt}, decode of {generated})" for prompt, generated, turns in sorted(sizes)) + ":"]
    lines += ["", row(HEAD), row(["---"] * len(HEAD))]
    for cell in cells:
        for threads, found in cell["threads"].items():
            share = {name: f"{100 * value:.0f} %" for name, value in found["share"].items()}
            lines.append(row([cell["cell"], f"{cell['file_bytes'] / 1e6:.0f} MB", str(threads), *phase(found, "prefill"),
                              share["prefill"], *phase(found, "decode"), share["decode"]]))  # fmt: skip
    deep = [(cell["cell"], depth, found) for cell in cells for depth, found in cell["depths"].items()]
    if deep:
        lines += ["", row(("cell", "decode at depth", "Writ", "llama.cpp", "ratio")), row(["---"] * 5)]
        lines += [row([name, str(depth), *phase(found, "decode")]) for name, depth, found in deep]
    for name, found in (result["summary"] or {}).items():
        lines += ["", f"{name.capitalize()} of the quantized shapes: {found['geometric_mean']:.2f} × llama.cpp in the "
                      f"geometric mean, {found['smallest']:.2f} × at least."]  # fmt: skip
    return lines


def write(page, result):
    before, rest = page.split(MARKS[0], 1)
    after = rest.split(MARKS[1], 1)[1]
    return before + MARKS[0] + "\n" + "\n".join(table(result)) + "\n" + MARKS[1] + after


def sample():
    speed = {"writ": {"prefill": 100.0, "decode": 10.0}, "llama.cpp": None, "ratio": None}
    ceiling = dict.fromkeys(("mapped_bytes_per_s", "large_page_bytes_per_s", "int8_ops_per_s", "f32_ops_per_s",
                             "bf16_ops_per_s"), 1e9)  # fmt: skip
    return {
        "machine": {"date": "2026-01-01", "processor": "P", "cores": 2, "instruction_sets": [], "memory_bytes": 2**30,
                    "system": "S", "transparent_hugepage": None},
        "cells": [{"cell": "c", "file_bytes": 1e6, "prompt": 8, "generated": 4, "turns": 1,
                   "threads": {"2": speed | {"ceilings": ceiling, "share": {"prefill": 0.5, "decode": 0.25}}},
                   "depths": {"64": {"writ": {"decode": 9.0}, "llama.cpp": {"decode": 3.0}, "ratio": {"decode": 3.0}}}}],
        "summary": {"decode": {"geometric_mean": 2.0, "smallest": 1.5}},
    }  # fmt: skip


def control():
    """Each figure of a result shows in the section, and the rest of the page stays."""
    page = f"a\n{MARKS[0]}\nold\n{MARKS[1]}\nb\n"
    result = sample()
    text = write(page, result)
    if not (text.startswith("a\n") and text.endswith("\nb\n") and "old" not in text and write(text, result) == text):
        return 1
    places = [("machine", "processor"), ("cells", 0, "cell"), ("cells", 0, "threads", "2", "writ", "prefill"),
              ("cells", 0, "threads", "2", "share", "decode"), ("cells", 0, "threads", "2", "ceilings", "int8_ops_per_s"),
              ("cells", 0, "depths", "64", "llama.cpp", "decode"), ("summary", "decode", "smallest")]  # fmt: skip
    for path in places:
        changed = copy.deepcopy(result)
        at = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = "other" if isinstance(at[path[-1]], str) else at[path[-1]] * 7
        if write(page, changed) == text:
            print(f"a change of {path} is not seen")
            return 1
    return 0


def main():
    if sys.argv[1:] == ["--control"]:
        return control()
    path = pathlib.Path(sys.argv[1]) if sys.argv[1:] else ROOT / "build" / "bench.json"
    PAGE.write_text(write(PAGE.read_text(encoding="utf-8"), json.loads(path.read_text())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
