#!/usr/bin/env python3
"""Writes a GGUF file of the family `smallest` (smallest.json), with random weights.

usage: make_model.py OUT.gguf [--layers N] [--width N] [--heads N] [--seed N] [--chat-template TEXT]

A model file is metadata and tensors: what stands below is all that this family needs. The tokenizer is
byte-level BPE without merges: one token for each byte, and one that ends a text.
"""
import argparse
import random
import struct

U32, I32, STRING, ARRAY = 4, 5, 8, 9  # the types of GGUF metadata
F32 = 0  # the only storage type that is used here


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def u32(value):
    return struct.pack("<II", U32, value)


def text(value):
    return struct.pack("<I", STRING) + string(value)


def array(kind, items):
    return struct.pack("<IIQ", ARRAY, kind, len(items)) + b"".join(items)


def byte_tokens():
    """The 256 bytes as byte-level BPE writes them: printable ones as they are, the rest from 256 on."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    for name, default in (("layers", 2), ("width", 32), ("heads", 2), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--chat-template")
    a = parser.parse_args()

    tokens = ["<|end|>", *byte_tokens()]
    control, normal = struct.pack("<i", 3), struct.pack("<i", 1)
    metadata = {
        "general.architecture": text("smallest"),
        "smallest.block_count": u32(a.layers),
        "smallest.embedding_length": u32(a.width),
        "smallest.attention.head_count": u32(a.heads),
        "smallest.context_length": u32(512),
        "tokenizer.ggml.model": text("gpt2"),
        "tokenizer.ggml.pre": text("gpt-2"),
        "tokenizer.ggml.tokens": array(STRING, [string(token) for token in tokens]),
        "tokenizer.ggml.token_type": array(I32, [control] + [normal] * 256),
        "tokenizer.ggml.merges": array(STRING, []),
        "tokenizer.ggml.eos_token_id": u32(0),
    }
    if a.chat_template:
        metadata["tokenizer.chat_template"] = text(a.chat_template)
    shapes = {"token_embd.weight": (len(tokens), a.width)}
    for layer in range(a.layers):
        for name in ("q", "k", "v", "output"):
            shapes[f"blk.{layer}.{name}.weight"] = (a.width, a.width)

    source = random.Random(a.seed)
    infos, data = b"", b""
    for name, (rows, columns) in shapes.items():
        infos += string(name) + struct.pack("<IQQIQ", 2, columns, rows, F32, len(data))
        weights = [source.randrange(-1024, 1024) / 256 / columns**0.5 for _ in range(rows * columns)]
        data += struct.pack(f"<{len(weights)}f", *weights)
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(metadata))
    head += b"".join(string(key) + value for key, value in metadata.items()) + infos
    with open(a.out, "wb") as file:
        file.write(head + bytes(-len(head) % 32) + data)


main()
