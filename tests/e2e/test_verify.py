"""`writ verify`: every part of a package is looked at, and every fault is named."""
import hashlib
import json
import re
import shutil
import struct

import harness
from harness import TestCase, package, position, random_model, replace, run, tiny_package

LOCK, CALL = "writ.lock.json", "ir/call.mlir"


def lock_of(folder):
    return json.loads((folder / LOCK).read_text())


def locked(lock):
    """Every file that a lock names."""
    parts = [lock[part]["file"] for part in ("weights", "tokenizer", "chat") if part in lock]
    return parts + [lock["tokenizer"]["tables"]["file"]] + sorted(lock["files"])


class Verify(TestCase):
    def copy(self):
        copy = self.folder() / "copy"
        shutil.copytree(tiny_package(), copy)
        return copy

    def refuses(self, folder, *expected):
        """Exit code 1, and these diagnostics, whole; a package that is not whole is not loaded."""
        out, err = self.writ("verify", folder, code=1)
        self.assertNotIn("\nlibrary", out)
        for text in expected:
            self.assertIn(text, err)
        self.assertEqual(err.count(": error: "), len(expected), err)

    def test_C10_ItSaysWhatItLookedAt(self):
        folder, lock = tiny_package(), lock_of(tiny_package())
        out, err = self.writ("verify", folder)
        self.assertEqual(err, "")
        size = lock["weights"]["bytes"] / 1e6
        decisions = sum(len(phases) for phases in lock["resolutions"].values())
        self.assertEqual(out.splitlines(), [
            f"lock       {LOCK} has SHA-256 {hashlib.sha256((folder / LOCK).read_bytes()).hexdigest()}",
            f"files      {len(locked(lock))} files have the digests that the lock names, the weights whole "
            f"({size:.1f} MB)",
            "tokenizer  tokenizer.bin has the tables of tokenizer.json",
            f"decisions  {decisions} resolutions, and the digests of their contracts and maps, are those of {CALL}",
            "library    lib/libmodel.so has the digest of its build, and its code was made from this model, circuit, "
            f"profile, resolution table and {CALL}"])  # fmt: skip

    def test_C10_EveryAlteredFileIsNamed(self):
        folder = self.copy()
        expected = []
        for file in locked(lock_of(folder)):
            data = bytearray((folder / file).read_bytes())
            data[-1] ^= 1
            (folder / file).write_bytes(data)
            digest = hashlib.sha256(data).hexdigest()
            expected.append(f"{folder}/{file}: error: it has SHA-256 {digest}; compile the model again [E050]\n"
                            f"{folder}/{LOCK}:")
        self.refuses(folder, *expected)

    def test_C10_TablesOfAnotherVocabularyAreNamed(self):
        folder = self.copy()
        tables = bytearray((folder / "tokenizer.bin").read_bytes())
        tables[52:56] = struct.pack("<i", 7)  # the padding token
        (folder / "tokenizer.bin").write_bytes(tables)
        lock = lock_of(folder)
        lock["tokenizer"]["tables"]["sha256"] = digest = hashlib.sha256(tables).hexdigest()
        (folder / LOCK).write_text(json.dumps(lock, indent=1))
        self.refuses(folder, f"{folder}/{LOCK}:{position(folder / LOCK, chr(34) + digest)}: error: tokenizer.bin has "
                             "other tokens than tokenizer.json; compile the model again [E050]\n")

    def test_C10_AFileThatIsMissingIsNamedWithTheLineThatNamesIt(self):
        folder = self.copy()
        (folder / "src" / "calls.cpp").unlink()
        digest = lock_of(folder)["files"]["src/calls.cpp"]
        self.refuses(folder, f"{folder}/src/calls.cpp: error: it is missing; compile the model again [E050]\n"
                             f"{folder}/{LOCK}:{position(folder / LOCK, chr(34) + digest)}: note: the lock names it\n")

    def test_C10_AnEditedDecisionIsNamedWhereItStands(self):
        lock = lock_of(tiny_package())
        contract, digest = next(iter(lock["contracts"].items()))
        provider, other = lock["resolutions"]["logits"]["decode"]["provider"], "0" * 64
        maps = lock["providers"][provider]["map"]
        for edit, at, said in (
                (lambda lock: lock["contracts"].update({contract: other}), other,
                 f"contract {contract} is {other[:12]}, but {CALL} says {digest[:12]}"),
                (lambda lock: lock["providers"][provider].update(map=other), other,
                 f"provider {provider} map is {other[:12]}, but {CALL} says {maps[:12]}"),
                (lambda lock: lock["resolutions"]["logits"]["decode"].update(provider="faster"), "faster",
                 f"op logits decode provider is 'faster', but {CALL} says '{provider}'"),
                (lambda lock: lock["contracts"].update(more=other), other, f"contract more is not in {CALL}"),
                (lambda lock: lock["model"].update(name="another"), "another",
                 f"model name is 'another', but {CALL} says 'random'")):
            folder, edited = self.copy(), json.loads(json.dumps(lock))
            edit(edited)
            (folder / LOCK).write_text(json.dumps(edited, indent=1))
            with self.subTest(said=said):
                place = position(folder / LOCK, f'"{at}"')
                self.refuses(folder, f"{folder}/{LOCK}:{place}: error: {said}; compile the model again [E050]\n")

    def test_C10_WhatAnOpenDoesNotReadIsLookedAt(self):
        # An open takes the lock's list of ops for people's: it runs what the code calls.
        folder = self.copy()
        lock = lock_of(folder)
        del lock["resolutions"]["logits"]["decode"]
        (folder / LOCK).write_text(json.dumps(lock))
        self.assertEqual(run("run", folder, "--prompt", "ab", "--max-tokens", "1").returncode, 0)
        out, err = self.writ("verify", folder, code=1)
        self.assertRegex(err, rf"^{folder}/{LOCK}:1:\d+: error: op logits decode is missing, but {CALL} says \{{.*\}}; "
                              r"compile the model again \[E050\]\n$")

    def test_C10_AnEditedTableDoesNotPassWithItsDigests(self):
        folder, lock = self.copy(), lock_of(tiny_package())
        digest = next(iter(lock["contracts"].values()))
        replace(folder / CALL, digest, "0" * 64)
        lock["files"][CALL] = hashlib.sha256((folder / CALL).read_bytes()).hexdigest()
        (folder / LOCK).write_text(json.dumps(lock))
        _, err = self.writ("verify", folder, code=1)
        sealed = lock["resolution_sha256"]
        self.assertRegex(err, rf"error: .* has digest [0-9a-f]{{64}}, but it was sealed as {sealed}; later stages must "
                              r"keep it \[E201\]")

    def test_C10_TheLibraryOfAnotherModelIsRefused(self):
        folder = self.copy()
        other = package(random_model("--seed", "2", name="other"), "--bringup")
        shutil.copytree(other / "lib", folder / "lib", dirs_exist_ok=True)
        self.refuses(folder, "they are not of one package [E050]\n")

    def test_C10_AHalfLibraryIsRefused(self):
        folder = self.copy()
        library = folder / "lib" / "libmodel.so"
        library.write_bytes(library.read_bytes()[:4096])
        self.refuses(folder, "lib/libmodel.so (4096 bytes) has SHA-256 ")

    def test_APackageWithoutALibraryIsNotVerified(self):
        folder = self.copy()
        shutil.rmtree(folder / "lib")
        self.refuses(folder, f"{folder}/lib/libmodel.so: error: it is missing: the package is not built, so that no "
                             f"code is bound [E050]\n{folder}/CMakeLists.txt: note: this builds it\n")

    def test_APathOutsideThePackageIsRefused(self):
        for file in ("../outside", "/etc/hostname", "src/../../outside"):
            folder = self.copy()
            lock = lock_of(folder)
            lock["files"][file] = "0" * 64
            (folder / LOCK).write_text(json.dumps(lock, indent=1))
            place = position(folder / LOCK, f'"{"0" * 64}"')
            self.refuses(folder, f"{folder}/{LOCK}:{place}: error: '{file}' is not a path inside the package [E050]\n")

    def test_WhatIsNoPackageIsRefused(self):
        folder = self.folder()
        self.assertEqual(self.writ("verify", folder, code=3),
                         ("", f"{folder}/{LOCK}: error: cannot read the file: No such file or directory [E001]\n"))

    def test_TheHelpNamesTheEvidence(self):
        said = re.sub(r"\s+", " ", self.writ("verify", "--help")[0])
        self.assertIn("--evidence look also whether the records", said)


if __name__ == "__main__":
    harness.main()
