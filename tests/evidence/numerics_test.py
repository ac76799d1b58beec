#!/usr/bin/env python3
"""Checks the figures of scripts/evidence/numerics.py, and that no NaN passes a bound. Needs numpy, no oracle."""
import math
import pathlib
import sys
import tempfile
import unittest

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "scripts" / "evidence"))
import compare_logits  # noqa: E402
from runs import Run  # noqa: E402
import numerics  # noqa: E402

RNG = np.random.default_rng(7)
ORACLE = RNG.normal(size=(130, 50)).astype(np.float32)  # more rows than are converted at once


class Compare(unittest.TestCase):
    def test_equal_logits_have_no_difference(self):
        self.assertEqual(numerics.compare(ORACLE, ORACLE), numerics.Difference(0, self.power(), 0))

    def test_nmse_is_error_over_power(self):
        logits = ORACLE.copy()
        logits[129, 3] += 2
        part = numerics.compare(logits, ORACLE)
        self.assertAlmostEqual(part.nmse, 4 / self.power(), delta=1e-6 / self.power())
        self.assertAlmostEqual(part.largest, 2, delta=1e-6)

    def test_flip_is_counted(self):
        logits, row = np.zeros((1, 50), np.float32), np.zeros((1, 50), np.float32)
        row[0, 4], logits[0, 5] = 1, 1
        part = numerics.compare(logits, row)
        self.assertEqual((part.flips, part.flips_beyond_rms, part.flips_beyond_largest), (1, 1, 0))

    def test_sum_of_parts_is_the_whole(self):
        logits = ORACLE + np.float32(0.01)
        head = numerics.compare(logits[:70], ORACLE[:70])
        tail = numerics.compare(logits[70:], ORACLE[70:])
        whole = numerics.compare(logits, ORACLE)
        self.assertAlmostEqual((head + tail).nmse, whole.nmse, delta=1e-12)

    def test_shapes_must_agree(self):
        with self.assertRaises(ValueError):
            numerics.compare(ORACLE[:1], ORACLE)

    @staticmethod
    def power():
        return float((ORACLE.astype(np.float64) ** 2).sum())


class Figures(unittest.TestCase):
    def test_perplexity_of_uniform_logits_is_the_vocabulary(self):
        self.assertAlmostEqual(numerics.perplexity(np.zeros((4, 50), np.float32), [1, 2, 3, 4]), 50)

    def test_log_sum_exp_does_not_overflow(self):
        rows = np.array([[1000.0, 1000.0]])
        self.assertAlmostEqual(numerics.log_sum_exp(rows)[0], 1000 + math.log(2))

    def test_first_difference(self):
        self.assertEqual(numerics.first_difference([1, 2, 3], [1, 9, 3]), 1)
        self.assertIsNone(numerics.first_difference([1, 2], [1, 2]))

    def test_safetensors_round_trip(self):
        tensors = {"a": np.arange(3, dtype="<i4"), "b": np.ones((2, 2), "<f8")}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.safetensors")
            numerics.write_safetensors(path, tensors)
            for name, array in numerics.read_safetensors(path).items():
                np.testing.assert_array_equal(array, tensors[name])

    def test_digest_takes_every_nan_as_one(self):
        rows = np.array([[1, np.nan]], "<f4")
        other = rows.copy()
        other.view("<u4")[0, 1] = 0xFFC12345
        digest = compare_logits.logits_digest
        self.assertEqual(digest(rows), digest(other))
        self.assertNotEqual(digest(rows), digest(rows + 1))


def verdicts_of(logits, quantized, ids=tuple(range(50)) * 50):
    """The bounds kept by `logits` in both profiles: a text of 2,500 rows."""
    oracle = np.tile(ORACLE[:50], (50, 1))
    runs = {"f32": logits, "portable": logits, "quantized": quantized}
    totals = {name: numerics.compare(run, oracle) for name, run in runs.items()}
    text = {"tokens": len(oracle), "oracle_perplexity": numerics.perplexity(oracle, ids)}
    for name, run in runs.items():
        text[name] = {"nmse": totals[name].nmse, "perplexity": numerics.perplexity(run, ids)}
    ranges = {part: {name: numerics.compare(run[rows], oracle[rows]) for name, run in runs.items()}
              for part, rows in compare_logits.ranges_of(len(oracle), [257]).items()}  # fmt: skip
    return {v["bound"].split(":")[0]: v["kept"]
            for v in compare_logits.verdicts({"text": text}, totals, [], ranges)}  # fmt: skip


def further_verdicts_of(logits, beside, ids=tuple(range(50)) * 50):
    """The bounds of a run beside llama.cpp: a text of 2,500 rows."""
    oracle, run = np.tile(ORACLE[:50], (50, 1)), Run("portable", "q8_0")
    both = {run.name: logits, run.beside: beside}
    totals = {name: numerics.compare(rows, oracle) for name, rows in both.items()}
    ranges = {part: {name: numerics.compare(of[rows], oracle[rows]) for name, of in both.items()}
              for part, rows in compare_logits.ranges_of(len(oracle), [257]).items()}  # fmt: skip
    text = {"tokens": len(oracle), run.name: {"perplexity": numerics.perplexity(logits, ids),
                                              "oracle_perplexity": numerics.perplexity(oracle, ids)}}  # fmt: skip
    return {v["bound"].removeprefix(f"{run.name}: "): v["kept"]
            for v in compare_logits.further_verdicts([run], {"text": text}, totals, ranges)}  # fmt: skip


class FurtherVerdicts(unittest.TestCase):
    ORACLE = np.tile(ORACLE[:50], (50, 1))
    NOISY = ORACLE + RNG.normal(scale=0.03, size=ORACLE.shape).astype(np.float32)

    def test_F8_the_noise_of_llama_cpp_is_the_bound(self):
        self.assertEqual(further_verdicts_of(self.NOISY, self.NOISY),
                         dict.fromkeys(("accuracy-nmse", "accuracy-nmse, short KV", "accuracy-nmse, long KV",
                                        "accuracy-perplexity, text"), True))  # fmt: skip
        kept = further_verdicts_of(self.ORACLE + 2 * (self.NOISY - self.ORACLE), self.NOISY)
        self.assertFalse(any(kept[f"accuracy-nmse{part}"] for part in ("", ", short KV", ", long KV")))

    def test_F8_a_nan_on_either_side_keeps_nothing_of_its_rows(self):
        broken = self.NOISY.copy()
        broken[1234, 5] = np.nan
        for logits, beside in ((broken, self.NOISY), (self.NOISY, broken)):
            kept = further_verdicts_of(logits, beside)
            self.assertFalse(kept["accuracy-nmse"] or kept["accuracy-nmse, long KV"])
            self.assertTrue(kept["accuracy-nmse, short KV"])


class Verdicts(unittest.TestCase):
    ORACLE = np.tile(ORACLE[:50], (50, 1))
    NOISY = ORACLE + RNG.normal(scale=0.03, size=ORACLE.shape).astype(np.float32)

    def test_good_logits_keep_every_bound(self):
        logits = self.ORACLE * np.float32(1 + 1e-6)
        self.assertEqual(set(verdicts_of(logits, self.NOISY).values()), {True})

    def test_noise_of_quantization_fails_meaning_and_keeps_accuracy(self):
        kept = verdicts_of(self.NOISY, self.NOISY)
        self.assertFalse(kept["meaning-nmse"])
        self.assertTrue(kept["accuracy-nmse"])

    def test_twice_the_noise_fails_accuracy(self):
        logits = self.ORACLE + 2 * (self.NOISY - self.ORACLE)
        self.assertFalse(verdicts_of(logits, self.NOISY)["accuracy-nmse"])

    def test_one_nan_fails_every_bound_on_it(self):
        logits = self.ORACLE.copy()
        logits[1234, 5] = np.nan
        self.assertEqual(
            {name for name, kept in verdicts_of(logits, self.NOISY).items() if kept},
            {"record", "meaning-nmse, short KV", "accuracy-nmse, short KV"},  # row 1234 sees more
        )

    def test_a_fault_of_long_histories_alone_fails_their_range(self):
        logits = self.ORACLE * np.float32(1 + 1e-6)
        logits[2000:] += np.float32(0.2) * np.float32(np.random.default_rng(3).normal(size=logits[2000:].shape))
        kept = verdicts_of(logits, self.NOISY)
        self.assertFalse(kept["meaning-nmse, long KV"] or kept["accuracy-nmse, long KV"])
        self.assertTrue(kept["meaning-nmse, short KV"] and kept["accuracy-nmse, short KV"])

    def test_a_range_without_rows_keeps_nothing(self):
        empty = {name: numerics.Difference() for name in ("f32", "portable", "quantized")}
        for verdict in compare_logits.range_verdicts({"short KV": empty, "long KV": empty}):
            self.assertFalse(verdict["kept"], verdict["bound"])

    def test_rows_are_split_where_a_contract_splits(self):
        self.assertEqual(compare_logits.kv_thresholds(), sorted(set(compare_logits.kv_thresholds())))
        parts = compare_logits.ranges_of(600, [257, 513])
        self.assertEqual([(rows.start, rows.stop) for rows in parts.values()], [(0, 256), (256, 512), (512, 600)])
        parts = compare_logits.ranges_of(100, [257])
        self.assertEqual([(rows.start, rows.stop) for rows in parts.values()], [(0, 100), (100, 100), (100, 100)])

    def test_one_infinity_fails(self):
        logits = self.ORACLE.copy()
        logits[0, 0] = np.inf
        kept = verdicts_of(logits, self.NOISY)
        self.assertFalse(kept["meaning-nmse"] or kept["meaning-flips"] or kept["accuracy-nmse"])

    def test_nan_in_the_quantized_oracle_fails(self):
        quantized = self.NOISY.copy()
        quantized[0, 0] = np.nan
        self.assertFalse(verdicts_of(self.ORACLE, quantized)["accuracy-nmse"])


class FalseClaims(unittest.TestCase):
    IDS = [1, 2, 3]
    LOGITS = ORACLE[:3]

    def said(self, **changes):
        said = {"model_sha256": "m", "ids": self.IDS, "rows": 3, "vocab": 50, "perplexity": 7.0,
                "logits_sha256": compare_logits.logits_digest(self.LOGITS)}  # fmt: skip
        return compare_logits.false_claims(said | changes, self.LOGITS, self.IDS, "m", 7.0)

    def test_truth_passes(self):
        self.assertEqual(self.said(), [])

    def test_each_falsehood_is_named(self):
        for name, value in {"model_sha256": "x", "ids": [1], "rows": 2, "vocab": 9,
                            "logits_sha256": "0", "perplexity": 7.1}.items():  # fmt: skip
            self.assertTrue(self.said(**{name: value})[0].startswith(name), name)

    def test_nan_perplexity_is_named(self):
        self.assertEqual(len(self.said(perplexity=math.nan)), 1)
        self.assertEqual(len(self.said(perplexity=None)), 1)


if __name__ == "__main__":
    unittest.main()
