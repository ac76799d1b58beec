"""`writ profile`: time, bytes and operations of each op, and what the machine allows."""
import json
import subprocess

import harness
from harness import BUILD, TestCase, package, random_model, tiny_package

WIDTH, FFN, HEADS, KV, DIM, VOCABULARY = 64, 128, 4, 2, 16, 320  # of the tiny model
Q4_1 = 20 / 32  # bytes of a weight


class Profile(TestCase):
    def profile(self, *words):
        out, err = self.writ("profile", tiny_package(), "-r", "1", *words, "--json")
        self.assertEqual(err, "")
        return json.loads(out)

    def call(self, phase, op):
        found, = [call for call in phase["calls"] if call["op"] == op]
        return found

    def test_EveryCallOfAPhaseIsThereAndTimesAddUp(self):
        said = self.profile("-p", "40", "-n", "6", "-t", "1", "--chunk", "16")
        report = json.loads((tiny_package() / "report.json").read_text())["calls"]
        for phase, steps in zip(said["phases"], (3, 6), strict=True):
            self.assertEqual([call["op"] for call in phase["calls"]], [call["op"] for call in report[phase["phase"]]])
            self.assertEqual({call["runs"] for call in phase["calls"]}, {steps})
            kernels = sum(call["seconds"] for call in phase["calls"])
            self.assertAlmostEqual(kernels + phase["between_kernels_seconds"], phase["seconds"])
            self.assertGreater(phase["between_kernels_seconds"], 0)
            self.assertAlmostEqual(sum(kind["seconds"] for kind in phase["kinds"]), kernels)
            self.assertEqual(sum(kind["calls"] for kind in phase["kinds"]), len(phase["calls"]))
            self.assertAlmostEqual(phase["tokens_per_s"], phase["tokens"] / phase["seconds"])
            floors = sum(call["floor_seconds"] for call in phase["calls"])
            self.assertAlmostEqual(phase["of_ceiling"], floors / phase["seconds"])

    def test_BytesAndOperationsAreThoseOfTheShapes(self):
        prefill, decode = self.profile("-p", "10", "-n", "3", "-d", "5")["phases"]
        codes = -(-(FFN + FFN // 32 * 8) // 64) * 64  # a row of activation codes: codes, scales, sums
        for phase, rows, steps in ((prefill, 10, 1), (decode, 1, 3)):
            down = self.call(phase, "blk.1.ffn_down")
            self.assertEqual(down["operations"], steps * rows * 2 * FFN * WIDTH)
            self.assertEqual(down["bytes"], steps * (FFN * WIDTH * Q4_1 + rows * (codes + 4 * WIDTH)))
            # The embedding reads a row for each token, the logits all of it for the rows that want them.
            self.assertEqual(self.call(phase, "token_embd")["bytes"], steps * rows * WIDTH * (Q4_1 + 4))
            self.assertEqual(self.call(phase, "logits")["operations"], steps * 2 * WIDTH * VOCABULARY)
        # Positions that the queries see: 6 .. 15 of the prefill, 6, 7, 8 of the decode.
        for phase, pairs, positions in ((prefill, sum(range(6, 16)), 15), (decode, 6 + 7 + 8, 6 + 7 + 8)):
            attention = self.call(phase, "blk.0.attention")
            self.assertEqual(attention["operations"], 4 * HEADS * DIM * pairs)
            rows = 10 if phase is prefill else 3
            self.assertEqual(attention["bytes"], positions * 2 * KV * DIM * 2 + rows * 2 * 4 * HEADS * DIM)

    def test_AWindowBoundsWhatAttentionReads(self):
        model = random_model(*harness.families()["gemma3"], name="alternating")
        out, _ = self.writ("profile", package(model, "--bringup"), "-p", "0", "-n", "2", "-d", "60", "-r", "1", "--json")
        phase, = json.loads(out)["phases"]
        local, everywhere = self.call(phase, "blk.0.attention"), self.call(phase, "blk.2.attention")
        self.assertEqual(everywhere["operations"] / local["operations"], (61 + 62) / (40 + 40))

    def test_TheCeilingsAreOfThisRunAndTheShareOfThemFollows(self):
        said = self.profile("-p", "16", "-n", "4", "--isa", "scalar", "-t", "1")
        self.assertEqual((said["isa"], said["n_threads"]), ("scalar", 1))
        ceilings = said["ceilings"]
        self.assertEqual(ceilings["mapped_bytes_per_s"], 0, "the tiny model never leaves the caches")
        for key in ("large_page_bytes_per_s", "int8_ops_per_s", "f32_ops_per_s"):
            self.assertGreater(ceilings[key], 1e8, key)
        call = self.call(said["phases"][1], "blk.0.ffn_up")
        floor = max(call["bytes"] / ceilings["large_page_bytes_per_s"], call["operations"] / ceilings["int8_ops_per_s"])
        self.assertAlmostEqual(call["floor_seconds"] / floor, 1)
        self.assertAlmostEqual(call["of_ceiling"], floor / call["seconds"])

    def test_ABodyWithAnInstructionForItIsJudgedByThePeakOfThat(self):
        target = package(random_model("--type", "bf16", name="tiny-bf16"), "--bringup", "--profile", "bf16")
        words = ("profile", target, "-p", "512", "-n", "0", "-r", "1", "-t", "1", "--json")
        best = json.loads(self.writ(*words)[0])
        if best["isa"] != "avx512bf16":
            self.skipTest("this machine has no products of bfloat16")
        for said, key in ((best, "bf16_ops_per_s"),
                          (json.loads(self.writ(*words, "--isa", "avx512")[0]), "f32_ops_per_s")):
            call = self.call(said["phases"][0], "blk.0.ffn_up")
            ceilings = said["ceilings"]
            floor = max(call["bytes"] / ceilings["large_page_bytes_per_s"], call["operations"] / ceilings[key])
            self.assertAlmostEqual(call["floor_seconds"] / floor, 1, msg=key)

    def test_TheTextHasATableOfKindsAndTheSlowestCalls(self):
        out, _ = self.writ("profile", tiny_package(), "-p", "16", "-n", "2", "-r", "1", "-d", "3", "--calls", "2")
        self.assertRegex(out.splitlines()[1], r"^ceilings: [\d.]+ GB/s read from large pages, \d+ GOP/s of 8-bit codes, "
                                              r"\d+ GFLOP/s of binary32(, \d+ of bfloat16 products)?$")
        for phase in ("prefill of 16 tokens at depth 3: ", "decode of 2 tokens at depth 3: "):
            self.assertIn(phase, out)
        slowest = [block.split("\n\n")[0].splitlines() for block in out.split("| slowest calls ")[1:]]
        self.assertEqual([len([line for line in block if line.startswith("| ")]) for block in slowest], [3, 3])
        self.assertIn("| attention_", out)

    def test_WhatCannotBeProfiledIsRefused(self):
        self.assertEqual(self.writ("profile", tiny_package(), "-p", "0", "-n", "0", code=2),
                         ("", "--n-prompt: error: there is nothing to profile: --n-prompt and --n-gen are both 0 "
                              "[E051]\n"))
        self.assertEqual(self.writ("profile", tiny_package(), "-p", "8", "-d", "2041", "-n", "0", code=1),
                         ("", "--n-prompt: error: 8 tokens at depth 2041 do not fit into the model's context of 2048 "
                              "[E051]\n"))


class Ceilings(TestCase):
    def test_TheProgramMeasuresEachNumberOfThreads(self):
        program = BUILD / "bin" / "machine_ceilings"
        rows = json.loads(subprocess.run([program, "--threads", "1,2", "--isa", "scalar"], check=True,
                                         capture_output=True).stdout)
        self.assertEqual([row["n_threads"] for row in rows], [1, 2])
        for row in rows:
            self.assertEqual(row["isa"], "scalar")
            self.assertEqual(row["mapped_bytes_per_s"], 0, "no file was named")
            self.assertTrue(all(row[key] > 1e8 for key in ("large_page_bytes_per_s", "int8_ops_per_s", "f32_ops_per_s")))
        wrong = subprocess.run([program, "--isa", "sse9"], capture_output=True, text=True)
        self.assertEqual((wrong.returncode, wrong.stderr), (2, "machine_ceilings: error: 'sse9' is not an instruction "
                                                               "set of this machine\n"))


if __name__ == "__main__":
    harness.main()
