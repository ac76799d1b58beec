"""What scripts/run-tests runs together: tests of one program (scripts/programs.py) in one process.

ctest starts a process for each test. A program of two thousand small tests then loads its libraries and reads its
data two thousand times, which takes longer than the tests. A batch is a part of a program's tests, all registered
alike; the program runs them in one process and its XML says how each of them ended.

Nothing is lost by it. A program that ends in another way than such a program ends (a signal, a sanitizer's status, no
XML) has its batch run again, one test in each process: that names the test that is at fault. Where each passes
alone, the one that was running fails: it fails after others. A test that is registered and not in the program fails.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import math
import os
import pathlib
import re
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml

from programs import program_of

LIMIT_S = 1500  # of one test: ctest's own, against what hangs
# A batch takes no longer than the greater of these, a time and a share of all: no worker is left alone at the end.
LONG_S = 15
SHARE = 1 / 40
ROOM = 8 << 30  # bytes of memory: logits of real models are the largest files


@dataclasses.dataclass
class Result:
    status: str  # run, fail, skipped
    seconds: float = 0.0
    output: str = ""


def batches_of(tests, seconds=lambda program, name: 0):
    """Each a program and some of its tests' names, neighbours. All tests have a program. `seconds`: what a test is to
    take."""
    programs = collections.defaultdict(list)
    for test in tests:
        program, name = program_of(test)
        programs[program].append(name)
    longest = max(LONG_S, SHARE * sum(seconds(program, name) for program, names in programs.items() for name in names))
    batches = []
    for program, names in programs.items():
        total = math.inf
        for name in names:
            took = seconds(program, name)
            if total + took > longest or len(batches[-1][1]) == program.kind.SIZE:
                batches.append((program, []))
                total = 0
            batches[-1][1].append(name)
            total += took
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


@functools.cache
def scratch():
    """A file system in memory for the tests' own folders, or None: the usual place. A disk takes a quarter of a second
    to copy the project's data for a test that breaks them, and waits at each file of a package."""
    place = pathlib.Path("/dev/shm")
    with contextlib.suppress(OSError):
        status = os.statvfs(place)
        is_usable = os.access(place, os.W_OK) and not status.f_flag & os.ST_NOEXEC
        if is_usable and min(status.f_bavail * status.f_frsize, memory_available()) >= ROOM:
            return str(place)
    return None


def memory_available():
    """Bytes; 0 where the system does not say."""
    found = re.search(r"^MemAvailable: +(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.M)
    return 1024 * int(found[1]) if found else 0


def wait(process, said):
    """The exit status; None, once the process has been killed since the test that it began last does not end."""
    while process.poll() is None:
        left = said.stat().st_mtime + LIMIT_S - time.time()  # it says when a test begins
        if left <= 0:
            process.kill()
            process.wait()
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(left)
    return process.returncode


def run_together(program, names):
    """(name → result, or None after an end that is not GoogleTest's; how it ended; output)."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GTEST_")}
    environment.update(each.split("=", 1) for each in program.environment)
    with tempfile.TemporaryDirectory(prefix="writ-tests-", dir=scratch(), ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # some tests give up their user id
        # GoogleTest's has a name of its own. What a test that was killed left goes, too.
        environment["TMPDIR"] = environment["TEST_TMPDIR"] = folder
        flags, report, said = (pathlib.Path(folder) / name for name in ("flags", "report.xml", "output"))
        command = [*program.command, *program.kind.words(names, flags, report)]
        try:
            with said.open("wb") as file:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                           cwd=program.folder, env=environment)  # fmt: skip
            code = wait(process, said)
            how = (f"did not end in {LIMIT_S} s" if code is None else f"was ended by signal {-code}" if code < 0
                   else f"ended with status {code}")  # fmt: skip
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


def run_all(batches, workers, seconds, beside=lambda: None):
    """(program, name) → result. `seconds`: what a test is to take; the longest batch starts first. `beside` is called
    by the first worker, which then helps the others."""
    batches = sorted(batches, key=lambda batch: -sum(seconds(batch[0], name) for name in batch[1]))
    results = {}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        start = time.monotonic()
        first = pool.submit(beside)
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
    first.result()
    return results
