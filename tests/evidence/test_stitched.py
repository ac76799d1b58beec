"""Whole models, call by call, against the reference: every family, storage type and profile."""
import itertools
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import BUILD, SOURCE, TestCase, families, main, package, random_model, storages  # noqa: E402

sys.path.insert(0, str(SOURCE / "scripts" / "evidence"))
from runs import PROFILES  # noqa: E402

PARITY = BUILD / "bin" / "stitched_parity"


class Stitched(TestCase):
    def parity(self, circuit, storage, profile, *options, code=0):
        model = random_model("--type", storage, "--layers", "1", *families()[circuit], name=storage)
        folder = package(model, "--bringup", "--profile", profile)
        out = self.folder() / "report.json"
        done = subprocess.run([PARITY, "--package", folder, "--model", model, "--data", SOURCE, "--out",
                               out, *options], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(out.read_text()), done.stderr

    def check(self, circuit, storage, profile):
        report, _ = self.parity(circuit, storage, profile)
        self.assertEqual(report["verdict"], "validated")
        self.assertIn(storage, report["storages"])
        ops = [op for providers in report["ops"].values() for op in providers.values()]
        self.assertTrue(all(op["elements"] > 0 and op["differences"] == 0 for op in ops))
        # Threads 1, 2, 3, 7 and the scalar bodies all gave what the reference gave, each session in a way of its own.
        ways = [(session["isa"], session["threads"]) for session in report["sessions"]]
        self.assertEqual(len(set(ways)), len(ways), ways)
        self.assertEqual({threads for _, threads in ways}, {1, 2, 3, 7})
        self.assertIn("scalar", {isa for isa, _ in ways})
        self.assertGreater(report["inputs_traced"], 0)
        self.assertIn("linear", report["controls"]["a changed weight"])

    # Negative controls: each fault stops the run and names the op.
    def test_C7_AChangedWeightIsSeen(self):
        _, err = self.parity("llama", "q4_1", "portable", "--alter-weight", "blk.0.ffn_down.weight", code=1)
        self.assertIn("blk.0.ffn_down (linear_q4_1_i8_b32): output 'out' has", err)

    def test_C7_AChangedOutputIsSeen(self):
        _, err = self.parity("llama", "q4_1", "portable", "--alter-output", "blk.0.attention", code=1)
        self.assertIn("blk.0.attention (attention_", err)
        self.assertRegex(err, r"output 'out' matches no registered contract; [0-9]+ of [0-9]+ elements differ from "
                              r"'attention_f16_kv_tiles32_chunks256_v0'")  # fmt: skip

    def test_C7_AnInputThatIsNotTheProducersOutputIsSeen(self):
        _, err = self.parity("llama", "q4_1", "portable", "--alter-input", "blk.0.attn_residual", code=1)
        self.assertIn("input, which is not '", err)

    def test_C7_APackageOfAnotherModelIsSeen(self):
        small = ("--type", "q4_1", "--layers", "1")
        model = random_model(*small, "--seed", "2", name="other")
        folder = package(random_model(*small, name="q4_1"), "--bringup", "--profile", "portable")
        done = subprocess.run([PARITY, "--package", folder, "--model", model, "--data", SOURCE],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("token_embd", done.stderr)


def suffix(circuit, storage, profile):
    """Decoded weights are looked at for one storage of each kind of block, the rest in test-long."""
    return "" if profile == "portable" or (circuit == "llama" and storage in ("q4_1", "q6_k")) else "_long"


for _case in itertools.product(families(), storages(), PROFILES):
    if _case[1].startswith("q") or _case[2] == "portable":  # float weights have one contract in both
        setattr(Stitched, f"test_C7_C8_S1_{'_'.join(_case)}{suffix(*_case)}",
                lambda self, case=_case: self.check(*case))

if __name__ == "__main__":
    os.environ.setdefault("WRIT_BUILD", str(BUILD))
    main()
