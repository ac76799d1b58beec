"""`writ diff`: what changed between two packages, and that nothing else did."""
import copy
import json

import harness
from harness import TestCase, package, random_model, tiny_package

OTHER = "0" * 64


def lock_of(folder):
    return json.loads((folder / "writ.lock.json").read_text())


def patched(lock, changes):
    """The lock with every change applied."""
    lock = copy.deepcopy(lock)
    for change in changes:
        *parents, key = change["path"]
        at = lock
        for parent in parents:
            at = at[parent]
        assert at.get(key) == change["a"], change
        if change["b"] is None:
            del at[key]
        else:
            at[key] = change["b"]
    return lock


class Diff(TestCase):
    def edited(self, edit):
        """A folder with a lock alone, which is all that is read, after an edit of the tiny package's."""
        folder, lock = self.folder(), lock_of(tiny_package())
        edit(lock)
        (folder / "writ.lock.json").write_text(json.dumps(lock))
        return folder

    def says(self, lines, edit):
        other = self.edited(edit)
        out, err = self.writ("diff", tiny_package(), other, code=1)
        self.assertEqual((out.splitlines(), err), ([line.replace("<B>", str(other)) for line in lines], ""))

    def test_TheSameLockIsNoDifference(self):
        other = self.edited(lambda lock: None)  # its keys stand in another order, its values do not
        self.assertEqual(self.writ("diff", tiny_package(), other), ("the locks are the same\n", ""))
        out, _ = self.writ("diff", tiny_package(), other, "--json")
        self.assertEqual(json.loads(out), {"same": True, "changes": []})

    def test_C10_AnotherContractIsNamedWithTheOpsThatKeepIt(self):
        other = package(random_model(), "--bringup", "--profile", "f32")
        a, b = lock_of(tiny_package()), lock_of(other)
        out, _ = self.writ("diff", tiny_package(), other, code=1)
        lines = out.splitlines()
        self.assertEqual(lines[0], "profile id: 'portable' → 'f32'")
        ours, theirs = a["resolutions"]["blk.0.attn_q"]["decode"], b["resolutions"]["blk.0.attn_q"]["decode"]
        self.assertNotEqual(ours, theirs)
        self.assertIn(f"contract {ours['contract']}: only in {tiny_package()}", lines)
        self.assertIn(f"contract {theirs['contract']}: only in {other}", lines)
        self.assertIn(f"provider {theirs['provider']}: only in {other}", lines)
        alike = [op for op in a["resolutions"] if a["resolutions"][op].get("decode") == ours
                 and b["resolutions"].get(op, {}).get("decode") == theirs]
        first = ", ".join(sorted(alike)[:3])
        self.assertIn(f"ops {first} and {len(alike) - 3} more (decode, prefill): contract '{ours['contract']}' → "
                      f"'{theirs['contract']}', provider '{ours['provider']}' → '{theirs['provider']}'", lines)
        # Those that quantize activations are gone, each named once.
        gone = sorted(set(a["resolutions"]) - set(b["resolutions"]))
        self.assertIn(f"ops {', '.join(gone[:3])} and {len(gone) - 3} more: only in {tiny_package()}", lines)

    def test_TheChangesMakeOneLockOfTheOther(self):
        others = (package(random_model(), "--bringup", "--profile", "f32"),
                  package(random_model("--type", "q8_0", "--layers", "1", name="other"), "--bringup"))
        for a, b in ((tiny_package(), others[0]), (others[1], tiny_package()), others):
            out, err = self.writ("diff", a, b, "--json", code=1)
            report = json.loads(out)
            self.assertEqual((report["same"], err), (False, ""))
            self.assertEqual(patched(lock_of(a), report["changes"]), lock_of(b))

    def test_OneChangeIsOneLine(self):
        lock = lock_of(tiny_package())
        digests = {"model": lock["model"]["sha256"], "file": lock["files"]["src/calls.cpp"],
                   "map": lock["providers"]["residual_f32"]["map"]}
        short = {name: digest[:12] for name, digest in digests.items()}
        decision = lock["resolutions"]["blk.1.ffn_down"]["decode"]
        for line, edit in (
                (f"model sha256: {short['model']} → {OTHER[:12]}", lambda lock: lock["model"].update(sha256=OTHER)),
                ("production: false → true", lambda lock: lock.update(production=True)),
                (f"provider residual_f32 map: {short['map']} → {OTHER[:12]}",
                 lambda lock: lock["providers"]["residual_f32"].update(map=OTHER)),
                ("contract new: only in <B>", lambda lock: lock["contracts"].update(new=OTHER)),
                (f"op blk.1.ffn_down (decode): provider '{decision['provider']}' → 'x'",
                 lambda lock: lock["resolutions"]["blk.1.ffn_down"]["decode"].update(provider="x")),
                (f"op blk.1.ffn_down (decode): only in {tiny_package()}",
                 lambda lock: lock["resolutions"]["blk.1.ffn_down"].pop("decode")),
                (f"weights bytes: {lock['weights']['bytes']} → 64", lambda lock: lock["weights"].update(bytes=64)),
                (f"file src/calls.cpp: {short['file']} → {OTHER[:12]}",
                 lambda lock: lock["files"].update({"src/calls.cpp": OTHER})),
                ("file src/more.cpp: only in <B>", lambda lock: lock["files"].update({"src/more.cpp": OTHER})),
                (f"writ_version: '{lock['writ_version']}' → '9\\x1b.0'",
                 lambda lock: lock.update(writ_version="9\x1b.0")),
                ("later: only in <B>", lambda lock: lock.update(later={"x": 1}))):
            with self.subTest(line=line):
                self.says([line], edit)

    def test_PhasesThatChangedDifferentlyStandApart(self):
        def edit(lock):
            phases = lock["resolutions"]["logits"]
            phases["decode"]["contract"], phases["prefill"]["contract"] = "c", "d"

        contract = lock_of(tiny_package())["resolutions"]["logits"]["decode"]["contract"]
        self.says([f"op logits (decode): contract '{contract}' → 'c'; (prefill): contract '{contract}' → 'd'"], edit)

    def test_WhatIsNoPackageIsRefused(self):
        folder = self.folder()
        for words in ((tiny_package(), folder), (folder, tiny_package())):
            out, err = self.writ("diff", *words, code=3)
            self.assertEqual(out, "")
            self.assertEqual(err, f"{folder}/writ.lock.json: error: cannot read the file: No such file or directory "
                                  "[E001]\n")
        (folder / "writ.lock.json").write_text("[1]")
        out, err = self.writ("diff", tiny_package(), folder, code=1)
        self.assertEqual(out, "")
        self.assertIn(f"{folder}/writ.lock.json:1:1: error: ", err)


if __name__ == "__main__":
    harness.main()
