"""Fused providers: the same bits as their parts, seen everywhere, refused where there is none, and off where the
profile says so."""
import json
import re

from harness import SOURCE, TestCase, families, main, package, position, random_model, replace

IDS = [3 + (37 * i * i + 11 * i) % 256 for i in range(70)]
MODELS = {
    "blocks of 32, silu": ("--type", "q4_1"),
    "blocks of 256, silu": ("--type", "q4_k", "--width", "256", "--ffn", "512"),
    "blocks of 32, gelu": ("--type", "q8_0", *families()["gemma3"]),
}
PROFILE = "contracts/profiles/portable.json"
FUSIONS = '"fusions": ["rms_norm_quantize", "gate_quantize"]'


class Fusions(TestCase):
    def unfused(self):
        data = self.data()
        replace(data / PROFILE, FUSIONS, '"fusions": []')
        return data

    def score(self, built, *options):
        path = self.folder() / "ids.json"
        path.write_text(json.dumps(IDS))
        return json.loads(self.writ("score", built, "--ids", path, "--json", *options)[0])["logits_sha256"]

    def compile(self, model, data):
        out = self.folder() / "package"
        self.writ("compile", model, "--bringup", "--data", data, "-o", out)
        return out

    def families(self, built):
        report = json.loads((built / "report.json").read_text())
        return {report["decisions"][op["decision"]]["family"] for op in report["ops"]}

    def test_C8_OnOrOffTheBitsAreTheSame(self):
        for what, options in MODELS.items():
            with self.subTest(what):
                model = random_model(*options)
                fused, apart = package(model, "--bringup"), self.compile(model, self.unfused())
                self.assertLessEqual({"rms_norm_quantize", "gate_quantize"}, self.families(fused))
                self.assertTrue({"rms_norm_quantize", "gate_quantize"}.isdisjoint(self.families(apart)))
                wanted = self.score(apart, "--isa", "scalar", "--threads", "1", "--chunk", "7")
                for isa, threads, chunk in (("scalar", 2, 32), ("avx2", 3, 1), ("avx512", 1, "whole")):
                    with self.subTest(isa):
                        self.assertEqual(self.score(fused, "--isa", isa, "--threads", threads, "--chunk", chunk), wanted)

    def test_C4_TheLockTheReportAndTheIrNameTheGroup(self):
        built = package(random_model(), "--bringup")
        contract = "silu_gate_f32_v0+quantize_activation_i8_b32_v0"
        lock = json.loads((built / "writ.lock.json").read_text())
        self.assertIn(contract, lock["contracts"])
        self.assertIn("silu_gate_f32_quantize_i8_b32", lock["providers"])
        report = json.loads((built / "report.json").read_text())
        op, = [op for op in report["ops"] if op["phase"] == "decode" and "blk.0.ffn_act" in op.get("parts", [])]
        self.assertEqual((op["op"], op["parts"]), ("blk.0.ffn_act.i8_b32_sf32", ["blk.0.ffn_act", "blk.0.ffn_act.i8_b32_sf32"]))
        for stage in ("graph", "lowered", "call"):
            self.assertIn(contract, (built / "ir" / f"{stage}.mlir").read_text())

    def test_C4_DiffProfileAndTraceNameTheGroup(self):
        fused, apart = package(random_model(), "--bringup"), self.compile(random_model(), self.unfused())
        contract = "silu_gate_f32_v0+quantize_activation_i8_b32_v0"
        out, _ = self.writ("diff", apart, fused, code=1)
        self.assertIn(f"contract {contract}: only in {fused}\n", out)
        self.assertRegex(out, rf"ops blk\.0\.ffn_act\.i8_b32_sf32.*: contract 'quantize_activation_i8_b32_v0' → '{re.escape(contract)}', "
                              r"provider 'quantize_activation_i8_b32' → 'silu_gate_f32_quantize_i8_b32'")  # fmt: skip
        self.assertRegex(out, rf"ops blk\.0\.attn_norm, blk\.0\.ffn_act, .*: only in {re.escape(str(apart))}")
        said = json.loads(self.writ("profile", fused, "-r", "1", "-p", "8", "-n", "2", "--json")[0])
        for phase in said["phases"]:
            calls = {call["op"]: call for call in phase["calls"]}
            self.assertNotIn("blk.0.ffn_act", calls)
            call = calls["blk.0.ffn_act.i8_b32_sf32"]
            self.assertEqual((call["family"], call["contract"]), ("gate_quantize", contract))
            kind, = [kind for kind in phase["kinds"] if kind["provider"] == "silu_gate_f32_quantize_i8_b32"]
            self.assertEqual(kind["family"], "gate_quantize")
            # Two rows of binary32 are read and one of codes written: what lies between is no memory's.
            rows = phase["tokens"]
            self.assertEqual(call["bytes"], rows * (2 * 4 * 128 + -(-(128 + 128 // 32 * 8) // 64) * 64))
        out, _ = self.writ("trace", fused, apart, "-n", "9")
        self.assertIn("ops are in B alone, the first is 'blk.0.attn_norm'", out)
        self.assertTrue(out.startswith("the same bits: "), out)

    def test_C3_ExplainTellsOfAPart(self):
        out, _ = self.writ("explain", package(random_model(), "--bringup"), "blk.0.ffn_act")
        self.assertIn("blk.0.ffn_act.i8_b32_sf32 (prefill, decode), 'gate_quantize' at circuits/llama.json:", out)
        self.assertIn("  fuses     blk.0.ffn_act, then blk.0.ffn_act.i8_b32_sf32\n", out)
        self.assertIn("  provider  silu_gate_f32_quantize_i8_b32 (", out)

    def test_C3_AMissingProviderIsRefusedAndNotUndone(self):
        data = self.data()
        (data / "kernel_maps/gate_quantize/silu_gate_f32_quantize_i8_b32.json").unlink()
        _, err = self.writ("compile", random_model(), "--bringup", "--data", data, "--dry-run", code=1)
        self.assertRegex(err, r"circuits/llama.json:\d+:\d+: error: no kernel provides 'gate_quantize' for "
                              r"\{gate=f32, up=f32, out=i8_b32_sf32, activation=silu, n=128, "
                              r"contract=silu_gate_f32_v0\+quantize_activation_i8_b32_v0, target=cpu\} .*\[E101\]")
        self.assertIn("there is no fallback", err)

    def test_C3_TwoProvidersAreRefused(self):
        data = self.data()
        folder = data / "kernel_maps/gate_quantize"
        text = (folder / "silu_gate_f32_quantize_i8_b32.json").read_text()
        other = folder / "residual_f32.json"  # a kernel that is there
        other.write_text(text.replace("silu_gate_f32_quantize_i8_b32", "residual_f32"))
        (data / "kernel_maps/residual/residual_f32.json").unlink()
        _, err = self.writ("compile", random_model(), "--bringup", "--data", data, "--dry-run", code=1)
        self.assertRegex(err, r"kernels 'residual_f32' and 'silu_gate_f32_quantize_i8_b32' both provide 'gate_quantize' "
                              r"under one contract; exactly one must match \[E102\]")

    def test_C1_AnUnknownFusionHasACodeAndAPosition(self):
        data = self.data()
        replace(data / PROFILE, FUSIONS, '"fusions": ["gate_quantise"]')
        _, err = self.writ("compile", random_model(), "--bringup", "--data", data, "--dry-run", code=1)
        where = f'{PROFILE}:{position(data / PROFILE, chr(34) + "gate_quantise")}'
        self.assertIn(f"{where}: error: 'gate_quantise' is not a fusion [E122]\nnote: nearest: 'gate_quantize'\n", err)

    # A profile's fusions change neither its contracts nor what they are invariant under.
    def test_C6_AFusionIsInvariantWhereItsPartsAre(self):
        self.writ("compile", random_model(), "--bringup", "--require", "run,threads,batch,chunking,isa,device,compiler",
                  "--dry-run")
        out, _ = self.writ("contracts", "silu_gate_f32_v0+quantize_activation_i8_b32_v0")
        self.assertIn("'gate_quantize': one after the other", out)
        self.assertTrue(re.search(r"silu_gate_f32_v0: activation\s+silu", out), out)
        listed, _ = self.writ("contracts")
        self.assertNotIn("+", listed)

    # The circuit asks for ops; that they are computed together is the profile's affair.
    def test_C1_ACircuitCannotNameAFusion(self):
        data = self.data()
        replace(data / "circuits/llama.json", '"op": "gate"', '"op": "gate_quantize"')
        _, err = self.writ("compile", random_model(), "--bringup", "--data", data, "--dry-run", code=1)
        self.assertIn("'gate_quantize' is not an op family [E030]", err)


if __name__ == "__main__":
    main()
