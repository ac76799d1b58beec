"""Circuits whose attention has a soft-cap or sinks, and whose logits are capped."""
import json

import harness
from harness import TestCase, families, random_model

SPREAD = ((), ("--threads", "3"), ("--threads", "1", "--isa", "scalar"), ("--isa", "avx2"))
PROMPT = "a history beyond the window of 40 positions, over tiles and over the 256 positions of a chunk " * 4


def altered(data, circuit, alter):
    """`alter` changes the ops of a circuit of `data`, by name."""
    path = data / "circuits" / f"{circuit}.json"
    document = json.loads(path.read_text())
    alter(document, {op["name"]: op for section in document["sections"] for op in section["ops"]})
    path.write_text(json.dumps(document, indent=1))


def capped(cap):
    def alter(document, ops):
        ops["attention"]["numbers"]["soft_cap"] = cap
        document["sections"][-1]["ops"].append({
            "op": "soft_cap", "name": "capped_logits", "inputs": {"input": "logits"},
            "dimensions": {"n": "vocabulary"}, "numbers": {"cap": 30.0},
            "required_contracts": {"prefill": "profile", "decode": "profile"}})
        document["result"] = "capped_logits"
        for op in document["host_ops"]:
            op["inputs"]["logits"] = "capped_logits"
    return alter


def with_sinks(_, ops):
    # a weight of the model with an element for each head
    ops["attention"]["weights"] = {"sinks": {"tensor": "blk.{layer}.attn_q_norm.weight"}}


class CappedAndSunk(TestCase):
    def said(self, model, circuit, alter):
        """The one text of every schedule and instruction set, and the package's source."""
        data, out = self.data(), self.folder() / "package"
        altered(data, circuit, alter)
        self.writ("compile", model, "--bringup", "--data", data, "-o", out)
        texts = {self.writ("run", out, "--prompt", PROMPT, "--max-tokens", "24", *options)[0] for options in SPREAD}
        self.assertEqual(len(texts), 1, texts)
        return texts.pop(), (out / "src" / "model.cpp").read_text()

    def test_S1_S4_ASoftCapOfScoresAndLogits(self):
        model = random_model(*families()["gemma3"], name="alternating")
        texts = set()
        for alter in (lambda document, ops: None, capped(50.0), capped(0.01)):
            text, source = self.said(model, "gemma3", alter)
            texts.add(text)
        self.assertGreater(len(texts), 1, "a cap far below the scores changes nothing")
        for provider in ("attention_f16_soft_cap_tiles32_chunks256", "attention_f16_soft_cap_window_tiles32_chunks256",
                         "soft_cap_f32"):
            self.assertIn(f"writ/kernels/{provider}.h", source)

    def test_S1_S4_SinksOfEachHead(self):
        model = random_model("--circuit", "qwen3", "--width", "256", "--heads", "16", "--kv-heads", "4",
                             "--parameter", "head_dim=16", name="sinks")
        _, source = self.said(model, "qwen3", with_sinks)
        self.assertIn("writ/kernels/attention_f16_sinks_tiles32_chunks256.h", source)


if __name__ == "__main__":
    harness.main()
