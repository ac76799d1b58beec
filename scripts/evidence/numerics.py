"""Figures about logits, all in binary64. A NaN anywhere makes a figure NaN, and no NaN passes."""

import dataclasses
import json
import math

import numpy as np

ROWS_AT_ONCE = 64  # rows of a vocabulary converted to binary64 together; bounds the memory


def read_safetensors(path):
    """The tensors of a safetensors file, memory-mapped: name → array."""
    types = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kind, shape = np.dtype(types[entry["dtype"]]), tuple(entry["shape"])
        if end - begin != kind.itemsize * math.prod(shape):
            raise ValueError(f"{path}: '{name}' has {end - begin} bytes for shape {shape}")
        tensors[name] = np.memmap(path, kind, "r", 8 + length + begin, shape)
    return tensors


def write_safetensors(path, tensors):
    names = {"<f4": "F32", "<f8": "F64", "<i4": "I32"}
    header, offset = {}, 0
    # Wider elements first, so that each tensor is aligned to its own element.
    ordered = sorted(tensors.items(), key=lambda item: (-item[1].itemsize, item[0]))
    for name, array in ordered:
        header[name] = {"dtype": names[array.dtype.str], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}  # fmt: skip
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(np.ascontiguousarray(array).tobytes())


def log_sum_exp(rows):
    """Per row of binary64 logits."""
    top = rows.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # an infinity gives NaN, which no bound accepts
        return top[:, 0] + np.log(np.exp(rows - top).sum(axis=1))


def blocks(*arrays):
    """(first row, binary64 blocks of the same rows of each array)."""
    for first in range(0, len(arrays[0]), ROWS_AT_ONCE):
        yield first, *(np.asarray(a[first : first + ROWS_AT_ONCE], np.float64) for a in arrays)


def perplexity(logits, ids):
    """exp of the mean of -log p(id given those before it), the first id excepted."""
    total = 0.0
    targets = np.asarray(ids[1:])
    for first, rows in blocks(logits[: len(ids) - 1]):
        chosen = rows[np.arange(len(rows)), targets[first : first + len(rows)]]
        total += float((log_sum_exp(rows) - chosen).sum())
    return float(np.exp(total / len(targets)))


@dataclasses.dataclass
class Difference:
    """How far logits lie from the oracle's, summed over rows."""

    error: float = 0.0  # Σ (a - b)²
    power: float = 0.0  # Σ b²
    largest: float = 0.0  # max |a - b|
    flips: int = 0  # rows whose largest logit is another one
    flips_beyond_rms: int = 0  # … where the oracle's top-2 gap exceeds 2 × the row's RMS difference
    flips_beyond_largest: int = 0  # … 2 × its largest difference; also rows where that is not finite

    @property
    def nmse(self):
        return self.error / self.power if self.power else math.nan

    def __add__(self, other):
        return Difference(
            self.error + other.error,
            self.power + other.power,
            float(np.maximum(self.largest, other.largest)),
            self.flips + other.flips,
            self.flips_beyond_rms + other.flips_beyond_rms,
            self.flips_beyond_largest + other.flips_beyond_largest,
        )


def compare(logits, oracle):
    """The Difference of two [rows, vocab] arrays."""
    if logits.shape != oracle.shape:
        raise ValueError(f"logits have shape {logits.shape}, the oracle's {oracle.shape}")
    total = Difference()
    for _, a, b in blocks(logits, oracle):
        delta = np.abs(a - b)
        square = (delta * delta).sum(axis=1)
        largest = delta.max(axis=1)
        second, first = np.partition(b, -2, axis=1)[:, -2:].T
        flipped = a.argmax(axis=1) != b.argmax(axis=1)
        rms = np.sqrt(square / b.shape[1])
        # Written so that a NaN counts as a flip beyond the bound.
        beyond_rms = flipped & ~(first - second <= 2 * rms)
        beyond_largest = (flipped & ~(first - second <= 2 * largest)) | ~np.isfinite(largest)
        total += Difference(
            float(square.sum()),
            float((b * b).sum()),
            float(largest.max()),
            int(flipped.sum()),
            int(beyond_rms.sum()),
            int(beyond_largest.sum()),
        )
    return total


def first_difference(chosen, expected):
    """The index of the first greedy id that differs, or None where all are equal."""
    for index, (a, b) in enumerate(zip(chosen, expected, strict=True)):
        if a != b:
            return index
    return None
