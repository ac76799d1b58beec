"""Standard input, output and error: a result that is lost is a failure, and nothing takes a closed stream's place."""
import os
import signal
import subprocess
import time

import harness
from harness import WRIT, TestCase, random_model, tiny_package


def close(descriptor):
    return lambda: os.close(descriptor)


class StandardOutput(TestCase):
    """Every command that prints, with standard output on a full device and closed."""

    def commands(self):
        ids = self.folder() / "ids"
        ids.write_text("3 4 5")
        model, package = random_model(), tiny_package()
        return [("--version",), ("--help",), ("run", "--help"), ("inspect", model), ("inspect", model, "--json"),
                ("explain", package), ("explain", package, "blk.0.attn_q"), ("tokenize", model, "--text", "ab"),
                ("tokenize", model, "--ids", "3 4"), ("tokenize", model, "--text", "ab", "--json"),
                ("score", package, "--ids", ids), ("score", package, "--ids", ids, "--json"),
                ("bench", package, "-p", "4", "-n", "0"), ("bench", package, "-p", "4", "-n", "0", "--json"),
                ("run", package, "--prompt", "ab", "--max-tokens", "4", "--ignore-end"),
                ("compile", model, "--bringup", "--dry-run"), ("cache",), ("cache", "--json"), ("digests",),
                ("diff", package, package), ("diff", package, package, "--json"), ("verify", package)]

    def start(self, words, stdout, **options):
        return subprocess.run([WRIT, *map(str, words)], stdout=stdout, stderr=subprocess.PIPE, **options)

    def test_AFullDeviceIsAnErrorOfEveryCommand(self):
        for words in self.commands():
            with open("/dev/full", "wb") as full:
                result = self.start(words, full)
            self.assertEqual(result.returncode, 3, words)
            self.assertIn(b"standard output: error: cannot be written: No space left on device [E002]\n",
                          result.stderr, words)

    def test_AClosedStandardOutputIsAnErrorOfEveryCommand(self):
        for words in self.commands():
            result = self.start(words, None, preexec_fn=close(1))
            self.assertEqual(result.returncode, 3, words)
            self.assertIn(b"standard output: error: cannot be written: Bad file descriptor [E002]\n",
                          result.stderr, words)

    def test_AClosedStandardErrorIsNotAFileOfThePackage(self):
        out = self.folder() / "package"
        words = [WRIT, "compile", random_model(), "--bringup", "--no-build", "-o", out]
        result = subprocess.run(words, stdout=subprocess.PIPE, preexec_fn=close(2))
        self.assertEqual(result.returncode, 0)
        self.assertFalse([p for p in out.rglob("*") if p.is_file() and b"writ: " in p.read_bytes()],
                         "progress was written into a file")

    def test_AClosedPipeEndsTheToolAsItEndsOthers(self):
        words = ("run", tiny_package(), "--ignore-end", "--prompt", "ab", "--max-tokens", "4")
        for ignored, code in ((False, -signal.SIGPIPE), (True, 3)):
            reading, writing = os.pipe()
            os.close(reading)
            result = self.start(words, writing, restore_signals=not ignored)
            os.close(writing)
            self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(b"standard output: error: cannot be written: Broken pipe [E002]\n", result.stderr)


class StandardInput(TestCase):
    def test_CtrlCWhileThePromptIsReadEndsTheTool(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen([WRIT, "run", tiny_package()], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                process.stdin.write(b"some text")
                process.stdin.flush()
                wait_until_blocked(process)
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), 130)
                self.assertEqual(process.stderr.read(), b"\nwrit: interrupted\n")

    def test_AClosedStandardInputIsAnError(self):
        result = subprocess.run([WRIT, "run", tiny_package()], capture_output=True, preexec_fn=close(0))
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"standard input: error: cannot be read: Bad file descriptor [E001]\n", result.stderr)


def wait_until_blocked(process):
    """Until the process waits in read() of its standard input (a pipe)."""
    for _ in range(600):
        with open(f"/proc/{process.pid}/syscall") as file:
            words = file.read().split()
        if words[:2] == ["0", "0x0"]:  # read, descriptor 0
            return
        time.sleep(0.05)
    raise AssertionError("the tool does not read its standard input")


if __name__ == "__main__":
    harness.main()
