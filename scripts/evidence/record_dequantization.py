#!/usr/bin/env python3
"""Records what the Python package gguf makes of random blocks, for the test of every code point (F13).

usage: record_dequantization.py OUT.json        (needs gguf and numpy: `pip install gguf==0.19.0`)

Blocks are any bytes, except that binary16 scales are finite. Values are written as the bits of binary32.
"""
import importlib.metadata
import json
import random
import sys

import numpy
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

BLOCKS = 3
#: where the binary16 numbers of a block stand
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def block(name, size, source):
    data = bytearray(source.randrange(256) for _ in range(size))
    for at in HALVES[name]:
        data[at + 1] = data[at + 1] & 0x83 | source.randrange(31) << 2
    return bytes(data)


def main():
    source, storages = random.Random(13), {}
    for name in HALVES:
        kind = GGMLQuantizationType[name]
        data = b"".join(block(name, GGML_QUANT_SIZES[kind][1], source) for _ in range(BLOCKS))
        values = dequantize(numpy.frombuffer(data, dtype=numpy.uint8).reshape(1, -1), kind)
        bits = values.astype(numpy.float32).view(numpy.uint32).reshape(-1)
        storages[name.lower()] = {"blocks": data.hex(), "values": "".join(f"{word:08x}" for word in bits)}
    record = {"oracle": "gguf " + importlib.metadata.version("gguf"),
              "command": "scripts/evidence/record_dequantization.py", "storages": storages}
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(record, out, indent=2)
        out.write("\n")


main()
