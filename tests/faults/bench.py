"""What the seeded faults share: a build to take programs and commands from, and what a fault is."""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Fault:
    """Something wrong that is put in place, and the check that must say so.

    `run` returns what the check said. It throws Survived where the check said nothing, or another
    check spoke first, and Broken where the fault could not be put in place at all.
    """

    def __init__(self, name, check):
        self.name, self.check = name, check

    def run(self, bench):
        raise NotImplementedError


class Survived(Exception):
    """The fault was not caught by the check that has to catch it."""


class Broken(Exception):
    """The fault could not be seeded: it has to be mended, or it tests nothing."""


class Bench:
    def __init__(self, build):
        self.build = build.resolve()
        self.work = self.build / "faults"
        self.work.mkdir(exist_ok=True)
        self.writ = self.build / "bin" / "writ"
        self._links = {}

    def output(self, *words, cwd=None, env=None):
        """(exit status, everything that it said)"""
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", cwd=cwd, env=env)
        return done.returncode, done.stdout

    def must(self, what, *words, cwd=None):
        code, text = self.output(*words, cwd=cwd)
        if code:
            raise Broken(f"{what} failed: {text.strip()[-800:]}")
        return text

    def folder(self, name):
        """An empty folder below the build, at the same place each time: the compiler cache helps."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def compile_command(self, isa, source):
        """The build's own words for a body of an instruction set."""
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            if f"-DWRIT_ISA_NAME={isa} " in entry["command"] and pathlib.Path(entry["file"]) == source:
                return shlex.split(entry["command"])
        raise Broken(f"the build does not compile {source} for {isa}")

    def compile_source(self, words, old, new, first_include, out):
        """Compiles `new` by the words that compile `old`; headers of `first_include` come first."""
        words = [str(new) if word == str(old) else word for word in words]
        words[words.index("-o") + 1] = str(out)
        words.insert(1, f"-I{first_include}")
        if shutil.which("ccache"):
            words.insert(0, "ccache")
        self.must(f"compiling {new.name}", *words, cwd=self.build)

    def link(self, program, objects, out):
        """Links a test program anew with `objects` in place of what its libraries hold."""
        if program not in self._links:
            commands = self.must("ninja", "ninja", "-C", self.build, "-t", "commands", f"bin/{program}")
            line = next((text for text in reversed(commands.splitlines()) if f"-o bin/{program} " in text), None)
            if not line:
                raise Broken(f"the build does not link {program}")
            self._links[program] = shlex.split(line.split("&&")[1])
        words = list(self._links[program])
        words[words.index("-o") + 1] = str(out)
        first = next(i for i, word in enumerate(words) if word.endswith(".o"))
        words[first:first] = map(str, objects)  # before the libraries, which then need not give theirs
        self.must(f"linking {program}", *words, cwd=self.build)

    def tests(self, program, pattern):
        """(passed, failed, text): names of a GoogleTest program's tests that match a filter."""
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            code, text = self.output(program, f"--gtest_filter={pattern}", "--gtest_brief=1",
                                     f"--gtest_output=json:{report.name}")
            data = pathlib.Path(report.name).read_text()
        if not data:
            return [], [], f"{program} ended with status {code}: {text[-400:]}"
        passed, failed = [], []
        for suite in json.loads(data)["testsuites"]:
            for test in suite["testsuite"]:
                if test["result"] != "SKIPPED":
                    (failed if test.get("failures") else passed).append(f"{suite['name']}.{test['name']}")
        return passed, failed, text


def first_match(pattern, text):
    found = re.search(pattern, text)
    return found[0] if found else None


def main_error(text):
    """The first diagnostic of the tool, in one line."""
    return next((line for line in text.splitlines() if "error: " in line), text.strip()[:200])


if str(ROOT / "scripts" / "evidence") not in sys.path:
    sys.path.insert(0, str(ROOT / "scripts" / "evidence"))
