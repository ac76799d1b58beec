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

    def test_C7_ABringupPackageRestsOnNothing(self):
        lock = tiny_package() / "writ.lock.json"
        line, column = position(lock, '"production": ').split(":")
        place = f"{line}:{int(column) + len(chr(34) * 2 + 'production: ')}"
        self.refuses(f"{lock}:{place}: error: the package was compiled with --bringup, and rests on no evidence [E103]\n",
                     folder=tiny_package())

    def test_C7_AStaleRecordIsNoPass(self):
        for kind in ("circuit", "contract", "provider", "stitched", "end_to_end"):
            data = self.data()
            subject, path = self.needs(data, kind)
            key, digest = next(iter(json.loads(path.read_text())["bound"].items()))
            seeded.edit(path, lambda record, key=key: record["bound"].update({key: digest[::-1]}), seal=True)
            self.refuses(f"{kind} '{subject}' is not validated: it is stale: it binds '{key}' at {digest[::-1][:12]}, "
                         f"which is {digest[:12]} now [E103]\n{path}: note: the evidence record lies here\n", data)

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
        path = next((data / "contracts" / "residual").glob("*.json"))
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
        (data / "contracts" / "profiles" / "portable.json").unlink()
        self.refuses("the package was compiled with 'profile:portable' at ", data)


if __name__ == "__main__":
    main()
