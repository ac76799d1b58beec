"""Hard edges of the tool: no permission, no space, no compiler, an end by force, two at once, strange paths."""
import fcntl
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
import unittest

import harness
from harness import WRIT, TestCase, random_model, tiny_package

NOBODY = 65534


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def as_nobody():
    """Root ignores permissions: the child gives up its user id."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def cached_packages(home):
    """A package and what a compile writes, in a cache; their folder, the latter's, the environment."""
    packages = home / ".cache" / "writ" / "packages"
    written = packages / f"second.writing-{os.getpid()}"
    for folder in (packages / "first", written):
        folder.mkdir(parents=True)
        (folder / "file").write_text("text")
    return packages, written, {"PATH": os.environ["PATH"], "HOME": str(home)}


class Permission(TestCase):
    def setUp(self):
        if os.getuid() == 0:
            self.options = {"preexec_fn": as_nobody}
            try:
                reached = harness.run("--version", **self.options).returncode == 0
            except PermissionError:
                reached = False
            if not reached:
                raise unittest.SkipTest("the build folder cannot be reached by another user")
        else:
            self.options = {}

    def shared_folder(self):
        folder = self.folder()
        folder.chmod(0o755)
        return folder

    def test_AFolderThatMayNotBeWrittenNamesItselfAndTheReason(self):
        folder = self.shared_folder()
        folder.chmod(0o555)
        out = folder / "x" / "package"
        _, err = self.writ("compile", random_model(), "--bringup", "--no-build", "-o", out, code=3, **self.options)
        self.assertIn(f"{out}: error: the folder '{folder}/x' cannot be made: Permission denied [E002]\n", err)
        out = folder / "package"
        _, err = self.writ("compile", random_model(), "--bringup", "--no-build", "-o", out, code=3, **self.options)
        self.assertIn(f"{out}: error: cannot be made in '{folder}': Permission denied [E002]\n", err)
        self.assertEqual(names(folder), [])

    def test_APackageOfTheCacheThatMayNotBeRemovedSaysSo(self):
        packages, written, env = cached_packages(self.shared_folder())
        for folder in (packages / "first", written, packages):
            folder.chmod(0o555)
            self.addCleanup(folder.chmod, 0o755)
        out, err = self.writ("cache", "--prune", env=env, code=3, **self.options)
        self.assertEqual(out, "")
        self.assertEqual(err, "".join(f"{folder}: error: cannot be removed: Permission denied [E002]\n"
                                      for folder in (packages / "first", written)))

    def test_AModelFolderThatMayNotBeReadSaysSo(self):
        folder = self.shared_folder()
        model = folder / "closed" / "model.gguf"
        model.parent.mkdir()
        shutil.copy(random_model(), model)
        model.parent.chmod(0)
        self.addCleanup(model.parent.chmod, 0o755)
        env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        for words in (("inspect", model), ("compile", model, "-o", folder / "p"), ("run", model, "--prompt", "ab"),
                      ("tokenize", model, "--text", "ab")):
            _, err = self.writ(*words, code=3, env=env, **self.options)
            self.assertIn(f"{model}: error: cannot read the file: Permission denied [E001]\n", err)

    def test_ACacheThatMayNotBeWrittenNamesTheWayOut(self):
        folder = self.shared_folder()
        folder.chmod(0o555)
        env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        _, err = self.writ("run", random_model(), "--bringup", "--prompt", "ab", code=3, env=env, **self.options)
        self.assertEqual(err, f"{folder}/.cache/writ/packages: error: cannot be written: Permission denied [E002]\n"
                              "note: the package of a model file is kept there; let XDG_CACHE_HOME name a folder that can "
                              "be written, or use `writ compile -o`\n")


class Space(TestCase):
    def test_AFileSizeLimitIsAnErrorThatNamesTheFile(self):
        folder = self.folder()
        out = folder / "package"
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))  # noqa: E731
        _, err = self.writ("compile", random_model(), "--bringup", "--no-build", "-o", out, code=3, preexec_fn=limit)
        self.assertRegex(err, rf"(?m)^{out}/[a-z./]+: error: cannot write the file: .*: File too large \[E002\]$")
        self.assertEqual(names(folder), [], "nothing is left")

    def test_LogitsThatDoNotFitAreAnErrorThatNamesTheFile(self):
        folder = self.folder()
        out, ids = folder / "logits.safetensors", folder / "ids"
        ids.write_text("3 4 5 " * 40)
        package = tiny_package()
        self.writ("score", package, "--ids", ids)  # has written its stamp
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))  # noqa: E731
        said = self.writ("score", package, "--ids", ids, "--logits", out, code=3, preexec_fn=limit)
        self.assertEqual(said, ("", f"{out}: error: cannot write the file: cannot write to the temporary file: "
                                    "File too large [E002]\n"))
        self.assertEqual(names(folder), ["ids"], "nothing is left")


class Machine(TestCase):
    def test_AnInstructionSetThatTheMachineLacksIsOfTheMachine(self):
        # In the place of the runtime's function: this machine may have them all.
        source, shim = self.folder() / "shim.c", self.folder() / "shim.so"
        source.write_text("#include \"writ/writ.h\"\n#include <string.h>\n"
                          "writ_status writ_session_create(const writ_package *p, const writ_session_options *o, "
                          "writ_session **s, writ_error *e) {\n  (void)p, (void)o, (void)s;\n"
                          "  strcpy(e->text, \"isa is 'avx512', but this machine has 'avx2'\");\n"
                          "  return e->status = WRIT_UNSUPPORTED;\n}\n")
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{harness.BUILD}/include", source, "-o", shim], check=True)
        env = dict(os.environ, LD_PRELOAD=str(shim))
        said = self.writ("run", tiny_package(), "--prompt", "ab", "--isa", "avx512", code=3, env=env)
        self.assertEqual(said, ("", "--isa: error: isa is 'avx512', but this machine has 'avx2' [E050]\n"))


class Cache(TestCase):
    def test_WhatACompileWritesIsNotPruned(self):
        home = self.folder()
        packages, written, env = cached_packages(home)
        descriptor = os.open(written, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # as Staging does
        out, err = self.writ("cache", "--prune", env=env)
        self.assertEqual(out, f"removed {packages}/first  incomplete    0.0 MB\n")
        self.assertEqual(err, f"writ: note: {written} is being written, and stays\n")
        self.assertEqual(names(packages), [written.name])
        os.close(descriptor)
        self.writ("cache", "--prune", env=env)
        self.assertEqual(names(packages), [], "what a killed one left does not stay")


class HostCompiler(TestCase):
    def broken_compiler(self):
        compiler = self.folder() / "broken-cxx"
        compiler.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo broken 1.0 && exit 0\n"
                            "echo 'fatal error: this compiler is broken' >&2\nexit 1\n")
        compiler.chmod(0o755)
        return compiler

    def test_AMissingOneIsToldFirstAndTheSourcesAreKept(self):
        out = self.folder() / "package"
        _, err = self.writ("compile", random_model(), "--bringup", "-o", out, "--cxx", "no-such-compiler", code=3)
        self.assertTrue(err.startswith("writ: warning: the host compiler does not run: No such file or directory; the "
                                       "sources are written, and not built\n"), err)
        self.assertTrue(err.endswith("no-such-compiler: error: the host compiler does not run: No such file or directory "
                                     "[E060]\nnote: install a C++20 compiler (g++ 12 or clang 14), or name one with --cxx\n"
                                     f"note: the sources are kept in {out}\n"), err)
        self.assertTrue((out / "src" / "model.cpp").exists())
        self.assertTrue((out / "writ.lock.json").exists())
        self.assertFalse((out / "lib").exists())

    def test_ABrokenOneShowsItsMessageAndTheSourcesAreKept(self):
        out = self.folder() / "package"
        _, err = self.writ("compile", random_model(), "--bringup", "-o", out, "--cxx", self.broken_compiler(), code=3)
        self.assertIn(f"{out}: error: the emitted code was not built: ", err)
        self.assertIn(f"{out}/build.log: note: the build said:", err)
        self.assertIn("this compiler is broken", err)
        self.assertIn(f"note: the sources are kept in {out}\n", err)
        self.assertIn("this compiler is broken", (out / "build.log").read_text())
        self.assertTrue((out / "src" / "model.cpp").exists())
        self.assertFalse((out / "lib").exists())
        # It is no package that works, so the next compile takes its place.
        self.writ("compile", random_model(), "--bringup", "-o", out)
        self.writ("run", out, "--prompt", "ab", "--max-tokens", "1")
        self.assertEqual(names(out.parent), ["package"])

    def test_AFailedBuildLeavesThePackageThatWorks(self):
        good = self.folder() / "good"
        shutil.copytree(tiny_package(), good)
        before = contents(good)
        for compiler in ("/bin/false", self.broken_compiler()):
            _, err = self.writ("compile", random_model(), "--bringup", "-o", good, "--cxx", compiler, code=3)
            self.assertIn(f"note: the sources are kept in {good}.failed; the package that was there is as it was\n", err)
            self.assertEqual(contents(good), before)
            self.assertTrue((good.parent / "good.failed" / "src" / "model.cpp").exists())
            self.assertEqual(names(good.parent), ["good", "good.failed"])


class Place(TestCase):
    def compile(self, out, *options, **more):
        return self.writ("compile", random_model(), "--bringup", "-o", out, *options, **more)

    def test_PathsWithSpacesQuotesAndForeignLetters(self):
        words = ("--prompt", "ab", "--max-tokens", "5", "--ignore-end")
        expected = self.writ("run", tiny_package(), *words)[0]
        top = self.folder()
        folder = top / "a b;ü $HOME \"q\" 'r' 漢"
        folder.mkdir()
        model = folder / "m é;$x \".gguf"
        shutil.copy(random_model(), model)
        out = folder / "p k;g$(id) \"ß\""
        self.writ("compile", model, "--bringup", "-o", out)
        self.assertEqual(self.writ("run", out, *words)[0], expected)
        self.assertEqual(names(folder), sorted([model.name, out.name]))
        self.assertEqual(names(top), [folder.name], "nothing is written outside")
        # Relative, and with a slash at its end.
        self.writ("compile", model.name, "--bringup", "-o", out.name + "/", cwd=folder)
        self.assertEqual(self.writ("run", out.name, *words, cwd=folder)[0], expected)

    def test_FilesOfTheUsersAreKeptAndThoseOfThePackageAreNot(self):
        folder = self.folder()
        fresh, again = folder / "fresh", folder / "again"
        self.compile(fresh, "--no-build")
        shutil.copytree(tiny_package(), again)
        self.writ("run", again, "--prompt", "ab", "--max-tokens", "1")  # the first opening writes its stamp
        self.assertTrue({"lib", ".writ-stamp"} <= set(names(again)))
        (again / "NOTES").write_text("mine")
        (again / "build").mkdir()
        (again / "build" / "deep").write_text("mine too")
        (again / "build" / "link").symlink_to("deep")
        self.compile(again, "--no-build")
        self.assertEqual(names(again), sorted([*names(fresh), "NOTES", "build"]))
        self.assertEqual((again / "NOTES").read_text(), "mine")
        self.assertEqual((again / "build" / "deep").read_text(), "mine too")
        self.assertEqual(os.readlink(again / "build" / "link"), "deep")

    def test_TheCurrentFolderIsNotReplaced(self):
        folder = self.folder()
        inner = folder / "inner"
        inner.mkdir()
        for where, out in ((folder, "."), (folder, str(folder)), (inner, "..")):
            _, err = self.compile(out, "--no-build", code=1, cwd=where)
            self.assertIn(f"{out}: error: the current folder cannot be replaced by a package [E052]\n"
                          "note: name a folder inside it with -o\n", err)
        self.assertEqual(names(folder), ["inner"])

    def test_ALinkToAPackageStaysALink(self):
        folder = self.folder()
        shutil.copytree(tiny_package(), folder / "real")
        (folder / "link").symlink_to("real")
        self.compile(folder / "link", "--no-build")
        self.assertEqual(os.readlink(folder / "link"), "real")
        self.assertFalse((folder / "real" / "lib").exists(), "the new package stands where the link points")


class Force(TestCase):
    def slow_compiler(self):
        """A compiler that says that it has begun, and does not end."""
        folder = self.folder()
        compiler, begun = folder / "slow-cxx", folder / "begun"
        compiler.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo slow 1.0 && exit 0\n"
                            f"echo $$ >'{begun}.part'; mv '{begun}.part' '{begun}'; exec sleep 600\n")
        compiler.chmod(0o755)
        return compiler, begun

    def start(self, out, compiler, begun):
        process = subprocess.Popen([WRIT, "compile", random_model(), "--bringup", "-o", out, "--cxx", compiler],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(1200):
            if begun.exists():
                return process, int(begun.read_text())
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        self.fail("the host compiler was not started")

    def wait_gone(self, pid):
        for _ in range(200):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                        return
            except FileNotFoundError:
                return
            time.sleep(0.05)
        self.fail("the host compiler still runs")

    def test_AnInterruptedCompileLeavesNothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            out = self.folder() / "package"
            process, child = self.start(out, *self.slow_compiler())
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, err)
            self.assertIn(f"writ: interrupted; nothing was written to {out}\n".encode(), err)
            self.assertEqual(names(out.parent), [])
            self.wait_gone(child)

    def test_WhatAKilledCompileLeftIsRemovedByTheNext(self):
        out = self.folder() / "package"
        process, child = self.start(out, *self.slow_compiler())
        process.kill()
        process.communicate()
        self.assertNotEqual(os.getpgid(child), os.getpgid(0))
        os.killpg(os.getpgid(child), signal.SIGKILL)
        self.assertEqual(names(out.parent), [f"package.writing-{process.pid}"])
        others = [f"package.writing-{process.pid}-backup", "package.writing-notes"]  # no names of ours
        for name in others:
            (out.parent / name).mkdir()
        self.writ("compile", random_model(), "--bringup", "--no-build", "-o", out)
        self.assertEqual(names(out.parent), ["package", *others])

    def test_TheBuildFolderOfAKilledCompileIsRemovedByTheNextBuild(self):
        """And that of a living one is not."""
        killed, child = self.start(self.folder() / "package", *self.slow_compiler())
        killed.kill()
        killed.communicate()
        os.killpg(os.getpgid(child), signal.SIGKILL)

        def build_folders(process):
            return list(pathlib.Path("/tmp").glob(f"writ-build-{process.pid}-*"))

        self.assertEqual(len(build_folders(killed)), 1)
        living, _ = self.start(self.folder() / "package", *self.slow_compiler())
        self.assertEqual([len(build_folders(process)) for process in (killed, living)], [0, 1])
        self.writ("compile", random_model(), "--bringup", "-o", self.folder() / "package")
        self.assertEqual(len(build_folders(living)), 1)
        living.send_signal(signal.SIGINT)
        living.communicate(timeout=60)
        self.assertEqual(build_folders(living), [])

    def test_ARunningCompileIsNotRemovedByAnother(self):
        out = self.folder() / "package"
        process, _ = self.start(out, *self.slow_compiler())
        self.writ("compile", random_model(), "--bringup", "--no-build", "-o", out)
        self.assertEqual(names(out.parent), ["package", f"package.writing-{process.pid}"])
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(names(out.parent), ["package"])

    def test_SeveralCompilesIntoOneFolderGiveOneWholePackage(self):
        out = self.folder() / "package"
        words = [WRIT, "compile", random_model(), "--bringup", "--no-build", "-o", out]
        processes = [subprocess.Popen(words, stderr=subprocess.PIPE) for _ in range(4)]
        for process in processes:
            _, err = process.communicate()
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual(names(out.parent), ["package"])
        alone = self.folder() / "package"
        self.writ(*words[1:-1], alone)
        self.assertEqual(contents(out), contents(alone))


if __name__ == "__main__":
    harness.main()
