"""What llama-quantize makes of a model: the storage type of each matrix.

The rules are those of llama.cpp (ggml 0.25.3) for a dense model; tests hold them against a file that
it made. A recipe is not a type: `q4_k_m` mixes q4_k and q6_k, and where a row is no multiple of 256,
a type with smaller blocks takes the place of each.
"""

import math

# storage → its number in GGUF, elements and bytes of a block
TYPES = {"f32": (0, 1, 4), "f16": (1, 1, 2), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20), "q5_0": (6, 32, 22),
         "q5_1": (7, 32, 24), "q8_0": (8, 32, 34), "q4_k": (12, 256, 144), "q5_k": (13, 256, 176),
         "q6_k": (14, 256, 210), "bf16": (30, 1, 2)}  # fmt: skip
SUPER = 256
# recipe → type of most matrices, of the last one (the logits), of every other attn_v and ffn_down
RECIPES = {
    "q8_0": ("q8_0", "q8_0", "q8_0"),
    "q4_0": ("q4_0", "q6_k", "q4_0"),
    "q4_k_m": ("q4_k", "q6_k", "q6_k"),
    "bf16": ("bf16", "bf16", "bf16"),
    "f16": ("f16", "f16", "f16"),
    "f32": ("f32", "f32", "f32"),
}
IN_BLOCKS_OF_32 = {"q4_k": "q5_0", "q5_k": "q5_1", "q6_k": "q8_0"}


def bytes_of(storage, shape):
    """What a tensor takes in a file."""
    _, elements, size = TYPES[storage]
    return math.prod(shape) // elements * size


def has_more_bits(layer, layers):
    """The first and the last eighth of the layers, and every third between."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def storage_of(recipe, tensor, columns, layers, tied):
    """The type of the matrix `tensor`, whose rows have `columns` elements. `tied`: no output.weight."""
    usual, last, better = RECIPES[recipe]
    words = tensor.split(".")
    kind = usual
    if tensor == ("token_embd.weight" if tied else "output.weight"):
        kind = last
    elif words[-2] in ("attn_v", "ffn_down") and has_more_bits(int(words[1]), layers):
        kind = better
    return IN_BLOCKS_OF_32.get(kind, kind) if columns % SUPER else kind
