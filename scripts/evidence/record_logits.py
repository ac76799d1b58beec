#!/usr/bin/env python3
"""Records the oracle's logits for the tests: tests/data/logits/MODEL.safetensors and MODEL.json.

usage: record_logits.py MODEL [--check]

llama.cpp on the F32 copy reads each text of tests/data/texts, and all of them joined, teacher-forced.
Of every 16th position (of the joined ones every 128th) and the last, these are kept per text:
  TEXT.positions    i32 [P]        row i holds the logits after ids[0..positions[i]]
  TEXT.top_ids      i32 [P, 64]    the largest logits, largest first, ties lowest id first
  TEXT.top_logits   f32 [P, 64]
  TEXT.log_sum_exp  f64 [P]        over the whole row
  TEXT.columns      f32 [P, 1024]  the logits of the ids in the tensor `columns` (i32 [1024])
The JSON holds the provenance, and per text its ids, the oracle's perplexity and the greedy
continuation of its first 32 ids.

--check asks the oracle anew and compares within the recorded tolerance (exit 1 when it lies
outside, 3 when the oracle is absent).
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np

import numerics
from oracles import (
    GREEDY_PROMPT,
    GREEDY_TOKENS,
    JOINED,
    ORACLE_SETTINGS,
    ROOT,
    LlamaOracle,
    Model,
    Unresolved,
    machine,
    sha256_of,
    text_files,
    text_ids,
    write_json,
)

STRIDE, JOINED_STRIDE = 16, 128
TOP = 64
COLUMNS = 1024
# llama.cpp's bits move with build and processor; its F32 run has been seen to move far less.
TOLERANCE_NMSE = 2e-6
TOLERANCE_PERPLEXITY = 1e-4  # relative


def excerpt(logits, columns, stride):
    """What is kept of one text's [rows, vocab] logits."""
    rows = len(logits)
    positions = sorted({*range(0, rows, stride), rows - 1})
    kept = np.asarray(logits[positions])
    if not np.isfinite(kept).all():
        raise SystemExit("error: the oracle gave a logit that is not finite")
    top = np.argsort(-kept, axis=1, kind="stable")[:, :TOP]
    return {
        "positions": np.asarray(positions, np.int32),
        "top_ids": top.astype(np.int32),
        "top_logits": np.take_along_axis(kept, top, axis=1),
        "log_sum_exp": numerics.log_sum_exp(kept.astype(np.float64)),
        "columns": kept[:, columns],
    }


def ask(oracle, model):
    """(tensors, texts) as recorded, from the live oracle."""
    texts, tensors = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        ids_file, out = pathlib.Path(folder, "ids.json"), pathlib.Path(folder, "out.safetensors")
        for text, ids in text_ids(oracle, model).items():
            print(f"{text}: {len(ids)} tokens ...", file=sys.stderr, flush=True)
            ids_file.write_text(json.dumps(ids))
            oracle.logits(model.f32_path, ids_file, out)
            logits = numerics.read_safetensors(out)["logits"]
            vocabulary = logits.shape[1]
            columns = (np.arange(COLUMNS) * vocabulary // COLUMNS).astype(np.int32)
            tensors["columns"] = columns
            stride = JOINED_STRIDE if text == JOINED else STRIDE
            for name, array in excerpt(logits, columns, stride).items():
                tensors[f"{text}.{name}"] = array
            perplexity = numerics.perplexity(logits, ids)
            ids_file.write_text(json.dumps(ids[:GREEDY_PROMPT]))
            greedy = oracle.greedy(model.f32_path, ids_file, GREEDY_TOKENS)
            files = [path for path in text_files() if text in (path.stem, JOINED)]
            texts[text] = {
                "files": {str(path.relative_to(ROOT)): sha256_of(path) for path in files},
                "ids": ids,
                "perplexity": perplexity,
                "greedy": {"prompt_tokens": GREEDY_PROMPT, "ids": greedy},
            }
    return tensors, texts


def differences(recorded, recorded_texts, tensors, texts):
    """Complaints about the recorded figures, one line each."""
    for name, text in texts.items():
        old = recorded_texts.get(name)
        if old is None or old["ids"] != text["ids"]:
            yield f"{name}: the ids differ"
            continue
        part = numerics.compare(recorded[f"{name}.columns"], tensors[f"{name}.columns"])
        print(f"{name}: NMSE {part.nmse:.2e}, perplexity {text['perplexity']:.4f}")
        if not part.nmse <= TOLERANCE_NMSE:
            yield f"{name}: NMSE {part.nmse:.3e} against the record, bound {TOLERANCE_NMSE:.0e}"
        ratio = text["perplexity"] / old["perplexity"]
        if not abs(ratio - 1) <= TOLERANCE_PERPLEXITY:
            yield f"{name}: perplexity {text['perplexity']}, recorded {old['perplexity']}"
    for name in recorded_texts.keys() - texts.keys():
        yield f"{name}: recorded, but no longer a text"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model")
    parser.add_argument("--check", action="store_true", help="compare with the recorded files")
    arguments = parser.parse_args()
    model, oracle = Model(arguments.model), LlamaOracle()
    digest = model.check()
    model.check_f32()
    folder = ROOT / "tests" / "data" / "logits"
    tensor_file, json_file = folder / f"{model.name}.safetensors", folder / f"{model.name}.json"

    tensors, texts = ask(oracle, model)
    if arguments.check:
        recorded = numerics.read_safetensors(tensor_file)
        recorded_texts = json.loads(json_file.read_text())["texts"]
        complaints = list(differences(recorded, recorded_texts, tensors, texts))
        print("\n".join(complaints) or f"{tensor_file.name}: the live oracle agrees")
        return 1 if complaints else 0
    folder.mkdir(parents=True, exist_ok=True)
    numerics.write_safetensors(tensor_file, tensors)
    provenance = {
        "oracle": "llama.cpp on the F32 copy of the model",
        "version": oracle.version(),
        "settings": ORACLE_SETTINGS,
        "model": model.definition["file"],
        "model_sha256": digest,
        "f32_copy_sha256": sha256_of(model.f32_path),
        "machine": machine(),
        "command": f"scripts/evidence/record_logits.py {model.name}",
        "tolerance": {"nmse": TOLERANCE_NMSE, "perplexity_relative": TOLERANCE_PERPLEXITY},
    }
    write_json(json_file, {"provenance": provenance, "texts": texts})
    print(f"{tensor_file.name}: {tensor_file.stat().st_size} bytes, {len(texts)} texts")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unresolved as reason:
        print(f"unresolved: {reason}")
        sys.exit(3)
