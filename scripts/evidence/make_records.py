#!/usr/bin/env python3
"""Makes the evidence records that production asks for: contracts/evidence/KIND/SUBJECT.json.

usage: make_records.py MODEL [--build DIR] [--comparison F] [--out DIR]
       make_records.py --catalog [--build DIR] [--out DIR]

`--catalog`: the records of contracts and providers alone, for which no model is needed and no oracle but MPFR:
whoever builds with other flags or another compiler makes those of that build.

MODEL is a name of scripts/models.json. `writ digests` says which records there are and what each
binds; no name is typed here. Five kinds of fact go into them:

  circuit      the circuit, instantiated for the model and for small random ones, and what it refuses
  contract     the reference against MPFR (reference_mpfr_test), or against known answers
  provider     production and threaded function against the reference, for each instruction set
               (kernels_test, threaded_test)
  stitched     every call of compiled models against the reference (stitched_parity)
  end_to_end   the model's logits against the live oracle (compare_logits.py writes F)

A verdict is `validated` only where everything was measured and kept; `failed` where something
differs; `unresolved` where something was absent, on this machine or at all, or a program was built of other
sources than `writ` binds. Results of programs are
kept in DIR/evidence and reused until the program, the catalog or the sources change.

exit status: 0 all validated, 1 a record failed, 3 none failed but one is unresolved
"""

import argparse
import pathlib
import sys

import built
import record_facts
from measure import Bench
from oracles import ROOT, Model, Unresolved
from models import known_models, random_model_options
from records import Record, merge_needs, write_record
from runs import FURTHER, PROFILES, Run, runs_of


def random_models(bench, family):
    """One small model of each storage type that scripts/make-random-model writes."""
    return [bench.random_model(storage, *family) for storage in bench.storage_types()]


def of_catalog(bench):
    """The records of contracts and of providers, by (kind, subject)."""
    records = {}
    for need in bench.digests()["needs"]:
        make = record_facts.contract if need["kind"] == "contract" else record_facts.provider
        records[need["kind"], need["subject"]] = Record(need, make(bench, need["subject"]))
    return records


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
    records = of_catalog(bench)
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
    parser.add_argument("model", nargs="?", help="a name of scripts/models.json")
    parser.add_argument("--catalog", action="store_true", help="contracts and providers alone")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--comparison", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "contracts/evidence")
    arguments = parser.parse_args()
    if arguments.catalog == bool(arguments.model):
        parser.error("name a model, or say --catalog")
    comparison = arguments.comparison or arguments.build / f"evidence-{arguments.model}.json"
    bench = Bench(arguments.build)
    records = of_catalog(bench) if arguments.catalog else gather(arguments.model, bench, comparison)
    verdicts = {}
    for record in records.values():
        record.withhold(built.gaps(bench, comparison, record))
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
