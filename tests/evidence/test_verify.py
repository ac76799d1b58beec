"""`writ verify --evidence`: a package is only as good as the records that speak of it."""
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import harness  # noqa: E402
import seeded  # noqa: E402
from harness import TestCase, main, package, position, random_model, replace, tiny_package  # noqa: E402


def model():
    return random_model(name="production")


def whole():
    """Data folders whose records are all current."""
    return seeded.shared_data(harness, model())


def production():
    return package(model(), "--data", whole())


class VerifyEvidence(TestCase):
    def data(self):
        folder = self.folder() / "data"
        shutil.copytree(whole(), folder)
        return folder

    def verify(self, folder, data=None, code=0):
        return self.writ("verify", folder, "--evidence", "--data", data or whole(), code=code)

    def refuses(self, expected, data=None, folder=None):
        out, err = self.verify(folder or production(), data, code=1)
        self.assertNotIn("\nevidence", out)
        self.assertIn(expected, err)

    def needs(self, data, kind):
        """(subject, record) of a record that the model needs."""
        out, _ = self.writ("digests", model(), "--json", "--data", data)
        need = next(need for need in json.loads(out)["needs"] if need["kind"] == kind)
        return need["subject"], data / need["record"]

    def test_C7_CurrentRecordsArePass(self):
        out, err = self.verify(production())
        self.assertEqual(err, "")
        count = len(seeded.needs(harness.WRIT, whole(), model()))
        self.assertEqual(out.splitlines()[-1],
                         f"evidence   the {count} records that production rests on are current, and speak of this "
                         "package's circuit, profile, contracts, maps and kernels")
        self.assertNotIn("evidence", self.writ("verify", production())[0])

    def test_C7_RecordsOfTheStorageOfKAndVArePass(self):
        kept = random_model("--type", "q4_1", "--width", "128", "--ffn", "256", name="kept")
        data = seeded.shared_data(harness, kept, "--kv", "q8_0")
        folder = package(kept, "--kv", "q8_0", "--data", data)
        self.verify(folder, data)
        record = next(need["record"] for need in seeded.needs(harness.WRIT, data, kept, "--kv", "q8_0")
                      if need["kind"] == "end_to_end")  # fmt: skip
        self.assertIn("kv_q8_0", record)
        # The circuit's own storage, asked for by name, is the one that was measured.
        self.assertEqual(seeded.needs(harness.WRIT, data, kept, "--kv", "f16"), seeded.needs(harness.WRIT, data, kept))

    def test_C7_ABringupPackageRestsOnNothing(self):
        lock = tiny_package() / "writ.lock.json"
        line, column = position(lock, '"production": ').split(":")
        place = f"{line}:{int(column) + len(chr(34) * 2 + 'production: ')}"
        self.refuses(f"{lock}:{place}: error: the package was compiled with --bringup, and rests on no evidence [E103]\n",
                     folder=tiny_package())

    def test_C7_AStaleRecordIsNoPass(self):
        """Every key of every kind: tests/diagnostics/EvidenceTest.cpp. Here the tool, and what gives words meaning."""
        data = self.data()
        meaning = {"functions", "vocabulary", "reference"}
        for kind in ("circuit", "contract", "provider", "stitched", "end_to_end"):
            subject, path = self.needs(data, kind)
            whole_record = path.read_bytes()
            bound = json.loads(whole_record)["bound"]
            whole_models = {*meaning, f"inputs:{kind}"} if kind in ("stitched", "end_to_end") else set()
            self.assertLessEqual(whole_models, set(bound))
            for key in sorted({next(iter(bound)), *whole_models}):
                with self.subTest(kind=kind, key=key):
                    path.write_bytes(whole_record)
                    digest = bound[key]
                    seeded.edit(path, lambda record: record["bound"].update({key: digest[::-1]}), seal=True)  # noqa: B023
                    self.refuses(f"{kind} '{subject}' is not validated: it is stale: it binds '{key}' at "
                                 f"{digest[::-1][:12]}, which is {digest[:12]} now [E103]\n{path}: note: the evidence "
                                 "record lies here\n", data)
            path.write_bytes(whole_record)

    def test_C7_AnEditedRecordIsNoPass(self):
        data = self.data()
        subject, path = self.needs(data, "provider")
        seeded.edit(path, lambda record: record["measured"].update(made="by hand"))
        self.refuses(f"provider '{subject}' is not validated: it was edited after it was made [E103]\n{path}: note: ",
                     data)

    def test_C7_AMissingRecordIsNoPass(self):
        data = self.data()
        subject, path = self.needs(data, "end_to_end")
        path.unlink()
        self.refuses(f"end_to_end '{subject}' is not validated: there is no record [E103]\n", data)

    def test_C7_RecordsOfAnotherContractSayNothingOfThePackage(self):
        data = self.data()
        path = data / "contracts" / "residual" / "residual_f32_v0.json"
        replace(path, '"formula": "', '"formula": "0 + ')
        lock = production() / "writ.lock.json"
        digest = json.loads(lock.read_text())["contracts"][path.stem]
        self.refuses(f"{lock}:{position(lock, chr(34) + digest)}: error: the package was compiled with "
                     f"'contract:{path.stem}' at {digest[:12]}, which is ", data)

    def test_C7_KernelsOfAnotherSourceSayNothingOfThePackage(self):
        folder = self.folder() / "copy"
        shutil.copytree(production(), folder)
        lock = folder / "writ.lock.json"
        provider, digests = next(iter(json.loads(lock.read_text())["providers"].items()))
        replace(lock, digests["source"], "0" * 64)
        self.refuses(f"{lock}:{position(lock, chr(34) + '0' * 64)}: error: the package was compiled with "
                     f"'source:{provider}' at {'0' * 12}, which is {digests['source'][:12]} here [E103]\n",
                     folder=folder)

    def test_C7_WhatIsGoneIsNamed(self):
        data = self.data()
        for profile in (data / "contracts" / "profiles").glob("*.json"):  # those that extend it too
            if profile.stem != "ggml":
                profile.unlink()
        self.refuses("the package was compiled with 'profile:portable' at ", data)


# Says of every case that the filter asks for what FATES has for its name's beginning, or that it passed.
PROGRAM = """#!{python}
import json, sys
given = dict(word[2:].split("=", 1) for word in sys.argv[1:])
fates = {fates}
suites = {{}}
for pattern in given["gtest_filter"].split(":"):
    suite, name = pattern.split(".", 1)
    fate = next((fate for part, fate in fates.items() if part in pattern), "passed")
    test = {{"name": name.replace("*", "k1"), "result": "SKIPPED" if fate == "skipped" else "COMPLETED"}}
    if fate == "failed":
        test["failures"] = [{{"failure": "it differs"}}]
    if fate != "absent":
        suites.setdefault(suite, []).append(test)
if fates.get("dies"):
    print("it begins")
    print("terminate called without an active exception", file=sys.stderr)
    sys.exit(134)
built_of = {built_of}
report = {{"testsuites": [{{"name": suite, "testsuite": tests}} for suite, tests in suites.items()]}}
if built_of:
    report["built_of"] = " ".join(f"{{key}}={{digest}}" for key, digest in built_of.items())
open(given["gtest_output"].split(":", 1)[1], "w").write(json.dumps(report))
"""


class Measure(TestCase):
    """The programs that measure are the project's own; where it says so, others stand in their place."""

    def programs(self, built_of=None, **fates):
        """`built_of`: what a program says of itself, where that is not the truth."""
        folder = self.folder()
        out, _ = self.writ("digests", "--json", "--data", whole())
        truth = json.loads(out)["digests"]
        for name in ("kernels_test", "threaded_test"):
            path = folder / name
            path.write_text(PROGRAM.format(python=sys.executable, fates=fates.get(name, {}),
                                           built_of=(built_of or {}).get(name, truth)))
            path.chmod(0o755)
        return folder

    def measure(self, programs, code=0):
        return self.writ("verify", production(), "--evidence", "--measure", "--data", whole(), *programs, code=code)

    def providers(self):
        return sorted(json.loads((production() / "writ.lock.json").read_text())["providers"])

    def test_C7_EveryProviderThatKeepsItsBitsIsTold(self):
        out, _ = self.measure(["--programs", self.programs()])
        said = [line.split("'")[1] for line in out.splitlines() if line.startswith("measured")]
        self.assertEqual(said, self.providers())

    def test_C7_WhatDiffersOrIsNotMeasuredIsNoPass(self):
        lost, skipped, absent = self.providers()[:3]
        folder = self.programs(kernels_test={f"/{lost}_scalar_": "failed", f"/{absent}_": "absent"},
                               threaded_test={f"/{skipped}_scalar_": "skipped"})  # fmt: skip
        out, err = self.measure(["--programs", folder], code=1)
        self.assertIn(f"provider '{lost}', measured again: 1 of ", err)
        self.assertIn(" cases of C8_ProductionEqualsReference differ from the reference, the first "
                      f"'BitForBit/{lost}_scalar_k1' [E103]", err)
        self.assertIn(f"provider '{skipped}', measured again: unresolved: 1 cases of C8_ThreadedEqualsReference do not "
                      "run on this machine [E103]", err)
        self.assertIn(f"provider '{absent}', measured again: unresolved: C8_ProductionEqualsReference of kernels_test "
                      "compared nothing of it [E103]", err)
        for provider in (lost, skipped, absent):
            self.assertNotIn(f"measured   provider '{provider}'", out)

    def test_C7_AProgramThatIsNotThereIsUnresolved(self):
        out, err = self.measure(["--programs", self.folder()], code=1)
        self.assertEqual(err.count("unresolved: there is no kernels_test [E103]"), len(self.providers()))
        self.assertEqual(err.count("unresolved: there is no threaded_test [E103]"), len(self.providers()))
        self.assertNotIn("\nmeasured", out)

    def test_C7_TheProjectsOwnProgramsMeasureOneProvider(self):
        one, folder = self.providers()[-1], self.folder()
        for name in ("kernels_test", "threaded_test"):
            own = harness.BUILD / "bin" / name
            self.assertTrue(own.exists(), f"{own} was not built")
            # Of two filters the last one counts.
            (folder / name).write_text(f'#!/bin/sh\nexec {own} "$@" "--gtest_filter=*BitForBit/{one}_scalar_*"\n')
            (folder / name).chmod(0o755)
        out, err = self.measure(["--programs", folder], code=1)
        measured = [line for line in out.splitlines() if line.startswith("measured")]
        self.assertEqual(len(measured), 1, err)
        self.assertIn(f"measured   provider '{one}'", measured[0])
        self.assertNotIn(f"provider '{one}'", err)
        self.assertEqual(err.count("unresolved: C8_ProductionEqualsReference of kernels_test compared nothing of it"),
                         len(self.providers()) - 1)

    def merging(self):
        """A provider whose keys may be divided, and one whose map has no merge."""
        merges = {provider: "merge" in json.loads(next((whole() / "kernel_maps").glob(f"*/{provider}.json")).read_text())
                  ["threading"] for provider in self.providers()}  # fmt: skip
        return tuple(next(provider for provider in merges if merges[provider] is has) for has in (True, False))

    def test_C7_AProviderWithAMergeIsMeasuredDivided(self):
        divided, plain = self.merging()
        for fate, said in (("failed", "1 of "), ("absent", "unresolved: C8_DividedEqualsReference of threaded_test "
                                                           "compared nothing of it [E103]")):  # fmt: skip
            fates = {f"C8_DividedEqualsReference.BitForBit/{provider}_{isa}": fate for provider in (divided, plain)
                     for isa in (("scalar",) if fate == "failed" else ("",))}  # fmt: skip
            out, err = self.measure(["--programs", self.programs(threaded_test=fates)], code=1)
            self.assertIn(f"provider '{divided}', measured again: {said}", err)
            self.assertEqual(err.count("[E103]"), 1, err)
            self.assertIn(f"measured   provider '{plain}'", out)

    def test_C7_AProgramOfOtherSourcesMeasuresNothing(self):
        """A tree that is built in part: the tool is of the sources, a program that measures is of older ones."""
        provider = self.providers()[0]
        out, _ = self.writ("digests", "--json", "--data", whole())
        truth = json.loads(out)["digests"]
        key, digest = f"source:{provider}", truth[f"source:{provider}"]
        built_of = {"kernels_test": truth | {key: digest[::-1]}}
        out, err = self.measure(["--programs", self.programs(built_of)], code=1)
        self.assertIn(f"provider '{provider}', measured again: unresolved: kernels_test was built of another '{key}': "
                      f"{digest[::-1][:12]}, which is {digest[:12]} here [E103]", err)
        self.assertEqual(err.count("[E103]"), 1, err)
        self.assertNotIn(f"measured   provider '{provider}'", out)
        for key in ("reference", "pool", "packing", "vocabulary", "inputs:provider"):
            built_of = {"threaded_test": truth | {key: "0" * 64}}
            out, err = self.measure(["--programs", self.programs(built_of)], code=1)
            self.assertEqual(err.count(f"threaded_test was built of another '{key}': 000000000000"), len(self.providers()))
            self.assertNotIn("\nmeasured", out)
        out, err = self.measure(["--programs", self.programs({"kernels_test": {}})], code=1)
        self.assertEqual(err.count("unresolved: kernels_test does not say of which "), len(self.providers()))

    def test_C7_AProgramThatDiesSaysHow(self):
        folder = self.programs(kernels_test={"dies": True})
        _, err = self.measure(["--programs", folder], code=1)
        self.assertEqual(err.count("unresolved: kernels_test ended with status 134, and its last line is 'terminate "
                                   "called without an active exception' [E103]"), len(self.providers()))

    def test_C7_TheProjectsOwnProgramsMeasure_long(self):
        out, _ = self.measure([])
        self.assertEqual(out.count("\nmeasured"), len(self.providers()))


if __name__ == "__main__":
    main()
