"""The committed records are current, and production rests on them."""
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import SOURCE, TestCase, known_models, main, random_model, real_model, replace  # noqa: E402

sys.path.insert(0, str(SOURCE / "scripts" / "evidence"))
import records as evidence_records  # noqa: E402

RECORDS = SOURCE / "contracts" / "evidence"
KERNELS = SOURCE / "runtime" / "kernels" / "cpu"


def digests(test, *words):
    out, _ = test.writ("digests", "--json", "--data", SOURCE, *words)
    return json.loads(out)


def profiles():
    return sorted(path.stem for path in (SOURCE / "contracts" / "profiles").glob("*.json"))


class Records(TestCase):
    def test_C7_EveryRecordIsCurrent(self):
        current = digests(self)["digests"]
        seen = set()
        for path in sorted(RECORDS.rglob("*.json")):
            record = json.loads(path.read_text())
            with self.subTest(record=str(path.relative_to(RECORDS))):
                self.assertEqual(path, evidence_records.record_path(RECORDS, record["kind"],
                                                                    record["subject"]))
                self.assertEqual(record["verdict"], "validated")
                for key, digest in record["bound"].items():
                    self.assertEqual(digest, current.get(key), f"'{key}' has changed since")
            seen.add(record["kind"])
        self.assertEqual(seen, {"circuit", "contract", "provider", "stitched", "end_to_end"})

    def test_C7_EveryContractAndProviderHasARecord(self):
        faults = {(need["kind"], need["subject"]): need["fault"]
                  for need in digests(self)["needs"] if need["fault"]}
        self.assertEqual(faults, {})

    def test_C7_RecordsHoldNoDateAndNoPath(self):
        for path in sorted(RECORDS.rglob("*.json")):
            text = path.read_text()
            for pattern in (r"\d{4}-\d\d-\d\d", r'"/', r"/home/", r"/tmp/", r"/root/"):
                self.assertIsNone(re.search(pattern, text), f"{path.name}: {pattern}")
            self.assertEqual(text, json.dumps(json.loads(text), indent=1, sort_keys=True,
                                              ensure_ascii=False) + "\n", path.name)


class Production(TestCase):
    def compiles_for_production(self, name):
        model = real_model(name)
        for profile in profiles():
            self.writ("compile", model, "--profile", profile, "--no-build", "-o",
                      self.folder() / "package")
            for need in digests(self, model, "--profile", profile)["needs"]:
                self.assertEqual(need["fault"], "", need["record"])

    def refuse(self, data, expected):
        model = random_model()
        _, err = self.writ("compile", model, "--data", data, "--no-build", "-o",
                           self.folder() / "package", code=1)
        self.assertIn(expected, err)

    def some_provider(self, data):
        """The record of a provider that the tiny model needs."""
        needs = digests(self, random_model())["needs"]
        need = next(need for need in needs if need["kind"] == "provider")
        return need["subject"], data / need["record"]

    def test_C7_AStaleSourceDigestDemotesTheProvider(self):
        data = self.data()
        subject, path = self.some_provider(data)
        digest = json.loads(path.read_text())["bound"][f"source:{subject}"]
        replace(path, digest, digest[::-1])
        self.refuse(data, f"provider '{subject}' is not validated: it is stale: it binds "
                          f"'source:{subject}' at {digest[::-1][:12]}, which is {digest[:12]} now")

    def test_C7_AVerdictThatIsNotValidatedIsNoPass(self):
        data = self.data()
        subject, path = self.some_provider(data)
        replace(path, '"verdict": "validated"', '"verdict": "unresolved"')
        self.refuse(data, f"provider '{subject}' is not validated: its verdict is 'unresolved'")

    def test_C7_AMissingRecordIsNoPass(self):
        data = self.data()
        subject, path = self.some_provider(data)
        path.unlink()
        self.refuse(data, f"provider '{subject}' is not validated: there is no record")

    def test_C7_AChangedContractDemotesWhatKeepsIt(self):
        data = self.data()
        path = next((data / "contracts" / "residual").glob("*.json"))
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
        record = json.loads((RECORDS / "provider" / f"{path.stem}.json").read_text())
        self.assertEqual(record["bound"][f"source:{path.stem}"], before[path.stem])
        self.assertNotEqual(record["bound"][f"source:{path.stem}"], after[path.stem])


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
