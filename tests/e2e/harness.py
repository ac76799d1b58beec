"""What the end-to-end tests share: the tool, models, packages. Standard library only.

Each test file is a unittest program; CMake registers every test method as a ctest test of its own,
so methods are independent and share packages through the build folder.
"""
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts"))
from models import known_models, random_model_options  # noqa: E402

BUILD = pathlib.Path(os.environ.get("WRIT_BUILD", SOURCE / "build"))
WRIT = BUILD / "bin" / "writ"
COMPILER = BUILD / "bin" / "writ-compiler"  # what WRIT becomes where a command compiles
WRIT_OPT = BUILD / "bin" / "writ-opt"
WORK = BUILD / "tests" / "e2e-packages"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "writ"
SKIPPED = 77  # what ctest takes as "skipped"


def run(*words, stdin=None, cwd=None, env=None, timeout=None, preexec_fn=None):
    """Runs the tool; output as bytes."""
    return subprocess.run([str(WRIT), *map(str, words)], input=stdin, capture_output=True, cwd=cwd,
                          env=env, timeout=timeout, preexec_fn=preexec_fn)


class TestCase(unittest.TestCase):
    maxDiff = None

    def writ(self, *words, code=0, **options):
        """Runs the tool and expects an exit code; returns (stdout, stderr) as text."""
        result = run(*words, **options)
        out, err = result.stdout.decode("utf-8", "replace"), result.stderr.decode("utf-8", "replace")
        self.assertEqual(result.returncode, code, f"writ {' '.join(map(str, words))}\n{out}\n{err}")
        return out, err

    def on_terminal(self, *words, code=0, interrupt_at=None):
        """(standard output, what the tool writes to a terminal that is its standard error). Once the terminal shows
        `interrupt_at`, Ctrl-C comes."""
        terminal, end = pty.openpty()
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen([str(WRIT), *map(str, words)], stdout=out, stderr=end)
            os.close(end)
            said = b""
            while part := read_terminal(terminal):
                said += part
                if interrupt_at and interrupt_at in said.decode("utf-8", "replace"):
                    process.send_signal(signal.SIGINT)
                    interrupt_at = None
            os.close(terminal)
            self.assertEqual(process.wait(), code, said)
            out.seek(0)
            return out.read().decode(), said.decode()

    def folder(self):
        temporary = tempfile.TemporaryDirectory(prefix="writ-e2e-")
        self.addCleanup(temporary.cleanup)
        return pathlib.Path(temporary.name)

    def need_plain_libraries(self):
        """For a program that another compiler builds against this build's libraries."""
        if re.search(r"^WRIT_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.M):
            self.skipTest("a sanitizer's library needs a program that was built with it")

    def data(self):
        """A copy of contracts/, kernel_maps/ and circuits/ that a test may break."""
        folder = self.folder()
        for name in ("contracts", "kernel_maps", "circuits"):
            subprocess.run(["cp", "-r", SOURCE / name, folder / name], check=True)
        return folder


def read_terminal(terminal):
    """What comes next; b"" where the last writer has closed it."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def replace(path, old, new):
    text = path.read_text()
    assert old in text, f"{path} does not hold {old!r}"
    path.write_text(text.replace(old, new, 1))


def damage(path):
    """Another last byte, the same size."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def position(path, text):
    """line:column of the first occurrence, counted from 1."""
    before = path.read_text().split(text, 1)[0]
    return f"{before.count(chr(10)) + 1}:{len(before.rsplit(chr(10), 1)[-1]) + 1}"


@functools.cache
def random_model(*options, name="tiny"):
    """A model file with random weights, made once for each set of options."""
    WORK.mkdir(parents=True, exist_ok=True)
    script = SOURCE / "scripts" / "make-random-model"
    key = hashlib.sha256(script.read_bytes() + repr(options).encode()).hexdigest()[:12]
    path = WORK / f"{name}-{key}.gguf"
    with locked(path):
        if not path.exists():
            part = path.with_suffix(".part")
            subprocess.run([sys.executable, script, part, *options], check=True)
            part.rename(path)
    return path


def families():
    """circuit → the options that make small models of it, for each model that is known."""
    return {entry["circuit"]: random_model_options(entry) for entry in known_models().values()}


def storages():
    """The storage types that a model's weights may have: those that some kernel of 'linear' takes."""
    maps = [json.loads(path.read_text()) for path in (SOURCE / "kernel_maps" / "linear").glob("*.json")]
    return sorted({each["operands"]["weight"]["storage"] for each in maps})


class locked:
    """Tests run in parallel; what they share is made by one of them."""

    def __init__(self, path):
        self.path = f"{path}.lock"

    def __enter__(self):
        self.file = open(self.path, "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


@functools.cache
def stamp_of_tool():
    """Changes with the tool, its runtime or the project's data. By size and time: to digest 180 MB takes longer than
    most tests."""
    files = [WRIT, COMPILER, BUILD / "lib" / "libwrit_runtime.so"]
    for folder in ("contracts", "kernel_maps", "circuits"):
        files += sorted((SOURCE / folder).rglob("*.json"))
    found = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(repr(found).encode()).hexdigest()


@functools.cache
def package(model, *options):
    """The package of a model, compiled once for each tool, model and options."""
    WORK.mkdir(parents=True, exist_ok=True)
    stamp = hashlib.sha256(f"{stamp_of_tool()} {model} {options}".encode())
    path = WORK / (model.stem + "-" + stamp.hexdigest()[:12])
    with locked(path):
        if not path.exists():
            result = run("compile", model, "-o", path, *options)
            if result.returncode:
                raise AssertionError(result.stderr.decode())
    return path


def tiny_package():
    return package(random_model(), "--bringup")


def real_model(name="smollm2"):
    """The file of a model of scripts/models.json; the test is skipped where it is not in the cache."""
    models = json.loads((SOURCE / "scripts" / "models.json").read_text())
    path = CACHE / "models" / models[name]["file"]
    if not path.exists():
        raise unittest.SkipTest(f"{path} is not there: run scripts/fetch-model {name}")
    return path


def outcome(result):
    """What a unittest result counts as: run, fail, skipped."""
    if not result.wasSuccessful():
        return "fail"
    return "skipped" if result.testsRun == len(result.skipped) else "run"


def run_together(names, report):
    """Runs these tests of the program one after the other, whatever becomes of each, as a GoogleTest program does: its
    lines where one begins and ends, its XML at the end. scripts/batches.py reads both."""
    suites, failed = xml.Element("testsuites"), False
    for name in names:
        print(f"[ RUN      ] {name}", flush=True)
        start = time.monotonic()
        test = unittest.defaultTestLoader.loadTestsFromName(name, sys.modules["__main__"])
        status = outcome(unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(test))
        sys.stdout.flush()
        word = {"run": "      OK", "fail": " FAILED ", "skipped": " SKIPPED"}[status]
        print(f"[ {word} ] {name}", flush=True)
        case = xml.SubElement(suites, "testcase", classname=name.split(".")[0], name=name.split(".")[1], status="run",
                              result="skipped" if status == "skipped" else "completed",
                              time=f"{time.monotonic() - start:.3f}")  # fmt: skip
        if status == "fail":
            failed = True
            xml.SubElement(case, "failure")
    xml.ElementTree(suites).write(report, "utf-8")
    sys.exit(failed)


def main():
    """`--list` prints the test methods, `--together` runs those that a file names; otherwise unittest, and exit 77
    where all was skipped."""
    module = sys.modules["__main__"]
    if sys.argv[1:] == ["--list"]:
        for suite in unittest.defaultTestLoader.loadTestsFromModule(module):
            for test in suite:
                print(".".join(test.id().split(".")[-2:]))
        return
    if sys.argv[1:2] == ["--together"]:
        run_together(pathlib.Path(sys.argv[2]).read_text().split(), sys.argv[3])
    status = outcome(unittest.main(exit=False, verbosity=1).result)
    if status != "run":
        sys.exit(SKIPPED if status == "skipped" else 1)
