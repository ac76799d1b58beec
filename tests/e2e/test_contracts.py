"""`writ contracts` says what cannot change a contract's bits, and `--require` holds a model to it."""
import json
import os

import harness
import profiles
from harness import SOURCE, TestCase, position, random_model, replace, run, tiny_package

CONTRACT = "attention_f16_kv_tiles32_chunks256_v0"
FILE = f"contracts/attention/{CONTRACT}.json"
DIMENSIONS = ["run", "threads", "batch", "chunking", "isa", "device", "compiler"]
BREAKS = ("breaks threads where kv_len >= 257: there is one chunk for each worker, so that their number decides where a "
          "partial ends")  # fmt: skip


def registered():
    """contract → family, as the folders say."""
    families = json.loads((SOURCE / "contracts/vocabulary.json").read_text())["families"]
    return {path.stem: family for family in families for path in (SOURCE / "contracts" / family).glob("*.json")}


def portable():
    """The contracts of the profiles that promise everything."""
    return {rule["contract"] for name in ("portable", "f32", "bf16") for rule in profiles.rules(SOURCE / "contracts", name)}


class Data(TestCase):
    def by_workers(self):
        """A copy of the data whose attention is partitioned by the number of workers."""
        data = self.data()
        replace(data / FILE, '"kv_chunks_fixed", "threshold": 257, "tile": 32, "chunk": 256',
                '"kv_chunks_by_workers", "threshold": 257, "tile": 32')  # fmt: skip
        return data


class Contracts(Data):
    def rows(self, *words):
        """The table as {contract: (family, answers)}, and the lines after it."""
        lines = self.writ("contracts", *words)[0].splitlines()
        self.assertEqual(lines[0].split(), ["contract", "family", *DIMENSIONS])
        starts = [lines[0].index(f" {name}") + 1 for name in ["family", *DIMENSIONS]] + [None]
        count = len(registered())
        table = {line[:starts[0]].strip(): [line[a:b].strip() for a, b in zip(starts, starts[1:])]
                 for line in lines[1:count + 1]}  # fmt: skip
        return table, lines[count + 1:]

    def test_C6_S1_S2_S3_S4_S5_S8_TheTableHasEveryContract(self):
        table, after = self.rows()
        self.assertEqual({name: row[0] for name, row in table.items()}, registered())
        self.assertEqual([row[0] for row in table.values()], sorted(registered().values()))
        self.assertEqual({tuple(table[name][1:]) for name in portable()}, {("yes",) * 7})
        self.assertEqual(table["f16_online_fp32_merge"],
                         ["attention", "yes", "kv_len < 512", "yes", "yes", "yes", "yes", "yes"])  # fmt: skip
        self.assertEqual(table["f16_online_single_range"], ["attention", *["yes"] * 7])
        # A line below for each contract that something breaks, and for no other.
        self.assertEqual({line.split(":")[0] for line in after},
                         {name for name, row in table.items() if row[1:] != ["yes"] * 7})  # fmt: skip

    def test_C6_S1_WhatBreaksStandsInTheTableAndBelowIt(self):
        table, after = self.rows("--data", self.by_workers())
        self.assertEqual(table[CONTRACT], ["attention", "yes", "kv_len < 257", "yes", "yes", "yes", "yes", "yes"])
        self.assertIn(f"{CONTRACT}: partition.kind is 'kv_chunks_by_workers', which {BREAKS}", after)
        self.assertEqual({tuple(table[name][1:]) for name in portable() - {CONTRACT}}, {("yes",) * 7})

    def test_C6_S1_OneContractIsShownFieldByField(self):
        data = self.by_workers()
        out, _ = self.writ("contracts", CONTRACT, "--data", data)
        lines = out.splitlines()
        line = position(data / FILE, '"id"').split(":")[0]
        self.assertEqual(lines[0], f"{CONTRACT}, 'attention' at {FILE}:{line}")
        self.assertEqual(lines[1:9], [
            "  run        yes", "  threads    kv_len < 257", "  batch      yes", "  chunking   yes",
            "  isa        yes", "  device     yes", "  compiler   yes", "because"])  # fmt: skip
        fields = {words[0]: (words[1], " ".join(words[2:])) for words in map(str.split, lines[9:])}
        self.assertEqual(fields["partition.kind"], ("kv_chunks_by_workers", BREAKS))
        self.assertEqual(fields["partition.threshold"],
                         ("257", "neutral: a number of the contract, the same everywhere"))  # fmt: skip
        self.assertEqual(fields["operands.kv.storage"], ("f16", "neutral: bytes mean the same everywhere"))
        # No field is left out: each is a reason.
        declared = json.loads((data / "contracts/vocabulary.json").read_text())["contract_fields"]["attention"]
        contract = json.loads((data / FILE).read_text())
        has = [field for field in declared
               if (contract if "." not in field else contract[field.split(".")[0]]).get(field.split(".")[-1])]  # fmt: skip
        self.assertEqual(list(fields), [f"operands.{name}.storage" for name in ("q", "kv", "out")] + has)
        self.assertNotIn("partition.chunk", fields)

    def test_C6_S1_TheAnswersForScripts(self):
        out, _ = self.writ("contracts", "--json", "--data", self.by_workers())
        answer = json.loads(out)
        self.assertEqual(list(answer["dimensions"]), DIMENSIONS)
        self.assertEqual(answer["dimensions"]["batch"], {
            "obligations": ["S2"], "meaning": "the other rows of a step, and a row's place among them"})  # fmt: skip
        contracts = {contract["id"]: contract for contract in answer["contracts"]}
        self.assertEqual(contracts[CONTRACT]["invariance"], {name: name != "threads" for name in DIMENSIONS})
        self.assertEqual(contracts[CONTRACT]["family"], "attention")
        self.assertEqual([field for field in contracts[CONTRACT]["fields"] if field["breaks"]], [{
            "field": "partition.kind", "value": "kv_chunks_by_workers", "breaks": ["threads"],
            "from": {"variable": "kv_len", "value": 257}, "because": BREAKS.split(": ", 1)[1]}])  # fmt: skip
        one, _ = self.writ("contracts", "residual_f32_v0", "--json")
        self.assertEqual(json.loads(one)["contracts"], [contracts["residual_f32_v0"]])

    def test_C2_E051_AContractThatThereIsNot(self):
        data = self.data()
        _, err = self.writ("contracts", "residual_f32", "--data", data, code=1)
        self.assertEqual(err, f"{data}/contracts: error: there is no contract 'residual_f32' [E051]\n"
                              "note: nearest: 'residual_f32_v0', 'residual_f16_v0'\n")
        _, err = self.writ("contracts", "qqqqqqqqqqqqqqqq", "--data", data, code=1)
        self.assertEqual(err, f"{data}/contracts: error: there is no contract 'qqqqqqqqqqqqqqqq' [E051]\n"
                              "note: `writ contracts` lists the contracts\n")


class Require(Data):
    def compile(self, *words, code=0):
        """What is said beside the progress."""
        result = run("compile", random_model(), "--bringup", "--dry-run", *words)
        err = result.stderr.decode()
        self.assertEqual(result.returncode, code, err)
        return [line for line in err.splitlines() if not line.startswith("writ: ")]

    def test_C6_S1_E104_AModelWhoseContractDependsOnTheWorkersIsRefused(self):
        data = self.by_workers()
        said = self.compile("--require", "batch,threads", "--data", data, code=1)
        at = position(data / "circuits/llama.json", '"attention", "name"')
        self.assertEqual([line.replace(f"{data}/", "") for line in said], [
            f"circuits/llama.json:{at}: error: 'attention' has contract '{CONTRACT}', which is not invariant under "
            "threads; --require asks for it (op 'blk.0.attention', prefill) [E104]",
            f"{FILE}:{position(data / FILE, chr(34) + 'kv_chunks_by_workers')}: note: partition.kind is "
            f"'kv_chunks_by_workers', which {BREAKS}",
            "note: choose a profile whose contract does, or require less; `writ contracts "
            f"{CONTRACT}` shows every field"])  # fmt: skip
        self.assertEqual(self.compile("--data", data), [], "nothing was required")
        self.assertEqual(self.compile("--data", data, "--require", "run,batch,chunking,isa,device,compiler"), [])

    def test_C6_S1_E104_AModelOfSplitKvIsRefusedThoughNoKernelKeepsIt(self):
        data, contract = self.data(), "f16_online_fp32_merge"
        replace(data / "contracts/profiles/portable.json", f'"{CONTRACT}"', f'"{contract}"')
        said = self.compile("--require", "threads", "--data", data, code=1)
        file = f"contracts/attention/{contract}.json"
        at = position(data / "circuits/llama.json", '"attention", "name"')
        self.assertEqual([line.replace(f"{data}/", "") for line in said], [
            f"circuits/llama.json:{at}: error: "
            f"'attention' has contract '{contract}', which is not invariant under threads; --require asks for it "
            "(op 'blk.0.attention', prefill) [E104]",
            f"{file}:{position(data / file, chr(34) + 'kv_chunks_by_workers')}: note: partition.kind is "
            f"'kv_chunks_by_workers', which {BREAKS.replace('257', '512')}",
            "note: choose a profile whose contract does, or require less; `writ contracts "
            f"{contract}` shows every field"])  # fmt: skip
        said = self.compile("--require", "batch,isa", "--data", data, code=1)
        self.assertIn("no kernel provides 'attention'", said[0])

    def test_C6_S1_S2_S3_S4_S5_S8_APortableModelKeepsAll(self):
        for profile in ("portable", "f32"):
            self.assertEqual(self.compile("--profile", profile, "--require", ",".join(DIMENSIONS)), [])
        self.assertEqual(self.compile("--require", "threads", "--require", "isa"), [])

    def test_C6_E051_ANameThatIsNoDimension(self):
        for text, name in (("speed", "speed"), ("threads,speed", "speed"), ("", "")):
            with self.subTest(text=text):
                self.assertEqual(self.compile("--require", text, code=1), [
                    f"--require: error: '{name}' is not a dimension of invariance [E051]",
                    "note: dimensions: 'run', 'threads', 'batch', 'chunking', 'isa', 'device', 'compiler'"])  # fmt: skip

    def test_C6_ARunOfAModelFileIsHeldToItEachTime(self):
        folder, data = self.folder(), self.by_workers()
        env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        words = ("run", random_model(), "--bringup", "--data", data, "--prompt", "ab", "--max-tokens", "2")
        self.writ(*words, env=env)  # the package is in the cache now
        for _ in range(2):
            _, err = self.writ(*words, "--require", "threads", env=env, code=1)
            self.assertIn(f"'attention' has contract '{CONTRACT}', which is not invariant under threads", err)
            self.assertIn("[E104]", err)
        _, err = self.writ("run", tiny_package(), "--prompt", "ab", "--require", "threads", code=1)
        self.assertEqual(err, f"--require: error: '{tiny_package()}' is a package, whose compilation is done [E051]\n"
                              "note: leave the option out, or name the model file\n")


if __name__ == "__main__":
    harness.main()
