"""What scripts/run-tests runs together: tests of one GoogleTest program in one process.

ctest starts a process for each test. A program of two thousand small tests then loads its libraries and reads its
data two thousand times, which takes longer than the tests. A batch is a part of a program's tests, all registered
alike; the program runs them in one process and its XML says how each of them ended.

Nothing is lost by it. A program that ends in another way than GoogleTest ends (a signal, a sanitizer's status, no
XML) has its batch run again, one test in each process: that names the test that is at fault. Where each passes
alone, the one that was running fails: it fails after others. A test that is registered and not in the program fails.
"""

import collections
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml

# A part of a program, not the whole: several workers share it, and little is run again after a crash. Not too few:
# tests that stand together share what they compute.
SIZE = 200
LIMIT_S = 1500  # of one process: ctest's own, against what hangs
# What gtest_discover_tests sets. A test with any other property (a lock, a time limit, a fixture) is ctest's.
ALIKE = {"WORKING_DIRECTORY", "ENVIRONMENT", "LABELS", "SKIP_REGULAR_EXPRESSION"}
SKIP = [r"\[  SKIPPED \]"]
FILTER = re.compile(r"--gtest_filter=([\w/.]+)")


@dataclasses.dataclass(frozen=True)
class Program:
    """What tests have in common that one process can run."""

    command: tuple
    folder: str
    environment: tuple

    def name(self):
        return pathlib.Path(self.command[-1]).name


@dataclasses.dataclass
class Result:
    status: str  # run, fail, skipped
    seconds: float = 0.0
    output: str = ""


def program_of(test):
    """(program, GoogleTest's name of the test), or None where ctest has to run it."""
    command = test.get("command", [])
    found = FILTER.fullmatch(command[-2]) if len(command) > 2 else None
    properties = {each["name"]: each["value"] for each in test.get("properties", [])}
    if not found or command[-1] != "--gtest_also_run_disabled_tests" or not properties.keys() <= ALIKE:
        return None
    if properties.get("SKIP_REGULAR_EXPRESSION", SKIP) != SKIP:
        return None
    return Program(tuple(command[:-2]), properties.get("WORKING_DIRECTORY", "."),
                   tuple(properties.get("ENVIRONMENT", ()))), found[1]  # fmt: skip


def batches_of(tests):
    """Each a program and some of its tests' names. All tests have a program."""
    programs = collections.defaultdict(list)
    for test in tests:
        program, name = program_of(test)
        programs[program].append(name)
    batches = []
    for program, names in programs.items():
        count = -(-len(names) // SIZE)
        batches += [(program, names[len(names) * i // count : len(names) * (i + 1) // count]) for i in range(count)]
    return batches


def read_report(path):
    """name → result, of GoogleTest's XML; None where it wrote none."""
    try:
        root = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
        return None
    results = {}
    for case in root.iter("testcase"):
        failures = [failure.get("message") or "" for failure in case.findall("failure")]
        if case.get("status") != "run":
            continue
        status = "fail" if failures else "skipped" if case.get("result") == "skipped" else "run"
        results[f"{case.get('classname')}.{case.get('name')}"] = Result(
            status, float(case.get("time") or 0), "\n".join(failures))  # fmt: skip
    return results


def said_by(name, output):
    """What a test printed, of the output of its program."""
    start = output.find(f"[ RUN      ] {name}\n")
    if start < 0:
        return ""
    end = re.compile(rf"\[  (?:     OK|FAILED |SKIPPED) \] {re.escape(name)}\b.*\n?").search(output, start)
    return output[start : end.end() if end else len(output)]


def run_together(program, names):
    """(name → result, or None after an end that is not GoogleTest's; how it ended; output)."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GTEST_")}
    environment.update(each.split("=", 1) for each in program.environment)
    with tempfile.TemporaryDirectory(prefix="writ-tests-") as folder:
        flags, report, said = (pathlib.Path(folder) / name for name in ("flags", "report.xml", "output"))
        flags.write_text("--gtest_filter=" + ":".join(names) + "\n")
        command = [*program.command, f"--gtest_flagfile={flags}", f"--gtest_output=xml:{report}", "--gtest_color=no",
                   "--gtest_also_run_disabled_tests"]  # fmt: skip
        try:
            with said.open("wb") as file:
                code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                      cwd=program.folder, env=environment, timeout=LIMIT_S, check=False).returncode  # fmt: skip
            how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
        except subprocess.TimeoutExpired:
            code, how = None, f"did not end in {LIMIT_S} s"
        except OSError as error:
            code, how = None, f"could not be started: {error.strerror}"
        output = said.read_text("utf-8", "replace") if said.exists() else ""
        results = read_report(report)
    if results is None or code != any(result.status == "fail" for result in results.values()):
        return None, how, output
    for name, result in results.items():
        if result.status == "fail":
            result.output = said_by(name, output) or result.output
    absent = Result("fail", 0, f"{program.name()} has no such test: build it again, so that ctest's list is true\n")
    return {name: results.get(name, absent) for name in names}, how, output


def run_batch(program, names):
    """name → result."""
    results, how, output = run_together(program, names)
    if results is not None:
        return results
    if len(names) == 1:
        return {names[0]: Result("fail", 0, f"{output}{program.name()} {how}\n")}
    results = {}
    for name in names:
        results.update(run_batch(program, [name]))
    if all(result.status != "fail" for result in results.values()):
        started = [name for name in re.findall(r"\[ RUN      \] (\S+)\n", output) if name in results]
        last = started[-1] if started else names[-1]
        results[last] = Result("fail", results[last].seconds,
                               f"{said_by(last, output)}{program.name()} {how}; alone, each of these {len(names)} "
                               f"tests passes: {' '.join(names)}\n")  # fmt: skip
    return results


def run_all(batches, workers, seconds):
    """(program, name) → result. `seconds` a batch took before, if known: the longest starts first."""
    batches = sorted(batches, key=lambda batch: -seconds(*batch))
    results = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        start = time.monotonic()
        running = {pool.submit(run_batch, *batch): batch for batch in batches}
        for done, future in enumerate(concurrent.futures.as_completed(running), 1):
            program, names = running[future]
            ended = future.result()
            counts = collections.Counter(result.status for result in ended.values())
            counts = ", ".join(f"{counts[status]} {word}" for status, word in
                               (("run", "passed"), ("skipped", "skipped"), ("fail", "FAILED")) if counts[status])  # fmt: skip
            print(f"{time.monotonic() - start:7.1f} s  {done}/{len(batches)}  {program.name()}: {counts}", flush=True)
            for name, result in ended.items():
                results[program, name] = result
                if result.status == "fail":
                    print(f"FAILED {name}\n{result.output}", end="", flush=True)
    return results
