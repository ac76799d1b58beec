"""K and V in another storage than the circuit's: other contracts, other bits, and a refusal where there are none."""
import json
import math
import re

from harness import TestCase, main, package, random_model

IDS = [3 + (37 * i * i + 11 * i) % 256 for i in range(600)]  # crosses tiles, chunks and pages
STORAGES = ("f32", "bf16", "q8_0")
HEAD_OF_32 = ("--type", "q4_1", "--width", "128", "--ffn", "256")


class KvStorage(TestCase):
    def score(self, built, *options):
        path = self.folder() / "ids.json"
        path.write_text(json.dumps(IDS))
        return json.loads(self.writ("score", built, "--ids", path, "--json", *options)[0])

    def built(self, *options, profile="portable"):
        return package(random_model(*HEAD_OF_32), "--bringup", "--profile", profile, *options)

    # CASES 13: every storage is near the exact one, and none is another by chance.
    def test_F8_EachStorageIsNearBinary32(self):
        exact = self.score(self.built("--kv", "f32", profile="f32"))["logprobs"][1:]  # the first has none
        errors, digests = {}, set()
        for storage in ("f16", "bf16", "q8_0"):
            report = self.score(self.built("--kv", storage, profile="f32"))
            errors[storage] = math.sqrt(sum((a - b) ** 2 for a, b in zip(report["logprobs"][1:], exact)) / len(exact))
            digests.add(report["logits_sha256"])
        self.assertEqual(len(digests), 3)
        # Half a unit: 2^-12 of a value in f16 (11 bits), 8 times that in bf16 (8 bits); in q8_0 amax / 254 of
        # any value, which is 16 times that of amax itself and more of the smaller ones.
        self.assertLess(errors["f16"], 4 * 2**-12)
        for storage, ratio in (("bf16", 8), ("q8_0", 16)):
            self.assertLess(errors[storage], 4 * ratio * errors["f16"], storage)
            self.assertGreater(errors[storage], ratio / 4 * errors["f16"], storage)

    def test_S1_S3_S4_EachStorageKeepsItsBits(self):
        for storage in STORAGES:
            built = self.built("--kv", storage)
            first = self.score(built, "--threads", "1", "--chunk", "32", "--isa", "scalar")["logits_sha256"]
            for threads, chunk in (("3", "7"), ("2", "whole")):
                self.assertEqual(self.score(built, "--threads", threads, "--chunk", chunk)["logits_sha256"], first, storage)

    def test_C3_TheCircuitsOwnStorageIsNoChange(self):
        self.assertEqual(self.score(self.built("--kv", "f16"))["logits_sha256"], self.score(self.built())["logits_sha256"])

    # CASES 9: a storage without a kernel is an error with the op, never another path.
    def test_C3_AStorageWithoutAContractOrAKernelIsRefused(self):
        _, err = self.writ("compile", random_model(*HEAD_OF_32), "--bringup", "--kv", "q4_0", "--dry-run", code=1)
        self.assertIn("--kv: error: profile 'portable' keeps no K and V in 'q4_0' [E051]\n"
                      "note: storage types: 'bf16', 'f16', 'f32', 'q8_0'\n", err)
        # Blocks of 32 do not divide a head of 16.
        _, err = self.writ("compile", random_model(), "--bringup", "--kv", "q8_0", "--dry-run", code=1)
        self.assertRegex(err, r"circuits/llama.json:\d+:5: error: KV group 0 of 2 layers of 2 x 16 'q8_0' cannot be kept: "
                              r"the elements of a head do not fill blocks of that storage \[E202\]\n")

    def test_C7_EvidenceOfOneStorageIsNotThatOfAnother(self):
        _, err = self.writ("compile", random_model(*HEAD_OF_32), "--kv", "q8_0", "--dry-run", code=1)
        self.assertIn("kv_q8_0", err)
        self.assertIn("[E103]", err)

    def test_N10_TheDryRunCountsTheBytesOfTheStorage(self):
        sizes = {}
        for storage in ("f16", *STORAGES):
            out, _ = self.writ("compile", random_model(*HEAD_OF_32), "--bringup", "--kv", storage, "--dry-run")
            sizes[storage] = int(re.search(r"KV per token +(\d+) bytes", out)[1])
        self.assertEqual(sizes["bf16"], sizes["f16"])
        self.assertEqual(sizes["f32"], 2 * sizes["f16"])
        self.assertEqual(sizes["q8_0"] * 64, sizes["f16"] * 34)


if __name__ == "__main__":
    main()
