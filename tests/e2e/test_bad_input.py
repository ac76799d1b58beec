"""What the tool refuses, and how it says so: the code, the place, the reason; nothing is left behind."""
import hashlib
import json
import re
import shutil
import struct

import harness
from harness import SOURCE, TestCase, position, random_model, replace, tiny_package


class BadModel(TestCase):
    def refuse(self, model, *needles, code=1, options=()):
        out = self.folder() / "package"
        _, err = self.writ("compile", model, "--bringup", "--no-build", "-o", out, *options, code=code)
        for needle in needles:
            self.assertIn(needle, err)
        self.assertFalse(out.exists(), "a refused compile leaves no package")
        self.assertEqual([p.name for p in out.parent.iterdir()], [], "and nothing beside it")

    def broken(self, edit):
        path = self.folder() / "broken.gguf"
        data = bytearray(random_model().read_bytes())
        edit(data)
        path.write_bytes(data)
        return path

    def test_F12_EveryTruncationIsRefused(self):
        data = random_model().read_bytes()
        path = self.folder() / "cut.gguf"
        for size in (0, 3, 8, 23, 24, 100, 1000, 5000, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:size])
            _, err = self.writ("inspect", path, code=1)
            self.assertRegex(err, r"cut\.gguf: error: .*\[E02\d\]")

    def test_F12_AMissingFileNamesTheReason(self):
        _, err = self.writ("inspect", "/nonexistent.gguf", code=3)
        self.assertIn("/nonexistent.gguf: error:", err)
        self.assertIn("No such file or directory [E001]", err)

    def test_F12_AKeyCountBeyondTheFileIsRefused(self):
        def edit(data):
            data[16:24] = struct.pack("<Q", 2**63 - 1)
        self.refuse(self.broken(edit), "[E022]")

    def test_UnknownArchitectureIsRefusedByName(self):
        path = self.folder() / "other.gguf"
        path.write_bytes(random_model().read_bytes().replace(
            b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama",
            b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0mamba"))
        known = sorted(circuit.stem for circuit in (SOURCE / "circuits").glob("*.json"))
        self.refuse(path, "no circuit fits architecture 'mamba' [E030]",
                    "circuits: " + ", ".join(f"'{name}'" for name in known))

    def test_AKeyThatNothingConsumesIsRefusedByName(self):
        self.refuse(random_model("--set", "llama.logit_scale=2"),
                    "metadata key 'llama.logit_scale' (2) is not consumed", "[E031]")

    def test_AFixedKeyWithAnotherValueIsRefused(self):
        self.refuse(random_model("--set", "llama.expert_count=8"),
                    "metadata key 'llama.expert_count' is 8; this circuit computes only 0 [E034]")

    def test_AnUnknownPreTokenizerIsRefusedByName(self):
        def edit(data):
            at = data.index(b"smollm")
            data[at:at + 6] = b"foobar"
        self.refuse(self.broken(edit), "'foobar'", "[E042]")

    def test_UnknownProfileListsTheKnownOnes(self):
        self.refuse(random_model(), "'fast' is not a profile [E051]", "'portable'",
                    options=("--profile", "fast"))

    def test_C7_ProductionNeedsEvidence(self):
        out = self.folder() / "package"
        _, err = self.writ("compile", random_model("--type", "f16", name="half"), "-o", out, code=1)
        self.assertIn("is not validated", err)
        self.assertIn("[E103]", err)
        self.assertIn("--bringup", err)
        self.assertFalse(out.exists())


class BadData(TestCase):
    """Faults in circuits, contracts and maps, with positions in the user's file."""

    def refuse(self, data, *needles):
        out = self.folder() / "package"
        _, err = self.writ("compile", random_model(), "--bringup", "--no-build", "--data", data, "-o",
                           out, code=1)
        for needle in needles:
            self.assertIn(needle, err.replace(str(data) + "/", ""))
        self.assertFalse(out.exists())

    def test_C1_ACircuitWithAnUnknownOpIsRefused(self):
        data = self.data()
        circuit = data / "circuits" / "llama.json"
        replace(circuit, '"op": "gate"', '"op": "gating"')
        self.refuse(data, f"circuits/llama.json:{position(circuit, chr(34) + 'gating')}: error: "
                    "'gating' is not an op family [E030]", "note: families: 'activation', 'attention', 'embedding', 'gate'")

    def test_C3_AFamilyWithoutAKernelIsUnsupported(self):
        data = self.data()
        circuit = data / "circuits" / "llama.json"
        replace(circuit, '"op": "rms_norm", "name": "ffn_norm"', '"op": "layer_norm", "name": "ffn_norm"')
        self.refuse(data, f"circuits/llama.json:{position(circuit, chr(34) + 'layer_norm')}: error: no kernel provides "
                    "'layer_norm' for {input=f32, weight=f32, out=f32, n=64, vectors=1, "
                    "contract=layer_norm_f32_lanes64_v0, target=cpu} (op 'blk.0.ffn_norm', prefill) [E101]")

    def test_C1_WhatIsComputedWhenCompilingIsNoOp(self):
        data = self.data()
        circuit = data / "circuits" / "llama.json"
        replace(circuit, '"op": "rope_table"', '"op": "rope_frequencies"')
        self.refuse(data, f"circuits/llama.json:{position(circuit, chr(34) + 'rope_frequencies' + chr(34) + ', ')}: "
                    "error: 'rope_frequencies' is not an op family [E030]")

    def test_C1_ADuplicateKeyIsRefused(self):
        data = self.data()
        circuit = data / "circuits" / "llama.json"
        replace(circuit, '"id": "llama",', '"id": "llama",\n  "id": "llama",')
        self.refuse(data, "circuits/llama.json:4:3: error: ", "[E011]")

    def test_C2_AContractNamedStrictIsRefused(self):
        data = self.data()
        circuit = data / "circuits" / "llama.json"
        replace(circuit, '"required_contracts": { "prefill": "profile"',
                '"required_contracts": { "prefill": "strict"')
        self.refuse(data, "circuits/llama.json:", "'strict' is not a contract id: an id names a complete semantic profile [E302]")

    def test_C3_NoMapForAnOpIsRefused(self):
        data = self.data()
        (data / "kernel_maps" / "linear" / "linear_q4_1_i8_b32.json").unlink()
        self.refuse(data, "no kernel provides 'linear' for {activation=i8_b32_sf32, weight=q4_1",
                    "[E101]", "nearest provider", "there is no fallback")

    def test_C3_TwoMapsThatOverlapAreRefused(self):
        data = self.data()
        maps = data / "kernel_maps" / "residual"
        text = (maps / "residual_f32.json").read_text()
        (maps / "residual_other.json").write_text(text.replace("residual_f32", "residual_other")
                                                  .replace("residual_other_v0", "residual_f32_v0"))
        self.refuse(data, "kernel_maps/residual/residual_f32.json:", "[E102]",
                    "make the ranges disjoint")

    def test_C8_AMapWhoseSymbolDoesNotExistIsRefused(self):
        data = self.data()
        maps = data / "kernel_maps" / "residual"
        text = (maps / "residual_f32.json").read_text()
        (maps / "residual_f32.json").unlink()
        (maps / "residual_other.json").write_text(text.replace("residual_f32", "residual_other")
                                                  .replace("residual_other_v0", "residual_f32_v0"))
        self.refuse(data, "function 'residual_other' does not exist", "[E125]")


class BadRun(TestCase):
    def test_AnEmptyPromptIsRefusedWhereTheModelHasNoFirstToken(self):
        _, err = self.writ("run", tiny_package(), "--prompt", "", code=1)
        self.assertEqual(err, f"{tiny_package()}: error: the prompt is empty, and this model begins with no token of "
                              "its own; give at least one token [E051]\n")

    def test_APromptLongerThanTheModelsContextIsRefused(self):
        plan, _ = self.writ("compile", random_model(), "--bringup", "--dry-run")
        context = int(re.search(r"context length +(\d+) tokens", plan)[1])
        text = self.folder() / "text"
        text.write_text("x" * (context + 1))
        for words in (("run", tiny_package(), "--prompt-file", text), ("score", tiny_package(), "--text", text)):
            _, err = self.writ(*words, code=1)
            self.assertEqual(err, f"{tiny_package()}: error: {context + 1} tokens do not fit into a context of "
                                  f"{context} [E051]\nnote: the model's context is {context}\n")

    def test_InvalidUtf8InThePromptIsNoCrash(self):
        # A byte that is no UTF-8 is read as U+FFFD, whose three bytes are tokens of the tiny model.
        words = ("run", tiny_package(), "--max-tokens", "8", "--ignore-end", "--stats")
        out, err = self.writ(*words, stdin=b"ab\xff\xfe\xc3(")
        self.assertIn("prefill: 12 tokens", err)
        self.assertEqual(out, self.writ(*words, stdin="ab\ufffd\ufffd\ufffd(".encode())[0])

    def test_MaxTokensZeroGivesNoText(self):
        out, _ = self.writ("run", tiny_package(), "--prompt", "ab", "--max-tokens", "0")
        self.assertEqual(out, "")

    def test_AlteredWeightsAreRefused(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy)
        with open(copy / "weights.safetensors", "r+b") as file:
            file.seek(-100, 2)
            byte = file.read(1)
            file.seek(-100, 2)
            file.write(bytes([byte[0] ^ 1]))
        actual = hashlib.sha256((copy / "weights.safetensors").read_bytes()).hexdigest()
        expected = json.loads((copy / "writ.lock.json").read_text())["weights"]["sha256"]
        _, err = self.writ("run", copy, "--prompt", "ab", "--max-tokens", "1", code=1)
        self.assertEqual(err, f"{copy}: error: weights.safetensors has SHA-256 {actual}, but writ.lock.json names "
                              f"{expected}; it was altered, compile the model again [E050]\n")

    def test_APackageOfAnotherVersionIsRefusedWithTheDifference(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy)
        replace(copy / "writ.lock.json", '"package_version": 5', '"package_version": 9')
        _, err = self.writ("run", copy, "--prompt", "ab", code=1)
        self.assertEqual(err, f"{copy}: error: writ.lock.json: package_version is 9, this library reads 5; compile the "
                              "model again [E050]\n")

    def test_AMovedPackageWorks(self):
        copy = self.folder() / "moved é folder"
        shutil.copytree(tiny_package(), copy)
        words = ("--prompt", "ab", "--max-tokens", "5", "--ignore-end")
        self.assertEqual(self.writ("run", copy, *words)[0],
                         self.writ("run", tiny_package(), *words)[0])

    def test_AFolderThatIsNoPackageIsRefused(self):
        _, err = self.writ("run", self.folder(), "--prompt", "ab", code=3)
        self.assertIn("writ.lock.json", err)


class BadOutput(TestCase):
    def test_AFolderThatIsNotAPackageIsLeftAlone(self):
        folder = self.folder()
        (folder / "precious").write_text("x")
        _, err = self.writ("compile", random_model(), "--bringup", "--no-build", "-o", folder, code=1)
        self.assertIn("that is not a package; it is left alone [E052]", err)
        self.assertEqual([p.name for p in folder.iterdir()], ["precious"])


if __name__ == "__main__":
    harness.main()
