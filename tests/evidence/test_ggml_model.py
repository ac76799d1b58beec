"""The figures of the `ggml` profile at model level: what the page says is what was measured, of today's sources."""
import copy
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import BUILD, SOURCE, TestCase, known_models, main  # noqa: E402

sys.path.insert(0, str(SOURCE / "scripts" / "evidence"))
import ggml_model  # noqa: E402


class GgmlModel(TestCase):
    def setUp(self):
        self.record = ggml_model.read_record()

    def test_C8_TheTableIsThatOfTheRecord(self):
        self.assertEqual(list(ggml_model.static_faults(self.record)), [])

    def test_C8_AFigureThatTheTableLacksIsSeen(self):
        for key, value in (("nmse", 1e-30), ("same_top", 0.5), ("perplexity", 1.0)):
            wrong = copy.deepcopy(self.record)
            next(iter(wrong["models"].values()))["engines"][0][key] = value
            self.assertIn("the table is not that of the record", "".join(ggml_model.static_faults(wrong)))

    def test_C8_AnotherOracleIsSeen(self):
        for key, value in (("build", "another"), ("programs", {})):
            said = "".join(ggml_model.static_faults(self.record | {key: value}))
            self.assertIn("the oracle's build or program is not the recorded one", said)

    def test_C8_EveryModelOfTheProjectIsRecorded(self):
        for name, definition in known_models().items():
            with self.subTest(model=name):
                self.assertEqual(self.record["models"][name]["sha256"], definition["sha256"])
                self.assertGreater(self.record["models"][name]["rows"], 100)

    def test_C8_WithoutLibmEveryModelIsMetBitForBit(self):
        for name, model in self.record["models"].items():
            nmse = {(engine["engine"], engine["against"]): engine["nmse"] for engine in model["engines"]}
            with self.subTest(model=name):
                self.assertEqual(nmse["writ, profile `ggml`", "rounded"], 0)
                self.assertGreater(nmse["writ, profile `portable`", "pinned"], 0)  # a comparison that sees something

    def test_C7_TheFiguresAreOfTodaysContractsAndSources(self):
        if re.search(r"^WRIT_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.M):
            self.skipTest("the record speaks of bodies that were built without a sanitizer")
        out, _ = self.writ("digests", "--json", "--data", SOURCE)
        current = json.loads(out)["digests"]
        for name, model in self.record["models"].items():
            with self.subTest(model=name):
                self.assertGreater(len(model["bound"]), 20)
                self.assertEqual(ggml_model.stale(model, current), [], "scripts/evidence/ggml_model.py --renew")
        # Negative control: a source or contract of another digest is named.
        key = next(iter(model["bound"]))
        self.assertEqual(ggml_model.stale(model, current | {key: "0"}), [key])


if __name__ == "__main__":
    main()
