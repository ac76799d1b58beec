"""The tool on processors that have less than this machine: it starts, it runs the scalar bodies, with the same bits.
qemu-user plays the processor."""
import json
import os
import platform
import shutil
import subprocess
import unittest

from harness import WRIT, TestCase, main, package, random_model, tiny_package

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
            out, err = self.on(processor, *score)
            self.assertEqual(err, "writ: note: this processor has none of the instruction sets that the kernels are written "
                                  "for; scalar code gives the same bits, slowly\n")
            there = json.loads(out)
            self.assertEqual(there, {**here, "isa": "scalar", "threads": there["threads"]}, processor)
            self.assertIn("this machine supports 'scalar' at best", self.on(processor, *score, "--isa", "avx2", code=3)[1])

    def test_S4_APackageThatRequiresMoreIsRefused(self):
        self.need_plain_libraries()
        demanding = package(random_model(), "--bringup", "--least-isa", "avx2")
        self.writ("run", demanding, "--prompt", "ab", "--max-tokens", "1")
        for options in ((), ("--isa", "scalar")):
            _, err = self.on("SandyBridge", "run", demanding, "--prompt", "ab", *options, code=3)
            self.assertIn("the package was compiled to run with 'avx2' or more, but this machine supports 'scalar' at best; "
                          "compile the model without --least-isa [E050]\n", err)


if __name__ == "__main__":
    main()
