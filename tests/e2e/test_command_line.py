"""The command line: what each option takes, where usage ends and refusal begins, and what the user is told."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import termios
import time

import harness
from harness import SOURCE, WRIT, TestCase, damage, random_model, tiny_package

RUN = ("--prompt", "ab", "--ignore-end")


class Values(TestCase):
    def usage(self, expected, *words):
        """The command line alone is wrong: exit code 2, nothing on standard output, this text."""
        out, err = self.writ(*words, code=2)
        self.assertEqual(out, "")
        self.assertEqual(err, expected)

    def test_ANumberThatItsOptionDoesNotTakeIsUsage(self):
        whole, tokens = "a whole number, 0 or more", "a whole number of tokens, 1 or more"
        beyond = "beyond what can be represented, expected "
        for option, text, said in (
                ("--max-tokens", "-1", f"not {whole}"), ("--max-tokens", "1.5", f"not {whole}"),
                ("--max-tokens", "9223372036854775808", beyond + whole),
                ("--seed", "-1", "not a whole number from 0 to 2^64 - 1"),
                ("--seed", "18446744073709551616", beyond + "a whole number from 0 to 2^64 - 1"),
                ("--top-k", "99999999999999999999", beyond + whole), ("--top-k", "-1", f"not {whole}"),
                ("--ctx", "0", f"not {tokens}"), ("--chunk", "0", f"not {tokens}, or 'whole'"),
                ("--chunk", "half", f"not {tokens}, or 'whole'"),
                ("--threads", "0", "not a whole number from 1 to 1024"),
                ("--threads", "1025", "not a whole number from 1 to 1024"),
                ("--top-p", "1.5", "not a number above 0, at most 1"),
                ("--top-p", "0", "not a number above 0, at most 1"),
                ("--top-p", "nan", "not a number above 0, at most 1"),
                ("--min-p", "-0.5", "not a number from 0 to 1"),
                ("--temperature", "-1", "not a number, 0 or more"),
                ("--temperature", "inf", "not a number, 0 or more"),
                ("--repeat-penalty", "0", "not a number above 0")):
            with self.subTest(option=option, text=text):
                self.usage(f"{option}: error: '{text}' is {said} [E051]\n", "run", "no such target", option, text)

    def test_TheLargestValuesAreTaken(self):
        # The end of the text decides, so that it ends early although all may be used.
        words = ("run", tiny_package(), "--prompt", "ab", "--ctx", "4", "--ignore-end")
        expected = self.writ(*words)[0]
        for option, text in (("--max-tokens", str(2**63 - 1)), ("--seed", str(2**64 - 1)), ("--top-k", str(2**63 - 1)),
                             ("--chunk", str(10**8))):
            self.assertEqual(self.writ(*words, option, text)[0], expected, option)

    def test_OtherUsageErrorsNameTheOption(self):
        self.usage("--isa: error: 'sse9' is not an instruction set [E051]\nnote: known: scalar, avx2, avx512, neon, dotprod, avx512bf16\n",
                   "run", "x", "--isa", "sse9")
        self.usage("--stop: error: the text is empty; a generation ends at some text [E051]\n", "run", "x", "--stop", "")
        self.usage("--output: error: a package needs a folder; name one with -o [E051]\n", "compile", "x")
        self.usage("--system: error: a system message needs --chat [E051]\n", "run", tiny_package(), "--prompt", "ab",
                   "--system", "s")

    def test_WhatCannotBeReadPointsToTheHelp(self):
        self.usage("writ: error: the following argument was not expected: --no-such-option [E054]\n"
                   "note: `writ run --help` shows what can stand here\n", "run", "x", "--no-such-option")
        self.usage("writ: error: a subcommand is required [E054]\nnote: `writ --help` shows what can stand here\n")

    def test_EachStopTakesOneText(self):
        whole = self.writ("run", tiny_package(), *RUN, "--max-tokens", "24")[0]
        for stops in ((whole[3:5],), (whole[3:5], "no such text"), ("no such text", whole[3:5])):
            words = [word for stop in stops for word in ("--stop", stop)]
            out, _ = self.writ("run", *words, tiny_package(), *RUN, "--max-tokens", "24")
            self.assertEqual(out.rstrip("\n"), whole[:whole.index(whole[3:5])])

    def test_WhatDoesNotFitTheFilesIsRefused(self):
        plan, _ = self.writ("compile", random_model(), "--bringup", "--dry-run")
        context = re.search(r"context length +(\d+) tokens", plan)[1]
        _, err = self.writ("run", tiny_package(), *RUN, "--ctx", "999999999", code=1)
        self.assertEqual(err, f"--ctx: error: 999999999 tokens are more than the model's context of {context} [E051]\n")
        _, err = self.writ("run", tiny_package(), "--ctx", "16", "--prompt", "x" * 40, code=1)
        self.assertEqual(err, "--ctx: error: 40 tokens do not fit into a context of 16 [E051]\n"
                              f"note: the model's context is {context}\n")
        _, err = self.writ("compile", random_model(), "--bringup", "--target", "bogus", "--dry-run", code=1)
        self.assertEqual(err.split("\n", 1)[1], "--target: error: 'bogus' is not a target [E051]\nnote: targets: 'cpu'\n")

    def test_IdsAreAListOrNumbersAndNothingElse(self):
        path = self.folder() / "ids"
        for text in ("[3, 4, 5]", "3 4 5", "3,4,5\n", " 3\n4 ,\t5 ", "[3,4\n,5]\n"):
            path.write_text(text)
            self.assertEqual(json.loads(self.writ("score", tiny_package(), "--ids", path, "--json")[0])["ids"],
                             [3, 4, 5], text)
        for text, said in (("[[1,2", "a token id at byte 1, got '[1,2'"), ("[[1]],,,", "a token id at byte 1, got '[1]],,,'"),
                           ("[1,2", "',' or ']' at byte 4, got the end"), ("[1 2]", "',' or ']' at byte 3, got '2]'"),
                           ("[1,]", "a token id at byte 3, got ']'"), ("1,,2", "a token id at byte 2, got ',2'"),
                           ("1,", "a token id at byte 2, got the end"), ("[1] 2", "the end at byte 4, got '2'"),
                           ("1x", "white space or ',' at byte 1, got 'x'"), ("1.5", "white space or ',' at byte 1, got '.5'"),
                           ("9999999999", "a token id at byte 0, got '9999999999'")):
            path.write_text(text)
            _, err = self.writ("score", tiny_package(), "--ids", path, code=1)
            self.assertEqual(err, f"{path}: error: expected {said} [E051]\n", text)


class Targets(TestCase):
    def test_ACompileOptionBesideAPackageIsRefused(self):
        for option in (("--profile", "f32"), ("--target", "cpu"), ("--data", str(SOURCE)), ("--cxx", "g++"), ("--kv", "f32"), ("--bringup",)):
            for command in (("run", tiny_package(), "--prompt", "ab"), ("score", tiny_package(), "--ids", os.devnull),
                            ("bench", tiny_package())):
                _, err = self.writ(*command, *option, code=1)
                self.assertEqual(err, f"{option[0]}: error: '{tiny_package()}' is a package, whose compilation is done "
                                      "[E051]\nnote: leave the option out, or name the model file\n")

    def test_APackageIsNotTakenForAModelFile(self):
        for words in (("inspect",), ("compile", "-o", self.folder() / "out")):
            _, err = self.writ(words[0], tiny_package(), *words[1:], code=1)
            self.assertIn(f"{tiny_package()}: error: a package, where a model file is wanted [E020]\n"
                          "note: run, score, tokenize and explain take a package\n", err)

    def test_ExplainNamesTheCircuitsFileAndWhereTheOpsAreListed(self):
        out, _ = self.writ("explain", tiny_package(), "blk.0.attn_q")
        line = int(re.search(r"'linear' at circuits/llama\.json:(\d+)$", out, re.M)[1])
        self.assertIn('"attn_q"', (SOURCE / "circuits" / "llama.json").read_text().splitlines()[line - 1])
        _, err = self.writ("explain", tiny_package(), "qqqqqqqqqqqqqqqqqqqqqqqq", code=1)
        self.assertEqual(err, f"{tiny_package()}: error: there is no op 'qqqqqqqqqqqqqqqqqqqqqqqq' [E051]\n"
                              f"note: `writ explain {tiny_package()}` lists the ops\n")

    def test_ForeignNamesDoNotReachTheTerminal(self):
        path = self.folder() / "other.gguf"
        data = random_model().read_bytes()
        key = b"general.architecture\x08\0\0\0\x05\0\0\0\0\0\0\0llama"
        self.assertIn(key, data)
        path.write_bytes(data.replace(key, key[:-5] + b"\x1b[31m"))
        _, err = self.writ("compile", path, "--bringup", "--dry-run", code=1)
        self.assertIn(f"{path}: error: no circuit fits architecture '\\x1b[31m' [E030]\n", err)
        self.assertNotIn("\x1b", err)

    def test_AnArchitectureThatIsNoStringIsNotCalledMissing(self):
        model = random_model("--set", "general.architecture=7")
        _, err = self.writ("compile", model, "--bringup", "--dry-run", code=1)
        self.assertIn(f"{model}: error: metadata key 'general.architecture' is u32, not a string; no circuit fits [E030]\n",
                      err)


class Telling(TestCase):
    def test_ALongPromptAndAScoreShowHowFarTheyAre(self):
        prompt = self.folder() / "prompt"
        prompt.write_text("The quick brown fox. " * 20)
        run = ("run", tiny_package(), "--prompt-file", prompt, "--max-tokens", "4")
        score = ("score", tiny_package(), "--text", prompt)
        # In one step, which may take long, as in many.
        for words, what in ((run, "reading the prompt"), (score, "scoring"),
                            (run + ("--chunk", "8"), "reading the prompt"), (score + ("--chunk", "8"), "scoring")):
            out, said = self.on_terminal(*words)
            self.assertRegex(said, rf"\rwrit: {what}: \d+ %")
            self.assertTrue(said.endswith("\r\x1b[K"), f"the line is cleared: {said!r}")
            plain, err = self.writ(*words)
            self.assertEqual(plain, out)
            self.assertEqual(err, "", "nothing where it is no terminal")

    def test_ACompileShowsHowFarThePackingIs(self):
        _, said = self.on_terminal("compile", random_model(), "--bringup", "--no-build", "-o", self.folder() / "p")
        self.assertRegex(said, r"\rwrit: packing [0-9.]+ MB of weights: \d+ %")
        self.assertRegex(said, r"\x1b\[Kwrit: packing [0-9.]+ MB of weights \([0-9.]+ s\)")

    def test_TheStatisticsCountTheWholePrompt(self):
        _, err = self.writ("run", tiny_package(), "--prompt", "x" * 41, "--chunk", "8", "--max-tokens", "1", "--stats")
        self.assertIn("prefill: 41 tokens", err)

    def test_ATextThatEndsAtTheContextSaysSo(self):
        out, err = self.writ("run", tiny_package(), *RUN, "--ctx", "3", "--max-tokens", "9")
        self.assertEqual(err, "writ: note: the text ends because the context of 3 tokens is full; raise --ctx\n")
        self.assertEqual(self.writ("run", tiny_package(), *RUN, "--ctx", "3", "--max-tokens", "2"), (out, ""),
                         "no word where all that was asked for fits")

    def test_HashingAModelFileShowsHowFarItIs(self):
        model = self.folder() / "zeros.gguf"
        with open(model, "wb") as file:
            file.truncate(4 << 20)
        _, said = self.on_terminal("run", model, *RUN, code=1)
        self.assertIn("hashing zeros.gguf: ", said)

    def test_CtrlCActsInsideAStep(self):
        prompt = self.folder() / "prompt"
        prompt.write_text("The quick brown fox. " * 20)
        for words in (("run", tiny_package(), "--prompt-file", prompt), ("score", tiny_package(), "--text", prompt)):
            terminal, end = pty.openpty()
            termios.tcflow(end, termios.TCOOFF)  # who shows progress waits
            process = subprocess.Popen([WRIT, *map(str, words), "--chunk", "whole", "--threads", "1"],
                                       stdout=subprocess.PIPE, stderr=end)
            wait_until_writing(process, 2)  # after the first kernel of the only step
            process.send_signal(signal.SIGINT)
            termios.tcflow(end, termios.TCOON)
            self.assertEqual((process.communicate()[0], process.returncode), (b"", 130), words)
            os.close(end)
            os.close(terminal)


def wait_until_writing(process, descriptor):
    """Until the process waits in write() to a descriptor."""
    while process.poll() is None:
        with open(f"/proc/{process.pid}/syscall") as file:
            if file.read().split()[:2] == ["1", hex(descriptor)]:
                return
        time.sleep(0.01)
    raise AssertionError("the tool ended, and wrote nothing")


class Demo(TestCase):
    def test_ItPrintsItsCommandsAsAReaderTypesThem(self):
        function = "source <(sed -n '/^show()/,/^}/p' scripts/demo); show true a.b 'What is gravity?' \"it's\" ''"
        said = subprocess.run(["bash", "-c", function], cwd=SOURCE, check=True, capture_output=True, text=True).stderr
        self.assertEqual(said, "\n$ true a.b 'What is gravity?' 'it'\\''s' ''\n")
        self.assertIn("--chat 'What is gravity?' ", (SOURCE / "README.md").read_text())

    def test_ItBuildsTheToolAlone(self):
        said = subprocess.run(["make", "-n", "demo"], cwd=SOURCE, check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"cmake --build --preset default .*--target writ writ_runtime\n")


class Cache(TestCase):
    def test_ADamagedPackageInTheCacheIsCompiledAnew(self):
        folder = self.folder()
        env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        words = ("run", random_model(), "--bringup", "--prompt", "ab", "--max-tokens", "3", "--ignore-end")
        expected, _ = self.writ(*words, env=env)
        package, = (folder / ".cache" / "writ" / "packages").iterdir()
        damage(package / "tokenizer.bin")
        out, err = self.writ(*words, env=env)
        self.assertEqual(out, expected)
        self.assertIn("writ: warning: the cached package is damaged and is compiled anew: ", err)
        self.assertIn("tokenizer.bin", err)
        self.assertEqual(self.writ(*words, env=env), (expected, ""))
        # Without its lock the folder is no package at all.
        (package / "writ.lock.json").unlink()
        self.assertEqual(self.writ(*words, env=env)[0], expected)

    def test_ADamagedPackageOfTheUsersIsRefused(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy)
        damage(copy / "tokenizer.bin")
        _, err = self.writ("run", copy, "--prompt", "ab", code=1)
        self.assertIn("[E050]", err)


if __name__ == "__main__":
    harness.main()
