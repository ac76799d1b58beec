"""The tool on processors that have less than this machine: it starts, it runs the scalar bodies, with the same bits.
qemu-user plays the processor."""
import json
import os
import platform
import shutil
import subprocess
import unittest

from harness import WRIT, TestCase, main, tiny_package

EMULATOR = "qemu-x86_64"
# SSE4.2 alone; AVX without AVX2.
PROCESSORS = ("Nehalem", "SandyBridge")
IDS = [3 + ord(c) for c in "hello world"]


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which(EMULATOR), f"no {EMULATOR}: run scripts/setup")
class OldProcessor(TestCase):
    def on(self, processor, *words, code=0):
        """(stdout, stderr) of the tool on that processor."""
        done = subprocess.run([EMULATOR, "-cpu", processor, WRIT, *map(str, words)], capture_output=True, text=True,
                              env=os.environ)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        # What the emulator itself lacks of the processor.
        return done.stdout, "".join(line for line in done.stderr.splitlines(True) if not line.startswith(EMULATOR))

    def test_S4_ItStartsAndScoresWithTheSameBits(self):
        self.need_plain_libraries()
        ids = self.folder() / "ids.json"
        ids.write_text(json.dumps(IDS))
        score = ("score", tiny_package(), "--ids", ids, "--json")
        here = json.loads(self.writ(*score)[0])
        for processor in PROCESSORS:
            self.assertTrue(self.on(processor, "--version")[0].startswith("writ "), processor)
            there = json.loads(self.on(processor, *score)[0])
            self.assertEqual(there, {**here, "isa": "scalar", "threads": there["threads"]}, processor)
            self.assertIn("this machine supports 'scalar' at best", self.on(processor, *score, "--isa", "avx2", code=3)[1])


if __name__ == "__main__":
    main()
