#!/usr/bin/python3
"""scripts/run-tests must not count as passed what did not pass: C7 says that what is absent is
unresolved. Runs it on hand-written ctest folders with every way in which a test can end."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "run-tests"
SKIP = 'set_tests_properties(s PROPERTIES SKIP_RETURN_CODE "77")\n'


def run(*folders):
    """(exit status, output) of run-tests over folders with these CTestTestfile texts."""
    with tempfile.TemporaryDirectory() as root:
        arguments = []
        for number, text in enumerate(folders):
            folder = pathlib.Path(root) / f"build{number}"
            folder.mkdir()
            (folder / "CTestTestfile.cmake").write_text(text, encoding="utf-8")
            arguments += (["--and"] if arguments else []) + [str(folder)]
        done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True,
                              check=False)  # fmt: skip
        return done.returncode, done.stdout


def run_gate(tests, gate):
    """The same of one folder, through a gate."""
    with tempfile.TemporaryDirectory() as root:
        folder = pathlib.Path(root) / "build0"
        folder.mkdir()
        (folder / "CTestTestfile.cmake").write_text(tests, encoding="utf-8")
        file = pathlib.Path(root) / "gate.txt"
        file.write_text(gate, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, folder, "--gate", file], capture_output=True,
                              text=True, check=False)  # fmt: skip
        return done.returncode, done.stdout or done.stderr


class Gates(unittest.TestCase):
    TESTS = 'add_test(norm.a "true")\nadd_test(rope.b "true")\nadd_test(other "false")\n'

    def test_what_no_topic_selects_does_not_run(self):
        status, out = run_gate(self.TESTS, "# words\n\nnorms | ^norm\nRoPE  | ^rope\n")
        self.assertEqual((status, out.splitlines()[-1]), (0, "2 passed, 0 failed"), out)
        self.assertIn("norms  1 passed\nRoPE   1 passed\n", out)

    def test_a_topic_without_a_test_has_failed(self):
        status, out = run_gate(self.TESTS, "norms | ^norm\nRoPE | ^attention\n")
        self.assertEqual((status, out.splitlines()[-1]), (1, "1 passed, 1 failed"), out)
        self.assertIn("RoPE   0 passed: NOTHING RAN", out)

    def test_a_topic_that_fails_has_failed(self):
        status, out = run_gate(self.TESTS, "norms | ^norm\nall | ^other\n")
        self.assertEqual((status, out.splitlines()[-1]), (1, "1 passed, 2 failed"), out)

    def test_a_topic_whose_tests_are_skipped_has_failed(self):
        status, out = run_gate('add_test(a "true")\nadd_test(s "sh" "-c" "exit 77")\n' + SKIP, "one | a\ntwo | s\n")
        self.assertEqual((status, out.splitlines()[-1]), (1, "1 passed, 1 failed"), out)

    def test_a_gate_without_topics_is_refused(self):
        status, out = run_gate(self.TESTS, "# nothing\n")
        self.assertEqual(status, 1, out)
        self.assertIn("must have topics", out)


class RunTests(unittest.TestCase):
    def ends(self, result, status, last):
        self.assertEqual(result[1].splitlines()[-1], last, result[1])
        self.assertEqual(result[0], status, result[1])

    def test_passes(self):
        self.ends(run('add_test(a "true")\nadd_test(b "true")\n'), 0, "2 passed, 0 failed")

    def test_failure(self):
        self.ends(run('add_test(a "true")\nadd_test(b "false")\n'), 1, "1 passed, 1 failed")

    def test_failure_in_the_first_of_two_folders(self):
        self.ends(run('add_test(a "false")\n', 'add_test(b "true")\n'), 1, "1 passed, 1 failed")

    def test_skipped_is_not_passed(self):
        result = run('add_test(a "true")\nadd_test(s "sh" "-c" "exit 77")\n' + SKIP)
        self.ends(result, 0, "1 passed, 0 failed")
        self.assertIn("skipped  build0: s", result[1])

    def test_only_skipped_is_not_success(self):
        self.ends(run('add_test(s "sh" "-c" "exit 77")\n' + SKIP), 1, "0 passed, 0 failed")

    def test_absent_executable_is_a_failure(self):
        self.ends(run('add_test(a "true")\nadd_test(b "/no/such/program")\n'), 1, "1 passed, 1 failed")

    def test_timeout_is_a_failure(self):
        result = run('add_test(a "true")\nadd_test(b "sleep" "20")\n'
                     'set_tests_properties(b PROPERTIES TIMEOUT "1")\n')  # fmt: skip
        self.ends(result, 1, "1 passed, 1 failed")

    def test_failed_fixture_is_a_failure(self):
        result = run('add_test(a "false")\nadd_test(b "true")\n'
                     'set_tests_properties(a PROPERTIES FIXTURES_SETUP "x")\n'
                     'set_tests_properties(b PROPERTIES FIXTURES_REQUIRED "x")\n')  # fmt: skip
        self.ends(result, 1, "0 passed, 2 failed")

    def test_nothing_to_run_is_a_failure(self):
        self.ends(run("\n"), 1, "0 passed, 1 failed")


if __name__ == "__main__":
    unittest.main()
