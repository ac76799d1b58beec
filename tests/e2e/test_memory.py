"""What a session of a compiled package allocates: as many bytes as `--dry-run` says, and none in a step."""
import json
import re
import subprocess
import unittest

from harness import BUILD, TestCase, main, random_model, tiny_package

MEASURE = BUILD / "bin" / "step_memory"
ROWS, OUTPUTS = 24, 3


class Memory(TestCase):
    def setUp(self):
        if not MEASURE.exists():
            raise unittest.SkipTest(f"{MEASURE} is not there: a sanitizer's build cannot count allocations")

    def measure(self, threads=1, isa="scalar"):
        """What the session says and what malloc saw, by name."""
        done = subprocess.run([MEASURE, tiny_package(), str(ROWS), str(OUTPUTS), str(threads), isa],
                              capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}

    def test_N10_TheDryRunPredictsWhatIsAllocated(self):
        out, _ = self.writ("compile", random_model(), "--bringup", "--dry-run")
        said = {name: int(number) for name, number in re.findall(r"^(.+?)\s{2,}(\d+) (?:bytes|tokens)", out, re.M)}
        measured = self.measure()
        self.assertEqual(said["weights"], measured["weights_bytes"])
        self.assertEqual(said["KV per token"], measured["kv_bytes_per_token"])
        self.assertEqual(said["arena per row"] * ROWS, measured["row_arena_bytes"])
        self.assertEqual(said["arena per output"] * OUTPUTS, measured["output_arena_bytes"])
        # The session object itself and the small tables of its groups are beside the plan.
        self.assertGreaterEqual(measured["taken"], measured["session_bytes"])
        self.assertLessEqual(measured["taken"], measured["session_bytes"] + 4096)
        # And what the files hold: the data of the weights; 2 layers, K and V, 2 heads of 16 halves.
        lock = json.loads((tiny_package() / "writ.lock.json").read_text())
        size = (tiny_package() / "weights.safetensors").stat().st_size
        self.assertEqual(said["weights"], size - lock["weights"]["data_offset"])
        self.assertEqual(said["KV per token"], 2 * 2 * 2 * 16 * 2)

    def test_N3_NoStepOfACompiledModelAllocates(self):
        best = json.loads(self.writ("score", tiny_package(), "--ids", self.ids(), "--json")[0])["isa"]
        for threads, isa in ((1, "scalar"), (3, best)):
            measured = self.measure(threads, isa)
            self.assertEqual(measured["steps"], 81)
            self.assertEqual(measured["allocations"], 0, f"{threads} threads, {isa}")

    def ids(self):
        path = self.folder() / "ids"
        path.write_text("3 4 5")
        return path


if __name__ == "__main__":
    main()
