"""What a run holds in memory at most: the weights once, KV, the arenas, and little beside them."""
import re

from harness import TestCase, main, package, random_model, real_model

MIB = 1 << 20
BESIDE = 32 * MIB  # program, vocabulary, sampler, tables, stacks
PAGE = 32  # tokens of one KV page
PROMPT, MORE = "ab" * 60, 40  # 120 tokens of a model whose tokens are bytes, at most


class PeakMemory(TestCase):
    def predicted(self, model):
        """Bytes by name, as `compile --dry-run` says them."""
        out, _ = self.writ("compile", model, "--bringup", "--dry-run")
        return {name: int(number) for name, number in re.findall(r"^(.+?)\s{2,}(\d+) bytes", out, re.M)}

    def peak(self, *words):
        """Peak resident bytes of a run, as it says itself: what wait4 says begins with what Python held."""
        _, err = self.writ(*words, "--stats")
        megabytes, = re.findall(r"^peak memory: ([0-9.]+) MB$", err, re.M)
        return float(megabytes) * 1e6

    def holds_the_weights_once(self, model):
        sizes, built = self.predicted(model), package(model, "--bringup")
        words = ("run", built, "--prompt", PROMPT, "--max-tokens", MORE, "--ignore-end", "--threads", "2")
        self.writ(*words)  # hashes the weights; the measured run finds the stamp
        tokens = len(PROMPT) + 1
        planned = (sizes["weights"] + sizes["KV per token"] * (tokens + MORE + PAGE)
                   + sizes["arena per row"] * tokens + sizes["arena per output"])
        for extra in ((), ("--verify",)):
            peak = self.peak(*words, *extra)
            self.assertGreater(peak, sizes["weights"], "every weight is read, and stays mapped")
            self.assertLess(peak, planned + BESIDE, extra)

    def test_N10_ARunHoldsTheWeightsOnce(self):
        # 20 MB of weights: a second copy does not fit into what the bound leaves.
        model = random_model("--layers", "4", "--width", "512", "--heads", "8", "--kv-heads", "2", "--ffn", "2048",
                             "--vocabulary", "8192", "--type", "q8_0", name="peak")  # fmt: skip
        self.holds_the_weights_once(model)

    def test_N10_ARunOfADemoModelHoldsTheWeightsOnce_long(self):
        self.holds_the_weights_once(real_model("smollm2"))


if __name__ == "__main__":
    main()
