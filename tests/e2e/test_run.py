"""`writ run`, `writ score` and `writ tokenize` on a model with random weights: what people and scripts use."""
import hashlib
import json
import math
import re
import signal
import struct
import subprocess
import sys
import time

import harness
from harness import SOURCE, WRIT, TestCase, random_model, tiny_package

sys.path.insert(0, str(SOURCE / "scripts" / "evidence"))
from vocabulary_gguf import write_vocabulary  # noqa: E402

TEXT = "The quick brown fox jumps over the lazy dog. " * 4


def with_text(gguf, key, text):
    """A GGUF file with one more string in its metadata, which must keep the data aligned."""
    def entry(value):
        return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<IQ", 8, len(value)) + value.encode()

    assert len(entry(text)) % 32 == 0, len(entry(text)) % 32
    count, = struct.unpack("<Q", gguf[16:24])
    return gguf[:16] + struct.pack("<Q", count + 1) + entry(text) + gguf[24:]


class Run(TestCase):
    def generate(self, *options, **more):
        return self.writ("run", tiny_package(), "--ignore-end", *options, **more)[0]

    def test_S1_S3_S4_TheTextDoesNotDependOnThreadsChunkOrIsa(self):
        words = ("--prompt", TEXT, "--max-tokens", "16")
        expected = self.generate(*words)
        for options in (("--threads", "1"), ("--threads", "3"), ("--threads", "7"), ("--chunk", "1"),
                        ("--chunk", "7"), ("--chunk", "whole"), ("--isa", "scalar"),
                        ("--isa", "avx2")):
            self.assertEqual(self.generate(*words, *options), expected, options)

    def test_F11_TheSameSeedGivesTheSameText(self):
        words = ("--prompt", "ab", "--max-tokens", "24", "--temperature", "1.5", "--top-k", "50")
        self.assertEqual(self.generate(*words, "--seed", "7"), self.generate(*words, "--seed", "7"))
        self.assertNotEqual(self.generate(*words, "--seed", "7"), self.generate(*words, "--seed", "8"))

    def test_AStopStringEndsTheTextBeforeIt(self):
        whole = self.generate("--prompt", "ab", "--max-tokens", "24")
        stop = whole[3:5]
        cut = self.generate("--prompt", "ab", "--max-tokens", "24", "--stop", stop)
        self.assertEqual(cut.rstrip("\n"), whole[:whole.index(stop)])

    def test_ThePromptComesFromAFileOrStandardInput(self):
        expected = self.generate("--prompt", TEXT, "--max-tokens", "8")
        self.assertEqual(self.generate("--max-tokens", "8", stdin=TEXT.encode()), expected)
        path = self.folder() / "prompt.txt"
        path.write_text(TEXT)
        self.assertEqual(self.generate("--prompt-file", path, "--max-tokens", "8"), expected)

    def test_StatsGoToStandardErrorLineByLine(self):
        _, err = self.writ("run", tiny_package(), "--ignore-end", "--prompt", "ab", "--max-tokens", "4",
                           "--stats")
        self.assertRegex(err, r"(?m)^prefill: 2 tokens, [0-9.]+ tokens/s$")
        self.assertRegex(err, r"(?m)^decode: 4 tokens, [0-9.]+ tokens/s$")
        self.assertRegex(err, r"(?m)^peak memory: [0-9.]+ MB$")

    def test_CtrlCEndsCleanly(self):
        process = subprocess.Popen([WRIT, "run", tiny_package(), "--ignore-end", "--prompt", "ab",
                                    "--max-tokens", "2000"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertTrue(process.stdout.read(1), "text has begun")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        self.assertEqual(process.returncode, 130, err)
        out.decode("utf-8")  # whole characters

    def test_ChatWithoutATemplateSaysWhatToDo(self):
        words = ("--chat", "hello")
        for target in (tiny_package(), random_model()):
            options = ("--bringup",) if target == random_model() else ()
            _, err = self.writ("run", target, *words, *options, code=1)
            self.assertEqual(err.splitlines()[-2:], [
                f"{target}: error: the model file carries no chat template; give the whole text as a plain prompt [E050]",
                "note: --prompt takes the whole text, control tokens included"])

    def test_ChatWithAnUnknownTemplateSaysWhatToDoEachTime(self):
        model, template = self.folder() / "model.gguf", "a template that nobody knows".ljust(53, ".")
        model.write_bytes(with_text(random_model().read_bytes(), "tokenizer.chat_template", template))
        digest = hashlib.sha256(template.encode()).hexdigest()
        said = (f"the model file's chat template (sha256 {digest}) is not declared by the circuit, which knows "
                "'chatml_smollm2'; add what it writes to the circuit's \"chat_templates\" under this digest, or give "
                "the whole text as a plain prompt")
        package = self.folder() / "package"
        _, err = self.writ("compile", model, "--bringup", "-o", package)
        self.assertIn(f"writ: warning: the package will not chat:\n{model}: error: {said} [E047]\n", err)
        note = "note: --prompt takes the whole text, control tokens included\n"
        refusal = f"{package}: error: {said} [E050]\n{note}"
        self.assertEqual(self.writ("run", package, "--chat", "hello", code=1), ("", refusal))
        env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(self.folder())}
        words = ("run", model, "--bringup", "--chat", "hello")
        refusal = f"{model}: error: {said} [E050]\n{note}"
        self.assertTrue(self.writ(*words, code=1, env=env)[1].endswith(refusal))
        self.assertEqual(self.writ(*words, code=1, env=env), ("", refusal), "and where the package is cached")


class Score(TestCase):
    def score(self, *options):
        path = self.folder() / "ids.json"
        path.write_text(json.dumps([3 + ord(c) for c in "hello world, this is a text"]))
        out, _ = self.writ("score", tiny_package(), "--ids", path, "--json", *options)
        return json.loads(out)

    def test_TheReportHasTheDocumentedKeys(self):
        report = self.score()
        self.assertEqual(list(report), ["model_sha256", "ids", "logprobs", "perplexity", "logits_sha256", "rows",
                                        "vocab", "profile", "threads", "chunk", "isa"])
        self.assertEqual(report["model_sha256"],
                         hashlib.sha256(random_model().read_bytes()).hexdigest())
        self.assertEqual(report["rows"], len(report["ids"]))
        self.assertEqual(len(report["logprobs"]), len(report["ids"]))
        self.assertIsNone(report["logprobs"][0])

    def test_TheLogitsFileHasTheDigestAndGivesTheLogProbabilities(self):
        path = self.folder() / "logits.safetensors"
        report = self.score("--logits", path)
        data = path.read_bytes()
        size, = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + size])
        self.assertEqual(header["logits"]["dtype"], "F32")
        self.assertEqual(header["logits"]["shape"], [report["rows"], report["vocab"]])
        begin, end = header["logits"]["data_offsets"]
        logits = data[8 + size + begin:8 + size + end]
        self.assertEqual(hashlib.sha256(logits).hexdigest(), report["logits_sha256"])
        values = struct.unpack(f"<{len(logits) // 4}f", logits)
        total = 0
        for i in range(1, report["rows"]):
            row = values[(i - 1) * report["vocab"]:i * report["vocab"]]
            top = max(row)
            exact = row[report["ids"][i]] - top - math.log(sum(math.exp(v - top) for v in row))
            self.assertAlmostEqual(report["logprobs"][i], exact, delta=2e-6)
            total += report["logprobs"][i]
        self.assertAlmostEqual(report["perplexity"], math.exp(-total / (report["rows"] - 1)), places=6)

    def test_S1_S3_S4_OneLogitsDigest(self):
        expected = self.score()["logits_sha256"]
        for options in (("--threads", "1"), ("--threads", "3"), ("--threads", "7"), ("--chunk", "1"),
                        ("--chunk", "7"), ("--chunk", "whole"), ("--isa", "scalar"),
                        ("--isa", "avx2"), ("--isa", "scalar", "--threads", "3", "--chunk", "5")):
            self.assertEqual(self.score(*options)["logits_sha256"], expected, options)

    def test_S1_ADifferentProfileIsSeenToDiffer(self):
        path = self.folder() / "ids.json"
        path.write_text(json.dumps([3 + ord(c) for c in "hello world"]))
        package = harness.package(random_model(), "--bringup", "--profile", "f32")
        f32 = json.loads(self.writ("score", package, "--ids", path, "--json")[0])
        portable = json.loads(self.writ("score", tiny_package(), "--ids", path, "--json")[0])
        self.assertNotEqual(f32["logits_sha256"], portable["logits_sha256"])

    def test_NothingToScoreIsRefused(self):
        path = self.folder() / "empty"
        path.write_text("")
        _, err = self.writ("score", tiny_package(), "--text", path, code=1)
        self.assertIn("nothing to score", err)

    def test_AnIdOutsideTheVocabularyIsRefused(self):
        path = self.folder() / "ids"
        path.write_text("1 2 99999")
        _, err = self.writ("score", tiny_package(), "--ids", path, code=1)
        self.assertIn("99999", err)


class Tokenize(TestCase):
    def test_IdsAndPieces(self):
        out, _ = self.writ("tokenize", random_model(), "--text", "hé<|im_end|>", "--json")
        report = json.loads(out)
        self.assertEqual(report["ids"][-1], 2)
        self.assertEqual(report["pieces"][0], "h")
        out, _ = self.writ("tokenize", random_model(), "--ids", " ".join(map(str, report["ids"])))
        self.assertEqual(out, "hé<|im_end|>\n")

    def test_NoSpecialLeavesSpecialTokensText(self):
        out, _ = self.writ("tokenize", random_model(), "--text", "<|im_end|>", "--no-special", "--json")
        self.assertEqual(len(json.loads(out)["ids"]), 10)

    def test_APackageTokenizesAsItsModel(self):
        words = ("--text", "some text 123", "--json")
        self.assertEqual(self.writ("tokenize", tiny_package(), *words),
                         self.writ("tokenize", random_model(), *words))


class TokenizeByScores(TestCase):
    """The small vocabulary of the tokenizer tests, as a model file without tensors."""

    def model(self, **changes):
        data = json.loads((SOURCE / "tests/data/tokenizer/scored.json").read_text())
        path = self.folder() / "vocabulary.gguf"
        write_vocabulary(path, data | changes)
        return path

    def test_IdsPiecesAndTheWayBack(self):
        model = self.model(add_space_prefix=False)
        out, _ = self.writ("tokenize", model, "--text", "hello world ü</s>", "--json")
        report = json.loads(out)
        self.assertEqual(report["ids"], [1, 284, 290, 259, 198, 191, 2])
        self.assertEqual(report["pieces"], ["<s>", "hello", " world", " ", "\ufffd", "\ufffd", "</s>"])
        out, _ = self.writ("tokenize", model, "--ids", " ".join(map(str, report["ids"][1:-1])))
        self.assertEqual(out, "hello world ü\n")

    def test_NoSpecialLeavesSpecialTokensText(self):
        out, _ = self.writ("tokenize", self.model(), "--text", "</s>", "--no-special")
        self.assertEqual(out, "1 259 308 50 273 309\n")

    def test_AVocabularyWithoutAByteIsRefused(self):
        data = json.loads((SOURCE / "tests/data/tokenizer/scored.json").read_text())
        data["tokens"][258], data["types"][258] = "other", 1
        _, err = self.writ("tokenize", self.model(**data), "--text", "a", code=1)
        self.assertIn("the tokenizer cannot be used: the vocabulary has no token '<0xFF>'; every byte needs one "
                      "[E040]", err)


class CommandLine(TestCase):
    def test_HelpHasExamplesAndExitCodes(self):
        out, _ = self.writ("--help")
        self.assertIn("exit codes", out)
        self.assertIn("example", out)
        commands = re.findall(r"(?m)^  ([a-z]+) ", out.split("Subcommands:", 1)[1].split("example", 1)[0])
        self.assertIn("cache", commands)
        for command in commands:
            self.assertRegex(self.writ(command, "--help")[0], rf"(?m)^examples?:\n  (echo .*)?writ {command}", command)

    def test_VersionIsPrinted(self):
        self.assertRegex(self.writ("--version")[0], r"^writ \d+\.\d+\.\d+\n$")

    def test_AnUnknownOptionIsAUsageError(self):
        self.writ("run", "x", "--no-such-option", code=2)
        self.writ(code=2)
        self.writ("no-such-command", code=2)


if __name__ == "__main__":
    harness.main()
