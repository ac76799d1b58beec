"""What an evidence record is, and how it is written."""

import json


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
        return record


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
