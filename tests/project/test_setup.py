#!/usr/bin/python3
"""scripts/setup --list names every package that the project takes from Debian or PyPI: the list is
compared with the pins where they are used, and with the scripts that call pip."""

import json
import pathlib
import re
import subprocess
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


class Setup(unittest.TestCase):
    def setUp(self):
        done = subprocess.run([SCRIPTS / "setup", "--list"], capture_output=True, text=True, check=True)
        self.purposes = {line.split()[0]: line.split(None, 1)[1:] for line in done.stdout.splitlines()}

    def test_EveryPackageIsNamedWithWhatItIsFor(self):
        models = json.loads((SCRIPTS / "models.json").read_text(encoding="utf-8"))
        pins = {package for model in models.values() for package in model["packages"]}
        oracles = (SCRIPTS / "setup-oracles").read_text(encoding="utf-8")
        package, version = re.search(r"package=(\S+) version=(\S+)", oracles).groups()
        pins |= {f"{package}=={version}", "numpy"}
        self.assertEqual(pins, {name for name in self.purposes if "==" in name} | {"numpy"})
        self.assertIn("libmlir-19-dev", self.purposes)
        self.assertEqual([name for name, purpose in self.purposes.items() if not purpose], [])

    def test_NoOtherScriptTakesAPackageFromPyPI(self):
        callers = {path.name for path in SCRIPTS.rglob("*")
                   if path.is_file() and path.suffix != ".pyc"
                   and re.search(r'-m pip|"-m", "pip"', path.read_text(encoding="utf-8"))}
        self.assertEqual(callers, {"fetch-model", "setup-oracles"})


if __name__ == "__main__":
    unittest.main()
