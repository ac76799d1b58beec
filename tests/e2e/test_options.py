"""Each option reaches what it names: its effect is seen, and not only that it is taken."""
import json
import os
import shutil

from harness import SOURCE, TestCase, main, random_model, tiny_package

IDS = [3 + ord(c) for c in "hello world, this is a text"]


class Sampling(TestCase):
    """A model with random weights: its distributions are flat, so that a draw is seldom the likeliest."""

    def generate(self, *options):
        return self.writ("run", tiny_package(), "--prompt", "ab", "--ignore-end", "--max-tokens", "40", *options)[0]

    def setUp(self):
        self.drawn = ("--temperature", "1.5", "--seed", "7")
        self.likeliest, self.any = self.generate(), self.generate(*self.drawn)
        self.assertNotEqual(self.likeliest, self.any)

    def test_F11_AFilterThatLeavesOneTokenGivesTheLikeliest(self):
        for option in (("--top-k", "1"), ("--top-p", "0.000001"), ("--min-p", "1")):
            self.assertEqual(self.generate(*self.drawn, *option), self.likeliest, option)

    def test_F11_AFilterThatLeavesAllGivesWhatIsDrawnWithoutIt(self):
        for option in (("--top-k", "0"), ("--top-k", "1000000"), ("--top-p", "1"), ("--min-p", "0"),
                       ("--repeat-penalty", "1")):
            self.assertEqual(self.generate(*self.drawn, *option), self.any, option)

    def test_F11_EachFilterBetweenGivesATextOfItsOwn(self):
        texts = [self.generate(*self.drawn, *option)
                 for option in (("--top-k", "3"), ("--top-p", "0.3"), ("--min-p", "0.8"), ("--repeat-penalty", "2"))]
        self.assertEqual(len({self.likeliest, self.any, *texts}), 2 + len(texts), texts)

    def test_F11_ARepeatPenaltyTakesRepeatsOutOfTheLikeliestText(self):
        # The likeliest text of this model runs into a cycle.
        self.assertLess(len(set(self.likeliest)), len(set(self.generate("--repeat-penalty", "100"))))

    def test_F11_TemperatureAndSeedChangeTheDraw(self):
        texts = [self.generate("--temperature", temperature, "--seed", seed)
                 for temperature, seed in (("1.5", "8"), ("0.5", "7"), ("0.05", "7"))]
        self.assertEqual(len({self.likeliest, self.any, *texts}), 2 + len(texts), texts)


class Session(TestCase):
    def score(self, *options):
        path = self.folder() / "ids.json"
        path.write_text(json.dumps(IDS))
        return json.loads(self.writ("score", tiny_package(), "--ids", path, "--json", *options)[0])

    def test_TheReportHasTheDocumentedKeysAndNoOther(self):
        self.assertEqual(list(self.score()), ["model_sha256", "ids", "logprobs", "perplexity", "logits_sha256", "rows",
                                              "vocab", "profile", "threads", "chunk", "isa"])

    def test_S1_S3_S4_AScoreIsMadeAsItsOptionsSay(self):
        best = self.score()["isa"]
        for threads, chunk, isa in ((1, 5, "scalar"), (2, 7, best), (3, 1, "scalar"), (7, 26, best)):
            report = self.score("--threads", threads, "--chunk", chunk, "--isa", isa)
            self.assertEqual((report["threads"], report["chunk"], report["isa"]), (threads, chunk, isa))

    def test_S3_AStepIsNoLongerThanTheText(self):
        for option in ((), ("--chunk", "whole"), ("--chunk", "1000")):
            self.assertEqual(self.score(*option)["chunk"], len(IDS), option)

    def test_S1_S4_ARunIsMadeAsItsOptionsSay(self):
        words = ("run", tiny_package(), "--prompt", "ab", "--max-tokens", "2", "--stats")
        for threads in (1, 3):
            _, err = self.writ(*words, "--threads", threads, "--isa", "scalar")
            self.assertRegex(err, rf"(?m)^threads: {threads}, isa: scalar$")
        self.assertRegex(self.writ(*words)[1], rf"(?m)^threads: \d+, isa: {self.score()['isa']}$")

    def test_S1_PinNeedsAProcessorForEachThread(self):
        words = ("run", tiny_package(), "--prompt", "ab", "--max-tokens", "8", "--ignore-end")
        processors = len(os.sched_getaffinity(0))
        self.assertEqual(self.writ(*words, "--pin", "--threads", processors)[0], self.writ(*words)[0])
        _, err = self.writ(*words, "--pin", "--threads", processors + 1, code=1)
        self.assertEqual(err, f"--pin: error: {processors + 1} threads are more than the {processors} processors that "
                              "this process may run on [E051]\nnote: lower --threads, or leave --pin out\n")

    def test_VerifyHashesTheWeightsThatTheStampVouchesFor(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy)
        ids = self.folder() / "ids"
        ids.write_text("1 2 3")
        commands = [("run", copy, "--prompt", "ab", "--max-tokens", "1"), ("score", copy, "--ids", ids)]
        self.writ(*commands[0])  # writes the stamp of this copy
        weights, stamp = copy / "weights.safetensors", copy / ".writ-stamp"
        data = bytearray(weights.read_bytes())
        data[-100] ^= 1
        weights.write_bytes(data)
        # A stamp that vouches for the altered file: only hashing can tell.
        status, text = os.stat(weights), json.loads(stamp.read_text())
        entry, = (each for each in text["files"] if each["file"] == weights.name)
        entry |= {"modified_ns": status.st_mtime_ns, "changed_ns": status.st_ctime_ns}
        stamp.write_text(json.dumps(text, sort_keys=True, separators=(",", ":")) + "\n")
        for command in commands:
            self.writ(*command)
            _, err = self.writ(*command, "--verify", code=1)
            self.assertRegex(err, r"weights\.safetensors has SHA-256 [0-9a-f]{64}, but writ\.lock\.json names "
                                  r"[0-9a-f]{64}; it was altered, compile the model again \[E050\]\n$")


class Text(TestCase):
    def test_AScoreWithoutSpecialTokensReadsThemAsText(self):
        path = self.folder() / "text"
        path.write_text("a<|im_end|>")
        score = lambda *options: json.loads(  # noqa: E731
            self.writ("score", tiny_package(), "--text", path, "--json", *options)[0])["ids"]
        self.assertEqual(len(score()), 2)
        self.assertEqual(score("--no-special"), [3 + byte for byte in b"a<|im_end|>"])

    def test_TokenizeReadsAFileAsItReadsTheText(self):
        path = self.folder() / "text"
        text = "some téxt\r\n with <|im_end|>\n"
        path.write_bytes(text.encode())
        for options in ((), ("--json",), ("--no-special",)):
            self.assertEqual(self.writ("tokenize", tiny_package(), "--file", path, *options),
                             self.writ("tokenize", tiny_package(), "--text", text, *options))


class Digests(TestCase):
    def test_C7_NeedsNamesEveryRecordAndWhyItDoesNotCount(self):
        data = self.data()
        def said():
            return [line.split(None, 2) for line in self.writ("digests", "--needs", "--data", data)[0].splitlines()]
        needs = json.loads(self.writ("digests", "--json", "--data", data)[0])["needs"]
        before = said()
        self.assertEqual(before, [[need["kind"], need["subject"], need["fault"] or "validated"] for need in needs])
        record = data / needs[0]["record"]
        record.unlink()
        changed, = [line for line, was in zip(said(), before, strict=True) if line != was]
        self.assertEqual(changed[:2], before[0][:2])
        self.assertEqual(changed[2], "there is no record")

    def test_C7_WithoutNeedsEachInputHasItsDigest(self):
        circuit = sorted((SOURCE / "circuits").glob("*.json"))[0].stem
        self.assertRegex(self.writ("digests", "--data", SOURCE)[0],
                         rf"\A([0-9a-f]{{64}}  \S+\n)*[0-9a-f]{{64}}  circuit:{circuit}\n([0-9a-f]{{64}}  \S+\n)*\Z")


if __name__ == "__main__":
    main()
