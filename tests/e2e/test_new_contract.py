"""A contract over known words, added to a copy of the data: listed, and refused where no kernel keeps it."""
import json

from harness import SOURCE, TestCase, random_model

FROM, NEW = "rms_norm_f32_lanes64_v0", "rms_norm_f32_lanes16_v0"


class NewContract(TestCase):
    def added(self, reduction):
        data = self.data()
        contract = json.loads((SOURCE / f"contracts/rms_norm/{FROM}.json").read_text())
        contract.update(id=NEW, sum_of_squares=reduction)
        (data / f"contracts/rms_norm/{NEW}.json").write_text(json.dumps(contract, indent=1))
        profile = data / "contracts/profiles/portable.json"
        profile.write_text(profile.read_text().replace(f'"{FROM}"', f'"{NEW}"'))
        return data

    def invariance(self, data):
        answer = json.loads(self.writ("contracts", NEW, "--json", "--data", data)[0])
        return answer["contracts"][0]["invariance"]

    def test_C6_ANewContractIsListedWithItsInvariance(self):
        self.assertEqual(set(self.invariance(self.added("sum_f32_fma_lanes16_tree")).values()), {True})
        self.assertEqual(set(self.invariance(self.added("implementation_defined")).values()), {False})

    def test_C3_E101_TheMissingProviderIsNamed(self):
        data = self.added("sum_f32_fma_lanes16_tree")
        _, err = self.writ("compile", random_model(), "--bringup", "--data", data, "-o", self.folder() / "none", code=1)
        self.assertIn("error: no kernel provides 'rms_norm_quantize' for {", err)  # the profile has that fusion on
        self.assertIn(f"contract={NEW}+quantize_activation_i8_b32_v0", err)
        self.assertIn("nearest provider 'rms_norm_f32_quantize_i8_b32' differs in contract", err)
        self.assertIn("[E101]", err)
