#!/usr/bin/env python3
"""Makes the evidence records that production asks for: contracts/evidence/KIND/SUBJECT.json.

usage: make_records.py MODEL [--build DIR] [--comparison F] [--out DIR]

MODEL is a name of scripts/models.json. `writ digests` says which records there are and what each
binds; no name is typed here. Five kinds of fact go into them:

  circuit      the circuit, instantiated for the model and for small random ones, and what it refuses
  contract     the reference against MPFR (reference_mpfr_test), or against known answers
  provider     production and threaded function against the reference, for each instruction set
               (kernels_test, threaded_test)
  stitched     every call of compiled models against the reference (stitched_parity)
  end_to_end   the model's logits against the live oracle (compare_logits.py writes F)

A verdict is `validated` only where everything was measured and kept; `failed` where something
differs; `unresolved` where something was absent, on this machine or at all. Results of programs are
kept in DIR/evidence and reused until the program, the catalog or the sources change.

exit status: 0 all validated, 1 a record failed, 3 none failed but one is unresolved
"""

import argparse
import pathlib
import sys

import record_facts
from measure import Bench
from oracles import ROOT, Model, Unresolved
from models import known_models, random_model_options
from records import Record, merge_needs, write_record
from runs import FURTHER, PROFILES, Run, runs_of


def random_models(bench, family):
    """One small model of each storage type that scripts/make-random-model writes."""
    return [bench.random_model(storage, *family) for storage in bench.storage_types()]


def gather(name, bench, comparison):
    """All records, by (kind, subject)."""
    try:
        model = Model(name)
        model.check()
        real = model.path
        for copy in model.copies:
            model.file_of(copy)
    except Unresolved as reason:
        print(f"unresolved: {reason}")
        real = None
    family = random_model_options(known_models()[name])
    models = random_models(bench, family)
    catalog = bench.digests()
    records = {}
    for need in catalog["needs"]:
        if need["kind"] == "contract":
            facts = record_facts.contract(bench, need["subject"])
        else:
            facts = record_facts.provider(bench, need["subject"])
        records[need["kind"], need["subject"]] = Record(need, facts)
    runs = runs_of(model) if real else [Run(profile) for profile in PROFILES]
    for profile in dict.fromkeys(run.profile for run in runs):
        of_profile = [run for run in runs if run.profile == profile]
        answers = {}  # (file, run) → what production needs of it
        for run in of_profile:
            paths = models if run not in FURTHER else []
            for path in [*paths, *([model.file_of(run.copy)] if real else [])]:
                answers[path, run] = bench.digests(path, run)
        for subject, bound in merge_needs(answers.values(), "stitched").items():
            need = {"kind": "stitched", "subject": subject, "bound": bound}
            records["stitched", subject] = Record(need, record_facts.stitched(bench, answers, real))
        if profile in PROFILES:
            for subject, bound in merge_needs(answers.values(), "circuit").items():
                need = {"kind": "circuit", "subject": subject, "bound": bound}
                records["circuit", subject] = Record(need, record_facts.circuit(bench, answers, real, family))
        for run in of_profile if real else []:
            path = model.file_of(run.copy)
            for need in answers[path, run]["needs"]:
                if need["kind"] == "end_to_end":
                    facts = record_facts.end_to_end(bench, comparison, path, run)
                    records["end_to_end", need["subject"]] = Record(need, facts)
    return records


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a name of scripts/models.json")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--comparison", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "contracts/evidence")
    arguments = parser.parse_args()
    comparison = arguments.comparison or arguments.build / f"evidence-{arguments.model}.json"
    records = gather(arguments.model, Bench(arguments.build), comparison)
    verdicts = {}
    for record in records.values():
        write_record(arguments.out, record)
        verdicts.setdefault(record.verdict, []).append(record)
    for verdict in ("failed", "unresolved"):
        for record in verdicts.get(verdict, []):
            print(f"{verdict}: {record.kind} {record.subject}: {record.because}")
    print(", ".join(f"{len(found)} {verdict}" for verdict, found in sorted(verdicts.items())))
    if "failed" in verdicts:
        return 1
    return 3 if "unresolved" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
