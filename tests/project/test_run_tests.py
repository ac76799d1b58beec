#!/usr/bin/python3
"""scripts/run-tests must not count as passed what did not pass: C7 says that what is absent is
unresolved. Runs it on hand-written ctest folders with every way in which a test can end.

usage: test_run_tests.py BATCH_CASES [unittest's arguments]     the program of batch_cases.cpp
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as xml

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "run-tests"
sys.path.insert(0, str(SCRIPT.parent))
import batches  # noqa: E402
import programs  # noqa: E402

SKIP = 'set_tests_properties(s PROPERTIES SKIP_RETURN_CODE "77")\n'


def run(*folders, options=(), environment=None):
    """(exit status, output) of run-tests over folders with these CTestTestfile texts."""
    with tempfile.TemporaryDirectory() as root:
        arguments = []
        for number, text in enumerate(folders):
            folder = pathlib.Path(root) / f"build{number}"
            folder.mkdir()
            (folder / "CTestTestfile.cmake").write_text(text, encoding="utf-8")
            arguments += (["--and"] if arguments else []) + [str(folder)]
        done = subprocess.run([sys.executable, SCRIPT, *arguments, *options], capture_output=True, text=True,
                              env=environment, check=False)  # fmt: skip
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


def registered(*names, properties=""):
    """What gtest_discover_tests writes for tests of the program."""
    return "".join(
        f"add_test([=[{name}]=] {PROGRAM} [==[--gtest_filter={name.split(' ')[0]}]==] --gtest_also_run_disabled_tests)\n"
        f"set_tests_properties([=[{name}]=] PROPERTIES WORKING_DIRECTORY / SKIP_REGULAR_EXPRESSION "
        f"[==[\\[  SKIPPED \\]]==] LABELS some {properties})\n" for name in names)  # fmt: skip


class Together(unittest.TestCase):
    """Tests of one program share a process, and each has its own result."""

    def ends(self, result, status, last):
        self.assertEqual(result[1].splitlines()[-1], last, result[1])
        self.assertEqual(result[0], status, result[1])

    def test_they_share_a_process_and_ctest_runs_the_others(self):
        # This one crashes where another ran before it in its process, which shows that they share one.
        names = ("Ends.Passes", "Ends.PassesToo", "Ends.ZCrashesAfterOthers")
        result = run(registered(*names) + 'add_test(other "true")\n')
        self.ends(result, 1, "3 passed, 1 failed")
        self.assertIn("FAILED Ends.ZCrashesAfterOthers\n[ RUN      ] Ends.ZCrashesAfterOthers\n", result[1])
        self.assertIn("was ended by signal 6; alone, each of these 3 tests passes: Ends.Passes Ends.PassesToo "
                      "Ends.ZCrashesAfterOthers\n", result[1])  # fmt: skip
        self.ends(run(registered(*names), options=["--alone"]), 0, "3 passed, 0 failed")

    def test_a_skipped_one_is_not_passed(self):
        result = run(registered("Ends.Passes", "Ends.Skips"))
        self.ends(result, 0, "1 passed, 0 failed")
        self.assertIn("skipped  build0: Ends.Skips\n", result[1])

    def test_what_a_failing_one_said_is_shown(self):
        result = run(registered("Ends.PassesToo", "Ends.Fails"))
        self.ends(result, 1, "1 passed, 1 failed")
        self.assertIn("failed  build0: Ends.Fails\n", result[1])
        for part in ("said on standard output", "said on standard error", "the reason"):
            self.assertIn(part, result[1])
        self.assertNotIn("process ", result[1], "what the other said")

    def test_a_crash_is_the_fault_of_its_test(self):
        for fault in ("Crashes", "ExitsWithoutAWord", "LeavesAFaultForTheExit"):
            with self.subTest(fault=fault):
                result = run(registered("Ends.Passes", f"Ends.{fault}", "Ends.PassesToo", "Ends.Skips"))
                self.ends(result, 1, "2 passed, 1 failed")
                self.assertIn(f"failed  build0: Ends.{fault}\n", result[1])
                self.assertIn("skipped  build0: Ends.Skips\n", result[1])
        self.assertIn("batch_cases ended with status 23\n", result[1])

    def test_one_that_the_program_does_not_have_has_failed(self):
        result = run(registered("Ends.Passes", "Ends.Renamed"))
        self.ends(result, 1, "1 passed, 1 failed")
        self.assertIn("FAILED Ends.Renamed\nbatch_cases has no such test", result[1])

    def test_a_program_that_is_absent_is_a_failure_of_each(self):
        result = run(registered("Ends.Passes", "Ends.PassesToo").replace(PROGRAM, "/no/such/program"))
        self.ends(result, 1, "0 passed, 2 failed")

    def test_one_that_does_not_end_is_killed_and_has_failed(self):
        names = ["Ends.Hangs", "Ends.Passes"]
        program = programs.Program(programs.GoogleTest, (PROGRAM,), "/", ())
        with unittest.mock.patch.object(batches, "LIMIT_S", 0.5):
            results = batches.run_batch(program, names)
        self.assertEqual([results[name].status for name in names], ["fail", "run"])
        self.assertIn("batch_cases did not end in 0.5 s\n", results["Ends.Hangs"].output)

    def test_a_batch_is_no_longer_than_its_tests_may_take_together(self):
        tests = [{"command": [PROGRAM, f"--gtest_filter=A.{i}", "--gtest_also_run_disabled_tests"]} for i in range(450)]
        self.assertEqual([len(names) for _, names in batches.batches_of(tests)], [200, 200, 50])
        took = {"A.0": 2 * batches.LONG_S, "A.3": batches.LONG_S - 1, "A.4": 2}
        parts = [names for _, names in batches.batches_of(tests[:6], lambda _, name: took.get(name, 0))]
        self.assertEqual(parts, [["A.0"], ["A.1", "A.2", "A.3"], ["A.4", "A.5"]])
        shares = [len(names) for _, names in batches.batches_of(tests[:80], lambda *_: batches.LONG_S)]
        self.assertEqual(shares, [2] * 40)

    def test_parameters_keep_their_names(self):
        names = [f"All/Parameters.AreOdd/{i}  # GetParam() = {i + 1}" for i in range(3)]
        result = run(registered(*names))
        self.ends(result, 1, "2 passed, 1 failed")
        self.assertIn(f"failed  build0: {names[1]}\n", result[1])

    def test_the_environment_is_that_of_ctest(self):
        said = registered("Ends.ZReadsTheEnvironment", properties='ENVIRONMENT "SAID=two words"')
        self.ends(run(said, environment=os.environ | {"GTEST_REPEAT": "2"}), 0, "1 passed, 0 failed")
        self.ends(run(said.replace("two words", "another")), 1, "0 passed, 1 failed")

    def test_one_with_another_property_is_run_by_ctest(self):
        names = ("Ends.Passes", "Ends.ZCrashesAfterOthers")
        for properties in ("RUN_SERIAL ON", "RESOURCE_LOCK x", "TIMEOUT 60"):
            result = run(registered(*names, properties=properties))
            self.ends(result, 0, "2 passed, 0 failed")
        self.ends(run(registered("Ends.Fails", properties="WILL_FAIL ON")), 0, "1 passed, 0 failed")

    def test_only_what_is_selected_runs(self):
        every = registered("Ends.Passes", "Ends.Fails", "Ends.PassesToo")
        self.ends(run(every, options=["-R", "Passes$"]), 0, "1 passed, 0 failed")
        self.ends(run(every, options=["-E", "Fails"]), 0, "2 passed, 0 failed")
        self.ends(run(every, options=["-LE", "some"]), 1, "0 passed, 1 failed")
        self.ends(run(every, options=["-R", "Passes", "--repeat", "until-pass:2"]), 0, "2 passed, 0 failed")
        self.assertEqual(run_gate(every, "one | Passes$\n")[1].splitlines()[-1], "1 passed, 0 failed")

    def test_one_that_is_selected_and_has_no_result_has_failed(self):
        loader = importlib.machinery.SourceFileLoader("run_tests", str(SCRIPT))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
        loader.exec_module(module)

        def lose(tests, before, beside):
            beside()
            return {}

        module.run_batches = lose
        with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()) as out:
            (pathlib.Path(root) / "CTestTestfile.cmake").write_text(registered("Ends.Passes"), encoding="utf-8")
            tally = module.Tally()
            module.run([[root]], tally)
            self.assertEqual(tally.report(), 1)
        self.assertIn("FAILED Ends.Passes\nit was selected and has no result\n", out.getvalue())

    def test_what_needs_the_machine_runs_before(self):
        for properties in ("", "RUN_SERIAL ON"):
            other = f'add_test(other "true")\nset_tests_properties(other PROPERTIES LABELS some {properties})\n'
            result = run(registered("Ends.Passes") + other)
            self.ends(result, 0, "2 passed, 0 failed")
            self.assertEqual(" -j2 " in result[1], bool(properties), result[1])
            if properties:
                self.assertLess(result[1].index(" Passed "), result[1].index("batch_cases: 1 passed"))

    def test_folders_share_the_workers_and_each_has_its_record(self):
        names = ("Ends.Passes", "Ends.Fails")
        with tempfile.TemporaryDirectory() as root:
            folders = [pathlib.Path(root) / name for name in ("one", "two")]
            second = registered(names[0], properties='ENVIRONMENT "OF=two"') + 'add_test(other "true")\n'
            for folder, text in zip(folders, (registered(*names), second)):
                folder.mkdir()
                (folder / "CTestTestfile.cmake").write_text(text, encoding="utf-8")
            # A folder may be there twice, with different tests.
            parts = [str(folders[0]), "-R", "Fails", "--and", str(folders[1]), "--and", str(folders[0]), "-R", "Passes"]
            said = subprocess.run([sys.executable, SCRIPT, *parts], capture_output=True, text=True, check=False).stdout
            self.assertEqual(said.splitlines()[-2:], ["failed  one: Ends.Fails", "3 passed, 1 failed"], said)
            self.assertIn(" 2/2  batch_cases: ", said)
            cases = xml.parse(folders[1] / "junit.xml").getroot().findall("testcase")
            self.assertEqual({case.get("name") for case in cases}, {"Ends.Passes", "other"})

    def test_each_has_one_result_in_the_record(self):
        with tempfile.TemporaryDirectory() as root:
            tests = registered("Ends.Passes", "Ends.Fails", "Ends.Skips", "Ends.Crashes") + 'add_test(other "true")\n'
            (pathlib.Path(root) / "CTestTestfile.cmake").write_text(tests, encoding="utf-8")
            subprocess.run([sys.executable, SCRIPT, root], capture_output=True, check=False)
            cases = xml.parse(pathlib.Path(root) / "junit.xml").getroot().findall("testcase")
            self.assertEqual({case.get("name"): case.get("status") for case in cases},
                             {"Ends.Passes": "run", "Ends.Fails": "fail", "Ends.Skips": "notrun",
                              "Ends.Crashes": "fail", "other": "run"})  # fmt: skip
            self.assertEqual(len(cases), 5)


CASES = pathlib.Path(__file__).with_name("unittest_cases.py")


def registered_of_python(*names, properties=""):
    """What writ_python_tests writes for methods of the class Ends, or of another that a name has."""
    text = ""
    for name in names:
        method = ".test_".join(("Ends." + name).split(".")[-2:])
        text += (f"add_test({name} {sys.executable} -B {CASES} {method})\n"
                 f"set_tests_properties({name} PROPERTIES LABELS some SKIP_RETURN_CODE 77 {properties})\n")  # fmt: skip
    return text


class TogetherInPython(unittest.TestCase):
    """The same of tests of one file of Python's unittest."""

    ends = Together.ends

    def test_they_share_a_process_and_can_run_alone(self):
        names = ("Passes", "PassesToo", "ZCrashesAfterOthers")
        result = run(registered_of_python(*names) + 'add_test(other "true")\n')
        self.ends(result, 1, "3 passed, 1 failed")
        self.assertIn("FAILED Ends.test_ZCrashesAfterOthers\n[ RUN      ] Ends.test_ZCrashesAfterOthers\n", result[1])
        self.assertIn("was ended by signal 6; alone, each of these 3 tests passes: ", result[1])
        self.ends(run(registered_of_python(*names), options=["--alone"]), 0, "3 passed, 0 failed")

    def test_skipped_ones_are_not_passed(self):
        result = run(registered_of_python("Passes", "Skips"))
        self.ends(result, 0, "1 passed, 0 failed")
        self.assertIn("skipped  build0: Skips\n", result[1])
        self.ends(run(registered_of_python("Skips")), 1, "0 passed, 0 failed")

    def test_what_a_failing_one_said_is_shown(self):
        result = run(registered_of_python("PassesToo", "Fails", "FailsInAPart", "Broken.Passes"))
        self.ends(result, 1, "1 passed, 3 failed")
        for part in ("said by Python", "said by a child", "the reason", "part='a part'", "no fixture"):
            self.assertIn(part, result[1])
        self.assertNotIn("process ", result[1], "what the other said")

    def test_a_crash_is_the_fault_of_its_test(self):
        for fault in ("Crashes", "ExitsWithoutAWord"):
            with self.subTest(fault=fault):
                result = run(registered_of_python("Passes", fault, "PassesToo", "Skips"))
                self.ends(result, 1, "2 passed, 1 failed")
                self.assertIn(f"failed  build0: {fault}\n", result[1])
                self.assertIn("skipped  build0: Skips\n", result[1])

    def test_one_that_the_file_does_not_have_has_failed(self):
        result = run(registered_of_python("Passes", "Renamed"))
        self.ends(result, 1, "1 passed, 1 failed")
        self.assertIn("has no attribute 'test_Renamed'", result[1])

    def test_a_file_that_is_absent_is_a_failure_of_each(self):
        result = run(registered_of_python("Passes", "PassesToo").replace(CASES.name, "absent.py"))
        self.ends(result, 1, "0 passed, 2 failed")

    def test_the_environment_and_other_properties_are_those_of_ctest(self):
        said = registered_of_python("ZReadsTheEnvironment", properties='ENVIRONMENT "SAID=two words"')
        self.ends(run(said), 0, "1 passed, 0 failed")
        self.ends(run(said.replace("two words", "another")), 1, "0 passed, 1 failed")
        names = ("Passes", "ZCrashesAfterOthers")
        self.ends(run(registered_of_python(*names, properties="TIMEOUT 60")), 0, "2 passed, 0 failed")
        self.ends(run(registered_of_python("Fails", properties="WILL_FAIL ON")), 0, "1 passed, 0 failed")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
