"""Runs the programs that evidence is taken from, and keeps what they said.

A result is reused while the program, what it reads and how it was called stay the same.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

from oracles import ROOT, sha256_of

sys.path.insert(0, str(ROOT / "scripts" / "generate"))
from kernels import body_commands, compile_flags  # noqa: E402

MAKE_MODEL = ROOT / "scripts" / "make-random-model"


class Bench:
    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.folder = self.build / "evidence"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.writ = self.build / "bin" / "writ"
        if not self.writ.exists():
            raise SystemExit(f"error: {self.writ} is absent; run make build")
        self._digests, self._tests, self.labels = {}, {}, {}
        self.built_of, self.deaths = {}, {}  # of programs: what they are of, and why one said nothing
        self.reports = []  # of stitched_parity

    def run_writ(self, *words):
        """(exit status, standard output, standard error)"""
        command = [str(self.writ), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def digests(self, model=None, run=None):
        """What `writ digests` says of the catalog, or of a model in one run."""
        key = (model, run)
        if key not in self._digests:
            words = ["digests", "--json", "--data", ROOT]
            words += [model, *run.options] if model else []
            code, out, err = self.run_writ(*words)
            if code:
                raise SystemExit(f"error: writ {' '.join(map(str, words))}: {err.strip()}")
            self._digests[key] = json.loads(out)
        return self._digests[key]

    def map(self, provider):
        """The kernel map of a provider, and the path of its source."""
        for path in (ROOT / "kernel_maps").glob(f"*/{provider}.json"):
            source = ROOT / "runtime" / "kernels" / "cpu" / path.parent.name / f"{provider}.cpp"
            return json.loads(path.read_text()), source
        raise SystemExit(f"error: there is no map of '{provider}'")

    def storage_types(self):
        """Those that make-random-model writes, as its own help names them."""
        text = subprocess.run([sys.executable, MAKE_MODEL, "--help"], capture_output=True,
                              text=True, check=True).stdout  # fmt: skip
        return text.split("--type {", 1)[1].split("}", 1)[0].split(",")

    def random_model(self, storage, *options):
        """A small model of the options' circuit; `labels` says how it is made."""
        words = ["--type", storage, *options]
        name = hashlib.sha256(" ".join(words).encode()).hexdigest()[:12]
        path = self.folder / f"random-{storage}-{name}.gguf"
        self._once(path, [sys.executable, MAKE_MODEL, path, *words], [MAKE_MODEL])
        self.labels[path] = " ".join(["make-random-model", *words])
        return path

    def programs(self, pattern):
        """Test programs of the build, by a pattern of their names."""
        return sorted(path.name for path in (self.build / "bin").glob(pattern))

    def tests(self, program):
        """name → test, of a GoogleTest program; None where it was not built."""
        if program not in self._tests:
            path, out = self.build / "bin" / program, self.folder / f"{program}.json"
            self._tests[program] = None
            if path.exists():
                command = [path, f"--gtest_output=json:{out}", "--gtest_brief=1"]
                self._once(out, command, [path], may_fail=True)
                self._tests[program], self.built_of[program] = read_tests(out), built_of(out)
        return self._tests[program]

    def stitched(self, model, run):
        """The report of stitched_parity; None where it cannot be run."""
        program = self.build / "bin" / "stitched_parity"
        if not program.exists():
            return None
        name = f"{model.stem}.{run.profile}" + (f".kv_{run.kv}" if run.kv else "")
        out = self.folder / f"stitched-{name}.json"
        package = self.folder / "packages" / name
        compile_it = ["compile", model, "--bringup", *run.options, "--data", ROOT, "-o", package]
        shutil.rmtree(package, ignore_errors=True)
        code, _, err = self.run_writ(*compile_it, "--no-build")
        if code:
            return {"verdict": "failed", "faults": [err.strip()[:500]]}
        emitted = sorted((package / "src").iterdir()) + [package / "weights.safetensors"]
        stamp = self._stamp([out.name], [program, self._runtime(), model, *emitted])
        shutil.rmtree(package)
        if not self._is_current(out, stamp):
            code, _, err = self.run_writ(*compile_it)
            if code:
                return {"verdict": "failed", "faults": [err.strip()[:500]]}
            out.unlink(missing_ok=True)
            command = [program, "--package", package, "--model", model, "--data", ROOT, "--out", out]
            print("$", *command, flush=True)
            status, last = run_shown(command)
            shutil.rmtree(package, ignore_errors=True)
            if not out.exists():
                return {"verdict": "failed", "faults": [f"stitched_parity {death(status, last)}"]}
            self._keep(out, stamp)
        self.reports.append(json.loads(out.read_text()))
        return self.reports[-1]

    def flags(self, kernel, source):
        """isa → compiler and flags of a provider's body, as the build binds them."""
        return compile_flags(body_commands(self.build / "compile_commands.json"), kernel, source)

    def compiler(self):
        cache = (self.build / "CMakeCache.txt").read_text()
        program = next(line.split("=", 1)[1] for line in cache.splitlines()
                       if line.startswith("CMAKE_CXX_COMPILER:"))  # fmt: skip
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        return said.stdout.splitlines()[0]

    def _runtime(self):
        return self.build / "lib" / "libwrit_runtime.so"

    def _stamp(self, command, inputs):
        """A digest of the call, of the files that it needs, and of the catalog."""
        digest = hashlib.sha256(repr([str(word) for word in command]).encode())
        digest.update(json.dumps(self.digests()["digests"], sort_keys=True).encode())
        for path in inputs:
            digest.update(sha256_of(path).encode())
        return digest.hexdigest()

    def _is_current(self, out, stamp):
        kept = out.with_suffix(out.suffix + ".stamp")
        return out.exists() and kept.exists() and kept.read_text() == stamp

    def _keep(self, out, stamp):
        out.with_suffix(out.suffix + ".stamp").write_text(stamp)

    def _once(self, out, command, inputs, may_fail=False):
        stamp = self._stamp(command, inputs)
        if self._is_current(out, stamp):
            return
        out.unlink(missing_ok=True)
        print("$", *command, flush=True)
        status, last = run_shown(command)
        if status and not may_fail:
            raise SystemExit(f"error: {command[0]} failed")
        if out.exists():
            self._keep(out, stamp)
        else:
            self.deaths[pathlib.Path(command[0]).name] = death(status, last)


def run_shown(command):
    """(exit status, last line) of a program whose output is shown as it comes."""
    last = ""
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as running:  # fmt: skip
        for line in running.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return running.returncode, last


def death(status, last):
    """Of a program that left no report."""
    how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return f"{how}, and {f'its last line is {last[:200]!r}' if last else 'it said nothing'}"


def built_of(path):
    """key → digest, of what a GoogleTest program says that it was built of; None where it does not."""
    try:
        said = json.loads(path.read_text()).get("built_of")
    except (OSError, json.JSONDecodeError):
        return None
    return dict(pair.split("=", 1) for pair in said.split()) if said else None


def read_tests(path):
    """The tests of a GoogleTest JSON report; nothing where it is absent or broken off."""
    try:
        report = json.loads(path.read_text())
    except (OSError, json.JSONDecodeError):
        return {}
    tests = {}
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name'].strip('/')}.{test['name']}"
            tests[name] = test | {"passed": test["result"] == "COMPLETED" and not test.get("failures"),
                                  "skipped": test["result"] == "SKIPPED"}  # fmt: skip
    return tests
