#!/usr/bin/env python3
"""Compares a model's logits with the live oracle's, and records how far they lie apart.

usage: compare_logits.py MODEL [--writ build/bin/writ] [--out-json F] [--out-markdown F]

llama.cpp on the F32 copy of the model is the oracle of what the model means: it rounds no
activation. Each text of tests/data/texts, and the first 3,000 tokens of all of them joined, is
scored, teacher-forced, by `writ score` in each run of runs.py (profile, storage of K and V, file), and by
llama.cpp on the quantized file, which shows what 8-bit activations cost an engine that is trusted.
Bounds of the profiles f32 and portable with K and V as the circuit says:

  meaning-nmse           f32: the NMSE of each text, and over all, is below 2e-6
  meaning-flips          f32: no row's largest logit is another one where the oracle's top-2 gap
                         exceeds twice the row's largest difference; no logit is not finite
  accuracy-nmse          portable: the NMSE over all texts is at most 1.1 × llama.cpp's on the
                         quantized file
  …, short KV; long KV   the first and the third over the rows that see fewer keys than any threshold of
                         the profiles' contracts, and over those that see as many as the last or more
  accuracy-perplexity    f32 and portable: within 1% of the oracle's on each text of 2,000 tokens
  record                 what `writ score` says of itself (ids, rows, digests, perplexity) is so

Of every further run ("RUN: …"): accuracy-nmse in its three forms, with llama.cpp on the same file with K
and V in the same storage in the place of llama.cpp on the quantized file, since that is what the storage
costs an engine that is trusted (blocks of values it takes with flash attention alone); and
accuracy-perplexity. A copy in another type has an F32 copy of its own as its oracle: how far it is from
the model is its maker's matter. Of the profile that follows ggml also, from the record of
ggml_model.py, what is not a matter of noise:

  own-distance           it is no farther from the pinned llama.cpp than llama.cpp as its users build it
  bits                   with libm's functions rounded correctly its logits are those of llama.cpp

NMSE = Σ(a - b)² / Σb² over all logits, in binary64; a figure that is NaN keeps no bound. The first
differing greedy token is read off teacher-forced logits over the oracle's own continuation, which
is the same thing: up to the first difference both have read the same ids.

exit status: 0 all bounds kept, 1 a bound failed, 3 unresolved (something needed is absent)
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import evidence_report
import numerics
from oracles import (
    GREEDY_PROMPT,
    GREEDY_TOKENS,
    ORACLE_SETTINGS,
    ROOT,
    LlamaOracle,
    Model,
    Unresolved,
    machine,
    sha256_of,
    text_ids,
    write_json,
)
import profiles  # noqa: E402  found where oracles looks
from runs import FURTHER, PROFILES, runs_of  # noqa: E402

MEANING_NMSE = 2e-6
ACCURACY_RATIO = 1.1
ACCURACY_RATIO_OF_RANGE = 1.25  # of a part of the rows: the noise of 8-bit activations scatters more
PERPLEXITY_RELATIVE = 0.01
PERPLEXITY_TOKENS = 2000
GGML_RECORD = ROOT / "tests/data/ggml/models.json"
SELF_PERPLEXITY_RELATIVE = 1e-4  # the figure that writ gives against the one from its logits


class Writ:
    """The program under test."""

    def __init__(self, program):
        if not os.access(program, os.X_OK):
            raise Unresolved(f"{program} is absent; run make build")
        self.program = program

    def version(self):
        command = [str(self.program), "--version"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def digests(self):
        """What records bind, as this program was built and the data are: the logits are of that."""
        command = [str(self.program), "digests", "--json", "--data", str(ROOT)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["digests"]

    def score(self, model, options, ids_file, out):
        """The JSON that `writ score` prints; its logits are in `out`."""
        command = [str(self.program), "score", str(model), "--bringup", *options,
                   "--ids", str(ids_file), "--json", "--logits", str(out)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} failed: {done.stderr.strip()}")
        return json.loads(done.stdout)


def logits_digest(logits):
    """SHA-256 of all logits, f32 little-endian, row by row, NaN as 0x7fc00000."""
    digest = hashlib.sha256()
    for first in range(0, len(logits), numerics.ROWS_AT_ONCE):
        rows = np.array(logits[first : first + numerics.ROWS_AT_ONCE], "<f4")
        bits = rows.view("<u4")
        bits[np.isnan(rows)] = 0x7FC00000
        digest.update(bits.tobytes())
    return digest.hexdigest()


def false_claims(said, logits, ids, model_sha256, perplexity):
    """What `writ score` says of itself and is not so."""
    claims = {
        "model_sha256": (said.get("model_sha256"), model_sha256),
        "ids": (said.get("ids"), ids),
        "rows": (said.get("rows"), len(ids)),
        "vocab": (said.get("vocab"), logits.shape[1]),
        "logits_sha256": (said.get("logits_sha256"), logits_digest(logits)),
    }
    wrong = [f"{name} is {is_!r:.90}, expected {want!r:.90}"
             for name, (is_, want) in claims.items() if is_ != want]  # fmt: skip
    ratio = (said.get("perplexity") or float("nan")) / perplexity
    if not abs(ratio - 1) <= SELF_PERPLEXITY_RELATIVE:
        wrong.append(f"perplexity is {said.get('perplexity')}, its logits give {perplexity}")
    return wrong


def kv_thresholds():
    """Lengths of the history at which a contract of the profiles changes its arithmetic, sorted."""
    contracts = ROOT / "contracts"
    fields = json.loads((contracts / "vocabulary.json").read_text()).get("thresholds", {})
    found = set()
    for profile in PROFILES:
        for rule in profiles.rules(contracts, profile):
            contract = json.loads((contracts / rule["op"] / f"{rule['contract']}.json").read_text())
            for field, variable in fields.items():
                value = contract
                for key in field.split("."):
                    value = value.get(key) if isinstance(value, dict) else None
                if variable == "kv_len" and value is not None:
                    found.add(value)
    if not found:
        raise Unresolved("no contract of the profiles has a threshold of the history's length")
    return sorted(found)


def ranges_of(rows, thresholds):
    """Rows of a text in three parts: short histories, those between thresholds, long ones."""
    short, long = min(rows, thresholds[0] - 1), min(rows, thresholds[-1] - 1)
    return {"short KV": slice(0, short), "between": slice(short, long), "long KV": slice(long, rows)}


class Comparison:
    """One model against its oracle, text by text."""

    def __init__(self, model, oracle, writ, folder):
        self.model, self.oracle, self.writ = model, oracle, writ
        self.runs = runs_of(model)
        self.sha256 = {copy: sha256_of(model.file_of(copy)) for copy in [None, *model.copies]}
        self.ids_file = pathlib.Path(folder, "ids.json")
        self.oracle_file = pathlib.Path(folder, "oracle.safetensors")
        self.other_file = pathlib.Path(folder, "other.safetensors")
        names = [name for run in self.runs for name in (run.name, run.beside)]
        self.totals = {name: numerics.Difference() for name in dict.fromkeys(names)}
        self.thresholds = kv_thresholds()
        self.ranges = {part: {name: numerics.Difference() for name in self.totals}
                       for part in ("short KV", "between", "long KV")}  # fmt: skip
        self.rows = dict.fromkeys(self.ranges, 0)
        self.false_claims = []

    def _oracle_logits(self, file, out, kv=None):
        self.oracle.logits(file, self.ids_file, out, kv)
        return numerics.read_safetensors(out)["logits"]

    def _against(self, name, logits, oracle_logits, ids):
        difference = numerics.Difference()
        for part, rows in ranges_of(len(oracle_logits), self.thresholds).items():
            of_part = numerics.compare(logits[rows], oracle_logits[rows])
            self.ranges[part][name] += of_part
            difference += of_part
        self.totals[name] += difference
        return {
            "nmse": difference.nmse,
            "largest_difference": difference.largest,
            "flips": difference.flips,
            "flips_beyond_rms": difference.flips_beyond_rms,
            "flips_beyond_largest": difference.flips_beyond_largest,
            "perplexity": numerics.perplexity(logits, ids),
        }

    def text(self, name, ids):
        """The figures of one text."""
        self.ids_file.write_text(json.dumps(ids))
        figures = {"tokens": len(ids)}
        for part, rows in ranges_of(len(ids), self.thresholds).items():
            self.rows[part] += rows.stop - rows.start
        for copy in self.sha256:
            self._file(name, copy, ids, figures)
        figures["oracle_perplexity"] = figures["quantized"]["oracle_perplexity"]
        self._greedy(ids[:GREEDY_PROMPT], figures)
        return figures

    def _file(self, name, copy, ids, figures):
        """Adds what runs on one file give, and llama.cpp beside each of them."""
        oracle_logits = self._oracle_logits(self.model.file_of(copy, "f32_file"), self.oracle_file)
        perplexity = numerics.perplexity(oracle_logits, ids)
        for run in (run for run in self.runs if run.copy == copy):
            file = self.model.file_of(copy)
            if run.beside not in figures:
                logits = self._oracle_logits(file, self.other_file, run.kv)
                figures[run.beside] = self._against(run.beside, logits, oracle_logits, ids)
                figures[run.beside]["oracle_perplexity"] = perplexity
            said = self.writ.score(file, run.options, self.ids_file, self.other_file)
            logits = numerics.read_safetensors(self.other_file)["logits"]
            of_run = self._against(run.name, logits, oracle_logits, ids)
            figures[run.name] = of_run | {"logits_sha256": said.get("logits_sha256"),
                                          "oracle_perplexity": perplexity}  # fmt: skip
            wrong = false_claims(said, logits, ids, self.sha256[copy], of_run["perplexity"])
            self.false_claims += [f"{name}, {run.name}: {claim}" for claim in wrong]

    def _greedy(self, prompt, figures):
        """Adds the index of the first greedy token that differs from the oracle's, or None."""
        self.ids_file.write_text(json.dumps(prompt))
        expected = self.oracle.greedy(self.model.f32_path, self.ids_file, GREEDY_TOKENS)
        quantized = self.oracle.greedy(self.model.path, self.ids_file, GREEDY_TOKENS)
        first = numerics.first_difference(quantized, expected)
        figures["quantized"]["first_greedy_difference"] = first
        self.ids_file.write_text(json.dumps(prompt + expected))
        for profile in PROFILES:
            self.writ.score(self.model.path, ["--profile", profile], self.ids_file, self.other_file)
            logits = numerics.read_safetensors(self.other_file)["logits"]
            chosen = logits[len(prompt) - 1 : -1].argmax(axis=1).tolist()
            first = numerics.first_difference(chosen, expected)
            figures[profile]["first_greedy_difference"] = first


def range_verdicts(ranges):
    """The bounds of NMSE over short and over long histories; a range without rows keeps none."""
    for part in ("short KV", "long KV"):
        of = {name: difference.nmse for name, difference in ranges[part].items()}
        limit = ACCURACY_RATIO_OF_RANGE * of["quantized"]
        yield {"bound": f"meaning-nmse, {part}", "kept": bool(of["f32"] < MEANING_NMSE),
               "figure": of["f32"], "limit": MEANING_NMSE}  # fmt: skip
        yield {"bound": f"accuracy-nmse, {part}", "kept": bool(of["portable"] <= limit),
               "figure": of["portable"], "limit": limit}  # fmt: skip


def verdicts(texts, totals, claims, ranges):
    """Each bound: its name, whether it is kept, and the figure that decides."""
    meaning = max([text["f32"]["nmse"] for text in texts.values()] + [totals["f32"].nmse],
                  key=lambda nmse: (np.isnan(nmse), nmse))  # fmt: skip
    flips = totals["f32"].flips_beyond_largest
    portable, quantized = totals["portable"].nmse, totals["quantized"].nmse
    results = [
        {"bound": "meaning-nmse", "kept": bool(meaning < MEANING_NMSE),
         "figure": meaning, "limit": MEANING_NMSE},
        {"bound": "meaning-flips", "kept": flips == 0, "figure": flips, "limit": 0},
        {"bound": "accuracy-nmse", "kept": bool(portable <= ACCURACY_RATIO * quantized),
         "figure": portable, "limit": ACCURACY_RATIO * quantized},
    ]  # fmt: skip
    results += range_verdicts(ranges)
    long_texts = {n: t for n, t in texts.items() if t["tokens"] >= PERPLEXITY_TOKENS}
    if not long_texts:
        raise Unresolved(f"no text has {PERPLEXITY_TOKENS} tokens")
    for name, text in long_texts.items():
        for profile in PROFILES:
            away = abs(text[profile]["perplexity"] / text["oracle_perplexity"] - 1)
            results.append({"bound": f"accuracy-perplexity: {profile}, {name}",
                            "kept": bool(away <= PERPLEXITY_RELATIVE),
                            "figure": away, "limit": PERPLEXITY_RELATIVE})  # fmt: skip
    results.append({"bound": "record", "kept": not claims, "figure": len(claims), "limit": 0})
    return results


def further_verdicts(runs, texts, totals, ranges):
    """The bounds of each run but the two that are measured in full."""
    for run in runs:
        parts = {"": (totals, ACCURACY_RATIO)}
        parts |= {f", {part}": (ranges[part], ACCURACY_RATIO_OF_RANGE) for part in ("short KV", "long KV")}
        for part, (of, ratio) in parts.items():
            figure, limit = of[run.name].nmse, ratio * of[run.beside].nmse
            yield {"run": run.name, "bound": f"{run.name}: accuracy-nmse{part}", "kept": bool(figure <= limit),
                   "figure": figure, "limit": limit}  # fmt: skip
        for name, text in texts.items():
            if text["tokens"] >= PERPLEXITY_TOKENS:
                away = abs(text[run.name]["perplexity"] / text[run.name]["oracle_perplexity"] - 1)
                yield {"run": run.name, "bound": f"{run.name}: accuracy-perplexity, {name}",
                       "kept": bool(away <= PERPLEXITY_RELATIVE),
                       "figure": away, "limit": PERPLEXITY_RELATIVE}  # fmt: skip


def ggml_verdicts(model):
    """What the record of ggml_model.py says of the profile that follows ggml, beside llama.cpp itself."""
    record = json.loads(GGML_RECORD.read_text(encoding="utf-8"))["models"].get(model.name)
    if not record:
        raise Unresolved(f"{GGML_RECORD.name} has no {model.name}; ggml_model.py makes it")
    nmse = {(engine["engine"], engine["against"]): engine["nmse"] for engine in record["engines"]}
    name = "writ, profile `ggml`"
    limits = {"own-distance": (nmse[name, "pinned"], nmse["users", "pinned"]), "bits": (nmse[name, "rounded"], 0)}
    for bound, (figure, limit) in limits.items():
        yield {"run": "ggml", "bound": f"ggml: {bound}", "kept": bool(figure <= limit), "figure": figure,
               "limit": limit}  # fmt: skip


def total_figures(difference):
    return {
        "nmse": difference.nmse,
        "largest_difference": difference.largest,
        "flips": difference.flips,
        "flips_beyond_rms": difference.flips_beyond_rms,
        "flips_beyond_largest": difference.flips_beyond_largest,
    }


def run(arguments):
    model, oracle = Model(arguments.model), LlamaOracle()
    model_sha256 = model.check()
    model.check_f32()
    writ = Writ(arguments.writ)
    texts = {}
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(model, oracle, writ, folder)
        for name, ids in text_ids(oracle, model).items():
            print(f"{name}: {len(ids)} tokens ...", file=sys.stderr, flush=True)
            texts[name] = comparison.text(name, ids)
    record = {
        "model": {"name": model.name, "title": model.definition["title"],
                  "file": model.definition["file"], "sha256": model_sha256},
        "oracle": {"name": "llama.cpp on the F32 copy", "version": oracle.version(),
                   "settings": ORACLE_SETTINGS, "f32_copy_sha256": sha256_of(model.f32_path),
                   "program_source_sha256": sha256_of(ROOT / "tests/oracles/llama_oracle.cpp")},
        "writ": {"version": writ.version(), "sha256": sha256_of(writ.program)},
        "built_of": writ.digests(),
        "machine": machine(),
        "command": f"scripts/evidence/compare_logits.py {model.name}",
        "copies": {copy: {"file": model.file_of(copy).name, "sha256": comparison.sha256[copy],
                          "f32_copy_sha256": sha256_of(model.file_of(copy, "f32_file"))}
                   for copy in model.copies},
        "verdicts": [*verdicts(texts, comparison.totals, comparison.false_claims, comparison.ranges),
                     *further_verdicts(runs_of(model, FURTHER), texts, comparison.totals, comparison.ranges),
                     *ggml_verdicts(model)],
        "kv": {"thresholds": comparison.thresholds, "rows": comparison.rows},
        "false_claims": comparison.false_claims,
        "beside": {run.name: run.beside for run in comparison.runs},
        "totals": {name: total_figures(total) for name, total in comparison.totals.items()},
        "texts": texts,
    }  # fmt: skip
    write_json(arguments.out_json, record)
    arguments.out_markdown.parent.mkdir(parents=True, exist_ok=True)
    arguments.out_markdown.write_text(evidence_report.markdown(record))
    for line in evidence_report.verdict_lines(record):
        print(line)
    return 0 if all(verdict["kept"] for verdict in record["verdicts"]) else 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a name of scripts/models.json")
    parser.add_argument("--writ", type=pathlib.Path, default=ROOT / "build/bin/writ")
    parser.add_argument("--out-json", type=pathlib.Path)
    parser.add_argument("--out-markdown", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.out_json = arguments.out_json or ROOT / f"tests/data/evidence/{arguments.model}.json"
    arguments.out_markdown = arguments.out_markdown or ROOT / f"docs/evidence/{arguments.model}.md"
    try:
        return run(arguments)
    except Unresolved as reason:
        print(f"unresolved: {reason}")
        return 3


if __name__ == "__main__":
    sys.exit(main())
