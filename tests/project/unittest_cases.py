"""Every way in which a test of Python's unittest can end, for test_run_tests.py. They are no tests of the project."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402

runs = 0  # tests of this process that have begun


class Ends(unittest.TestCase):
    def setUp(self):
        global runs
        runs += 1

    def test_Passes(self):
        pass

    def test_PassesToo(self):
        print("process", os.getpid())

    def test_Skips(self):
        self.skipTest("what it needs is absent")

    def test_Fails(self):
        print("said by Python")
        subprocess.run(["echo", "said by a child"], check=True)
        self.assertEqual(1, 2, "the reason")

    def test_FailsInAPart(self):
        with self.subTest(part="a part"):
            self.fail("the reason")

    def test_Crashes(self):
        print("said before the crash", flush=True)
        os.abort()

    def test_ExitsWithoutAWord(self):
        os._exit(0)

    def test_ZCrashesAfterOthers(self):
        if runs > 1:
            os.abort()

    def test_ZReadsTheEnvironment(self):
        self.assertEqual(os.environ.get("SAID"), "two words")


class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise OSError("no fixture")

    def test_Passes(self):
        pass


if __name__ == "__main__":
    harness.main()
