"""Writes a tokenizer.json of Writ as a GGUF file without tensors, so that llama.cpp can read it."""

import struct

_U32, _F32, _BOOL, _STRING, _ARRAY, _I32 = 4, 6, 7, 8, 9, 5


def _text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _array(kind, values, pack):
    return _ARRAY, struct.pack("<IQ", kind, len(values)) + b"".join(map(pack, values))


def write_vocabulary(path, data):
    """`data`: the document. What it leaves out (-1, an empty list, an empty text) the file does too."""
    scalars = {
        "model": (_STRING, _text(data["model"])),
        "pre": (_STRING, _text(data["pre_tokenizer"] or "default")),
        "tokens": _array(_STRING, data["tokens"], _text),
        "token_type": _array(_I32, data["types"], lambda value: struct.pack("<i", value)),
        "scores": _array(_F32, data["scores"], lambda value: struct.pack("<f", value)),
        "merges": _array(_STRING, data["merges"], _text),
    }
    entries = {
        f"tokenizer.ggml.{key}": entry
        for key, entry in scalars.items()
        if key not in ("scores", "merges") or data[key]
    }
    for name in ("bos", "eos", "unknown", "padding"):
        if data[name] >= 0:
            entries[f"tokenizer.ggml.{name}_token_id"] = (_U32, struct.pack("<I", data[name]))
    for key, name in (("add_bos_token", "add_bos"), ("add_eos_token", "add_eos"),
                      ("add_space_prefix", "add_space_prefix")):  # fmt: skip
        entries[f"tokenizer.ggml.{key}"] = (_BOOL, struct.pack("<?", data[name]))
    entries = {"general.architecture": (_STRING, _text("llama"))} | entries
    head = struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries))
    body = b"".join(_text(key) + struct.pack("<I", kind) + value
                    for key, (kind, value) in entries.items())  # fmt: skip
    path.write_bytes(head + body + bytes(-len(head + body) % 32))
