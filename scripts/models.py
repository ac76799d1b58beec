"""The known models (scripts/models.json) and the cache in which they lie."""

import hashlib
import json
import os
import pathlib


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "writ"


def known_models():
    return json.loads(pathlib.Path(__file__).with_name("models.json").read_text())


def random_model_options(entry):
    """The options with which scripts/make-random-model makes small models of an entry's family."""
    return ["--circuit", entry["circuit"], *entry["random"]]


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
