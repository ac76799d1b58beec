"""What an evidence record is, and how it is written."""

import hashlib
import json
import math


class Facts:
    """What was measured, and what speaks against it.

    `faults` are differences (failed), `gaps` are things that were not measured (unresolved).
    """

    def __init__(self, measured=None):
        self.measured = measured or {}
        self.faults, self.gaps = [], []


class Record:
    def __init__(self, need, facts):
        self.kind, self.subject, self.bound = need["kind"], need["subject"], need["bound"]
        gaps = facts.gaps + [f"there is no '{key}'" for key, digest in self.bound.items() if not digest]
        self.measured = facts.measured
        self.verdict = "failed" if facts.faults else "unresolved" if gaps else "validated"
        if self.verdict == "validated" and not self.measured:
            self.verdict, gaps = "unresolved", ["nothing was measured"]
        self.because = "; ".join((facts.faults or gaps)[:5])

    def withhold(self, gaps):
        """What was measured is not of what the record binds: a verdict `validated` becomes `unresolved`."""
        if gaps and self.verdict != "failed":
            self.verdict = "unresolved"
            self.because = "; ".join([*gaps, *filter(None, [self.because])][:5])

    def json(self):
        record = {
            "schema": "writ.evidence.v1",
            "kind": self.kind,
            "subject": self.subject,
            "verdict": self.verdict,
            "bound": {key: digest for key, digest in self.bound.items() if digest},
            "measured": rounded(self.measured),
        }
        if self.because:
            record["because"] = self.because
        return sealed(record)


def sealed(record):
    """The record with the digest of all else that it says, so that an edit by hand is seen."""
    rest = {key: value for key, value in record.items() if key != "sha256"}
    return rest | {"sha256": hashlib.sha256(canonical(rest).encode()).hexdigest()}


def canonical(value):
    """RFC 8785, as the compiler's canonicalJson: keys are ASCII, so that any order of text is one."""
    if isinstance(value, dict):
        assert all(key.isascii() for key in value)
        return "{" + ",".join(f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def number(value):
    """ECMAScript's Number::toString: the shortest digits that give the value back."""
    if not math.isfinite(value) or (isinstance(value, int) and abs(value) > 2**53):
        raise ValueError(f"{value} has no canonical text")
    if value == 0:
        return "0"
    digits, exponent = f"{float(value)!r}".lstrip("-"), 0
    if "e" in digits:
        digits, power = digits.split("e")
        exponent = int(power)
    whole, _, fraction = digits.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + exponent  # value = 0.digits × 10^point
    digits = whole + fraction
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    count = len(digits)
    if point > 21 or point <= -6:
        text = digits[0] + ("." + digits[1:] if count > 1 else "") + f"e{point - 1:+d}"
    elif point <= 0:
        text = "0." + "0" * -point + digits
    elif point >= count:
        text = digits + "0" * (point - count)
    else:
        text = f"{digits[:point]}.{digits[point:]}"
    return ("-" if value < 0 else "") + text


def rounded(value):
    """Floats with four digits: what is measured is stable, its last bits need not be."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def record_path(folder, kind, subject):
    return folder / kind / f"{subject}.json"


def write_record(folder, record):
    """Sorted keys, no dates, no paths: the same facts give the same bytes."""
    path = record_path(folder, record.kind, record.subject)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record.json(), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def merge_needs(answers, kind):
    """subject → bound, over several models: one record speaks of all of them."""
    merged = {}
    for answer in answers:
        for need in answer["needs"]:
            if need["kind"] == kind:
                merged.setdefault(need["subject"], {}).update(need["bound"])
    return merged
