"""What each kind of evidence record says, from what the programs measured."""

import json
import pathlib
import platform
import re
import shutil
import sys
import tempfile

from oracles import ROOT, sha256_of
from records import Facts

sys.path.insert(0, str(ROOT / "scripts" / "generate"))
from kernels import ISAS  # noqa: E402

PRODUCTION, THREADED = "C8_ProductionEqualsReference.BitForBit/", "C8_ThreadedEqualsReference.BitForBit/"
DIVIDED = "C8_DividedEqualsReference.BitForBit/"


def _contract(subject):
    path = next((ROOT / "contracts").glob(f"*/{subject}.json"))
    return json.loads(path.read_text())


def contract(bench, subject):
    """The reference against an oracle that shares nothing with it, not even the reading of stored bytes.

    A test says by its property `contract` of which contract it speaks, whatever the family; where it judges
    errors it says how large they are, and elsewhere its answers are known."""
    chosen = {f"{program}:{name}": test for program in ["reference_test", *bench.programs("*mpfr_test")]
              for name, test in (bench.tests(program) or {}).items()
              if test.get("contract") == subject and not test["skipped"]}  # fmt: skip
    judged = {n: t for n, t in chosen.items() if "worst_error_over_bound" in t}
    known = sorted(set(chosen) - set(judged))
    facts = Facts({"oracle": "MPFR" if judged else "known answers"})
    if judged:
        errors(facts, subject, judged.values())
    if known:
        facts.measured["known_answers"] = known
    facts.faults += [f"{name} failed" for name, test in chosen.items() if not test["passed"]]
    if not chosen:
        facts.gaps.append("no test of the reference speaks of it")
    return facts


def errors(facts, subject, tests):
    """Adds the largest error of a contract, and over what it was looked for."""
    worst = max(float(test["worst_error_over_bound"]) for test in tests)
    facts.measured |= {
        "bound": _contract(subject)["bound"]["formula"],
        "worst_error_over_bound": worst,
        "shapes": sorted({test["shape"] for test in tests}),
        "fills": sorted({fill for test in tests for fill in test["fills"].split(",")}),
        "inputs": sum(int(test["inputs"]) for test in tests),
        "elements": sum(int(test["elements"]) for test in tests),
        "seeds": sorted({int(seed) for test in tests for seed in test["seeds"].split(",")}),
    }
    if not worst <= 1:
        facts.faults.append(f"the error is {worst} times the bound")


def provider(bench, subject):
    """Production and threaded function against the reference, body by body."""
    kernel, source = bench.map(subject)
    facts = Facts({"oracle": kernel["functions"]["contract_oracle"], "functions": kernel["functions"],
                   "compiler": bench.compiler(), "flags": bench.flags(kernel, source),
                   "fills": [], "shapes": [], "isa": {},
                   "elements": 0, "failed": 0})  # fmt: skip
    production, threaded = bench.tests("kernels_test") or {}, bench.tests("threaded_test") or {}
    counts = thread_counts(threaded, THREADED)
    merges = "merge" in kernel["threading"]
    # Bodies of another architecture are no gap here: `make test-aarch64` demands the golden digests of them.
    for isa in (isa for isa in kernel["isa"] if ISAS[isa] in (None, platform.machine().upper())):
        start = f"{PRODUCTION}{subject}_{isa}_"
        cases = [test for name, test in production.items() if name.startswith(start)]
        with_threads = {count: threaded.get(f"{THREADED}{subject}_{isa}_threads{count}")
                        for count in counts}  # fmt: skip
        apart = {name: test for name, test in threaded.items() if name.startswith(f"{DIVIDED}{subject}_{isa}_")}
        runs = cases + [test for test in [*with_threads.values(), *apart.values()] if test]
        for test in runs:
            if not test["passed"] and not test["skipped"]:
                facts.faults.append(f"{test['name']} failed")
        facts.measured["failed"] = len(facts.faults)
        body(facts, isa, [test for test in cases if test["passed"]])
        facts.measured["isa"][isa]["threads"] = [
            count for count, test in with_threads.items() if test and test["passed"]
        ]
        if any(test["skipped"] for test in runs):
            facts.gaps.append(f"this machine has no {isa}")
        elif not cases:
            facts.gaps.append(f"{isa}: production was compared with nothing")
        elif not counts or facts.measured["isa"][isa]["threads"] != counts and not facts.faults:
            facts.gaps.append(f"{isa}: not compared with all of {counts} threads")
        elif merges and not facts.faults:
            divided(facts, isa, apart, thread_counts(threaded, DIVIDED))
    return facts


def divided(facts, isa, tests, counts):
    """Adds what a body and its merge were compared over where keys are divided among threads."""
    found = thread_counts(tests, DIVIDED)
    body(facts, isa, list(tests.values()), "divided")
    facts.measured["isa"][isa]["divided"]["threads"] = found
    parts = {int(count) for test in tests.values() for count in filter(None, test.get("parts", "").split(","))}
    facts.measured["isa"][isa]["divided"]["parts"] = sorted(parts)
    if not counts or found != counts:
        facts.gaps.append(f"{isa}: the merge was not compared with all of {counts} threads")


def thread_counts(threaded, suite):
    """The numbers of threads that a suite of threaded_test has for any of these, by its tests' names."""
    return sorted({int(found[1]) for name in threaded
                   if name.startswith(suite) and (found := re.search(r"_threads(\d+)$", name))})  # fmt: skip


def body(facts, isa, cases, part=None):
    """Adds what one body was compared over: shapes, kinds of values, elements of output; or a part of that."""
    elements = sum(int(test.get("elements", 0)) for test in cases)
    for test in cases:
        for key in ("shapes", "fills"):
            found = filter(None, test.get(key, "").split(","))
            facts.measured[key] = sorted({*facts.measured[key], *found})
    facts.measured["elements"] += elements
    said = {"cases": len(cases), "elements": elements}
    facts.measured["isa"].setdefault(isa, {}).update({part: said} if part else said)
    if cases and not elements:
        facts.gaps.append(f"{isa}: no element was compared")


def circuit(bench, answers, real, family):
    """The circuit fits models, and refuses what it does not know."""
    facts = Facts({"instantiated": []})
    for (path, _), answer in answers.items():
        facts.measured["instantiated"].append({"model": label(bench, path, real),
                                               "model_sha256": answer["model_sha256"]})  # fmt: skip
    name = next(iter(answers.values()))["circuit"]
    text = (ROOT / "circuits" / f"{name}.json").read_text()
    architecture = json.loads(text)["match"]["general.architecture"]
    refusals = {
        "a metadata key that nothing consumes": ("E031", text, ["--set", f"{architecture}.unknown=1"]),
        "an unknown field": ("E014", text.replace("{", '{ "unknown": 1,', 1), []),
        "an unknown op": ("E030", text.replace('"op": "', '"op": "un', 1), []),
    }
    facts.measured["refuses"] = {}
    for what, (code, circuit_text, options) in refusals.items():
        said = refusal(bench, name, circuit_text, bench.random_model("f32", *family, *options))
        facts.measured["refuses"][what] = said
        if said != code:
            facts.faults.append(f"{what} is not refused with {code}, but with '{said}'")
    if real is None:
        facts.gaps.append("the real model is absent")
    return facts


def refusal(bench, name, circuit_text, model):
    """The code of the diagnostic that a changed circuit, or a model, brings about; "" for none."""
    with tempfile.TemporaryDirectory() as folder:
        for part in ("contracts", "kernel_maps", "circuits"):
            shutil.copytree(ROOT / part, pathlib.Path(folder, part))
        pathlib.Path(folder, "circuits", f"{name}.json").write_text(circuit_text)
        code, _, err = bench.run_writ("digests", model, "--data", folder)
    first = err.splitlines()[0] if err else ""
    return first.rsplit("[", 1)[1].rstrip("]") if code == 1 and first.endswith("]") else ""


def stitched(bench, answers, real):
    """Every call of compiled models, on the weights of the model's file."""
    facts = Facts({"models": [], "ops": {}, "inputs_traced": 0, "walk": []})
    measured = facts.measured
    for (path, run), answer in answers.items():
        report = bench.stitched(path, run)
        if report is None:
            facts.gaps.append("stitched_parity was not built")
            continue
        name = label(bench, path, real)
        if report["verdict"] != "validated":
            facts.faults.append(f"{name}: {(report['faults'] or ['no verdict'])[0]}")
            continue
        measured["models"].append({"model": name, "model_sha256": answer["model_sha256"],
                                   "storages": report["storages"]}
                                  | ({"kv": run.kv} if run.kv else {}))  # fmt: skip
        measured["inputs_traced"] += report["inputs_traced"]
        add_counts(measured["ops"], report["ops"])
        # All models are walked alike, but for the families that they have.
        walk = {key: report[key] for key in ("sessions", "steps", "controls")}
        if walk not in measured["walk"]:
            measured["walk"].append(walk)
    if real is None:
        facts.gaps.append("the real model is absent")
    return facts


def add_counts(total, more):
    """Adds the numbers of two dictionaries of the same form, leaf by leaf."""
    for key, value in more.items():
        if isinstance(value, dict):
            add_counts(total.setdefault(key, {}), value)
        else:
            total[key] = total.get(key, 0) + value


def end_to_end(bench, comparison, real, run):
    """The model's logits against the live oracle, by the bounds of compare_logits.py."""
    facts = Facts()
    try:
        said = json.loads(comparison.read_text())
    except (OSError, json.JSONDecodeError):
        facts.gaps.append(f"{comparison.name} is absent; compare_logits.py writes it")
        return facts
    texts = said["texts"]
    verdicts = [v for v in said["verdicts"] if v.get("run", run.name) == run.name]
    model_sha256 = (said["copies"][run.copy] if run.copy else said["model"])["sha256"]
    facts.measured = {
        "model": said["model"]["title"],
        "run": run.name,
        "model_sha256": model_sha256,
        "oracle": said["oracle"],
        "tokens": sum(text["tokens"] for text in texts.values()),
        "nmse": said["totals"][run.name]["nmse"],
        "kv": said.get("kv"),
        "bounds": [{key: verdict[key] for key in ("bound", "figure", "limit", "kept")}
                   for verdict in verdicts],
        "logits_sha256": {name: text[run.name]["logits_sha256"] for name, text in texts.items()},
    }  # fmt: skip
    if model_sha256 != sha256_of(real):
        facts.gaps.append(f"{comparison.name} speaks of another model")
        return facts
    facts.faults += [f"bound {v['bound']} is not kept" for v in verdicts if not v["kept"]]
    facts.faults += said["false_claims"]
    rows = (said.get("kv") or {}).get("rows", {})
    facts.gaps += [f"no row has a {part}" for part in ("short KV", "long KV") if not rows.get(part)]
    if not verdicts:
        facts.gaps.append(f"{comparison.name} gives no verdict")
    # The comparison may be of an older build: the shortest text must still give its bits.
    name = min(texts, key=lambda text: texts[text]["tokens"])
    text = ROOT / "tests" / "data" / "texts" / f"{name}.txt"
    code, out, err = bench.run_writ("score", real, "--bringup", *run.options, "--data", ROOT,
                                    "--text", text, "--json")  # fmt: skip
    if code or json.loads(out)["logits_sha256"] != texts[name][run.name]["logits_sha256"]:
        facts.gaps.append(f"{comparison.name} is of other bits: '{name}' gives other logits now"
                          + (f" ({err.strip()[:200]})" if code else ""))  # fmt: skip
    return facts


def label(bench, path, real):
    return path.name if path == real else bench.labels.get(path, path.name)
