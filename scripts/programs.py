"""Programs that hold many tests, of which scripts/batches.py runs some in one process.

A kind of program says which of ctest's tests are its own, how one process runs several of them, and how many. Of both
kinds a process writes GoogleTest's XML and prints GoogleTest's lines where a test begins and ends.
"""

import dataclasses
import pathlib
import re

# What a registration may say beside its kind's own properties. A test with any other (a lock, a time limit, a
# fixture) is ctest's.
ALIKE = {"WORKING_DIRECTORY", "ENVIRONMENT", "LABELS"}


class GoogleTest:
    """As gtest_discover_tests registers them."""

    # A part of a program, not the whole: several workers share it, and little is run again after a crash. Not too few:
    # tests that stand together share what they compute.
    SIZE = 200
    USUAL_S = 0.02  # what a test takes that was never timed
    PROPERTIES = {"SKIP_REGULAR_EXPRESSION": [r"\[  SKIPPED \]"]}
    FILTER = re.compile(r"--gtest_filter=([\w/.]+)")

    @classmethod
    def split(cls, command):
        """(the program's words, the test's name), or None."""
        found = cls.FILTER.fullmatch(command[-2]) if len(command) > 2 else None
        return (command[:-2], found[1]) if found and command[-1] == "--gtest_also_run_disabled_tests" else None

    @staticmethod
    def words(names, flags, report):
        """What follows the program's words; `flags` is a file that this may write."""
        flags.write_text("--gtest_filter=" + ":".join(names) + "\n")
        return [f"--gtest_flagfile={flags}", f"--gtest_output=xml:{report}", "--gtest_color=no",
                "--gtest_also_run_disabled_tests"]  # fmt: skip


class Unittest:
    """Python's, as tests/e2e/PythonTests.cmake registers them; tests/e2e/harness.py runs several."""

    SIZE = 12
    USUAL_S = 1
    PROPERTIES = {"SKIP_RETURN_CODE": 77}
    NAME = re.compile(r"\w+\.test_\w+")

    @classmethod
    def split(cls, command):
        is_one = len(command) == 4 and command[1] == "-B" and command[2].endswith(".py") and cls.NAME.fullmatch(command[3])
        return (command[:3], command[3]) if is_one else None

    @staticmethod
    def words(names, flags, report):
        flags.write_text("".join(f"{name}\n" for name in names))
        return ["--together", str(flags), str(report)]


@dataclasses.dataclass(frozen=True)
class Program:
    """What tests have in common that one process can run."""

    kind: type
    command: tuple
    folder: str
    environment: tuple

    def name(self):
        return pathlib.Path(self.command[-1]).name


def program_of(test):
    """(program, its name of the test) for a test of ctest's listing, or None where ctest has to run it."""
    properties = {each["name"]: each["value"] for each in test.get("properties", [])}
    for kind in (GoogleTest, Unittest):
        found = kind.split(test.get("command", []))
        if (found and properties.keys() <= ALIKE | kind.PROPERTIES.keys()
                and all(properties.get(key, value) == value for key, value in kind.PROPERTIES.items())):  # fmt: skip
            return Program(kind, tuple(found[0]), properties.get("WORKING_DIRECTORY", "."),
                           tuple(properties.get("ENVIRONMENT", ()))), found[1]  # fmt: skip
    return None
