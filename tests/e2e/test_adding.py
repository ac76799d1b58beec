"""What docs/adding-a-provider.md and docs/adding-a-family.md promise: new files, and no edit of another one."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import BUILD, COMPILER, SOURCE, WORK, WRIT, TestCase, random_model

PARITY = BUILD / "bin" / "stitched_parity"
PROVIDER = SOURCE / "examples" / "added_provider"
PAGES = {name: (SOURCE / "docs" / f"adding-a-{name}.md") for name in ("provider", "family")}
FAMILY = SOURCE / "examples" / "smallest_circuit"
# What a build of the runtime reads, and the data.
TREE = ("CMakeLists.txt", "cmake", "scripts", "runtime", "contracts", "kernel_maps", "circuits")


def files(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*") if path.is_file()}


def cache_variable(name):
    """A setting of the build that is being tested; what is built beside it has to agree."""
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return f"-D{name}={found[1] if found else ''}"


class Adding(TestCase):
    def work_folder(self):
        """In the build folder, where the tool can be linked to and is not copied."""
        WORK.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix="adding-", dir=WORK)
        self.addCleanup(folder.cleanup)
        return harness.pathlib.Path(folder.name)

    def parity(self, package, model, data, *options, code=0, env=None):
        """Every call of the package against the reference: the result, and what was said."""
        out = self.folder() / "result.json"
        done = subprocess.run([PARITY, "--package", package, "--model", model, "--data", data, "--out", out,
                               *options], capture_output=True, text=True, env=env)  # fmt: skip
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(out.read_text()), done.stderr


class Provider(Adding):
    """Heads of 8 elements: no kernel of the tree takes them."""

    def build_runtime(self, tree):
        """Configures and builds the runtime alone, then puts the unchanged compiler beside it."""
        build = tree / "build"
        env = os.environ | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1"}
        same = ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS",
                "WRIT_SANITIZE", "WRIT_BITS_OPTIMIZATION", "Python3_EXECUTABLE")  # fmt: skip
        for words in (["cmake", "-S", tree, "-B", build, "-G", "Ninja", "-DWRIT_BUILD_COMPILER=OFF",
                       "-DWRIT_BUILD_TESTS=OFF", *map(cache_variable, same)],
                      ["cmake", "--build", build, "--target", "writ_runtime", "writ_runtime_static",
                       "--parallel", "2"]):  # fmt: skip
            done = subprocess.run(words, capture_output=True, text=True, env=env)
            self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr)
        (build / "bin").mkdir(exist_ok=True)
        for program in (WRIT, COMPILER):
            os.link(program, build / "bin" / program.name)
        (build / "share" / "writ").mkdir(parents=True)
        for folder in ("contracts", "kernel_maps", "circuits"):
            (build / "share" / "writ" / folder).symlink_to(tree / folder)
        return build

    def test_C3_N18_AProviderIsTwoNewFiles(self):
        tree, out = self.work_folder(), self.folder()
        for name in TREE:
            (shutil.copytree if (SOURCE / name).is_dir() else shutil.copy)(SOURCE / name, tree / name)
        model = random_model("--heads", "8", "--kv-heads", "4", name="small-heads")
        refused = "no kernel provides 'attention' for {q=f32, kv=f16, out=f32, mask=causal, head_dim=8"
        _, err = self.writ("compile", model, "--bringup", "--data", tree, "-o", out / "none", code=1)
        self.assertIn(refused, err)
        self.assertIn("[E101]", err)
        self.assertIn(refused, PAGES["provider"].read_text())

        before, added = files(tree), files(PROVIDER)
        self.assertEqual(len(added), 2)
        self.assertFalse(before.keys() & added.keys(), "new files, no edit")
        shutil.copytree(PROVIDER, tree, dirs_exist_ok=True)
        provider = next((PROVIDER / "kernel_maps").rglob("*.json")).stem
        contract, = json.loads(next((PROVIDER / "kernel_maps").rglob("*.json")).read_text())["contracts"]

        # The map alone is refused: the runtime that the tool runs with does not have the provider.
        _, err = self.writ("compile", model, "--bringup", "--data", tree, "-o", out / "none", code=1)
        self.assertIn(f"function '{provider}' does not exist", err)
        self.assertIn("[E125]", err)

        build = self.build_runtime(tree)
        env = os.environ | {"LD_LIBRARY_PATH": str(build / "lib")}
        def writ(*words, code=0):
            done = subprocess.run([build / "bin" / "writ", *words], capture_output=True, text=True, env=env)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            return done.stdout + done.stderr

        package = out / "package"
        writ("compile", model, "--bringup", "-o", package)
        said = writ("explain", package, "blk.1.attention")
        self.assertEqual(said.count(f"contract  {contract}\n  provider  {provider} (bodies: scalar, avx2, "
                                    "avx512; split by output_tile)\n"), 1, said)  # fmt: skip
        self.assertIn("head_dim is 8, it takes [16, 512]", said)

        # The reference evaluates the contract, and knows no kernel.
        result, _ = self.parity(package, model, tree, env=env)
        self.assertEqual(result["verdict"], "validated")
        self.assertGreater(result["ops"][contract][provider]["elements"], 0)
        self.assertEqual(result["ops"][contract][provider]["differences"], 0)
        _, err = self.parity(package, model, tree, "--alter-output", "blk.0.attention", code=1, env=env)
        self.assertIn(f"blk.0.attention ({provider}): output 'out' has", err)

        for name in added:
            (tree / name).unlink()
        self.assertEqual({name: digest for name, digest in files(tree).items()
                          if not name.startswith("build/")}, before)  # fmt: skip
        said = writ("compile", model, "--bringup", "-o", out / "none", code=1)
        self.assertIn(refused, said)
        self.assertIn("[E101]", said)


class Family(Adding):
    def model(self):
        path = self.folder() / "smallest.gguf"
        subprocess.run([sys.executable, FAMILY / "make_model.py", path], check=True)
        return path

    def test_C3_N18_AFamilyIsOneNewFile(self):
        data, model, out = self.data(), self.model(), self.folder()
        refused = "no circuit fits architecture 'smallest' [E030]"
        _, err = self.writ("compile", model, "--bringup", "--data", data, "-o", out / "none", code=1)
        self.assertIn(f"{model}: error: {refused}", err)
        self.assertIn("a family is added by one circuit file", err)
        self.assertIn(f"{model.name}: error: {refused}", PAGES["family"].read_text())

        before = files(data)
        circuit = data / "circuits" / "smallest.json"
        self.assertNotIn("circuits/smallest.json", before)
        shutil.copy(FAMILY / "smallest.json", circuit)
        package = out / "package"
        self.writ("compile", model, "--bringup", "--data", data, "-o", package)

        ops = [line.split()[0] for line in self.writ("explain", package)[0].splitlines()
               if " prefill " in line]  # fmt: skip
        named = [[op["name"] for op in section["ops"]]
                 for section in json.loads(circuit.read_text())["sections"]]  # fmt: skip
        layers = [f"blk.{layer}.{name}" for layer in range(2) for name in named[1]]
        self.assertEqual(ops, named[0] + layers + named[2])
        self.assertEqual(json.loads((package / "writ.lock.json").read_text())["circuit"]["id"], "smallest")

        result, _ = self.parity(package, model, data)
        self.assertEqual((result["verdict"], result["circuit"]), ("validated", "smallest"))
        self.assertTrue(all(op["elements"] > 0 and op["differences"] == 0
                            for providers in result["ops"].values() for op in providers.values()))  # fmt: skip

        words = ("run", package, "--prompt", "the smallest", "--max-tokens", "12", "--ignore-end")
        text = self.writ(*words, "--threads", "1")[0]
        self.assertEqual(self.writ(*words, "--threads", "3", "--chunk", "5")[0], text)
        self.assertGreater(len(text), 1)

        circuit.unlink()
        self.assertEqual(files(data), before)
        _, err = self.writ("compile", model, "--bringup", "--data", data, "-o", out / "none", code=1)
        self.assertIn(refused, err)

    def test_C3_NegativeControl_AFaultInTheNewFileStandsAtItsPlace(self):
        data, model, out = self.data(), self.model(), self.folder()
        circuit = data / "circuits" / "smallest.json"
        shutil.copy(FAMILY / "smallest.json", circuit)
        harness.replace(circuit, '"b": "output"', '"b": "outputs"')
        _, err = self.writ("compile", model, "--bringup", "--data", data, "-o", out / "none", code=1)
        self.assertIn(f"{circuit}:{harness.position(circuit, chr(34) + 'outputs')}: error: input 'outputs' of op "
                      "'blk.0.sum' is made by no op before it [E030]", err)


class Pages(Adding):
    def test_EachLinkOfThePagesLeadsToAFile(self):
        for page in PAGES.values():
            links = re.findall(r"\]\(([^)#]+)", page.read_text())
            self.assertGreater(len(links), 2, page)
            for link in links:
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")


if __name__ == "__main__":
    harness.main()
