"""Under which profile, with K and V in which storage, and on which file a model is measured end to end.

Each run gives one record of production (make_records.py), by the bounds of compare_logits.py.
"""

from typing import NamedTuple


class Run(NamedTuple):
    profile: str
    kv: str | None = None  # storage of K and V; None: the circuit's
    copy: str | None = None  # a copy of the model (`copies` of scripts/models.json); None: its file

    @property
    def name(self):
        return self.profile + setting(self.kv, self.copy)

    @property
    def beside(self):
        """llama.cpp on the same file with the same storage of K and V."""
        return "quantized" + setting(self.kv, self.copy)

    @property
    def options(self):
        """The options of `writ` that make it."""
        return ["--profile", self.profile, *(["--kv", self.kv] if self.kv else [])]


def setting(kv, copy):
    return (f", KV {kv}" if kv else "") + (f", {copy} copy" if copy else "")


# The two profiles that are measured in full: small models of every storage type are stitched under them, too.
PROFILES = ("f32", "portable")
RUNS = (
    *(Run(profile) for profile in PROFILES),
    *(Run("portable", kv) for kv in ("f32", "bf16", "q8_0")),
    Run("ggml"),
    Run("bf16", copy="bf16"),
)
FURTHER = RUNS[len(PROFILES) :]


def runs_of(model, among=RUNS):
    """Those that the model's definition asks for, and whose file it has."""
    further = model.definition.get("further_runs", False)
    return [run for run in among if (further or run not in FURTHER) and (run.copy is None or run.copy in model.copies)]
