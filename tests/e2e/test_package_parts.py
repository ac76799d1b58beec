"""A package is one thing: parts of another one, altered parts and half-written ones are refused."""
import json
import os
import shutil
import signal
import struct
import subprocess
import time

from harness import WRIT, TestCase, damage, main, package, random_model, replace, tiny_package

RUN = ("--prompt", "ab", "--max-tokens", "4", "--ignore-end")


def lock_of(folder):
    return json.loads((folder / "writ.lock.json").read_text())


def with_epsilon(model, value):
    """The same model but for the epsilon of its norms: same tensors, same providers, other text."""
    path = model.with_name(f"{model.stem}-epsilon-{value}.gguf")
    data = bytearray(model.read_bytes())
    key = b"llama.attention.layer_norm_rms_epsilon"
    at = data.index(key) + len(key)
    assert struct.unpack_from("<I", data, at)[0] == 6, "a binary32"
    struct.pack_into("<f", data, at + 4, value)
    path.write_bytes(data)
    return path


class Parts(TestCase):
    def copy(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy)
        return copy

    def test_C10_TheLibraryOfAnotherModelIsRefused(self):
        other = package(with_epsilon(random_model(), 0.01), "--bringup")
        copy = self.copy()
        self.assertEqual(lock_of(other)["resolution_sha256"], lock_of(copy)["resolution_sha256"],
                         "the two differ in nothing that was resolved")
        shutil.copytree(other / "lib", copy / "lib", dirs_exist_ok=True)
        _, err = self.writ("run", copy, *RUN, code=1)
        self.assertRegex(err, r"the model's code has \w+_sha256 [0-9a-f]{64}, but writ.lock.json names "
                              r"[0-9a-f]{64}; they are not of one package \[E050\]")

    def test_C10_AnEditedIdentityIsRefused(self):
        lock = lock_of(tiny_package())
        for section, field, other in (("model", "sha256", "0" * 64), ("model", "name", "another"),
                                      ("profile", "id", "f32"), ("profile", "sha256", "1" * 64),
                                      ("circuit", "id", "another"), ("circuit", "sha256", "2" * 64)):
            copy = self.copy()
            edited = json.loads(json.dumps(lock))
            edited[section][field] = other
            (copy / "writ.lock.json").write_text(json.dumps(edited))
            _, err = self.writ("run", copy, *RUN, code=1)
            self.assertIn(f"but writ.lock.json names {other}; they are not of one package", err)

    def test_C10_TheLockNamesEveryFile(self):
        folder = tiny_package()
        lock = lock_of(folder)
        named = set(lock["files"]) | {lock[part]["file"] for part in ("weights", "tokenizer", "chat")
                                      if part in lock}
        named.add(lock["tokenizer"]["tables"]["file"])
        there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
        self.assertEqual(there - named - {".writ-stamp"},
                         {"writ.lock.json", "lib/libmodel.a", "lib/libmodel.so",
                          "lib/libmodel.so.sha256"})
        for name, digest in lock["files"].items():
            self.assertEqual(self.sha256(folder / name), digest, name)
        subprocess.run(["sha256sum", "--check", "--quiet", "libmodel.so.sha256"], check=True,
                       cwd=folder / "lib")

    def sha256(self, path):
        return subprocess.run(["sha256sum", path], check=True, capture_output=True,
                              text=True).stdout.split()[0]

    def test_C10_AHalfLibraryIsRefused(self):
        copy = self.copy()
        library = copy / "lib" / "libmodel.so"
        library.write_bytes(library.read_bytes()[:4096])
        _, err = self.writ("run", copy, *RUN, code=1)
        self.assertIn("lib/libmodel.so (4096 bytes) has SHA-256 ", err)
        self.assertIn("build the package again [E050]", err)

    def test_TokenizeAndExplainReadOnlyWhatTheLockNames(self):
        copy = self.copy()
        for name, words in (("tokenizer.bin", ("tokenize", copy, "--text", "ab")),
                            ("report.json", ("explain", copy))):
            self.writ(*words)
            damage(copy / name)
            _, err = self.writ(*words, code=1)
            self.assertRegex(err, f"{name}: error: it has SHA-256 [0-9a-f]{{64}}; compile the model "
                                  r"again \[E050\]")
            self.assertRegex(err, r"writ\.lock\.json:\d+:\d+: note: the lock names [0-9a-f]{64}")

    def test_C10_EveryCommandRefusesAPackageOfAnotherVersion(self):
        copy = self.copy()
        replace(copy / "writ.lock.json", '"package_version": 5', '"package_version": 4')
        ids = self.folder() / "ids"
        ids.write_text("1 2 3")
        for words in (("run", copy, *RUN), ("score", copy, "--ids", ids),
                      ("tokenize", copy, "--text", "ab"), ("explain", copy),
                      ("diff", tiny_package(), copy), ("verify", copy)):
            _, err = self.writ(*words, code=1)
            self.assertRegex(err, r"package_version is 4, this (library|tool) reads 5; compile the "
                                  r"model again \[E050\]")


class Running(TestCase):
    def package(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy, ignore=shutil.ignore_patterns(".writ-stamp"))
        return copy

    def test_C10_WeightsCutShortWhileTheyAreUsedAreAnError(self):
        copy = self.package()
        process = subprocess.Popen([WRIT, "run", copy, "--ignore-end", "--prompt", "ab",
                                    "--max-tokens", "2000"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.assertTrue(process.stdout.read(1), "text has begun")
        os.truncate(copy / "weights.safetensors", 0)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, err)
        self.assertRegex(err.decode(), r"weights\.safetensors has 0 bytes, but had \d+ when it was "
                                       r"opened; a package must not change while it is open \[E050\]")

    def killed(self, *words, **options):
        """How many of some runs were killed before they ended; each goes on from what the last one left."""
        killed = 0
        for delay in (0, 0.002, 0.005, 0.01, 0.02, 0.05):
            process = subprocess.Popen([WRIT, *words, "--ignore-end", "--prompt", "ab", "--max-tokens", "2000"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
            time.sleep(delay)
            process.kill()
            killed += process.wait() == -signal.SIGKILL
        return killed

    def test_AKilledRunLeavesNothingBroken(self):
        whole = self.writ("run", tiny_package(), *RUN)[0]
        copy = self.package()
        names = sorted(p.relative_to(copy) for p in copy.rglob("*"))
        self.assertGreater(self.killed("run", copy), 2, "most had ended before they were killed")
        # A stamp says that the weights were looked at: one that a killed run left is whole, and used.
        self.assertEqual(sorted(p.relative_to(copy) for p in copy.rglob("*") if p.name != ".writ-stamp"), names)
        self.assertEqual(self.writ("run", copy, *RUN)[0], whole)

    def test_AKilledRunOfAModelFileLeavesNothingBroken(self):
        whole = self.writ("run", tiny_package(), *RUN)[0]
        cache = self.folder()
        env = {"PATH": os.environ["PATH"], "HOME": str(cache), "XDG_CACHE_HOME": str(cache)}
        words = ("run", random_model(), "--bringup")
        self.assertEqual(self.killed(*words, env=env), 6, "it was compiled before it was killed")
        self.assertEqual(self.writ(*words, *RUN, env=env)[0], whole)
        packages = list((cache / "writ" / "packages").iterdir())
        self.assertEqual(len(packages), 1, packages)
        # Now that it is there, what is killed is the run.
        self.assertGreater(self.killed(*words, env=env), 2, "most had ended before they were killed")
        self.assertEqual(self.writ(*words, *RUN, env=env)[0], whole)
        self.assertEqual(list((cache / "writ" / "packages").iterdir()), packages)


if __name__ == "__main__":
    main()
