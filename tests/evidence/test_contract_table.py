"""The table behind the gate of numerical contracts: a row that is not validated is no pass."""
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import SOURCE, TestCase, main  # noqa: E402

SCRIPT = SOURCE / "scripts" / "evidence" / "contract_table.py"
KEPT = "a_kept_contract_v0"


def row(*cells):
    return list(cells)


class ContractTable(TestCase):
    """Each test has a tool and test programs that say what it wants, and data of its own."""

    def setUp(self):
        super().setUp()
        self.root, self.absent = self.folder(), []
        self.needs = {("contract", KEPT): "", ("contract", "without_v0"): "", ("provider", "a_kernel"): ""}
        self.answers = {"ggml_test": [("ggml", KEPT, "0.25", True), ("ggml", KEPT, "0.5", True)],
                        "torch_test": [("PyTorch", "without_v0", "0.125", True)],
                        "attention_oracle_test": [("ggml", "without_v0", "0", True),
                                                  ("PyTorch", "without_v0", "0.0625", True)]}  # fmt: skip
        self.cases = [("C8_ProductionEqualsReference.BitForBit/a_kernel_scalar_edges", "run")]
        self.record(KEPT, {"oracle": "MPFR", "worst_error_over_bound": 0.75})
        self.record("without_v0", {"oracle": "known answers"})
        folder = self.root / "kernel_maps" / "op"
        folder.mkdir(parents=True)
        (folder / "a_kernel.json").write_text(json.dumps({"contracts": [KEPT], "isa": ["scalar", "avx2"]}))

    def record(self, contract, measured):
        folder = self.root / "contracts" / "evidence" / "contract"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{contract}.json").write_text(json.dumps({"measured": measured}))

    def program(self, name, says, out):
        """A program that gives a JSON value; `out` is the shell's word for where."""
        path = self.root / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(says))
        path.write_text(f"#!/bin/sh\ncat {path.with_suffix('.json')} > {out}\n")
        os.chmod(path, 0o755)

    def table(self):
        """(exit status, the rows, the last line)"""
        needs = [{"kind": kind, "subject": subject, "fault": fault}
                 for (kind, subject), fault in self.needs.items()]  # fmt: skip
        self.program("writ", {"needs": needs}, "/dev/stdout")
        for program, tests in self.answers.items():
            found = [{"name": str(number), "result": "COMPLETED", "oracle": oracle, "contract": contract,
                      "error_over_allowed": error, **({} if passed else {"failures": [{"failure": "no"}]})}
                     for number, (oracle, contract, error, passed) in enumerate(tests)]  # fmt: skip
            report = {"testsuites": [{"name": "Suite", "testsuite": found}]}
            self.program(program, report, '"${2#--gtest_output=json:}"')
            if program in self.absent:
                (self.root / "bin" / program).unlink()
        junit = self.root / "junit.xml"
        cases = "".join(f'<testcase name="{name}" status="{status}"/>' for name, status in self.cases)
        junit.write_text(f"<testsuite>{cases}</testsuite>")
        done = subprocess.run([sys.executable, SCRIPT, "--build", self.root, "--junit", junit, "--data", self.root],
                              capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.stderr, "")
        lines = done.stdout.splitlines()
        return done.returncode, [re.split(r"  +", line) for line in lines[1:-1]], lines[-1]

    def expect(self, verdict, *rows, code=1):
        status, table, tally = self.table()
        for cells in rows:
            self.assertIn(cells, table)
        self.assertIn(f" {verdict}", tally)
        self.assertEqual(status, code, table)

    def test_C8_EachRowNamesItsOracleAndItsError(self):
        self.assertEqual(self.table(), (0, [
            row(KEPT, "a_kernel", "MPFR", "0.750", "validated", "1 of 1"),
            row("without_v0", "none", "known answers", "exact", "no provider", "–"),
            row(KEPT, "reference", "ggml", "0.500", "validated", "2 of 2"),
            row("without_v0", "reference", "PyTorch", "0.125", "validated", "2 of 2"),
            row("without_v0", "reference", "ggml", "0.000", "validated", "1 of 1"),
        ], "1 no provider, 4 validated"))  # fmt: skip

    def test_C8_AStaleOrFailedRecordIsNoPass(self):
        for kind, subject in list(self.needs):
            for fault, verdict in {"it is stale: it binds 'x'": "stale", "it does not bind 'x'": "stale",
                                   "there is no record": "no record", "its verdict is 'failed'": "failed",
                                   "its verdict is 'unresolved'": "unresolved",
                                   "it was edited after it was made": "edited"}.items():  # fmt: skip
                with self.subTest(kind=kind, subject=subject, verdict=verdict):
                    self.needs[kind, subject] = fault
                    self.expect(verdict)
            self.needs[kind, subject] = ""

    def test_C8_AProviderThatNobodyAskedOfIsNoPass(self):
        del self.needs["provider", "a_kernel"]
        self.expect("no record", row(KEPT, "a_kernel", "MPFR", "0.750", "no record", "1 of 1"))

    def test_C8_AComparisonThatIsNotKeptNowIsNoPass(self):
        self.cases.append(("C8_ThreadedEqualsReference.BitForBit/a_kernel_avx2_threads2", "fail"))
        self.expect("failed", row(KEPT, "a_kernel", "MPFR", "0.750", "failed", "1 of 2"))

    def test_C8_AnOracleWithoutAnAnswerIsUnresolvedAndNoPass(self):
        self.answers["torch_test"] = []
        self.expect("unresolved", row("any of torch_test", "reference", "PyTorch", "–", "unresolved", "–"))
        del self.answers["attention_oracle_test"][0]  # PyTorch's alone are left
        self.expect("unresolved", row("any of attention_oracle_test", "reference", "ggml", "–", "unresolved", "–"))

    def test_C8_AProgramThatWasNotBuiltIsNoPass(self):
        self.absent.append("ggml_test")
        self.expect("unresolved", row("any of ggml_test", "reference", "ggml", "–", "unresolved", "–"))

    def test_C8_AnAnswerThatIsTooFarIsNoPass(self):
        self.answers["ggml_test"].append(("ggml", "without_v0", "inf", False))
        self.expect("failed", row("without_v0", "reference", "ggml", "inf", "failed", "1 of 2"))

    def test_C8_AContractOfWhichNothingWasMeasuredNamesNoOracle(self):
        (self.root / "contracts" / "evidence" / "contract" / f"{KEPT}.json").unlink()
        self.needs["contract", KEPT] = "there is no record"
        self.expect("no record", row(KEPT, "a_kernel", "unresolved", "–", "no record", "1 of 1"))

    def test_C8_NoContractIsNoPass(self):
        self.needs = {}
        self.assertEqual(self.table()[0], 1)


if __name__ == "__main__":
    main()
