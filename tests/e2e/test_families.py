"""Families whose layers are of several kinds: what a circuit may say, and what is refused."""
import json

import harness
from harness import TestCase, families, position, random_model, replace


def alternating(*options, name="alternating"):
    """A small model whose circuit has variants of layers, windowed ones among them."""
    return random_model(*families()["gemma3"], *options, name=name)


class Variants(TestCase):
    def compiled(self, model):
        out = self.folder() / "package"
        self.writ("compile", model, "--bringup", "--no-build", "-o", out)
        return out

    def test_EachKindOfLayerHasOneFunctionAndItsOwnKvGroup(self):
        source = (self.compiled(alternating()) / "src" / "model.cpp").read_text()
        for kind, others in (("local", "global"), ("global", "local")):
            body = source.split(f"void run_layer_{kind}(", 1)[1].split("\n}\n", 1)[0]
            self.assertEqual(source.count(f"void run_layer_{kind}("), 1)
            self.assertEqual("window_tiles32" in body, kind == "local")
            self.assertEqual(".window = 40," in body, kind == "local")
            self.assertNotIn(f"run_layer_{others}", body)
        # Layers 0 1 | 2 | 3 4: a run of the local kind, the global one, and the other run.
        entry = source.split("void run_step(", 1)[1].split("\n}\n", 1)[0]
        self.assertEqual([line.split("run_")[1].split("(")[0] for line in entry.splitlines()
                          if "run_layer" in line], ["layer_local", "layer_global", "layer_local"])
        self.assertIn(".layers = 4", source)
        self.assertIn(".layers = 1", source)

    def facts(self, *options):
        """What the report says of the parameters of a model of six layers."""
        model = random_model("--circuit", "gemma3", "--layers", "6", "--parameter", "window=40", *options,
                             name="six")  # fmt: skip
        return json.loads((self.compiled(model) / "report.json").read_text())["parameters"]

    def test_AFamilyFactIsOverriddenByTheMetadataOrRefusedByName(self):
        facts = self.facts()
        self.assertEqual((facts["period"], facts["rope_base_local"]), (6, 10000))
        facts = self.facts("--parameter", "period=2", "--parameter", "rope_base_local=5000.0")
        self.assertEqual((facts["period"], facts["rope_base_local"]), (2, 5000))
        _, err = self.writ("compile", alternating("--set", "gemma3.embedding_scale=30", name="scaled"),
                           "--bringup", "--dry-run", code=1)
        self.assertIn("metadata key 'gemma3.embedding_scale' (30) is not consumed by circuit 'gemma3'", err)
        self.assertIn("[E031]", err)

    def test_AModelWithoutOneOfTheKindsIsRefused(self):
        _, err = self.writ("compile", random_model("--circuit", "gemma3", "--layers", "5", "--parameter",
                                                   "window=40", name="five"), "--bringup", "--dry-run", code=1)
        self.assertIn("the model does not satisfy 'layers >= period'", err)
        self.assertIn("[E034]", err)

    def test_S1_S4_TheSameTextFromEveryThreadCountAndInstructionSet(self):
        package = harness.package(alternating(), "--bringup")
        said = {self.writ("run", package, "--prompt", "a history beyond the window of 40 positions, over tiles",
                          "--max-tokens", "24", *options)[0]
                for options in ((), ("--threads", "3"), ("--threads", "1", "--isa", "scalar"))}
        self.assertEqual(len(said), 1, said)
        self.assertGreater(len(said.pop()), 0)

    def test_AnotherBaseOfTheLocalLayersGivesOtherBits(self):
        weights = [(self.compiled(alternating(*options, name="base")) / "weights.safetensors").read_bytes()
                   for options in ((), ("--parameter", "rope_base_local=9999.0"),
                                   ("--parameter", "rope_base_local=10000.0"))]  # fmt: skip
        self.assertNotEqual(weights[0], weights[1])
        self.assertEqual(weights[0], weights[2], "the family's base is 10000")


class BadVariants(TestCase):
    def refuse(self, edits, place, message, *notes):
        """`place` is a text of the changed circuit at which the error stands."""
        data = self.data()
        circuit = data / "circuits" / "gemma3.json"
        for old, new in edits:
            replace(circuit, old, new)
        _, err = self.writ("compile", alternating(), "--bringup", "--dry-run", "--data", data, code=1)
        err = err.replace(str(data) + "/", "")
        self.assertIn(f"circuits/gemma3.json:{position(circuit, place)}: error: {message}", err)
        for note in notes:
            self.assertIn(note, err)

    def test_F12_TwoVariantsOfOneLayer(self):
        self.refuse([("(layer + 1) % period != 0", "layer >= 0")], "[\n        {\n          \"id\": \"local\"",
                    "2 variants fit layer 2; exactly one must [E030]",
                    "note: variant 'local' fits", "note: variant 'global' fits")

    def test_F12_ALayerWithoutAVariant(self):
        self.refuse([("(layer + 1) % period != 0", "layer < 1")], "[\n        {\n          \"id\": \"local\"",
                    "0 variants fit layer 1; exactly one must [E030]")

    def test_F12_VariantsWithDifferentWords(self):
        self.refuse([('"mask": "causal", ', "")], '{ "kv": "global", "table"',
                    "variant 'global' has the words 'kv', 'table', 'local' has 'kv', 'mask', 'table'; all "
                    "variants of a section have the same [E030]")

    def test_F12_TwoVariantsOfOneName(self):
        self.refuse([('"id": "global",\n          "when"', '"id": "local",\n          "when"')],
                    '"local",\n          "when": "(layer + 1) % period == 0"', "two variants are named 'local' [E030]")

    def test_F12_VariantsWithoutLayers(self):
        self.refuse([('      "repeat": "layers",\n', "")], "[\n        {\n          \"id\": \"local\"",
                    "a section has variants, but does not repeat [E030]")

    def test_F12_AWordThatNoVariantHas(self):
        self.refuse([("{table}", "{tabel}")], '"{tabel}"', "'{tabel}' stands for nothing here [E030]",
                    "note: known are: 'layer', 'kv', 'mask', 'table'")

    def test_F12_AWordThatNothingUses(self):
        self.refuse([("{table}", "rope_table_local"), ("{table}", "rope_table_local")], '"table": "rope_table_local"',
                    "word 'table' is used by nothing; remove it or use it [E035]")

    def test_F12_AnOpenBrace(self):
        self.refuse([("{table}", "{table")], '"{table"', "'{table' has '{' without '}' [E030]")

    def test_F12_AWindowWithoutTheMask(self):
        self.refuse([('"mask": "sliding_window"', '"mask": "causal"')], '{\n          "op": "attention"',
                    "op 'blk.0.attention' has no windowed mask, but KV group 'local' has a window of 40 "
                    "positions [E030]")

    def test_F12_TheMaskWithoutAWindow(self):
        self.refuse([('"window": "window"', '"window": 0')],
                    '{\n          "op": "attention"',
                    "op 'blk.0.attention' has a windowed mask, but KV group 'local' has no window [E030]")

    def test_F8_AWordThatAnOptionalAttributeDoesNotHave(self):
        self.refuse([('"scaled": "queries"', '"scaled": "query"')], '"query" }',
                    "'query' is not a word of 'scaled' [E030]", "note: it has: 'scores', 'queries'")


class OptionalAttributes(TestCase):
    """What one profile chooses a contract by, another need not look at."""

    def attentions(self, profile, *edits):
        data = self.data()
        for old, new in edits:
            replace(data / "circuits" / "gemma3.json", old, new)
        out, _ = self.writ("digests", alternating(), "--json", "--profile", profile, "--data", data)
        return {need["subject"] for need in json.loads(out)["needs"]
                if need["kind"] == "contract" and need["subject"].startswith("attention_")}  # fmt: skip

    def test_F8_WhatIsScaledChoosesTheContractOfOneProfile(self):
        absent = (', "scaled": "queries"', "")
        said = (', "scaled": "queries"', ', "scaled": "scores"')
        scaled = {f"attention_f16_kv_scaled_query_{window}two_pass_ggml_v0" for window in ("", "window_")}
        plain = {f"attention_f16_kv_{window}two_pass_ggml_v0" for window in ("", "window_")}
        self.assertEqual(self.attentions("ggml"), scaled)
        self.assertEqual(self.attentions("ggml", absent), plain)
        self.assertEqual(self.attentions("ggml", said), plain)
        self.assertEqual(self.attentions("portable"), self.attentions("portable", absent))


if __name__ == "__main__":
    harness.main()
