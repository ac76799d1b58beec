"""Scaled rotary positions, end to end: the model's metadata decide, and the logits are llama.cpp's.

tests/data/rope_scaling.json holds what llama.cpp made of small models (scripts/evidence/record_rope_scaling.py).
"""
import json
import struct

import harness
from harness import SOURCE, TestCase, random_model

RECORD = json.loads((SOURCE / "tests" / "data" / "rope_scaling.json").read_text(encoding="utf-8"))


def logits_of(path):
    """The one f32 tensor of a safetensors file, by rows."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    entry = json.loads(data[8 : 8 + length])["logits"]
    begin, end = entry["data_offsets"]
    values = struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin : 8 + length + end])
    columns = entry["shape"][1]
    return [values[at : at + columns] for at in range(0, len(values), columns)]


def nmse(rows, expected):
    """Infinite where a value is no number."""
    pairs = [(a, b) for row, other in zip(rows, expected, strict=True) for a, b in zip(row, other, strict=True)]
    error = sum((a - b) ** 2 for a, b in pairs) / sum(b * b for _, b in pairs)
    return error if error == error else float("inf")


class RopeScaling(TestCase):
    def recorded(self, name):
        data = bytes.fromhex(RECORD["models"][name]["logits"])
        values = struct.unpack(f"<{len(data) // 4}f", data)
        columns = len(values) // len(RECORD["positions"])
        return [values[at : at + columns] for at in range(0, len(values), columns)]

    def scored(self, name):
        folder = self.folder()
        ids, out = folder / "ids.json", folder / "logits.safetensors"
        ids.write_text(json.dumps(RECORD["ids"]))
        model = random_model(*RECORD["models"][name]["options"], name=name)
        package = harness.package(model, "--bringup", "--profile", "f32")
        self.writ("score", package, "--ids", ids, "--logits", out)
        rows = logits_of(out)
        return [rows[position] for position in RECORD["positions"]]

    def test_C8_LogitsOfScaledModelsAreLlamaCpps(self):
        bound = 2e-6  # as for the real models: sums in other orders, functions of other authors
        for name in RECORD["models"]:
            with self.subTest(model=name):
                rows = self.scored(name)
                self.assertLess(nmse(rows, self.recorded(name)), bound)
                # A negative control: no other model's logits come near.
                for other in RECORD["models"]:
                    if other != name:
                        self.assertGreater(nmse(rows, self.recorded(other)), 10 * bound, other)


if __name__ == "__main__":
    harness.main()
