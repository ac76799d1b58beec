"""scripts/make-random-model in the shapes and recipes of models that people run."""
import collections
import functools
import importlib.machinery
import importlib.util
import json
import math
import subprocess
import sys
import unittest

import harness
from harness import SOURCE, TestCase, real_model

sys.path.insert(0, str(SOURCE / "scripts"))
from recipes import RECIPES, storage_of  # noqa: E402

SHAPES = json.loads((SOURCE / "scripts" / "shapes.json").read_text())


def script():
    loader = importlib.machinery.SourceFileLoader("make_random_model", str(SOURCE / "scripts" / "make-random-model"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_random_model", loader))
    loader.exec_module(module)
    return module


MAKER = script()


@functools.cache
def matrices(name):
    """(tensor, shape) of a shape's matrices."""
    shape = SHAPES[name]
    circuit = MAKER.Circuit(shape["circuit"], shape["parameters"], shape["tied"])
    return [(tensor, sizes) for tensor, sizes, _ in circuit.tensors() if len(sizes) > 1]


def storages(name, recipe):
    """tensor → storage"""
    shape = SHAPES[name]
    return {tensor: storage_of(recipe, tensor, sizes[1], shape["parameters"]["layers"], shape["tied"])
            for tensor, sizes in matrices(name)}  # fmt: skip


class Recipes(unittest.TestCase):
    def test_Q4KMOfGemma3IsTheOneThatLlamaQuantizeMade(self):
        # Counted in the file that scripts/models.json names: rows of 640 have no blocks of 256.
        self.assertEqual(collections.Counter(storages("gemma3-270m", "q4_k_m").values()),
                         {"q5_0": 81, "q4_k": 27, "q8_0": 10, "q6_k": 9})

    def test_ItIsThatFilesTensorByTensor(self):
        out, _ = TestCase().writ("inspect", real_model("gemma3"), "--json")
        real = {entry["name"]: entry["storage"] for entry in json.loads(out)["tensors"] if len(entry["shape"]) > 1}
        self.assertEqual(storages("gemma3-270m", "q4_k_m"), real)

    def test_WhatIsStoredInBlocksFits(self):
        for name in SHAPES:
            for recipe in RECIPES:
                chosen = storages(name, recipe)
                for tensor, sizes in matrices(name):
                    elements = MAKER.TYPES[chosen[tensor]][1]
                    self.assertEqual(sizes[1] % elements, 0, f"{name} {recipe} {tensor}")

    def test_TheLogitsMatrixIsBetterThanTheRest(self):
        self.assertEqual(storages("tinyllama-1.1b", "q4_0")["output.weight"], "q6_k")
        self.assertEqual(storages("tinyllama-1.1b", "q4_0")["token_embd.weight"], "q4_0")
        self.assertEqual(storages("qwen2-0.5b", "q4_0")["token_embd.weight"], "q8_0", "896 is no multiple of 256")
        self.assertNotIn("output.weight", storages("qwen2-0.5b", "q4_0"))

    def test_TheShapesHaveTheSizesOfTheirNames(self):
        for name, least, most in (("qwen2-0.5b", 0.49e9, 0.5e9), ("qwen3-0.6b", 0.59e9, 0.6e9),
                                  ("gemma3-270m", 0.26e9, 0.27e9), ("tinyllama-1.1b", 1.09e9, 1.11e9)):
            weights = sum(math.prod(sizes) for _, sizes in matrices(name))
            self.assertTrue(least < weights < most, f"{name}: {weights}")


class Weights(unittest.TestCase):
    def test_RepeatedWeightsHaveTheBytesOfTheirShapeAndNoTwoRowsAreAlike(self):
        for kind in MAKER.TYPES:
            rows, columns = 70, 1024
            weights = MAKER.Weights(1, repeats=True)
            data = b"".join(weights.parts("w.weight", [rows, columns], kind))
            _, elements, size = MAKER.TYPES[kind]
            row = columns // elements * size
            self.assertEqual(len(data), rows * row, kind)
            self.assertEqual(len({data[i * row:(i + 1) * row] for i in range(rows)}), rows, kind)
            again = MAKER.Weights(1, repeats=True)
            self.assertEqual(b"".join(again.parts("w.weight", [rows, columns], kind)), data)
            self.assertNotEqual(b"".join(again.parts("w.weight", [rows, columns], kind)), data, "each tensor is another")

    def test_ABiasLiesAroundZeroAndANormAroundOne(self):
        weights = MAKER.Weights(1, repeats=False)
        for name, middle in (("blk.0.attn_q.bias", 0), ("output_norm.weight", 1)):
            data = b"".join(weights.parts(name, [2000], "f32"))
            mean = sum(MAKER.struct.unpack(f"<{len(data) // 4}f", data)) / 2000
            self.assertAlmostEqual(mean, middle, delta=0.03)


class Files(TestCase):
    def test_AShapeNeedsItsRecipeAndOtherNamesAreUsage(self):
        for words in (("--shape", "qwen2-0.5b"), ("--shape", "gpt5", "--recipe", "q8_0"), ("--recipe", "q3_k_s")):
            done = subprocess.run([sys.executable, SOURCE / "scripts" / "make-random-model", self.folder() / "x", *words],
                                  capture_output=True, text=True)  # fmt: skip
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_ARecipeOfASmallModelIsReadAndCompiled(self):
        model = harness.random_model("--circuit", "qwen3", "--width", "256", "--ffn", "512", "--recipe", "q4_k_m",
                                     "--parameter", "head_dim=96", name="small-q4_k_m")  # fmt: skip
        out, _ = self.writ("inspect", model, "--json")
        kinds = {entry["name"]: entry["storage"] for entry in json.loads(out)["tensors"]}
        self.assertEqual([kinds[f"blk.0.{name}.weight"] for name in ("attn_q", "attn_output", "ffn_down")],
                         ["q4_k", "q5_0", "q4_k"], "4 heads of 96 are a row of 384")
        self.writ("compile", model, "--bringup", "--dry-run")


if __name__ == "__main__":
    harness.main()
