"""`writ trace` names the op and the row at which two runs part."""
import json

import broken_kernel
import harness
from harness import BUILD, TestCase, package, random_model, tiny_package


def altered(tensor, byte):
    """A copy of the tiny model in which one bit of a tensor is another."""
    model = random_model()
    out, _ = TestCase().writ("inspect", model, "--json")
    entry, = [entry for entry in json.loads(out)["tensors"] if entry["name"] == tensor]
    data = bytearray(model.read_bytes())
    data[entry["offset"] + byte] ^= 1
    path = model.with_name(f"tiny-{tensor}-{byte}.gguf")
    path.write_bytes(data)
    return path


class Same(TestCase):
    def test_S1_S2_S3_S4_S6_S7_EverySettingGivesTheBitsOfEveryOther(self):
        out, err = self.writ("trace", tiny_package(), "-n", "70", "--threads", "1,3", "--chunk", "1,whole", "--isa",
                             "scalar,avx2", "--batch", "1,2", "--page-size", "32,16", "--page-order", "0,5",
                             "--rewind", "0,40")  # fmt: skip
        ops = json.loads((tiny_package() / "report.json").read_text())["calls"]["prefill"]
        self.assertEqual(out, f"the same bits: {70 * 2 * len(ops)} rows of {len(ops)} ops over 70 tokens\n")
        self.assertEqual(err, "")

    def test_S1_TheJsonSaysWhatWasCompared(self):
        ids = self.folder() / "ids"
        ids.write_text("5 6 7 8 9")
        out, _ = self.writ("trace", tiny_package(), "--ids", ids, "--threads", "2,1", "--isa", "scalar", "--json")
        said = json.loads(out)
        self.assertEqual((said["same"], said["tokens"], said["rows_differing"], said["first"], said["only_a"]),
                         (True, 5, 0, None, []))
        self.assertEqual([(said[side]["threads"], said[side]["chunk"], said[side]["isa"]) for side in "ab"],
                         [(2, 5, "scalar"), (1, 5, "scalar")])
        self.assertEqual(said["b"]["target"], str(tiny_package()))


class Different(TestCase):
    def first(self, *words):
        said = json.loads(self.writ("trace", *words, "--json", code=1)[0])
        self.assertFalse(said["same"])
        return said, said["first"]

    def test_S1_AKernelWhoseBitsDependOnThreadsIsNamedWithItsRow(self):
        broken = self.folder() / "package"
        self.writ("compile", random_model(), "--bringup", "--no-build", "-o", broken)
        broken_kernel.break_residual(broken, BUILD)
        said, first = self.first(broken, "-n", "40", "--threads", "1,3")
        position = broken_kernel.first_wrong_position(40, 3)
        self.assertEqual((first["op"], first["family"], first["layer"], first["position"]),
                         (broken_kernel.OP, "residual", 0, position))
        self.assertEqual((first["operand"], first["element"], first["differing_elements"]), ("out", 5, 1))
        self.assertEqual([(first[side]["phase"], first[side]["row"], first[side]["rows"]) for side in "ab"],
                         [("prefill", position, 40)] * 2)
        bits = [int(first[side]["value"].split("(0x")[1].rstrip(")"), 16) for side in "ab"]
        self.assertEqual(bits[0] ^ bits[1], 1)
        out, _ = self.writ("trace", broken, "-n", "40", "--threads", "1,3", code=1)
        lines = out.splitlines()
        self.assertEqual(lines[0], f"the bits differ first at position {position}, in '{broken_kernel.OP}' (residual, layer 0)")
        self.assertRegex(lines[1], r"^  A  \w+ in prefill, row \d+ of 40, scalar; 1 threads, chunk 40$")
        self.assertRegex(lines[2], r"^  B  \w+ in prefill, row \d+ of 40, scalar; 3 threads, chunk 40$")
        self.assertIn("1 elements of the row differ", lines[3])
        # The control: with one thread it keeps its bits, whatever else changes.
        self.writ("trace", broken, "-n", "40", "--threads", "1", "--chunk", "7,whole")

    def test_S3_AStepOfOneRowIsDecode(self):
        broken = self.folder() / "package"
        self.writ("compile", random_model(), "--bringup", "--no-build", "-o", broken)
        broken_kernel.break_residual(broken, BUILD)
        _, first = self.first(broken, "-n", "9", "--threads", "3", "--chunk", "1,whole")
        self.assertEqual([(first[side]["phase"], first[side]["rows"]) for side in "ab"], [("decode", 1), ("prefill", 9)])

    def test_AnotherWeightIsNamedByTheOpThatReadsIt(self):
        # The norm is fused with its codes, which a small change of a weight moves in some rows alone.
        for tensor, op, layer in (("blk.1.ffn_down.weight", "blk.1.ffn_down", 1),
                                  ("output_norm.weight", "output_norm.i8_b32_sf32", None)):
            other = package(altered(tensor, 9), "--bringup")
            _, first = self.first(tiny_package(), other, "-n", "20")
            self.assertEqual((first["op"], first["layer"]), (op, layer), tensor)
            if layer:
                self.assertEqual(first["position"], 0)

    def test_AnotherProfileHasOtherOpsAndIsSeenAtItsFirstLinear(self):
        exact = package(random_model(), "--bringup", "--profile", "f32")
        said, first = self.first(tiny_package(), exact, "-n", "20")
        self.assertEqual((first["op"], first["family"]), ("blk.0.attn_q", "linear"))
        self.assertTrue(said["only_a"] and all("i8_b32" in op for op in said["only_a"]))
        # What is one op with its codes in A stands alone in B.
        self.assertTrue(said["only_b"] and {f"{op}.i8_b32_sf32" for op in said["only_b"]} <= set(said["only_a"]))
        out, _ = self.writ("trace", tiny_package(), exact, "-n", "20", code=1)
        self.assertIn(f"{len(said['only_a'])} ops are in A alone, the first is '{said['only_a'][0]}'", out)


class Saved(TestCase):
    """A run on another machine, or of another build."""

    def save(self, *words):
        path = self.folder() / "trace"
        self.assertEqual(self.writ("trace", tiny_package(), "-n", "40", *words, "--save", path), ("", ""))
        return path

    def test_S1_S3_S4_ItIsComparedWithWhateverRuns(self):
        saved = self.save("--threads", "1", "--isa", "scalar", "--chunk", "1")
        out, _ = self.writ("trace", tiny_package(), "--against", saved, "--threads", "3", "--batch", "2", "--json")
        said = json.loads(out)
        self.assertEqual((said["same"], said["tokens"], said["a"]["isa"], said["a"]["chunk"], said["b"]["batch"]),
                         (True, 40, "scalar", 1, 2))

    def test_S1_ADifferenceNamesTheOpAndTheRow(self):
        broken = self.folder() / "package"
        self.writ("compile", random_model(), "--bringup", "--no-build", "-o", broken)
        broken_kernel.break_residual(broken, BUILD)
        saved = self.save("--threads", "1")
        out, _ = self.writ("trace", broken, "--against", saved, "--threads", "3", code=1)
        position = broken_kernel.first_wrong_position(40, 3)
        lines = out.splitlines()
        self.assertEqual(lines[0], f"the bits differ first at position {position}, in '{broken_kernel.OP}' (residual, layer 0)")
        self.assertRegex(lines[1], r"^  A  saved, \w+; 1 threads, chunk 40$")
        self.assertRegex(lines[2], r"^  B  \w+ in prefill, row \d+ of 40, scalar; 3 threads, chunk 40$")
        first = json.loads(self.writ("trace", broken, "--against", saved, "--threads", "3", "--json", code=1)[0])["first"]
        self.assertEqual((first["op"], first["position"], first["a"]), (broken_kernel.OP, position, {"sequence": 0}))
        self.writ("trace", broken, "--against", saved, "--threads", "1")

    def test_AFileOfAnotherFormIsRefusedAtItsPlace(self):
        saved = self.save()
        for old, new, place, message in (
                ('"writ.trace.v1"', '"writ.trace.v9"', '"writ.trace.v9"', "schema is 'writ.trace.v9', this tool reads "
                                                                          "'writ.trace.v1'"),
                ('"digests":"', '"digests":"0', '"0', "digits, expected"),
                ('"ids":[', '"ids":[],"other":[', "{", "the trace is empty")):  # fmt: skip
            path = saved.with_name("changed")
            path.write_text(saved.read_text())
            harness.replace(path, old, new)
            _, err = self.writ("trace", tiny_package(), "--against", path, code=1)
            self.assertTrue(err.startswith(f"{path}:{harness.position(path, place)}: error: "), err)
            self.assertIn(message, err)
            self.assertIn("[E050]", err)

    def test_ItTakesOneRun(self):
        for words, said in (
                (("--save", "x", "--against", "y"), "--save: error: a trace is saved, or compared with --against, not "
                                                    "both [E051]\n"),
                ((tiny_package(), "--save", "x"), f"--save: error: it takes one package, got '{tiny_package()}' as well "
                                                  "[E051]\n"),
                (("--against", "x", "--ids", "y"), "--against: error: the saved trace has its own history [E051]\n")):
            self.assertEqual(self.writ("trace", tiny_package(), *words, code=2), ("", said))


class Refusals(TestCase):
    def test_ThreeValuesOfASettingAreUsage(self):
        out, err = self.writ("trace", tiny_package(), "--threads", "1,2,3", code=2)
        self.assertEqual((out, err), ("", "--threads: error: '1,2,3' has more than two values; one is for both runs, "
                                          "two are for A and for B [E051]\n"))

    def test_AnEmptyHistoryIsRefused(self):
        ids = self.folder() / "ids"
        ids.write_text("")
        self.assertEqual(self.writ("trace", tiny_package(), "--ids", ids, code=1),
                         ("", f"{ids}: error: there is no token to trace [E051]\n"))

    def test_C9_AChangedReportIsNotBelieved(self):
        copy = self.folder() / "package"
        self.writ("compile", random_model(), "--bringup", "-o", copy)
        harness.replace(copy / "report.json", '"f32"', '"f16"')
        _, err = self.writ("trace", copy, code=1)
        self.assertIn("report.json: error: it has SHA-256", err)


if __name__ == "__main__":
    harness.main()
