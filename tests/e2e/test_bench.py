"""`writ bench`: the tests of llama-bench and its keys, and what `make bench` does with them."""
import argparse
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import statistics
import subprocess

import harness
from harness import SOURCE, WRIT, TestCase, package, random_model, tiny_package

KEYS = {"writ_version", "cpu_info", "isa", "model_filename", "model_name", "model_sha256", "model_size", "circuit",
        "profile", "resolution_sha256", "production", "n_ubatch", "n_threads", "n_prompt", "n_gen", "n_depth",
        "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}


class Rows(TestCase):
    def bench(self, *words):
        """The rows; a bench that is no terminal's says nothing on standard error."""
        out, err = self.writ("bench", tiny_package(), *words, "--json")
        self.assertEqual(err, "")
        return json.loads(out)

    def test_EveryNumberOfOneListMeetsEveryOneOfTheOthers(self):
        rows = self.bench("-p", "8,16", "-n", "4", "-d", "0,8", "-t", "1,2", "-r", "1")
        self.assertEqual([(row["n_threads"], row["n_depth"], row["n_prompt"], row["n_gen"]) for row in rows],
                         [(threads, depth, *test) for threads in (1, 2) for depth in (0, 8)
                          for test in ((8, 0), (16, 0), (0, 4))])

    def test_TheLongNamesAndRepeatedOptionsMeanTheSame(self):
        words = ("--n-prompt", "8", "--n-prompt", "16", "--n-gen", "4", "--n-depth", "0", "--threads", "1",
                 "--repetitions", "1")
        self.assertEqual([(row["n_prompt"], row["n_gen"]) for row in self.bench(*words)], [(8, 0), (16, 0), (0, 4)])

    def test_N18_ARowSaysWhatWasMeasuredAndOnWhat(self):
        lock = json.loads((tiny_package() / "writ.lock.json").read_text())
        for row in self.bench("-p", "16", "-n", "4", "-t", "1", "-r", "3", "--isa", "scalar", "--chunk", "5"):
            self.assertEqual(set(row), KEYS)
            self.assertEqual(row["model_sha256"], hashlib.sha256(random_model().read_bytes()).hexdigest())
            self.assertEqual(row["resolution_sha256"], lock["resolution_sha256"])
            self.assertEqual((row["profile"], row["isa"], row["n_ubatch"], row["production"]),
                             ("portable", "scalar", 5, False))
            self.assertEqual(row["model_size"], lock["weights"]["bytes"])
            self.assertRegex(row["test_time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
            tokens = row["n_prompt"] + row["n_gen"]
            self.assertEqual(len(row["samples_ns"]), 3)
            for time, speed in zip(row["samples_ns"], row["samples_ts"], strict=True):
                self.assertAlmostEqual(speed / (tokens * 1e9 / time), 1)
            for unit in ("ts", "ns"):
                samples = row[f"samples_{unit}"]
                self.assertAlmostEqual(row[f"avg_{unit}"] / statistics.mean(samples), 1, places=3)
                self.assertAlmostEqual(row[f"stddev_{unit}"], statistics.stdev(samples),
                                       delta=1 + 1e-6 * statistics.mean(samples))

    def test_OneRunHasNoDeviation(self):
        row, = self.bench("-p", "4", "-n", "0", "-r", "1")
        self.assertEqual((row["stddev_ns"], row["stddev_ts"], row["avg_ts"]), (0, 0, row["samples_ts"][0]))

    def test_TheKvIsResetBetweenRuns(self):
        # The session is made for one run of the longest test: a second one would not fit behind it.
        rows = self.bench("-p", "0,16", "-n", "16", "-d", "8", "-r", "20")
        self.assertEqual([len(row["samples_ns"]) for row in rows], [20, 20])

    def test_AModelFileIsCompiledAndMeasured(self):
        folder = self.folder()
        out, err = self.writ("bench", random_model(), "--bringup", "-p", "4", "-n", "0", "-r", "1", "--json",
                             env={"PATH": os.environ["PATH"], "HOME": str(folder)})
        self.assertIn("is ready", err)
        self.assertEqual(json.loads(out)[0]["model_filename"], str(random_model()))


class Text(TestCase):
    def test_WithoutJsonItIsAMarkdownTable(self):
        out, err = self.writ("bench", tiny_package(), "-p", "8", "-n", "4", "-d", "0,8", "-t", "1", "-r", "2",
                             "--isa", "scalar")
        self.assertEqual(err, "")
        head, rule, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in out.splitlines()]
        self.assertEqual(head, ["model", "size", "profile", "isa", "threads", "test", "tokens/s"])
        self.assertRegex(" ".join(rule), "^[-: ]+$")
        self.assertEqual([row[2:6] for row in rows], [["portable", "scalar", "1", test] for test in
                                                      ("pp8", "tg4", "pp8 @ d8", "tg4 @ d8")])
        for row in rows:
            self.assertRegex(row[6], r"^\d+\.\d\d ± \d+\.\d\d$")

    def test_ATerminalIsToldWhatIsMeasured(self):
        out, said = self.on_terminal("bench", tiny_package(), "-p", "8", "-n", "4", "-d", "8", "-t", "1", "-r", "2",
                                     "--json")
        self.assertEqual(len(json.loads(out)), 2)
        for what in ("measuring pp8 @ d8, 1 threads: 0 %", "measuring tg4 @ d8, 1 threads: 0 %"):
            self.assertIn(f"\rwrit: {what}", said)
        self.assertTrue(said.endswith("\r\x1b[K"), f"the line is cleared: {said!r}")


class Refusals(TestCase):
    def says(self, code, expected, *words):
        out, err = self.writ("bench", *words, code=code)
        self.assertEqual((out, err), ("", expected))

    def test_WhatIsNoNumberOfItsOptionIsUsage(self):
        tokens, beyond = "a whole number of tokens, 0 or more", "beyond what can be represented, expected "
        for option, shown, text, part, said in (
                ("-p", "--n-prompt", "half", "half", f"not {tokens}"),
                ("-p", "--n-prompt", "8,,9", "", f"not {tokens}"),
                ("-p", "--n-prompt", "8,", "", f"not {tokens}"), ("-n", "--n-gen", "-1", "-1", f"not {tokens}"),
                ("-n", "--n-gen", "4,1.5", "1.5", f"not {tokens}"),
                ("-d", "--n-depth", str(2**63), str(2**63), beyond + tokens),
                ("-t", "--threads", "1,0", "0", "not a whole number from 1 to 1024"),
                ("-r", "--repetitions", "0", "0", "not a whole number, 1 or more"),
                ("-r", "--repetitions", "five", "five", "not a whole number, 1 or more")):
            with self.subTest(option=option, text=text):
                self.says(2, f"{shown}: error: '{part}' is {said} [E051]\n", "no such target", option, text)

    def test_NothingToMeasureIsUsage(self):
        self.says(2, "--n-prompt: error: there is nothing to measure: the tokens of --n-prompt and --n-gen are all 0 "
                     "[E051]\n", "no such target", "-p", "0,0", "-n", "0")  # fmt: skip

    def test_WhatDoesNotFitTheContextIsRefusedBeforeAnythingIsMeasured(self):
        context, most = 2048, 2**63 - 1
        for option, words, tokens, depth in (
                ("--n-prompt", ("-p", f"8,{context + 1}", "-n", "4"), context + 1, 0),
                ("--n-gen", ("-p", "7", "-n", "8", "-d", f"0,{context - 7}"), 8, context - 7),
                ("--n-prompt", ("-p", "8", "-d", str(most)), 8, most),
                ("--n-gen", ("-p", "0", "-n", str(most), "-d", "8"), most, 8)):
            self.says(1, f"{option}: error: {tokens} tokens at depth {depth} do not fit into the model's context of "
                         f"{context} [E051]\n", tiny_package(), *words)  # fmt: skip

    def test_TheWholeContextFits(self):
        out, _ = self.writ("bench", tiny_package(), "-p", "28", "-n", "28", "-d", "2020", "-r", "1", "--json")
        self.assertEqual([row["n_depth"] for row in json.loads(out)], [2020, 2020])


class Interrupts(TestCase):
    words = ("-p", "8", "-n", ",".join(["100"] * 500), "-r", "4")

    def test_CtrlCEndsCleanlyAndTheListIsWhole(self):
        out, said = self.on_terminal("bench", tiny_package(), *self.words, "--json", code=130,
                                     interrupt_at="measuring tg")
        rows = json.loads(out)
        self.assertIn("writ: interrupted", said)
        self.assertLess(len(rows), 501)
        self.assertEqual(rows[0]["n_prompt"], 8)
        for row in rows:
            self.assertEqual(len(row["samples_ns"]), 4, "a row is whole or absent")

    def test_CtrlCKeepsTheRowsOfTheTable(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([WRIT, "bench", tiny_package(), *self.words], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as process:
                first = [process.stdout.readline() for _ in range(3)]
                process.send_signal(number)
                rest, err = process.communicate()
            self.assertEqual((process.returncode, err), (130, "\nwrit: interrupted\n"))
            self.assertIn("| ", first[2])
            self.assertTrue(all(line.endswith(" |") for line in rest.splitlines()))


def load(name, path):
    loader = importlib.machinery.SourceFileLoader(name, str(SOURCE / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Script(TestCase):
    """scripts/bench measures beside llama-bench."""

    def setUp(self):
        self.script = load("bench", "scripts/bench")

    def measured(self, order, name, speeds):
        """One run after the other, each with a speed of prefill and of decode."""
        speeds = iter(speeds)

        def one():
            order.append(name)
            speed = next(speeds)
            return self.script.rates(json.dumps([{"n_prompt": 512, "n_gen": 0, "avg_ts": 10 * speed},
                                                 {"n_prompt": 0, "n_gen": 128, "avg_ts": speed}]))
        return one

    def test_ItTakesTurnsAndGivesTheMedianOfTheRatios(self):
        order = []
        found = self.script.in_turns(self.measured(order, "ours", (4, 8, 60, 6, 2)),
                                     self.measured(order, "theirs", (1, 2, 20, 3, 1)))
        self.assertEqual(order, ["ours", "theirs"] * self.script.TURNS)
        self.assertEqual(found, {"writ": {"prefill": 60, "decode": 6}, "llama.cpp": {"prefill": 20, "decode": 2},
                                 "ratio": {"prefill": 3, "decode": 3}})

    def test_WithoutTheOracleItsFiguresAreUnresolved(self):
        found = self.script.in_turns(self.measured([], "ours", (1, 2, 3, 4, 5)), None)
        self.assertEqual(found, {"writ": {"prefill": 30, "decode": 3}, "llama.cpp": None, "ratio": None})

    def test_ACellIsAModelAShapeOrARecipeOfOne(self):
        def names(*words):
            return [cell.name for cell in self.script.Cell.named(words)]

        self.assertEqual(names("smollm2", "qwen3-0.6b:q8_0"), ["smollm2", "qwen3-0.6b:q8_0"])
        self.assertEqual(names("qwen2-0.5b"), [f"qwen2-0.5b:{recipe}" for recipe in self.script.MEASURED_RECIPES])
        self.assertEqual(len(names()), 2 + 4 * len(self.script.MEASURED_RECIPES))
        for wrong in ("qwen2-0.5b:q3_k_s", "gpt5", "smollm2:q8_0"):
            with self.assertRaisesRegex(ValueError, f"'{wrong}' is no model, shape or SHAPE:RECIPE; known are smollm2"):
                names(wrong)

    def test_TheFloorsCountTheFilesBytesAndNotThePackedOnes(self):
        found = self.script.floors(tiny_package())
        layer = 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 128  # q and output, k and v, three of the gate
        norms, frequencies = (2 * 2 + 1) * 64 * 4, 8 * 8
        self.assertEqual(found["token_operations"], 2 * (2 * layer + 64 * 320))
        self.assertEqual(found["logits_operations"], 2 * 64 * 320)
        self.assertEqual(found["decode_bytes"], (2 * layer + 64 * 320) * 20 // 32 + norms + frequencies)
        self.assertEqual(found["peak"], "int8_ops_per_s")
        exact = self.script.floors(package(random_model(), "--bringup", "--profile", "f32"))
        self.assertEqual({**found, "peak": "f32_ops_per_s"}, exact, "the file is the same")
        bfloat = random_model("--type", "bf16", name="tiny-bf16")
        for profile, peak in (("portable", "f32_ops_per_s"), ("bf16", "bf16_ops_per_s")):
            found = self.script.floors(package(bfloat, "--bringup", "--profile", profile))
            self.assertEqual(found["peak"], peak)

    def test_TheSharesFollowFromSpeedAndCeiling(self):
        floor = {"token_operations": 100, "logits_operations": 40, "decode_bytes": 30, "peak": "int8_ops_per_s"}
        ceiling = {"int8_ops_per_s": 6400, "f32_ops_per_s": 640, "bf16_ops_per_s": 0, "mapped_bytes_per_s": 600, "large_page_bytes_per_s": 300}
        speed = {"prefill": 32, "decode": 10}
        self.assertEqual(self.script.shares(speed, floor, ceiling, 4), {"prefill": 32 * 70 / 6400, "decode": 0.5})
        for peak in ("f32_ops_per_s", "bf16_ops_per_s"):  # a machine without the instruction is judged by the other
            self.assertEqual(self.script.shares(speed, floor | {"peak": peak}, ceiling, 4)["prefill"], 3.5)

    def test_TheMeansAreThoseOfTheQuantizedShapes(self):
        def cell(name, prefill, decode):
            return {"cell": name, "threads": {1: {"ratio": None}, 2: {"ratio": {"prefill": prefill, "decode": decode}}}}

        cells = [cell("smollm2", 9, 9), cell("a:q8_0", 2, 1), cell("a:q4_0", 8, 4), cell("a:bf16", 1, 1)]
        found = self.script.summary(cells)
        self.assertAlmostEqual(found["prefill"]["geometric_mean"], 4)
        self.assertAlmostEqual(found["decode"]["geometric_mean"], 2)
        self.assertEqual((found["prefill"]["smallest"], found["decode"]["smallest"]), (2, 1))
        self.assertIsNone(self.script.summary(cells[:1]))

    def test_ACellIsMeasuredWholeAndMakesATable(self):
        self.script.FOLDER = self.folder()
        cell = self.script.Cell("qwen2-0.5b:q8_0")
        cell.file, cell.depths = random_model, lambda: [16]
        a = argparse.Namespace(prompt=8, generated=4, turns=1, keep=True)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            found = json.loads(json.dumps(self.script.measure(cell, a)))
        self.assertRegex(said.getvalue(), r"prefill, \d+ thread\(s\), tokens/s +[\d.]+ \(\d+ % of the ceiling; llama.cpp ")
        self.assertIn("decode at depth 16, tokens/s", said.getvalue())
        threads, = found["threads"].values()
        self.assertGreater(threads["ceilings"]["int8_ops_per_s"], 0)
        self.assertGreater(threads["writ"]["prefill"], 0)
        table = load("bench_table", "scripts/generate/bench_table.py")
        lines = table.table({"machine": self.script.machine(), "cells": [found], "summary": None})
        self.assertTrue(any(line.startswith("| qwen2-0.5b:q8_0 | 0 MB | ") for line in lines), lines)
        self.assertTrue(any(line.startswith("| qwen2-0.5b:q8_0 | 16 | ") for line in lines), lines)

    def test_ItReadsWhatWritBenchPrints(self):
        out, _ = self.writ("bench", tiny_package(), "-p", "8", "-n", "4", "-t", "1", "-r", "1", "--json")
        self.assertEqual(self.script.rates(out), {"prefill": json.loads(out)[0]["avg_ts"],
                                                  "decode": json.loads(out)[1]["avg_ts"]})


if __name__ == "__main__":
    harness.main()
