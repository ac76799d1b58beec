"""Families that are known by their circuits alone: what they mean is what llama.cpp says of small random models.

scripts/evidence/record_random.py recorded its logits; the models have F32 weights, so that it rounds no
activation, and both keep keys and values as f16.
"""
import array
import base64
import hashlib
import json
import struct
import subprocess
import sys

import harness
from harness import BUILD, SOURCE, TestCase, package, random_model

NMSE = 2e-6  # the recorded tolerance; seen: 1.2e-7 to 2.5e-7
SHAPES = json.loads((SOURCE / "scripts" / "shapes.json").read_text())
FAMILIES = tuple(shape["circuit"] for shape in SHAPES.values())
QWEN = ("qwen2", "qwen3")


def record(family):
    return json.loads((SOURCE / "tests" / "data" / "logits" / f"random_{family}.json").read_text())


def numbers(data):
    values = array.array("f", data)
    if sys.byteorder == "big":
        values.byteswap()
    return values


class Meaning(TestCase):
    def nmse(self, family, *options):
        """Of `writ score` against the record; `options` are those of compile."""
        said = record(family)
        model = random_model(*said["options"], name=f"{family}-f32")
        self.assertEqual(hashlib.sha256(model.read_bytes()).hexdigest(), said["model_sha256"], "the recorded logits are of another file")
        folder = self.folder()
        (folder / "ids").write_text(json.dumps(said["ids"]))
        out = folder / "out"
        self.writ("score", package(model, "--bringup") if not options else self.compiled(model, *options), "--ids",
                  folder / "ids", "--logits", out, "--chunk", "7")
        data = out.read_bytes()
        ours = numbers(data[8 + struct.unpack("<Q", data[:8])[0]:])
        expected = numbers(base64.b64decode(said["logits"]))
        self.assertEqual(len(ours), len(expected))
        return sum((a - b) ** 2 for a, b in zip(ours, expected)) / sum(b * b for b in expected)

    def compiled(self, model, *options):
        out = self.folder() / "package"
        self.writ("compile", model, "--bringup", "-o", out, *options)
        return out

    def test_ItsLogitsAreThoseOfLlamaCpp(self):
        for family in FAMILIES:
            with self.subTest(family=family):
                self.assertLess(self.nmse(family), NMSE)

    def changed(self, family, *edits):
        data = self.data()
        for old, new in edits:
            path = data / "circuits" / f"{family}.json"
            self.assertIn(old, path.read_text())
            path.write_text(path.read_text().replace(old, new))
        return self.nmse(family, "--data", data)

    def test_NegativeControl_AnotherPairingIsSeen(self):
        for family in QWEN:
            self.assertGreater(self.changed(family, ('"split_half"', '"interleaved"')), 100 * NMSE, family)

    def test_NegativeControl_AHeadSizeTakenFromTheWidthIsSeen(self):
        self.assertGreater(self.changed("qwen3", ('"reciprocal_sqrt": "head_dim"', '"reciprocal_sqrt": "width / heads"')),
                           100 * NMSE)  # fmt: skip


class Circuits(TestCase):
    def test_C1_ABiasThatIsMissingIsRefused(self):
        # A llama model has no bias; under the other name it lacks three tensors a layer.
        model = random_model("--circuit", "llama", name="no-bias")
        data = model.read_bytes().replace(b"llama", b"qwen2")
        path = model.with_name("no-bias-qwen2.gguf")
        path.write_bytes(data)
        _, err = self.writ("compile", path, "--bringup", "--dry-run", code=1)
        self.assertIn("blk.0.attn_q.bias", err)

    def test_AHeadSizeOfItsOwnIsNotTheWidthsShare(self):
        out, _ = self.writ("inspect", random_model(*record("qwen3")["options"], name="qwen3-f32"), "--json")
        shapes = {entry["name"]: entry["shape"] for entry in json.loads(out)["tensors"]}
        self.assertEqual(shapes["blk.0.attn_q.weight"], [128, 64], "4 heads of 32 on a width of 64")
        self.assertEqual(shapes["blk.0.attn_q_norm.weight"], [32])

    def test_S1_S3_S4_TheSameBitsInEverySetting(self):
        for family in QWEN:
            for storage in ("q8_0", "q4_1", "bf16"):
                options = [word for word in record(family)["options"] if word != "f32"]
                folder = package(random_model(*options, storage, name=f"{family}-{storage}"), "--bringup")
                self.writ("trace", folder, "-n", "100", "--threads", "1,3", "--chunk", "1,33", "--isa", "scalar,avx2",
                          "--page-size", "32,16")  # fmt: skip

    def test_C7_C8_EveryOpIsTheReferences(self):
        for family, storage in (("qwen2", "q8_0"), ("qwen3", "q4_1")):
            options = [word for word in record(family)["options"] if word != "f32"]
            model = random_model(*options, storage, "--layers", "1", name=f"{family}-{storage}-1")
            folder = package(model, "--bringup")
            done = subprocess.run([BUILD / "bin" / "stitched_parity", "--package", folder, "--model", model, "--data",
                                   SOURCE], capture_output=True, text=True)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class PreTokenizers(TestCase):
    def ids(self, pre, text):
        model = random_model("--circuit", "qwen2", "--pre", pre, name=f"pre-{pre}")
        out, _ = self.writ("tokenize", package(model, "--bringup"), "--text", text, "--json")
        return json.loads(out)["ids"]

    def test_TheirModelsNameIsKnownAndAnotherIsAnError(self):
        self.assertEqual(len(self.ids("qwen2", "in 2026")), 7, "bytes alone: nothing is merged")
        model = random_model("--circuit", "qwen2", "--pre", "qwen9", name="pre-unknown")
        _, err = self.writ("compile", model, "--bringup", "--dry-run", code=1)
        self.assertIn("'qwen9'", err)
        self.assertIn("[E042]", err)


if __name__ == "__main__":
    harness.main()
