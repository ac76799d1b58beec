"""What the tool says where a model, its circuit or the command line do not fit: text, place, code, notes."""
import shutil

import harness
from harness import SOURCE, TestCase, damage, families, position, random_model, replace, run, tiny_package

CIRCUIT = "circuits/llama.json"


class Codes(TestCase):
    def says(self, lines, *words, code=1, root=None):
        """The diagnostics of a command that fails are exactly these lines; no progress is among them."""
        result = run(*words)
        err = result.stderr.decode().replace(f"{root}/", "")
        self.assertEqual(result.returncode, code, err)
        self.assertEqual([line for line in err.splitlines() if not line.startswith("writ: ")], lines)

    def compile(self, model, lines, *options, root=None, code=1):
        out = self.folder() / "package"
        self.says(lines, "compile", model, "--bringup", "-o", out, *options, root=root, code=code)
        self.assertFalse(out.exists())

    def edited(self, old, new, file=CIRCUIT):
        """A copy of the data with one edit."""
        data = self.data()
        replace(data / file, old, new)
        return data

    def compile_edited(self, lines, old, new, file=CIRCUIT):
        """`lines` is made from where the new text stands."""
        data, model = self.edited(old, new, file), random_model()
        place = f"{file}:{position(data / file, new)}"
        self.compile(model, lines(model, place), "--data", data, root=data)

    # Circuit against model

    def test_E031_AKeyThatNothingConsumes(self):
        data, model = self.data(), random_model("--set", "llama.logit_scale=2")
        at = position(data / CIRCUIT, '{\n    "scope"')
        self.compile(model, [
            f"{model}: error: metadata key 'llama.logit_scale' (2) is not consumed by circuit 'llama'; it may change "
            "the mathematics [E031]",
            f"{CIRCUIT}:{at}: note: keys of the architecture are consumed or fixed here"],
            "--data", data, root=data)  # fmt: skip

    def test_E032_ATensorThatTheModelLacks(self):
        self.compile_edited(lambda model, place: [
            f"{model}: error: tensor 'blk.0.ffn_upper' is missing; it is the weight of 'blk.0.ffn_up' [E032]",
            f"{place}: note: the circuit names it here"],
            '{ "tensor": "blk.{layer}.ffn_up.weight" }', '{ "tensor": "blk.{layer}.ffn_upper" }')  # fmt: skip

    def test_E032_AKeyThatTheModelLacks(self):
        self.compile_edited(lambda model, place: [
            f"{model}: error: metadata key 'llama.blocks' is missing; parameter 'layers' needs it [E032]",
            f"{place}: note: the parameter is declared here"],
            '{ "key": "llama.block_count"', '{ "key": "llama.blocks"')  # fmt: skip

    def test_E033_ATensorOfAnotherShape(self):
        data, model = self.edited('"k": "ffn", "n"', '"k": "ffn + 1", "n"'), random_model()
        # The op stands some lines before the dimension.
        at = position(data / CIRCUIT, '"linear", "name": "ffn_down"')
        self.compile(model, [
            f"{model}: error: tensor 'blk.0.ffn_down.weight' has shape [64, 128], expected [64, 129] (weight of op "
            "'blk.0.ffn_down') [E033]",
            f"{CIRCUIT}:{at}: note: the circuit uses it here"], "--data", data, root=data)  # fmt: skip

    def test_E033_ANumberOutOfItsRange(self):
        data, model = self.edited('"min": 1, "max": 4096', '"min": 3, "max": 4096'), random_model()
        at = position(data / CIRCUIT, '{ "key": "llama.block_count"')
        self.compile(model, [
            f"{model}: error: metadata key 'llama.block_count' is 2, expected 3 to 4096 [E033]",
            f"{CIRCUIT}:{at}: note: the parameter is declared here"], "--data", data, root=data)  # fmt: skip

    def test_E033_AHeadThatIsTooWide(self):
        """The table of rotary frequencies has its length: it is not made before the sizes are checked."""
        for circuit, options in families().items():
            file = f"circuits/{circuit}.json"
            for key, least in (("attention.key_length", 1), ("rope.dimension_count", 2)):
                key = f"{circuit}.{key}"
                model = random_model(*options, "--set", f"{key}=4097", name="wide")
                at = position(SOURCE / file, f'{{ "key": "{key}"')
                self.compile(model, [
                    f"{model}: error: metadata key '{key}' is 4097, expected {least} to 4096 [E033]",
                    f"{SOURCE}/{file}:{at}: note: the parameter is declared here"], "--data", SOURCE)  # fmt: skip

    def test_E033_ATableOfTooManyFrequencies(self):
        """A circuit without a bound of its own; the bound of the compiler holds before the table is made."""
        for count in (0, 65538):
            self.compile_edited(lambda model, place: [
                f"{place}: error: the number of rotary dimensions is {count}, expected 2 to 65536 [E033]"],
                '"rope_dims", "scaling": "model" } } }', f'{count} }} }} }}')  # fmt: skip

    def test_E033_ADefaultOutOfItsRange(self):
        self.compile_edited(lambda model, place: [
            f"{model}: error: parameter 'head_dim', by its default, is 4097, expected 1 to 4096 [E033]",
            f"{place}: note: the parameter is declared here"],
            '{ "key": "llama.attention.key_length", "type": "integer", "min": 1, "max": 4096, "default": "width / heads"',
            '{ "key": "llama.attention.key_length", "type": "integer", "min": 1, "max": 4096, "default": 4097')  # fmt: skip

    def test_E034_AFixedKeyWithAnotherValue(self):
        data, model = self.data(), random_model("--set", "llama.expert_count=8")
        at = position(data / CIRCUIT, '{ "is": 0 },\n      "llama.expert_used')
        self.compile(model, [
            f"{model}: error: metadata key 'llama.expert_count' is 8; this circuit computes only 0 [E034]",
            f"{CIRCUIT}:{at}: note: the circuit fixes the key here"], "--data", data, root=data)  # fmt: skip

    def test_E034_AnotherVersionOfTheQuantizedBlocks(self):
        key = "general.quantization_version"
        for circuit, options in families().items():
            model = random_model(*options, "--set", f"{key}=1", name="version")
            at = position(SOURCE / "circuits" / f"{circuit}.json", '{ "is": 2 }')
            self.compile(model, [
                f"{model}: error: metadata key '{key}' is 1; this circuit computes only 2 [E034]",
                f"{SOURCE}/circuits/{circuit}.json:{at}: note: the circuit fixes the key here"],
                "--data", SOURCE)  # fmt: skip

    def test_E035_AParameterThatNothingUses(self):
        self.compile_edited(lambda model, place: [
            f"{place}: error: parameter 'spare' is used by nothing; remove it or use it [E035]"],
            '"width": {', '"spare": { "value": 3 },\n    "width": {')  # fmt: skip

    # Tokenizer and chat

    def test_E045_AnIdOutsideTheVocabulary(self):
        model, key = random_model("--set", "tokenizer.ggml.padding_token_id=999"), "tokenizer.ggml.padding_token_id"
        at = model.read_bytes().index(key.encode()) + len(key) + 4  # the value follows its type
        self.compile(model, [
            f"{model}: error: token 999 is outside the vocabulary of 320 tokens at byte {at} (field '{key}') "
            "[E045]"])  # fmt: skip

    def test_E047_AChatTemplateThatCannotBeRead(self):
        file = "circuits/chat/chatml_smollm2.json"
        data = self.edited('"stop":', '"stopp":', file)
        self.compile(random_model(), [
            f"{file}:1:1: error: chat template 'chatml_smollm2': field 'stopp' is unknown; known are 'name', "
            "'sha256', 'begin', 'turn', 'default_system', 'generation_prompt', 'stop' [E047]"],
            "--data", data, root=data)  # fmt: skip

    # Package and command line

    def test_E050_APackageWhoseTokenizerWasAltered(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy)
        damage(copy / "tokenizer.bin")
        _, err = self.writ("run", copy, "--prompt", "ab", code=1)
        self.assertRegex(err, f"^{copy}: error: tokenizer.bin has SHA-256 [0-9a-f]{{64}}, but writ.lock.json names "
                         r"[0-9a-f]{64}; it was altered, compile the model again \[E050\]\n$")  # fmt: skip

    def test_E051_AProfileThatThereIsNot(self):
        self.compile(random_model(), ["--profile: error: 'fast' is not a profile [E051]",
                                      "note: profiles: 'bf16', 'f32', 'ggml', 'portable'"], "--profile", "fast")  # fmt: skip

    def test_E052_AFolderThatIsNoPackage(self):
        out = self.folder()
        (out / "notes").write_text("mine")
        _, err = self.writ("compile", random_model(), "--bringup", "--no-build", "-o", out, code=1)
        self.assertIn(f"{out}: error: ", err)
        self.assertIn("that is not a package; it is left alone [E052]", err)
        self.assertEqual([path.name for path in out.iterdir()], ["notes"])

    def test_E060_AHostCompilerThatThereIsNot(self):
        out = self.folder() / "package"
        _, err = self.writ("compile", random_model(), "--bringup", "-o", out, "--cxx", "no-such-compiler", code=3)
        self.assertIn("no-such-compiler: error: the host compiler does not run: No such file or directory [E060]\n",
                      err)


if __name__ == "__main__":
    harness.main()
