"""The committed records are current, and production rests on them."""
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

    def source_digests(self, root):
        out = root / "out"
        done = subprocess.run(
            [sys.executable, SOURCE / "scripts" / "generate" / "kernels.py", "generate", "--maps",
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


    def test_C7_OneCharacterOfWhatChoosesInputsDemotesWhatWasMeasured(self):
        current = digests(self)["digests"]
        patterns = {name: words.split() for name, words in
                    re.findall(r"^writ_digest\((\w+)([^)]*)\)", (SOURCE / "compiler/Tools/writ/CMakeLists.txt")
                               .read_text(), re.M)}  # fmt: skip
        root = self.folder() / "tests"
        shutil.copytree(SOURCE / "tests" / "conformance", root / "conformance")
        shutil.copytree(SOURCE / "tests" / "oracles", root / "oracles")
        for key, name in (("oracle", "oracleSha256"), ("inputs:contract", "contractInputsSha256"),
                          ("inputs:provider", "providerInputsSha256")):
            self.assertEqual(source_digest.digest_of(root, patterns[name]), current[key], key)
        path = root / "conformance" / "Problem.cpp"
        path.write_text(path.read_text() + " ")
        for key, name, moves in (("oracle", "oracleSha256", False), ("inputs:contract", "contractInputsSha256", True),
                                 ("inputs:provider", "providerInputsSha256", True)):
            self.assertEqual(source_digest.digest_of(root, patterns[name]) != current[key], moves, key)


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
        seeded.edit(path, lambda record: record.update(measured=measured), seal=True)
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


if __name__ == "__main__":
    main()
