"""The committed records are current, and production rests on them."""
import contextlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import seeded  # noqa: E402
from harness import BUILD, CACHE, SOURCE, TestCase, known_models, main, random_model, real_model, replace  # noqa: E402

sys.path.insert(0, str(SOURCE / "scripts" / "evidence"))
import records as evidence_records  # noqa: E402

sys.path.insert(0, str(SOURCE / "scripts" / "generate"))
import built  # noqa: E402
import measure  # noqa: E402
import record_facts  # noqa: E402
import source_digest  # noqa: E402
from oracles import Model  # noqa: E402
from runs import PROFILES, runs_of  # noqa: E402

RECORDS = SOURCE / "contracts" / "evidence"
KERNELS = SOURCE / "runtime" / "kernels" / "cpu"


def digests(test, *words):
    out, _ = test.writ("digests", "--json", "--data", SOURCE, *words)
    return json.loads(out)


def need_the_flags_of_records(test):
    """A sanitized build has other flags than those that evidence was taken with."""
    if re.search(r"^WRIT_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.M):
        test.skipTest("the records speak of bodies that were built without a sanitizer")


class Records(TestCase):
    def setUp(self):
        need_the_flags_of_records(self)

    def test_C7_EveryRecordIsCurrent(self):
        current = digests(self)["digests"]
        seen = set()
        for path in sorted(RECORDS.rglob("*.json")):
            record = json.loads(path.read_text())
            with self.subTest(record=str(path.relative_to(RECORDS))):
                self.assertEqual(path, evidence_records.record_path(RECORDS, record["kind"],
                                                                    record["subject"]))
                self.assertEqual(record["verdict"], "validated")
                self.assertEqual(record, evidence_records.sealed(record), "it was edited after it was made")
                for key, digest in record["bound"].items():
                    self.assertEqual(digest, current.get(key), f"'{key}' has changed since")
            seen.add(record["kind"])
        self.assertEqual(seen, {"circuit", "contract", "provider", "stitched", "end_to_end"})

    def test_C7_EveryContractAndProviderHasARecord(self):
        faults = {(need["kind"], need["subject"]): need["fault"]
                  for need in digests(self)["needs"] if need["fault"]}
        self.assertEqual(faults, {})

    def test_C7_ProviderRecordsNameWhatWasCompared(self):
        for path in sorted((RECORDS / "provider").glob("*.json")):
            measured = json.loads(path.read_text())["measured"]
            with self.subTest(record=path.name):
                self.assertEqual(set(measured["isa"]), set(measured["flags"]))
                self.assertTrue(measured["shapes"] and measured["fills"])
                self.assertGreater(measured["elements"], 0)
                self.assertEqual(measured["failed"], 0)

    def test_C7_EndToEndRecordsSpeakOfShortAndOfLongHistories(self):
        for path in sorted((RECORDS / "end_to_end").glob("*.json")):
            measured = json.loads(path.read_text())["measured"]
            with self.subTest(record=path.name):
                self.assertTrue(measured["kv"]["rows"]["short KV"] and measured["kv"]["rows"]["long KV"])
                kept = {bound["bound"] for bound in measured["bounds"] if bound["kept"]}
                full = measured["run"] in PROFILES
                self.assertLessEqual({f"{what}, {part}" for part in ("short KV", "long KV") for what in (
                    ("meaning-nmse", "accuracy-nmse") if full else (f"{measured['run']}: accuracy-nmse",))}, kept)

    def test_C7_RecordsHoldNoDateAndNoPath(self):
        for path in sorted(RECORDS.rglob("*.json")):
            text = path.read_text()
            for pattern in (r"\d{4}-\d\d-\d\d", r'"/', r"/home/", r"/tmp/", r"/root/"):
                self.assertIsNone(re.search(pattern, text), f"{path.name}: {pattern}")
            self.assertEqual(text, json.dumps(json.loads(text), indent=1, sort_keys=True,
                                              ensure_ascii=False) + "\n", path.name)


class Production(TestCase):
    def data(self):
        folder = self.folder() / "data"
        shutil.copytree(seeded.shared_data(harness, random_model()), folder)
        return folder

    def compiles_for_production(self, name):
        need_the_flags_of_records(self)
        real_model(name)
        model = Model(name)
        for run in runs_of(model):
            path = CACHE / "models" / (model.copies[run.copy] if run.copy else model.definition)["file"]
            if not path.exists():
                self.skipTest(f"{path} is not there: run scripts/setup-oracles {name}")
            with self.subTest(run=run.name):
                self.writ("compile", path, *run.options, "--no-build", "-o", self.folder() / "package")
                for need in digests(self, path, *run.options)["needs"]:
                    self.assertEqual(need["fault"], "", need["record"])

    def refuse(self, data, expected):
        model = random_model()
        _, err = self.writ("compile", model, "--data", data, "--no-build", "-o",
                           self.folder() / "package", code=1)
        self.assertIn(expected, err)

    def some_provider(self, data):
        """The record of a provider that the tiny model needs; all records are current."""
        self.writ("compile", random_model(), "--data", data, "--no-build", "-o", self.folder() / "package")
        need = next(need for need in seeded.needs(harness.WRIT, data, random_model()) if need["kind"] == "provider")
        return need["subject"], data / need["record"]

    def test_C7_AStaleSourceDigestDemotesTheProvider(self):
        data = self.data()
        subject, path = self.some_provider(data)
        digest = json.loads(path.read_text())["bound"][f"source:{subject}"]
        seeded.edit(path, lambda record: record["bound"].update({f"source:{subject}": digest[::-1]}), seal=True)
        self.refuse(data, f"provider '{subject}' is not validated: it is stale: it binds "
                          f"'source:{subject}' at {digest[::-1][:12]}, which is {digest[:12]} now")

    def test_C7_AVerdictThatIsNotValidatedIsNoPass(self):
        data = self.data()
        subject, path = self.some_provider(data)
        seeded.edit(path, lambda record: record.update(verdict="unresolved"), seal=True)
        self.refuse(data, f"provider '{subject}' is not validated: its verdict is 'unresolved'")

    def test_C7_AVerdictWrittenByHandIsNoPass(self):
        data = self.data()
        subject, path = self.some_provider(data)
        seeded.edit(path, lambda record: record.update(verdict="failed"), seal=True)
        replace(path, '"verdict": "failed"', '"verdict": "validated"')
        self.refuse(data, f"provider '{subject}' is not validated: it was edited after it was made")

    def test_C7_ARecordWithoutTheFlagsIsNoPass(self):
        data = self.data()
        subject, path = self.some_provider(data)
        seeded.edit(path, lambda record: record["bound"].pop(f"flags:{subject}"), seal=True)
        self.refuse(data, f"provider '{subject}' is not validated: it does not bind 'flags:{subject}'")

    def test_C7_ProductionNeedsEachOfTheFiveKinds(self):
        needs = seeded.needs(harness.WRIT, self.data(), random_model())
        self.assertEqual({need["kind"] for need in needs},
                         {"circuit", "contract", "provider", "stitched", "end_to_end"})
        for need in {need["kind"]: need for need in needs}.values():
            with self.subTest(kind=need["kind"]):
                data = self.data()
                (data / need["record"]).unlink()
                self.refuse(data, f"{need['kind']} '{need['subject']}' is not validated: there is no record [E103]")

    def test_C7_OtherInputsDemoteWhatWasMeasuredOnThem(self):
        """A provider whose tests choose other shapes or values, or compare otherwise, and a contract."""
        for kind in ("provider", "contract"):
            data = self.data()
            self.writ("compile", random_model(), "--data", data, "--no-build", "-o", self.folder() / "package")
            need = next(need for need in seeded.needs(harness.WRIT, data, random_model()) if need["kind"] == kind)
            key, path = f"inputs:{kind}", data / need["record"]
            digest = json.loads(path.read_text())["bound"][key]
            seeded.edit(path, lambda record: record["bound"].update({key: digest[::-1]}), seal=True)  # noqa: B023
            self.refuse(data, f"{kind} '{need['subject']}' is not validated: it is stale: it binds '{key}' at "
                              f"{digest[::-1][:12]}, which is {digest[:12]} now")

    def test_C7_AMissingRecordIsNoPass(self):
        data = self.data()
        subject, path = self.some_provider(data)
        path.unlink()
        self.refuse(data, f"provider '{subject}' is not validated: there is no record")

    def test_C7_AChangedContractDemotesWhatKeepsIt(self):
        data = self.data()
        path = data / "contracts" / "residual" / "residual_f32_v0.json"
        replace(path, '"formula": "', '"formula": "0 + ')
        self.refuse(data, f"contract '{path.stem}' is not validated: it is stale: it binds "
                          f"'contract:{path.stem}'")


for _name in known_models():
    setattr(Production, f"test_C7_TheModelCompilesForProduction_{_name}",
            lambda self, name=_name: self.compiles_for_production(name))


class Sources(TestCase):
    """One character of a kernel's source is enough."""

    def source_digests(self, root, generator=SOURCE / "scripts" / "generate" / "kernels.py"):
        out = root / "out"
        done = subprocess.run(
            [sys.executable, generator, "generate", "--maps",
             SOURCE / "kernel_maps", "--sources", root / "runtime" / "kernels" / "cpu", "--include",
             root, "--include", root / "runtime" / "include", "--out", out],
            capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = (out / "kernel_table.cpp").read_text()
        return dict(re.findall(r'"(\w+)",\s*"([0-9a-f]{64})"', table))

    def tree(self):
        root = self.folder()
        for part in ("runtime/kernels", "runtime/include"):
            shutil.copytree(SOURCE / part, root / part)
        return root

    def test_C7_OneCharacterOfAKernelDemotesIt(self):
        root = self.tree()
        before = self.source_digests(root)
        current = digests(self)["digests"]
        self.assertEqual(before, {key.removeprefix("source:"): digest
                                  for key, digest in current.items() if key.startswith("source:")})
        path = sorted((root / "runtime" / "kernels" / "cpu").glob("residual/*.cpp"))[0]
        path.write_text(path.read_text() + " ")
        after = self.source_digests(root)
        changed = {name for name in before if before[name] != after[name]}
        self.assertEqual(changed, {path.stem})
        # Such a tool refuses production: scripts/test-faults compiles with one.

    def test_C7_AnotherGeneratedWrapperDemotesEveryProvider(self):
        """The threaded entry and the table of bodies are generated: no kernel's source shows that they changed."""
        root = self.tree()
        before = self.source_digests(root)
        generator = (SOURCE / "scripts" / "generate" / "kernels.py").read_text()
        merges = {path.stem for path in (SOURCE / "kernel_maps").glob("*/*.json")
                  if "merge" in json.loads(path.read_text()).get("threading", {})}  # fmt: skip
        for old, new, moved in ((", {extent}, {grain});", ", ({extent}) - 1, {grain});", set(before) - merges),
                                (", {extent}, {grain}, {name}_parts(args)", ", {extent}, {grain}, 1", merges),
                                ('body = f"{kernel[\'id\']}{kind}_{isa}"', 'body = f"{kernel[\'id\']}{kind}_scalar"',
                                 {path.stem for path in (SOURCE / "kernel_maps").glob("*/*.json")
                                  if len(json.loads(path.read_text()).get("isa", [])) > 1})):  # fmt: skip
            changed = root / "kernels.py"
            changed.write_text(generator)
            replace(changed, old, new)
            after = self.source_digests(root, changed)
            self.assertEqual({name for name in before if before[name] != after[name]}, moved, new)

    def test_C7_OneCharacterOfWhatMeasuresDemotesWhatWasMeasured(self):
        """Each digest is of the files that CMake names, whatever the place of the tree; each of them moves it."""
        current = digests(self)["digests"]
        cmake = (SOURCE / "compiler/Tools/writ/CMakeLists.txt").read_text()
        keys = {function: key for key, function in
                re.findall(r'\{"([\w:]+)", (\w+)\(\)\}',
                           (SOURCE / "compiler/Tools/writ/EvidenceDigests.cpp").read_text())}  # fmt: skip
        root = self.folder()
        found = {}
        for inside, function, words in re.findall(r"^writ_digest(_in)?\((?:\$\{PROJECT_SOURCE_DIR\} )?(\w+)([^)]*)\)",
                                                  cmake, re.M):  # fmt: skip
            folder, patterns = ("." if inside else "tests"), words.split()
            files = {path for pattern in patterns for path in (SOURCE / folder).glob(pattern)}
            for path in files:
                copy = root / path.relative_to(SOURCE)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
            key = keys[function]
            found[key] = (root / folder, patterns, {str(path.relative_to(SOURCE)) for path in files})
            self.assertEqual(source_digest.digest_of(root / folder, patterns), current[key], key)
        self.assertEqual(set(found) | {"reference"},
                         {key for key in current if ":" not in key or key.startswith("inputs:")}
                         - {"functions", "vocabulary"})  # fmt: skip
        entries = "tests/conformance/threaded_entries"
        for key, files in (("inputs:provider", ("tests/conformance/parts_test.cpp", f"{entries}.cpp.in", f"{entries}.cmake",
                                                "tests/conformance/ThreadedEntries.h", "tests/kernels/instruction_sets.h",
                                                "tests/conformance/Problem.cpp")),
                           ("inputs:contract", ("tests/conformance/Problem.cpp",)),
                           ("pool", ("runtime/src/pool/launch.cpp", "runtime/src/pool/thread_pool.cpp")),
                           ("packing", ("compiler/Emit/PackBlocks.cpp", "compiler/Emit/PackWeights.cpp")),
                           ("inputs:stitched", [f"tests/evidence/{name}.cpp"
                                                for name in ("Evaluate", "Facts", "Judge", "Walk", "stitched_parity")]),
                           ("inputs:end_to_end", ("scripts/evidence/compare_logits.py", "scripts/evidence/numerics.py",
                                                  "tests/data/texts/prose.txt"))):  # fmt: skip
            for file in files:
                with self.subTest(key=key, file=file):
                    self.assertIn(file, found[key][2])
        for key, (folder, patterns, files) in found.items():
            file = root / sorted(files)[-1]
            text = file.read_bytes()
            file.write_bytes(text + b" ")
            self.assertNotEqual(source_digest.digest_of(folder, patterns), current[key], f"{key}: {file.name}")
            file.write_bytes(text)


class Canonical(TestCase):
    """Records are sealed in Python and looked at in C++: the text of a value is the same in both."""

    def test_C7_NumbersAreWrittenAsEcmaScriptDoes(self):
        for value, text in ((0, "0"), (-0.0, "0"), (1.0, "1"), (-2.5, "-2.5"), (0.1, "0.1"), (100, "100"), (120.0, "120"),
                            (1e21, "1e+21"), (1e20, "100000000000000000000"), (123456789.125, "123456789.125"),
                            (1e-6, "0.000001"), (1e-7, "1e-7"), (-1.25e-9, "-1.25e-9"), (4.35e-05, "0.0000435"),
                            (5e-324, "5e-324"), (1.7976931348623157e308, "1.7976931348623157e+308"),
                            (2**53, "9007199254740992")):
            self.assertEqual(evidence_records.number(value), text)
        for value in (float("nan"), float("inf"), 2**53 + 1):
            self.assertRaises(ValueError, evidence_records.number, value)

    def test_C7_TheCompilerAcceptsWhatTheScriptSealed(self):
        data = self.folder() / "data"
        shutil.copytree(seeded.shared_data(harness, random_model()), data)
        need = next(need for need in seeded.needs(harness.WRIT, data, random_model()) if need["kind"] == "provider")
        path = data / need["record"]
        measured = {"numbers": [0.1, -0.0, 1e-7, 1e21, 4.35e-05, 5e-324, 7, -3, 123456.789],
                    "text": "é \"–\" \\ \n \u001f", "b": {"z": [], "a": {}, "n": None, "t": True}}
        seeded.edit(path, lambda record: record["measured"].update(measured), seal=True)
        faults = {other["record"]: other["fault"] for other in seeded.needs(harness.WRIT, data, random_model())}
        self.assertEqual(faults[need["record"]], "")
        seeded.edit(path, lambda record: record["measured"]["numbers"].append(1))
        faults = {other["record"]: other["fault"] for other in seeded.needs(harness.WRIT, data, random_model())}
        self.assertEqual(faults[need["record"]], "it was edited after it was made")


class MakeRecords(TestCase):
    """Verdicts of the script that writes the records."""

    def record(self, facts, bound=None):
        return evidence_records.Record({"kind": "provider", "subject": "x",
                                        "bound": bound or {"source:x": "0" * 64}}, facts)

    def test_C7_OnlyWhatWasMeasuredAndKeptIsValidated(self):
        facts = evidence_records.Facts({"isa": 1})
        self.assertEqual(self.record(facts).verdict, "validated")
        facts.gaps.append("this machine has no avx512")
        self.assertEqual(self.record(facts).verdict, "unresolved")
        facts.faults.append("a case failed")
        self.assertEqual(self.record(facts).verdict, "failed")
        self.assertEqual(self.record(facts).because, "a case failed")

    def test_C7_NothingMeasuredIsUnresolved(self):
        self.assertEqual(self.record(evidence_records.Facts()).verdict, "unresolved")

    def test_C7_AnAbsentDigestIsUnresolved(self):
        facts = evidence_records.Facts({"isa": 1})
        self.assertEqual(self.record(facts, {"source:x": None}).verdict, "unresolved")


class Built(TestCase):
    """The programs that measure are asked what they were built of."""

    def record(self, kind="provider", **bound):
        need = {"kind": kind, "subject": "llama.f32" if kind == "stitched" else "x", "bound": bound}
        return evidence_records.Record(need, evidence_records.Facts({"isa": 1}))

    def bench(self, builtof, reports=(), deaths=None):
        """What evidence asks a Bench, of programs that all passed."""
        class Asked:
            built_of, deaths_of, reports = {}, {}, ()

            def tests(self, program):
                return {} if program in self.built_of or program in self.deaths else None

            def programs(self, _):
                return ["reference_mpfr_test"]

        asked = Asked()
        asked.built_of, asked.reports, asked.deaths = builtof, reports, deaths or {}
        return asked

    def verdict(self, record, bench, comparison=None):
        record.withhold(built.gaps(bench, comparison, record))
        return record.verdict, record.because

    def test_C7_AProgramOfAnotherSourceMeasuresNothing(self):
        here = {"source:x": "1" * 64, "pool": "2" * 64}
        whole = {program: here for program in built.KERNEL_PROGRAMS}
        self.assertEqual(self.verdict(self.record(**here), self.bench(whole)), ("validated", ""))
        old = whole | {"kernels_test": here | {"source:x": "0" * 64}}
        self.assertEqual(self.verdict(self.record(**here), self.bench(old)),
                         ("unresolved", "kernels_test was built of another 'source:x'"))
        less = whole | {"threaded_test": {"source:x": "1" * 64}}
        self.assertEqual(self.verdict(self.record(**here), self.bench(less)),
                         ("unresolved", "threaded_test does not say of which 'pool' it was built"))
        self.assertEqual(self.verdict(self.record(**here), self.bench(whole | {"kernels_test": None})),
                         ("unresolved", "kernels_test does not say what it was built of"))

    def test_C7_TheProgramsOfEachKindAreAsked(self):
        here, old = {"reference": "1" * 64}, {"reference": "0" * 64}
        self.assertEqual(self.verdict(self.record("contract", **here),
                                      self.bench({"reference_mpfr_test": here, "reference_test": old})),
                         ("unresolved", "reference_test was built of another 'reference'"))
        for report, said in ((here, ("validated", "")),
                             (old, ("unresolved", "stitched_parity was built of another 'reference'"))):  # fmt: skip
            reports = [{"circuit": "llama", "profile": "f32", "built_of": report},
                       {"circuit": "llama", "profile": "portable", "built_of": old}]
            self.assertEqual(self.verdict(self.record("stitched", **here), self.bench({}, reports)), said)
        comparison = self.folder() / "comparison.json"
        for said, verdict in ((here, "validated"), (old, "unresolved"), (None, "unresolved")):
            comparison.write_text(json.dumps({"built_of": said}))
            self.assertEqual(self.verdict(self.record("end_to_end", **here), self.bench({}), comparison)[0], verdict)

    def test_C7_AFailureStaysOneWhateverItIsOf(self):
        facts = evidence_records.Facts({"isa": 1})
        facts.faults.append("a case failed")
        record = evidence_records.Record({"kind": "provider", "subject": "x", "bound": {"pool": "1" * 64}}, facts)
        self.assertEqual(self.verdict(record, self.bench({})), ("failed", "a case failed"))

    def test_C7_AProgramThatDiesSaysHow(self):
        bench = measure.Bench.__new__(measure.Bench)
        bench.deaths, out = {}, self.folder() / "out.json"
        bench._digests = {(None, None): {"digests": {}}}
        program = self.folder() / "a_test"
        program.write_text(f"#!{sys.executable}\nimport os, sys\nprint('no instruction set', file=sys.stderr, flush=True)\n"
                           "os.abort()\n")
        program.chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()):
            bench._once(out, [program], [program], may_fail=True)
        self.assertEqual(bench.deaths, {"a_test": "was ended by signal 6, and its last line is 'no instruction set'"})
        record = self.record(pool="1" * 64)
        bench.tests, bench.built_of = lambda _: {}, {}
        bench.deaths = dict.fromkeys(built.KERNEL_PROGRAMS, "ended with status 3, and it said nothing")
        self.assertIn("kernels_test ended with status 3, and it said nothing", self.verdict(record, bench)[1])

    def test_C7_TheProgramsOfTheBuildSayIt(self):
        """Those of this build, on one of their tests: they are of the sources of `writ`."""
        current = digests(self)["digests"]
        for program in ("kernels_test", "threaded_test", "reference_mpfr_test", "functions_mpfr_test", "reference_test"):
            out = self.folder() / "report.json"
            listed = subprocess.run([BUILD / "bin" / program, "--gtest_list_tests"], capture_output=True, text=True, check=True)
            suite, test = re.search(r"^(\S+\.)\s*(?:#.*)?\n  (\S+)", listed.stdout, re.M).groups()
            done = subprocess.run([BUILD / "bin" / program, f"--gtest_filter={suite}{test}", f"--gtest_output=json:{out}"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            said = measure.built_of(out)
            kernels = program in built.KERNEL_PROGRAMS
            wanted = {key: digest for key, digest in current.items()
                      if not key.startswith(("circuit:", "profile:", *(() if kernels else ("source:", "flags:"))))}  # fmt: skip
            self.assertEqual(said, wanted, program)


class Divided(TestCase):
    """A provider with a merge is validated only where its divided keys were compared too."""

    def facts(self, change):
        class Asked:
            def map(self, _):
                return {"functions": {"contract_oracle": "reference_x"}, "isa": ["scalar"],
                        "threading": {"merge": {}}}, None  # fmt: skip

            def compiler(self):
                return "gcc"

            def flags(self, *_):
                return {"scalar": ""}

            def tests(self, program):
                return tests[program]

        passed = {"passed": True, "skipped": False, "elements": "5", "shapes": "rows=1", "fills": "plain",
                  "parts": "2,3", "name": "it"}
        tests = {"kernels_test": {f"{record_facts.PRODUCTION}x_scalar_n1": dict(passed)}, "threaded_test": {
            f"{suite}{provider}_scalar_threads{count}": dict(passed) for count in (1, 2)
            for suite, provider in ((record_facts.THREADED, "x"), (record_facts.DIVIDED, "x"), (record_facts.DIVIDED, "y"))}}
        change(tests["threaded_test"])
        return record_facts.provider(Asked(), "x")

    def test_C7_C8_DividedKeysArePartOfTheEvidence(self):
        name = f"{record_facts.DIVIDED}x_scalar_threads2"
        facts = self.facts(lambda tests: None)
        self.assertEqual((facts.faults, facts.gaps), ([], []))
        self.assertEqual(facts.measured["isa"]["scalar"]["divided"],
                         {"cases": 2, "elements": 10, "threads": [1, 2], "parts": [2, 3]})
        self.assertEqual(self.facts(lambda tests: tests.pop(name)).gaps,
                         ["scalar: the merge was not compared with all of [1, 2] threads"])
        facts = self.facts(lambda tests: [tests.pop(each) for each in list(tests)
                                          if each.startswith(record_facts.DIVIDED)])  # fmt: skip
        self.assertEqual(facts.gaps, ["scalar: the merge was not compared with all of [] threads"])
        self.assertEqual(self.facts(lambda tests: tests[name].update(passed=False)).faults, ["it failed"])
        self.assertEqual(self.facts(lambda tests: tests[name].update(passed=False, skipped=True)).gaps,
                         ["this machine has no scalar"])


if __name__ == "__main__":
    main()
