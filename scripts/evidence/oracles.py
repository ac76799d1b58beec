"""Where models and oracles lie, and how the live llama.cpp oracle is asked.

Shared by the scripts of this folder. Nothing here knows a model: names, files and digests come
from scripts/models.json.
"""

import json
import math
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from models import cache_dir, known_models, sha256_of  # noqa: E402

# The set-up fixes package and version; what it builds lies in a folder of that version.
PACKAGE, VERSION = re.search(r"^readonly package=(\S+) version=(\S+)$", (ROOT / "scripts" / "setup-oracles").read_text(),
                             re.MULTILINE).groups()  # fmt: skip
ORACLE_RELEASE = f"{PACKAGE} {VERSION}"
ORACLE_PROGRAMS = cache_dir() / f"llama.cpp-{VERSION}" / "bin"
ORACLE_SETTINGS = {
    "threads": 2,
    "n_batch": 512,
    "n_ubatch": 512,
    "flash_attention": False,
    "kv": "f16",
}
GREEDY_PROMPT = 32  # ids of a text that the greedy continuation is given
GREEDY_TOKENS = 40  # ids that it goes on for
JOINED = "joined"  # the text that is all the others, one after the other
JOINED_TOKENS = 3000  # ids of it that are read: beyond every window and page that is in use


class Unresolved(Exception):
    """A thing that the comparison needs is absent: no verdict, neither pass nor failure."""


class Model:
    """A fetched model: the file users run, and its F32 copy for the oracle."""

    def __init__(self, name):
        models = known_models()
        if name not in models:
            raise SystemExit(f"error: unknown model '{name}'; known are {', '.join(models)}")
        self.name = name
        self.definition = models[name]
        self.path = cache_dir() / "models" / self.definition["file"]
        self.f32_path = cache_dir() / "models" / self.definition["f32_file"]
        self.copies = self.definition.get("copies", {})

    def check(self):
        """The digest of the model's file, after it is known to be the declared one."""
        if not self.path.exists():
            raise Unresolved(f"the model is absent; run scripts/fetch-model {self.name}")
        digest = sha256_of(self.path)
        if digest != self.definition["sha256"]:
            raise SystemExit(
                f"error: {self.path.name} has sha256 {digest}, expected {self.definition['sha256']}"
            )
        return digest

    def file_of(self, copy, what="file"):
        """The model's file (None) or that of a copy; `f32_file`: the same without an activation to round."""
        path = cache_dir() / "models" / (self.copies[copy] if copy else self.definition)[what]
        if not path.exists():
            raise Unresolved(f"{path.name} is absent; run scripts/setup-oracles {self.name}")
        return path

    def check_f32(self):
        if not self.f32_path.exists():
            raise Unresolved("the F32 copy is absent; run scripts/setup-oracles")


class LlamaOracle:
    """The program of tests/oracles/llama_oracle.cpp, built by scripts/setup-oracles."""

    def __init__(self):
        self.program = ORACLE_PROGRAMS / "llama-oracle"
        if not self.program.exists():
            raise Unresolved("the llama.cpp oracle is not built; run scripts/setup-oracles")

    def _run(self, *arguments, text=None):
        command = [str(self.program), *map(str, arguments)]
        # Threads that spin at barriers crawl on a busy machine; waiting asleep changes no bit.
        # K and V in blocks: as they are, without llama.cpp's rotation of the heads, which is no part of the storage.
        environment = os.environ | {"OMP_WAIT_POLICY": "passive", "LLAMA_ATTN_ROT_DISABLE": "1"}
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False,
                              env=environment)  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"error: {' '.join(command)} failed: {done.stderr.strip()}")
        return done.stdout

    def version(self):
        return f"{ORACLE_RELEASE}, {self._run('version').strip()}"

    def tokenize(self, model, texts, parse_special=True):
        """The ids of each text: a string, or a list of bytes where it is not UTF-8."""
        options = [] if parse_special else ["--no-special"]
        answers = json.loads(self._run("tokenize", model, *options, text=json.dumps(texts)))
        if [answer["text"] for answer in answers] != texts:
            raise SystemExit("error: the oracle answered about other texts than it was asked")
        return [answer["ids"] for answer in answers]

    def logits(self, model, ids_file, out_file, kv=None):
        self._run(
            "logits", model, ids_file, out_file,
            "--threads", ORACLE_SETTINGS["threads"], "--ubatch", ORACLE_SETTINGS["n_ubatch"],
            "--kv", kv or ORACLE_SETTINGS["kv"],
        )  # fmt: skip

    def greedy(self, model, ids_file, count):
        return json.loads(
            self._run(
                "greedy", model, ids_file, count,
                "--threads", ORACLE_SETTINGS["threads"], "--ubatch", ORACLE_SETTINGS["n_ubatch"],
            )
        )  # fmt: skip


def machine():
    """The processor and system: llama.cpp's bits depend on them."""
    name = platform.processor() or platform.machine()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {"processor": name, "cores": os.cpu_count(), "system": platform.system(),
            "architecture": platform.machine()}  # fmt: skip


def _finite(value):
    """JSON has no NaN and no infinity: they are written as text."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path, value):
    """Indented, but with each array of integers on one line."""
    text = json.dumps(_finite(value), indent=1, allow_nan=False)
    text = re.sub(r"\[[\d\s,]+\]", lambda array: "[" + " ".join(array[0][1:-1].split()) + "]", text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n")


def read_text(path):
    """The bytes as they are: Python's text mode would change line ends."""
    return path.read_bytes().decode("utf-8")


def text_files():
    return sorted((ROOT / "tests" / "data" / "texts").glob("*.txt"))


def text_ids(oracle, model):
    """name → ids, as the oracle tokenizes them: each file, then all of them joined, cut short."""
    texts = {path.stem: read_text(path) for path in text_files()}
    texts[JOINED] = "".join(texts.values())
    ids = dict(zip(texts, oracle.tokenize(model.path, list(texts.values())), strict=True))
    ids[JOINED] = ids[JOINED][:JOINED_TOKENS]
    return ids
