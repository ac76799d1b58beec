#!/usr/bin/python3
"""Records what PyTorch makes of small inputs, for tests/conformance/torch_test.cpp.

usage: record_torch.py            write tests/data/torch/ops.json
       record_torch.py --check    1 where PyTorch now differs from the record by more than its tolerance

Inputs come from an integer generator and are multiples of 2^-10 (of 2^-5 where bf16 must hold them), so
that they are the same everywhere. A tolerance is a fraction of the largest |result| of its case: both
sides round, in orders of their own. PyTorch is Debian's python3-torch (scripts/setup-oracles); exit status 3 where it is absent:
unresolved, which is not a pass.
"""

import json
import pathlib
import struct
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

RECORD = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "torch" / "ops.json"
FLOAT, BFLOAT = 2.0**-20, 2.0**-8
EPSILON = struct.unpack("f", struct.pack("f", 1e-5))[0]


class Source:
    """A linear congruential generator (Knuth's MMIX)."""

    def __init__(self, seed):
        self.state = seed

    def floats(self, *shape, unit=2.0**-10, limit=4):
        steps = int(limit / unit)
        count = 1
        for size in shape:
            count *= size
        values = []
        for _ in range(count):
            self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
            values.append(((self.state >> 33) % (2 * steps + 1) - steps) * unit)
        return torch.tensor(values, dtype=torch.float32).reshape(shape)


def hexadecimal(tensor):
    return struct.pack(f"<{tensor.numel()}f", *tensor.to(torch.float32).flatten().tolist()).hex()


def case(name, contract, dimensions, inputs, result, tolerance=FLOAT, numbers=None, tokens=None):
    """Operands and result as the bytes of binary32; a narrower operand holds its values exactly."""
    entry = {"name": name, "contract": contract, "dimensions": dimensions, "tolerance": tolerance,
             "numbers": numbers or {}, "inputs": {key: hexadecimal(value) for key, value in inputs.items()},
             "result": hexadecimal(result)}  # fmt: skip
    if tokens is not None:
        entry["tokens"] = tokens
    return entry


def cases():
    source, rows, n = Source(5), 2, 96
    x, w, b = source.floats(rows, n), source.floats(n), source.floats(n)
    vectors = {"rows": rows, "vectors": 1, "n": n}
    number = {"epsilon": EPSILON}
    yield case("layer_norm", "layer_norm_f32_lanes64_v0", vectors, {"input": x, "weight": w, "bias": b},
               F.layer_norm(x, (n,), w, b, EPSILON), numbers=number)  # fmt: skip
    yield case("layer_norm_without_bias", "layer_norm_f32_lanes64_v0", vectors, {"input": x, "weight": w},
               F.layer_norm(x, (n,), w, None, EPSILON), numbers=number)  # fmt: skip
    shifted = x + 100
    yield case("layer_norm_far_from_zero", "layer_norm_f32_lanes64_v0", vectors,
               {"input": shifted, "weight": w, "bias": b}, F.layer_norm(shifted, (n,), w, b, EPSILON),
               tolerance=2.0**-16, numbers=number)  # fmt: skip
    yield case("rms_norm", "rms_norm_f32_lanes64_v0", vectors, {"input": x, "weight": w},
               x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * w, numbers=number)  # fmt: skip
    yield case("normalize", "l2_norm_f32_lanes64_v0", vectors, {"input": x}, F.normalize(x, eps=EPSILON),
               numbers=number)  # fmt: skip
    flat = {"rows": rows, "n": n}
    for name, function in (("silu", F.silu), ("gelu_erf", F.gelu), ("sigmoid", torch.sigmoid), ("tanh", torch.tanh),
                           ("gelu_tanh", lambda t: F.gelu(t, approximate="tanh")), ("softplus", F.softplus),
                           ("relu", F.relu), ("relu_squared", lambda t: F.relu(t).square())):  # fmt: skip
        yield case(name, f"{name}_activation_f32_v0", flat, {"input": x}, function(x))
    up = source.floats(rows, n)
    for name, function in (("silu", F.silu), ("gelu_tanh", lambda t: F.gelu(t, approximate="tanh")),
                           ("gelu_erf", F.gelu), ("relu", F.relu), ("sigmoid", torch.sigmoid)):  # fmt: skip
        yield case(f"{name}_gate", f"{name}_gate_f32_v0", flat, {"gate": x, "up": up}, function(x) * up)
    yield case("soft_cap", "soft_cap_f32_v0", flat, {"input": x * 16}, 30 * torch.tanh(x * 16 / 30),
               numbers={"cap": 30})  # fmt: skip
    logits, tokens = source.floats(rows, 200, limit=8), [0, 199]
    yield case("log_softmax", "log_probability_f32_v0", {"rows": rows, "vocabulary": 200}, {"logits": logits},
               F.log_softmax(logits, -1)[range(rows), tokens].reshape(rows, 1), tokens=tokens)  # fmt: skip
    k, out = 160, 7
    activation, weight, bias = source.floats(rows, k), source.floats(out, k), source.floats(out)
    shape = {"rows": rows, "k": k, "n": out}
    yield case("linear", "linear_f32_v0", shape, {"activation": activation, "weight": weight, "bias": bias},
               F.linear(activation, weight, bias))  # fmt: skip
    yield case("linear_without_bias", "linear_f32_v0", shape, {"activation": activation, "weight": weight},
               F.linear(activation, weight))  # fmt: skip
    coarse = [source.floats(*size, unit=2.0**-5) for size in ((rows, k), (out, k))]
    half = [tensor.to(torch.bfloat16) for tensor in coarse]
    assert all(torch.equal(a, b.to(torch.float32)) for a, b in zip(coarse, half))
    yield case("linear_bf16", "linear_bf16_v0", shape, {"activation": coarse[0], "weight": coarse[1]},
               F.linear(*half), tolerance=BFLOAT)  # fmt: skip


def values(text):
    data = bytes.fromhex(text)
    return struct.unpack(f"<{len(data) // 4}f", data)


def compare(recorded, current):
    """What differs, case by case."""
    wrong = []
    names = [[entry["name"] for entry in record["cases"]] for record in (recorded, current)]
    if names[0] != names[1]:
        return ["the record has other cases: run record_torch.py and commit the result"]
    for old, new in zip(recorded["cases"], current["cases"]):
        if {key: old[key] for key in old if key != "result"} != {key: new[key] for key in new if key != "result"}:
            wrong.append(f"{old['name']}: inputs or tolerance differ from the record's")
            continue
        before, now = values(old["result"]), values(new["result"])
        largest = max(abs(value) for value in before)
        error = max(abs(a - b) for a, b in zip(before, now, strict=True)) / largest
        if not error <= old["tolerance"]:
            wrong.append(f"{old['name']}: PyTorch now differs by {error:.3g} of the largest result")
    return wrong


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 2
    if torch is None:
        print("PyTorch is absent: its comparisons are unresolved (scripts/setup-oracles installs python3-torch)")
        return 3
    torch.set_num_threads(1)
    current = {"oracle": f"PyTorch {torch.__version__}, CPU, one thread", "package": "Debian python3-torch",
               "command": "scripts/evidence/record_torch.py", "cases": list(cases())}  # fmt: skip
    if not sys.argv[1:]:
        RECORD.parent.mkdir(parents=True, exist_ok=True)
        RECORD.write_text(json.dumps(current, indent=1) + "\n", encoding="utf-8")
        return 0
    wrong = compare(json.loads(RECORD.read_text(encoding="utf-8")), current)
    print("\n".join(wrong) or f"{len(current['cases'])} cases of {current['oracle']} are within their tolerances")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
