"""What `writ compile` writes: the same bytes everywhere, readable, complete."""
import hashlib
import json
import shutil
import subprocess

import harness
from harness import SOURCE, WRIT_OPT, TestCase, random_model, replace, tiny_package


def digests(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted(folder.rglob("*")) if p.is_file()}


class Package(TestCase):
    def compile(self, *options, cwd=None, env=None, model=None):
        out = self.folder() / "package"
        self.writ("compile", model or random_model(), "--bringup", "--no-build", "-o", out, *options,
                  cwd=cwd, env=env)
        return out

    def test_C9_TwoCompilesFromDifferentFoldersGiveTheSameBytes(self):
        elsewhere = self.folder() / "a folder"
        elsewhere.mkdir()
        model = elsewhere / "model.gguf"
        shutil.copy(random_model(), model)
        first = digests(self.compile())
        second = digests(self.compile(cwd=elsewhere, model="model.gguf",
                                      env={"LC_ALL": "tr_TR.UTF-8", "HOME": str(elsewhere),
                                           "PATH": "/usr/bin:/bin", "TZ": "Asia/Kathmandu"}))
        self.assertEqual(first, second)
        self.assertIn("weights.safetensors", first)
        self.assertIn("src/model.cpp", first)

    def test_C9_AnotherModelGivesOtherBytes(self):
        self.assertNotEqual(digests(self.compile()),
                            digests(self.compile(model=random_model("--seed", "2", name="other"))))

    def test_ADryRunWritesNothing(self):
        folder = self.folder()
        self.writ("compile", random_model(), "--bringup", "--dry-run", "-o", folder / "package")
        self.assertEqual(list(folder.iterdir()), [])

    def test_ADryRunWritesTheStagesThatWereAskedForAndNoMore(self):
        folder = self.folder()
        self.writ("compile", random_model(), "--bringup", "--dry-run", "-o", folder / "package", "--emit-ir", folder / "ir")
        self.assertEqual(sorted(digests(folder)), ["ir/call.mlir", "ir/graph.mlir", "ir/lowered.mlir"])
        self.assertIn("write no package", self.writ("compile", "--help")[0])

    def test_C4_TheThreeStagesRoundTripThroughWritOpt(self):
        ir = self.folder()
        self.compile("--emit-ir", ir)
        for stage in ("graph", "lowered", "call"):
            text = (ir / f"{stage}.mlir").read_bytes()
            printed = subprocess.run([WRIT_OPT, ir / f"{stage}.mlir", "-mlir-print-debuginfo"],
                                     check=True, capture_output=True).stdout
            self.assertEqual(text.decode(), printed.decode(), stage)

    def test_C9_EmissionNeedsTheCallIrTextAlone(self):
        package = self.compile()
        lonely = self.folder()
        shutil.copy(package / "ir" / "call.mlir", lonely / "call.mlir")
        subprocess.run([WRIT_OPT, "--emit-cpp", "call.mlir", "-o", "out"], check=True, cwd=lonely,
                       capture_output=True)
        emitted = digests(lonely / "out")
        whole = digests(package)
        self.assertTrue(emitted)
        self.assertEqual(emitted, {name: whole[name] for name in emitted})

    def test_TheLockIsSortedAndNamesEveryDigest(self):
        text = (self.compile() / "writ.lock.json").read_text()
        lock = json.loads(text)
        self.assertEqual(text, json.dumps(lock, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
        for key in ("model", "circuit", "profile", "weights", "tokenizer"):
            self.assertRegex(lock[key]["sha256"], "^[0-9a-f]{64}$")
        for provider in lock["providers"].values():
            self.assertRegex(provider["source"], "^[0-9a-f]{64}$")
        self.assertEqual(lock["resolutions"]["blk.0.attn_q"]["decode"]["provider"],
                         "linear_q4_1_i8_b32")
        self.assertFalse(lock["production"], "--bringup marks the lock")

    def test_TheEmittedCodeNamesItsInputs(self):
        package = self.compile()
        banner = (package / "src" / "model.cpp").read_text()[:4000]
        lock = json.loads((package / "writ.lock.json").read_text())
        for digest in (lock["model"]["sha256"], lock["resolution_sha256"]):
            self.assertIn(digest, banner)

    def test_TheEmittedCodeCompilesWithoutWarningsOnBothCompilers(self):
        package = self.compile()
        for compiler in ("g++", "clang++"):
            for source in sorted((package / "src").glob("*.cpp")):
                subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                f"-I{harness.BUILD}/include", source], check=True)

    def test_ExplainSaysWhyEachCandidateWasTakenOrRejected(self):
        out, _ = self.writ("explain", self.compile(), "blk.1.ffn_down")
        self.assertIn("contract  linear_q4_1_i8_b32_v0", out)
        self.assertIn("provider  linear_q4_1_i8_b32", out)
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^blk\.1\.ffn_down \(prefill, decode\), 'linear' at circuits/llama\.json:\d+$")
        self.assertEqual(sum(line.startswith("blk.") for line in lines), 1, out)  # both phases are one decision
        self.assertRegex(out, r"\n  because   of \d+ kernels it alone accepts every field and keeps the contract\n")
        # Nearest first: this one differs in two fields, that one in four.
        self.assertIn("  near miss linear_q8_0_i8_b32: weight is q4_1, it takes q8_0; keeps linear_q8_0_i8_b32_v0",
                      lines)
        near = [line for line in lines if line.startswith("  near miss ")]
        rejected = [line for line in lines if line.startswith("  rejected  ")]
        self.assertTrue(near and rejected)
        self.assertEqual(lines[-len(near) - len(rejected):], near + rejected)
        counts = [line.count("; ") for line in near + rejected]
        self.assertEqual(counts, sorted(counts))

    def test_ExplainWithoutAnOpIsATable(self):
        lines = self.writ("explain", tiny_package())[0].splitlines()
        columns = {line.index(word) for line in lines for word in (" prefill ", " decode ") if word in line}
        self.assertEqual(len(columns), 1, lines)

    def test_ExplainOfAnUnknownOpNamesTheNearest(self):
        _, err = self.writ("explain", tiny_package(), "blk.0.attn_p", code=1)
        self.assertIn("'blk.0.attn_q'", err)

    def test_RunOfAModelFileIsCachedByTheDigestOfItsInputs(self):
        cache = self.folder()
        env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(cache)}
        words = ("run", random_model(), "--bringup", "--prompt", "ab", "--max-tokens", "3",
                 "--ignore-end")
        first, said = self.writ(*words, env=env)
        self.assertIn("building the emitted code", said)
        second, said = self.writ(*words, env=env)
        self.assertNotIn("building", said)
        self.assertEqual(first, second)
        # Production is not what --bringup made: no record speaks of this model's data.
        data = self.data()
        shutil.rmtree(data / "contracts" / "evidence")
        _, said = self.writ(*[word for word in words if word != "--bringup"], "--data", data, env=env, code=1)
        self.assertIn("is not validated: there is no record [E103]", said)
        out, _ = self.writ("cache", env=env)
        self.assertIn("random", out)
        self.writ("cache", "--prune", env=env)
        out, _ = self.writ("cache", env=env)
        self.assertIn("no package is cached", out)

    def test_AnyInputThatChangesIsAnotherPackageInTheCache(self):
        cache, data = self.folder(), self.data()
        env = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(cache)}
        text = ("--prompt", "ab", "--max-tokens", "1", "--ignore-end")

        def builds(*options, model=random_model()):
            _, said = self.writ("run", model, "--bringup", "--data", data, *text, *options, env=env)
            return "building the emitted code" in said

        def append(path):
            with open(path, "a") as file:
                file.write("\n")

        record = max((data / "contracts" / "evidence" / "end_to_end").iterdir()).relative_to(data)
        self.assertTrue(builds())
        self.assertFalse(builds())
        for options, model in ((("--profile", "f32"), random_model()), (("--cxx", "clang++"), random_model()),
                               ((), random_model("--seed", "2", name="other"))):
            self.assertTrue(builds(*options, model=model), (options, model))
        self.assertFalse(builds())
        for path, act in (("circuits/chat/chatml_smollm2.json", lambda p: replace(p, "helpful", "doubtful")),
                          (record, lambda p: p.unlink()), ("circuits/llama.json", append),
                          ("kernel_maps/linear/linear_q4_1_i8_b32.json", append)):
            act(data / path)
            self.assertTrue(builds(), path)
            self.assertFalse(builds(), path)

    def test_TheEmbeddingExampleBuildsAsItsCommentSaysAndRuns(self):
        self.need_plain_libraries()
        program = self.folder() / "embed"
        lib = harness.BUILD / "lib"
        subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{harness.BUILD}/include",
                        SOURCE / "examples" / "embed" / "embed.c", f"-L{lib}", "-lwrit_runtime",
                        f"-Wl,-rpath,{lib}", "-o", program], check=True)
        said = subprocess.run([program, tiny_package(), "ab"], check=True, capture_output=True).stdout
        out, _ = self.writ("run", tiny_package(), "--prompt", "ab", "--max-tokens", "16")
        self.assertEqual(said.decode("utf-8", "replace"), out)

    def test_NoBuildStopsAfterEmission(self):
        package = self.compile()
        self.assertTrue((package / "CMakeLists.txt").exists())
        self.assertFalse((package / "lib").exists())

    def test_NoPathOfThisMachineIsInAPackage(self):
        built = tiny_package()
        self.assertTrue((built / "lib" / "libmodel.so").exists())
        for package in (self.compile(), built):
            for file in package.rglob("*"):
                for path in (SOURCE, harness.BUILD, "/tmp/writ-build-"):
                    if file.is_file():
                        self.assertNotIn(str(path).encode(), file.read_bytes(), file)


if __name__ == "__main__":
    harness.main()
