"""The real models: they answer, and their logits are those of the recorded oracle.

Skipped where a model is not in the cache. The oracle is llama.cpp on the F32 copy of the file, which
rounds no activation; tests/data/logits holds what it gave (see the provenance there).
"""
import json
import struct

import numpy

import harness
from harness import SOURCE, TestCase, package, real_model

FORMATS = {"F32": "<f4", "F64": "<f8", "I32": "<i4"}


class Safetensors:
    """Reads single tensors and rows of a file without loading the rest."""

    def __init__(self, path):
        self.file = open(path, "rb")
        size, = struct.unpack("<Q", self.file.read(8))
        self.header = json.loads(self.file.read(size))
        self.start = 8 + size

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def row(self, name, index=None):
        """A whole tensor, flat, or one row of it."""
        info = self.header[name]
        code = FORMATS[info["dtype"]]
        begin, end = info["data_offsets"]
        if index is not None:
            width = (end - begin) // info["shape"][0]
            begin, end = begin + int(index) * width, begin + (int(index) + 1) * width
        self.file.seek(self.start + begin)
        return numpy.frombuffer(self.file.read(end - begin), code)


class RealModel:
    """What every model has to show; a test case of it names the model and its texts."""

    name = continues = None
    texts = {}  # text → bound of the portable profile's NMSE; docs/evidence has the whole comparison

    def packages(self, profile):
        return package(real_model(self.name), "--bringup", "--profile", profile)

    def run_text(self, *options):
        return self.writ("run", self.packages("portable"), *options)[0]

    def compare(self, profile, text):
        """(NMSE over the recorded columns, top-1 flips that the noise does not explain)"""
        recorded = SOURCE / "tests" / "data" / "logits" / self.name
        ids = json.loads((recorded.with_suffix(".json")).read_text())["texts"][text]["ids"]
        folder = self.folder()
        (folder / "ids.json").write_text(json.dumps(ids))
        self.writ("score", self.packages(profile), "--ids", folder / "ids.json", "--json", "--logits",
                  folder / "logits.safetensors")
        with Safetensors(recorded.with_suffix(".safetensors")) as oracle, \
                Safetensors(folder / "logits.safetensors") as ours:
            columns = oracle.row("columns")
            error = power = 0.0
            flips = 0
            for index, position in enumerate(oracle.row(f"{text}.positions")):
                row = ours.row("logits", position)
                expected = oracle.row(f"{text}.columns", index).astype(float)
                self.assertTrue(numpy.isfinite(row).all())
                error += ((row[columns] - expected) ** 2).sum()
                power += (expected ** 2).sum()
                top_ids = oracle.row(f"{text}.top_ids", index)
                top = oracle.row(f"{text}.top_logits", index).astype(float)
                noise = abs(row[top_ids] - top).max()
                if row.argmax() != top_ids[0] and top[0] - top[1] > 2 * noise:
                    flips += 1
        return error / power, flips

    def test_ItContinuesAText(self):
        prompt, text = self.continues
        self.assertTrue(self.run_text("--prompt", prompt, "--max-tokens", "16").startswith(text))

    def test_TheF32ProfileMeansWhatTheOracleMeans(self):
        for text in self.texts:
            nmse, flips = self.compare("f32", text)
            self.assertLess(nmse, 2e-6, text)
            self.assertEqual(flips, 0, text)

    def test_ThePortableProfileIsAsAccurateAsItsActivationCodesAllow(self):
        # The f32 profile passes these bounds, so a wrong comparison would be seen above.
        for text, bound in self.texts.items():
            nmse, _ = self.compare("portable", text)
            self.assertLess(nmse, bound, text)
            self.assertGreater(nmse, 2e-6, "activation codes are rounded: the difference is seen")

    def test_TheModelsOwnFileIsInspected(self):
        out, _ = self.writ("inspect", real_model(self.name))
        for needle in ("general.architecture", "token_embd.weight", *self.storages):
            self.assertIn(needle, out)

    def test_RunOfTheFileItselfCompilesOnceAndAnswers(self):
        prompt, text = self.continues
        words = ("run", real_model(self.name), "--bringup", "--prompt", prompt, "--max-tokens", "16")
        self.assertTrue(self.writ(*words)[0].startswith(text))


class SmolLM2(RealModel, TestCase):
    name, continues = "smollm2", ("The capital of France is", " Paris.")
    # llama.cpp on the quantized file is 1.3e-3 (chat) and 8.4e-4 (table) away from the oracle.
    texts = {"chat": 2e-3, "table": 1.5e-3}
    storages = ("llama", "q4_1", "q8_0")

    def test_ItAnswersAQuestion(self):
        answer = self.run_text("--chat", "What is gravity?", "--max-tokens", "48")
        self.assertIn("spacetime", answer)

    def test_ASystemMessageChangesTheAnswer(self):
        words = ("--chat", "Who are you?", "--max-tokens", "12")
        self.assertNotEqual(self.run_text(*words), self.run_text(*words, "--system", "You are a pirate."))


class Gemma3(RealModel, TestCase):
    name = "gemma3"
    continues = ("Once upon a time", ", there was a little girl named Lily.")
    # llama.cpp on the quantized file: 1.9e-3 (chat) and 1.0e-3 (code, which is longer than the window).
    texts = {"chat": 3e-3, "code": 1.5e-3}
    storages = ("gemma3", "q5_0", "q4_k", "q6_k", "q8_0")

    def test_AChatWithoutATemplateIsRefused(self):
        _, err = self.writ("run", self.packages("portable"), "--chat", "Hi", code=1)
        self.assertIn("[E0", err)


if __name__ == "__main__":
    harness.main()
