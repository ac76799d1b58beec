"""Data folders whose records are all current: what a test about records starts from.

The records are made here, and say so. What the project itself has shown stands in contracts/evidence,
and tests of that read it; here the question is only what a record may rest on.
"""
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "evidence"))
import records  # noqa: E402


MADE = {"made": "for a test of records; it shows nothing of a kernel"}
MEASURED = {
    "circuit": {"instantiated": [MADE], "refuses": {"an unknown field": "E014"}},
    "contract": {"oracle": "known answers", "tests": ["none"]},
    "provider": {"oracle": "none", "functions": MADE, "compiler": "none", "flags": {"scalar": ""}, "fills": ["none"],
                 "shapes": ["none"], "isa": {"scalar": {"cases": 1, "elements": 1, "threads": [1]}}, "elements": 1,
                 "failed": 0},
    "stitched": {"models": [MADE], "walk": [MADE], "inputs_traced": 1,
                 "ops": {"none": {"none": {"calls": 1, "elements": 1, "differences": 0}}}},
    "end_to_end": {"model": "none", "oracle": MADE, "tokens": 1, "nmse": 0, "kv": MADE,
                   "bounds": [{"bound": "none", "kept": True}], "logits_sha256": {"none": "0" * 64}},
}  # fmt: skip


def copy_data(folder):
    """contracts/, kernel_maps/ and circuits/ in a folder, without the project's records."""
    for name in ("contracts", "kernel_maps", "circuits"):
        subprocess.run(["cp", "-r", ROOT / name, folder / name], check=True)
    subprocess.run(["rm", "-rf", folder / "contracts" / "evidence"], check=True)
    return folder


def needs(writ, data, model, *options):
    """What production of a model needs, as `writ digests` says."""
    done = subprocess.run([writ, "digests", model, *options, "--json", "--data", data], capture_output=True,
                          text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["needs"]


def seed(writ, data, model, *options):
    """Writes a validated record for each need of a model; returns the needs."""
    found = needs(writ, data, model, *options)
    for need in found:
        facts = records.Facts(MEASURED[need["kind"]] | MADE)
        records.write_record(data / "contracts" / "evidence", records.Record(need, facts))
    return found


def shared_data(harness, model, *options):
    """One such folder for all tests of a build, made anew where the tool or the project's data change."""
    stamp = hashlib.sha256(f"{model} {options} {harness.stamp_of_tool()}".encode())
    stamp.update(pathlib.Path(__file__).read_bytes())
    path = harness.WORK / f"data-{stamp.hexdigest()[:12]}"
    with harness.locked(path):
        if not path.exists():
            part = path.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            seed(harness.WRIT, copy_data(part), model, *options)
            part.rename(path)
    return path


def edit(path, change, seal=False):
    """Changes a record as a person would, in an editor; with `seal`, one who makes it look whole."""
    record = json.loads(path.read_text())
    change(record)
    record = records.sealed(record) if seal else record
    path.write_text(json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
