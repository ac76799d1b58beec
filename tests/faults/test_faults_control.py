#!/usr/bin/python3
"""The seeded faults would be worth nothing if one that nobody sees went unnoticed.

usage: test_faults_control.py BUILD
"""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import data_faults  # noqa: E402
import kernel_faults  # noqa: E402
from bench import Bench, Broken, Survived  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1))
HEAD = """{what}
provider: residual_f32
isa: scalar
caught: kernels_test C8_ProductionEqualsReference.BitForBit/residual_f32_scalar_n17_*
says: {says}
---
--- a/runtime/kernels/cpu/residual/residual_f32.cpp
+++ b/runtime/kernels/cpu/residual/residual_f32.cpp
@@ -1,3 +1,3 @@
-{old}
+{new}
 #include "writ/kernels/residual_f32.h"
 #include "runtime/kernels/cpu/simd/lanes.h"
"""
FIRST_LINE = "// out = rn(a + b), each f32 [rows][n]. `out` may be `a` or `b`."


class Control(unittest.TestCase):
    def kernel(self, name, **fields):
        """What becomes of one patch; its work lies in a folder of its own."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / f"{name}.patch"
            path.write_text(HEAD.format(what=name, **fields))
            bench = Bench(BUILD)
            bench.work = bench.work / "control"
            bench.work.mkdir(exist_ok=True)
            ((_, result),) = kernel_faults.run(bench, [kernel_faults.KernelFault(path)])
            return result

    def test_N27_EveryFamilyAndInstructionSetHasAFault(self):
        faults = kernel_faults.load()
        self.assertEqual(kernel_faults.coverage(faults), [])
        fewer = [fault for fault in faults if fault.provider != "select_rows_f32" and fault.isa != "avx512"]
        self.assertIn("family 'select_rows'", kernel_faults.coverage(fewer))
        self.assertIn("instruction set 'avx512'", kernel_faults.coverage(fewer))

    def test_APatchThatChangesNoBitSurvives(self):
        result = self.kernel("a comment", old=FIRST_LINE, new="// another comment", says="x")
        self.assertIsInstance(result, Survived)
        self.assertIn("passes", str(result))

    def test_AFailureInOtherWordsIsNotTheRightCheck(self):
        result = self.kernel("another body", old=FIRST_LINE, new="#define add(a, b) sub(b, a)", says="no such words")
        self.assertIsInstance(result, (Survived, Broken))

    def test_APatchThatDoesNotApplyIsBroken(self):
        result = self.kernel("gone", old="// a line that is not there", new="//", says="x")
        self.assertIsInstance(result, Broken)
        self.assertIn("does not apply any more", str(result))

    def test_APatchThatDoesNotCompileIsBroken(self):
        result = self.kernel("no C++", old=FIRST_LINE, new="this is no C++", says="x")
        self.assertIsInstance(result, Broken)

    def test_DataWithoutAFaultSurvive(self):
        class Fine:
            def copy(self, _):
                return pathlib.Path(tempfile.mkdtemp())

            def compile(self, *_, **__):
                return 0, ""

        fault = data_faults.DataFault("nothing", "E103", lambda data, folder: None, "x")
        self.assertRaises(Survived, fault.run, Fine())

    def test_AnotherCodeIsNotTheRightCheck(self):
        class Wrong:
            def copy(self, _):
                return pathlib.Path(tempfile.mkdtemp())

            def compile(self, *_, **__):
                return 1, "a.json:1:1: error: something is wrong [E010]\n"

        fault = data_faults.DataFault("nothing", "E103", lambda data, folder: None, "something is wrong")
        self.assertRaises(Survived, fault.run, Wrong())

    def test_TheTargetFailsWhereOneSurvives(self):
        sys.path.insert(0, str(HERE.parents[1] / "scripts"))
        source = (HERE.parents[1] / "scripts" / "test-faults").read_text()
        runner = {"__file__": str(HERE.parents[1] / "scripts" / "test-faults"), "__name__": "runner"}
        exec(compile(source, "test-faults", "exec"), runner)  # noqa: S102

        class Module:
            @staticmethod
            def load():
                return [kernel_faults.Fault("a fault", "a check")]

            said = "a check said it"

            @classmethod
            def run(cls, _, faults):
                return [(fault, cls.said) for fault in faults]

        runner["kernel_faults"] = runner["data_faults"] = Module
        for said, status, word in (("a check said it", 0, "yes"), (Survived("unseen"), 1, "NO"),
                                   (Broken("gone"), 1, "BROKEN")):  # fmt: skip
            Module.said = said
            sys.argv[1:] = ["--build", str(BUILD)]
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(runner["main"](), status)
            self.assertIn(word, out.getvalue())
        sys.argv[1:] = ["--build", str(BUILD), "--only", "no such fault"]
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(runner["main"](), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
