"""One model, one contract, the same bits (S1 to S8): every way to compute a history gives one digest.

The golden digests are data (tests/data/golden): what one machine and compiler gave, every other must
give. Histories hold 640 tokens, so that they cross page edges (16, 32), key tiles (32) and chunks of
keys (256, 512). The package's code is written by the g++ build's tool and compiled by the compiler of
this build folder, with its optimisation, against its runtime, so the clang build checks S8. A few
settings that differ in several ways at once hold every value of every axis for each storage type and
both compilers; what differs from the digest is looked for by `writ trace`. Each axis alone and the
products of all are test-long's. The build for AArch64 does the same under an emulator.
"""
import functools
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import broken_kernel  # noqa: E402
import harness  # noqa: E402
from harness import SOURCE, TestCase, families, locked, random_model, real_model, storages  # noqa: E402
from models import random_model_options  # noqa: E402

BUILD = harness.BUILD
COMPILER = pathlib.Path(os.environ.get("WRIT_COMPILER_BUILD", SOURCE / "build")) / "bin" / "writ"
CXX = os.environ.get("WRIT_CXX", "c++")
OPTIMIZATION = os.environ.get("WRIT_BITS_OPTIMIZATION", "-O3")
TOOLCHAIN = os.environ.get("WRIT_TOOLCHAIN", "")  # of another architecture, with what runs it here
EMULATOR = os.environ.get("WRIT_EMULATOR", "").split()
# Of cmake: what compiles a package.
COMPILE_OPTION = f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}" if TOOLCHAIN else f"-DCMAKE_CXX_COMPILER={CXX}"
IS_SECOND_COMPILER = BUILD.resolve() != COMPILER.parents[1].resolve()
RUNNER = [*EMULATOR, BUILD / "bin" / "score_digest"]
GOLDEN = SOURCE / "tests" / "data" / "golden"
TOKENS = 640
# Those that promise the same bits: portable first, whose digest float weights have.
PROFILES = ("portable", "f32")
SHAPE_STORAGES = ("q8_0",)


ISAS = ("scalar", "neon", "dotprod") if EMULATOR else ("scalar", "avx2", "avx512", "avx512bf16")  # ascending
SCALAR, MIDDLE, WIDEST = ISAS[:3]  # the last, where it is another, runs where none is named


@functools.cache
def supported_isas():
    """Those that this machine runs, ascending."""
    said = subprocess.run([*RUNNER, "isa"], check=True, capture_output=True, text=True).stdout
    return tuple(said.split())


def best_isa():
    return supported_isas()[-1]


def supported(isa):
    return isa in supported_isas()


def expected_body(provider, isa):
    """The best instruction set up to `isa` that the provider's map lists."""
    path, = (SOURCE / "kernel_maps").glob(f"*/{provider}.json")
    bodies = json.loads(path.read_text())["isa"]
    return max((body for body in bodies if body in ISAS[:ISAS.index(isa) + 1]), key=ISAS.index)


def built(model, profile, build=BUILD, compile_option=COMPILE_OPTION, level=OPTIMIZATION):
    """The package of a model, its code compiled by a build folder's compiler, this one's if none is named."""
    folder = BUILD / "tests" / "invariance"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = "-".join(str(int(p.stat().st_mtime_ns)) for p in (COMPILER, build / "lib" / "libwrit_runtime.so"))
    path = folder / f"{model.stem}-{profile}"
    if (build, level) != (BUILD, OPTIMIZATION):
        path = folder / f"{path.name}-{build.name}{level}"
    with locked(path):
        done = path / "built-from"
        if done.exists() and done.read_text() == stamp:
            return path
        shutil.rmtree(path, ignore_errors=True)  # another compile keeps what it did not write
        quiet = {"check": True, "capture_output": True}
        subprocess.run([COMPILER, "compile", model, "--bringup", "--no-build", "--profile", profile,
                        "-o", path], **quiet)
        subprocess.run(["cmake", "-S", path, "-B", path / "build", "-DCMAKE_BUILD_TYPE=Release",
                        f"-DCMAKE_CXX_FLAGS_RELEASE={level}", f"-DWRIT_ROOT={build}",
                        compile_option,
                        f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={path}/lib"], **quiet)
        subprocess.run(["cmake", "--build", path / "build"], **quiet)
        done.write_text(stamp)
    return path


def built_of_this_tree(compiler, level):
    """A build folder of the runtime, its kernels and score_digest alone, by a compiler at a level."""
    folder = BUILD / "tests" / "invariance" / f"build-{compiler}{level}"
    quiet = {"check": True, "capture_output": True}
    with locked(folder):
        subprocess.run(["cmake", "-G", "Ninja", "-S", SOURCE, "-B", folder, f"-DCMAKE_CXX_COMPILER={compiler}",
                        f"-DWRIT_BITS_OPTIMIZATION={level}", "-DWRIT_BUILD_COMPILER=OFF",
                        f"-DPython3_EXECUTABLE={sys.executable}"], **quiet)  # fmt: skip
        subprocess.run(["cmake", "--build", folder, "--target", "score_digest"], **quiet)
    return folder


def prose(model):
    """What a real model reads, as the oracle tokenized it."""
    texts = json.loads((SOURCE / "tests" / "data" / "logits" / f"{model}.json").read_text())["texts"]
    return texts["prose"]["ids"][:TOKENS]


def random_bytes():
    """What a small model reads: a fixed sequence of the ids of bytes."""
    source = random.Random(640)
    return [3 + source.randrange(256) for _ in range(TOKENS)]


def shapes():
    """circuit → options, of the families that are known by their shapes alone: their kernels are those of others."""
    known = json.loads((SOURCE / "scripts" / "shapes.json").read_text()).values()
    return {shape["circuit"]: random_model_options({"circuit": shape["circuit"], "random": shape["small"]})
            for shape in known if shape["circuit"] not in families()}  # fmt: skip


def small_models():
    """(circuit, storage) of each small model."""
    return [*itertools.product(families(), storages()), *itertools.product(shapes(), SHAPE_STORAGES)]


def small_model(circuit, storage):
    return random_model("--type", storage, *(families() | shapes())[circuit], name=f"{circuit}-{storage}")


def profiles_of(storage):
    """The profiles that have a contract of their own for the linear of a storage type."""
    return PROFILES if storage.startswith("q") else ("portable", "bf16") if storage == "bf16" else ("portable",)


def golden_of(circuit, storage, profile):
    """File and key of the digest of a small model."""
    return f"random_{circuit}", f"{storage}.{profile}"


def words_of(options):
    return [str(word) for pair in options.items() for word in pair]


class SameBits(TestCase):
    def digest(self, package, ids, check_bodies=True, runner=RUNNER, **options):
        path = self.folder() / "ids"
        path.write_text(" ".join(map(str, ids)))
        words = [f"{key}={value}" for key, value in options.items()]
        result = subprocess.run([*runner, package, path, *words], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, f"{words}: {result.stderr}")
        lines = result.stdout.splitlines()
        bodies = [line.split()[1:] for line in lines if line.startswith("body ")]
        if check_bodies:
            self.assert_bodies(package, bodies, options.get("isa", best_isa()))
        return "\n".join(line for line in lines if not line.startswith("body "))

    def assert_bodies(self, package, bodies, isa):
        """Every provider of a phase ran, and no body but the one that `isa` calls for."""
        lock = json.loads((package / "writ.lock.json").read_text())
        phases = [{op[phase]["provider"] for op in lock["resolutions"].values() if phase in op}
                  for phase in ("prefill", "decode")]
        self.assertIn({provider for provider, _ in bodies}, [*phases, phases[0] | phases[1]])
        for provider, body in bodies:
            self.assertEqual(body, expected_body(provider, isa), f"{provider} at {isa}")

    def same(self, package, ids, golden, combinations, check_bodies=True):
        for options in combinations:
            if not supported(options.get("isa", SCALAR)):
                continue
            digest = self.digest(package, ids, check_bodies, **options)
            if digest != golden:
                first = self.first_difference(package, ids, options)
                self.fail(f"{options} gives {digest}, golden is {golden}\n{first}")
        lacking = {options["isa"] for options in combinations
                   if not supported(options.get("isa", SCALAR))}
        if lacking:
            self.skipTest(f"this processor lacks {', '.join(sorted(lacking))}; the rest agrees")

    def first_difference(self, package, ids, options):
        """Where the run parts from one thread, chunk 32: what `writ trace` says of this package.

        The tool is the first compiler's; in the other's build folder it is made to run that one's kernels, saves what
        they do, and compares. Another architecture's it cannot run: there the row is named, not the op."""
        if EMULATOR:
            return self.first_row(package, ids, options)
        path = self.folder() / "ids"
        path.write_text(" ".join(map(str, ids)))
        best = best_isa()
        pairs = {"threads": ("--threads", 1), "chunk": ("--chunk", 32), "isa": ("--isa", best), "batch": ("--batch", 1),
                 "pages": ("--page-size", 32), "shuffle": ("--page-order", 0), "rewind": ("--rewind", 0)}  # fmt: skip
        run = {option: options.get(key, base) for key, (option, base) in pairs.items()}
        if not IS_SECOND_COMPILER:
            return self.trace(package, "--ids", path, *words_of({option: f"{base},{run[option]}" for option, base in
                                                                 pairs.values()}))  # fmt: skip
        saved = self.folder() / "trace"
        self.trace(package, "--ids", path, "--save", saved, *words_of(run), runtime=BUILD / "lib" / "libwrit_runtime.so")
        return self.trace(package, "--against", saved, *words_of(dict(pairs.values())))

    def first_row(self, package, ids, options):
        a = self.digest(package, ids, False, digest="rows").split()
        b = self.digest(package, ids, False, digest="rows", **options).split()
        rows = [i for i, (x, y) in enumerate(zip(a, b)) if x != y]
        return f"the bits differ first at position {rows[0]}" if rows else "no row differs from one thread"

    def trace(self, *words, runtime=None):
        environment = os.environ | ({"LD_PRELOAD": str(runtime)} if runtime else {})
        traced = subprocess.run([COMPILER, "trace", *words], capture_output=True, text=True, env=environment)
        return f"writ trace {' '.join(map(str, words))}:\n{traced.stdout}{traced.stderr}"

    def golden(self, model, key):
        path = GOLDEN / f"{model}.json"
        self.assertTrue(path.exists(), f"{path} is missing; --record writes it")
        return json.loads(path.read_text())[key]


SHORT_WALK = ((1, 32, WIDEST), (3, "whole", MIDDLE))


class RealModel:
    """Every way to compute, of a model of scripts/models.json. A run costs seconds, so one setting is of several axes."""

    name = None
    # (threads, chunk, instruction set)
    walk = SHORT_WALK if IS_SECOND_COMPILER else (
        (1, 32, WIDEST), (2, "whole", MIDDLE), (3, 512, WIDEST), (7, 64, MIDDLE))  # fmt: skip

    def setUp(self):
        self.model, self.ids = real_model(self.name), prose(self.name)

    def check(self, profile, combinations):
        self.same(built(self.model, profile), self.ids, self.golden(self.name, profile), combinations)

    def test_S1_S3_S4_S8_EachThreadsChunkAndInstructionSet(self):
        self.check("portable", [dict(zip(("threads", "chunk", "isa"), setting)) for setting in self.walk])

    def test_S2_S6_S7_BatchRewindAndPages(self):
        self.check("portable", [{"threads": 2, "chunk": 64, "batch": 2, "pages": 16, "shuffle": 5, "rewind": 40}])

    def test_S1_S3_S4_TheF32Profile(self):
        # The other setting is the other compiler's, and both are in the full product.
        self.check("f32", [{"threads": 3, "chunk": 17, "isa": MIDDLE} if IS_SECOND_COMPILER else
                           {"threads": 2, "chunk": 64, "isa": WIDEST}])

    def test_S2_S6_S7_BatchAndChunk_long(self):
        self.check("portable", [{"threads": 2, "chunk": 20, "batch": 3}, {"threads": 2, "chunk": 64, "rewind": 40}])

    def product(self, *isas):
        return [dict(zip(("threads", "chunk", "isa"), combination)) for combination in
                itertools.product((1, 2, 3, 7), (1, 7, 32, "whole"), isas)]  # fmt: skip

    def test_S1_S3_S4_S8_FullProduct_long(self):
        self.check("portable", self.product(*ISAS))

    def test_S1_S3_S4_S8_FullProductOfTheF32Profile_long(self):
        # A machine without fma takes minutes for one of these: the small models run the scalar bodies.
        self.check("f32", self.product(MIDDLE, WIDEST))


class SmolLM2(RealModel, SameBits):
    name = "smollm2"


class Gemma3(RealModel, SameBits):
    name = "gemma3"  # its window of 512 is crossed
    # Its vocabulary makes a run long: the rest is in the full product.
    walk = SHORT_WALK


class RandomModels(SameBits):
    """Every family and storage type, where the slow ways (one row a step, scalar bodies) are cheap."""

    def check(self, circuit, storage, combinations, unless_f32=()):
        for profile in profiles_of(storage):
            package = built(small_model(circuit, storage), profile)
            self.same(package, random_bytes(), self.golden(*golden_of(circuit, storage, profile)),
                      [*combinations, *(unless_f32 if profile != "f32" else ())])

    def test_S8_APackagesCodeAtTheOtherLevel(self):
        package = built(small_model("llama", "q4_1"), "portable", level="-O2" if OPTIMIZATION == "-O3" else "-O3")
        self.assertEqual(self.digest(package, random_bytes(), threads=2),
                         self.golden(*golden_of("llama", "q4_1", "portable")))

    def test_S8_EachCompilerAtEachLevel_long(self):
        """Kernels and emitted code by g++ and clang++ at -O2 and -O3, over a runtime of the same compiler."""
        ids, digests = random_bytes(), {}
        for compiler, level in itertools.product(("g++", "clang++-14"), ("-O2", "-O3")):
            if not shutil.which(compiler):
                self.skipTest(f"there is no {compiler} here")
            build = built_of_this_tree(compiler, level)
            for profile, isa in itertools.product(PROFILES, filter(supported, ISAS)):
                package = built(small_model("llama", "q4_1"), profile, build, f"-DCMAKE_CXX_COMPILER={compiler}", level)
                digest = self.digest(package, ids, runner=[build / "bin" / "score_digest"], threads=2, isa=isa)
                digests.setdefault(profile, {})[compiler, level, isa] = digest
        for profile in PROFILES:
            golden = self.golden(*golden_of("llama", "q4_1", profile))
            self.assertEqual(digests[profile], dict.fromkeys(digests[profile], golden))

    def test_EveryStorageTypeHasItsDigestsAndNoOther(self):
        expected = {}
        for circuit, storage in small_models():
            for profile in profiles_of(storage):
                file, key = golden_of(circuit, storage, profile)
                expected.setdefault(f"{file}.json", set()).add(key)
        for path in GOLDEN.glob("random_*.json"):
            self.assertEqual(set(json.loads(path.read_text())), expected.pop(path.name), path)
        self.assertEqual(expected, {})

    def test_NegativeControl_OtherWeightsOrderOrProfileAreSeenToDiffer(self):
        package = built(small_model("llama", "q4_1"), "portable")
        ids, golden = random_bytes(), self.golden(*golden_of("llama", "q4_1", "portable"))
        self.assertEqual(self.digest(package, ids), golden)
        swapped = ids[:-2] + [ids[-1], ids[-2]]
        self.assertNotEqual(self.digest(package, swapped), golden)
        other = built(random_model("--type", "q4_1", "--seed", "2", name="q4_1-other"), "portable")
        self.assertNotEqual(self.digest(other, ids), golden)
        exact = built(small_model("llama", "q4_1"), "f32")
        self.assertNotEqual(self.digest(exact, ids), golden)

    def test_NegativeControl_ABitThatDependsOnThreadsChunkOrIsaIsSeen(self):
        package = built(small_model("llama", "q4_1"), "portable")
        ids, golden = random_bytes(), self.golden(*golden_of("llama", "q4_1", "portable"))
        for flip, without, with_it in (("threads", {"threads": 1}, {"threads": 3}),
                                       ("chunk", {"chunk": 32}, {"chunk": 64}),
                                       ("isa", {"isa": SCALAR}, {"isa": best_isa()})):
            self.assertEqual(self.digest(package, ids, flip=flip, **without), golden, flip)
            if flip == "isa" and best_isa() == SCALAR:
                self.skipTest("this processor has scalar bodies only")
            self.assertNotEqual(self.digest(package, ids, flip=flip, **with_it), golden, flip)

    def test_NegativeControl_AFailureNamesTheOpAndTheRow(self):
        package = self.folder() / "package"
        shutil.copytree(built(small_model("llama", "q4_1"), "portable"), package)
        broken_kernel.break_residual(package, BUILD, COMPILE_OPTION)
        ids, golden = random_bytes(), self.golden(*golden_of("llama", "q4_1", "portable"))
        with self.assertRaises(self.failureException) as failed:
            self.same(package, ids, golden, [{"threads": 1}, {"threads": 3, "chunk": 40}], check_bodies=False)
        position = broken_kernel.first_wrong_position(40, 3)
        self.assertIn("{'threads': 3, 'chunk': 40} gives ", str(failed.exception))
        self.assertIn(f"the bits differ first at position {position}", str(failed.exception))
        if not EMULATOR:
            self.assertIn(f"at position {position}, in '{broken_kernel.OP}' (residual, layer 0)", str(failed.exception))

    def test_S2_Batches(self):
        package = built(small_model("llama", "q4_1"), "portable")
        ids = random_bytes()[:300]
        alone = self.digest(package, ids)
        for batch, chunk in ((2, 32), (5, 7), (16, 3), (44, 1), (64, 4)):
            self.assertEqual(self.digest(package, ids, batch=batch, chunk=chunk, threads=2), alone,
                             f"batch {batch}")

    def test_S1_S3_FullContext_long(self):
        """A window of 40 and full attention over all 32,768 positions of the context, and no more."""
        context = 32768
        package = built(random_model("--type", "q8_0", *families()["gemma3"], "--context", str(context),
                                     name="gemma3-32k"), "portable")  # fmt: skip
        ids = (random_bytes() * (context // TOKENS + 1))[:context]
        one = self.digest(package, ids, threads=2, chunk=512)
        self.assertEqual(self.digest(package, ids, threads=3, chunk=1000, pages=64, shuffle=3), one)
        path = self.folder() / "ids"
        path.write_text(" ".join(map(str, [*ids, ids[0]])))
        refused = subprocess.run([*RUNNER, package, path], capture_output=True, text=True)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(str(context), refused.stderr)


def add_storage_tests():
    """Every value of every axis in a few settings; each axis alone in test-long."""
    axes = [{}, {"threads": 3}, {"chunk": 1}, {"chunk": 7}, {"chunk": "whole"}, {"isa": SCALAR},
            {"isa": MIDDLE}, {"isa": WIDEST}, {"pages": 16, "shuffle": 9}, {"rewind": 100},
            {"threads": 2, "chunk": 5, "batch": 3}, {"threads": 7, "chunk": 33, "isa": SCALAR}]
    # Several threads where steps are few: waiting for each other is all that they do in short ones.
    together = [{}, {"chunk": 1}, {"chunk": 7, "batch": 3, "isa": WIDEST},
                {"threads": 3, "chunk": "whole", "isa": MIDDLE, "pages": 16, "shuffle": 9, "rewind": 100}]
    scalar = {"threads": 7, "chunk": 33, "isa": SCALAR}

    def add(suffix, circuit, storage, combinations, unless_f32=()):
        setattr(RandomModels, f"test_S1_S2_S3_S4_S6_S7_S8_{circuit}_{storage}{suffix}",
                lambda self: self.check(circuit, storage, combinations, unless_f32))

    first = next(iter(families()))
    for circuit, storage in small_models():
        # Scalar bodies take seconds where no activation is rounded: once for each storage type.
        if circuit == first and not IS_SECOND_COMPILER:
            add("", circuit, storage, [*together, scalar])
        else:
            add("", circuit, storage, together, [scalar])
        add("_long", circuit, storage, axes)
    if IS_SECOND_COMPILER:
        del RandomModels.test_S8_EachCompilerAtEachLevel_long  # once is enough: it takes both


def keep_what_an_emulator_can():
    """The long products stay with the machine's own architecture; a real model takes minutes a run."""
    for case in (RealModel, SmolLM2, Gemma3, RandomModels):
        for name in [name for name in vars(case) if name.endswith("_long")]:
            delattr(case, name)
    for name in [name for name in vars(RealModel) if name.startswith("test_")]:
        if name != "test_S1_S3_S4_S8_EachThreadsChunkAndInstructionSet":
            delattr(RealModel, name)


def record():
    """Writes the golden digests; for a new contract or model only, never to make a test pass."""
    case = SameBits()
    GOLDEN.mkdir(parents=True, exist_ok=True)
    files = {}
    for circuit, storage in small_models():
        for profile in profiles_of(storage):
            package = built(small_model(circuit, storage), profile)
            file, key = golden_of(circuit, storage, profile)
            files.setdefault(file, {})[key] = case.digest(package, random_bytes())
    for file, digests in files.items():
        (GOLDEN / f"{file}.json").write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n")
    for model in (SmolLM2.name, Gemma3.name):
        digests = {profile: case.digest(built(real_model(model), profile), prose(model), threads=2)
                   for profile in PROFILES}
        (GOLDEN / f"{model}.json").write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n")


add_storage_tests()
if EMULATOR:
    keep_what_an_emulator_can()
if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        harness.main()
