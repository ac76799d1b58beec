"""Faults of kernels: patches of kernel sources, compiled into the conformance tests.

tests/faults/kernels/NAME.patch begins with what the fault is, then

  provider:  the kernel, by its id           isa:   the body that is compiled from the patched source
  caught:    PROGRAM FILTER                  every test of the filter must fail
  spared:    PROGRAM FILTER                  every test of it must pass (may be absent)
  says:      a regular expression            what a failing test says

and is a unified diff from `---` on. The body takes the place of the provider's own in the test
program: all else, the check included, is the suite's.
"""
import pathlib
import re
import shutil
import subprocess

from bench import ROOT, Broken, Fault, Survived, first_match

PATCHES = pathlib.Path(__file__).resolve().parent / "kernels"
KERNELS = pathlib.Path("runtime/kernels/cpu")
FIELDS = ("provider", "isa", "caught", "spared", "says")


class KernelFault(Fault):
    def __init__(self, path):
        self.path = path
        head = path.read_text().split("\n---\n", 1)[0]
        fields = dict(line.split(": ", 1) for line in head.splitlines() if line.split(": ", 1)[0] in FIELDS)
        self.provider, self.isa, self.says = fields["provider"], fields["isa"], fields["says"]
        self.program, self.caught = fields["caught"].split(" ", 1)
        self.spared = fields.get("spared", f"{self.program} ").split(" ", 1)[1]
        super().__init__(path.stem.replace("_", " "), self.caught.split(".", 1)[0])

    def source(self):
        found = sorted((ROOT / KERNELS).glob(f"*/{self.provider}.cpp"))
        if not found:
            raise Broken(f"there is no kernel '{self.provider}'")
        return found[0]

    def compiled(self, bench):
        """The object of the patched body."""
        tree = bench.folder(f"kernels/{self.path.stem}")
        source = self.source()
        files = set(re.findall(r"^\+\+\+ b/(\S+)", self.path.read_text(), re.M))
        for file in files | {str(source.relative_to(ROOT))}:
            if not (ROOT / file).is_file():
                raise Broken(f"{self.path.name} changes {file}, which is not there")
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, tree / file)
        done = subprocess.run(["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch", "-d", tree, "-i", self.path],
                              capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"{self.path.name} does not apply any more: {done.stdout.strip()}")
        out = tree / "body.o"
        words = bench.compile_command(self.isa, source)
        bench.compile_source(words, source, tree / source.relative_to(ROOT), tree, out)
        return out

    def judge(self, bench, program):
        """`program` is the test program with this fault, and maybe others, in it."""
        passed, failed, text = bench.tests(program, self.caught)
        if not passed and not failed:
            raise Broken(f"no test '{self.caught}' ran; {text.strip()[-300:]}")
        if passed:
            raise Survived(f"{passed[0]} passes")
        said = first_match(self.says, text)
        if not said:
            raise Survived(f"{failed[0]} fails, but does not say '{self.says}'")
        if self.spared:
            kept, lost, _ = bench.tests(program, self.spared)
            if lost or not kept:
                raise Survived(f"{lost[0] if lost else self.spared} should not see it")
        return said


def coverage(faults):
    """What no patch shows: families of the kernel maps, and instruction sets of this build's bodies."""
    maps = {path.stem: path.parent.name for path in (ROOT / "kernel_maps").glob("*/*.json")
            if path.parent.name != "schema"}  # fmt: skip
    seeded = {maps.get(fault.provider) for fault in faults}
    bare = [f"family '{family}'" for family in sorted(set(maps.values()) - seeded)]
    isas = {fault.isa for fault in faults}
    return bare + [f"instruction set '{isa}'" for isa in ("scalar", "avx2", "avx512") if isa not in isas]


def load():
    faults = [KernelFault(path) for path in sorted(PATCHES.glob("*.patch"))]
    bodies = [(fault.provider, fault.isa) for fault in faults]
    for body in bodies:
        if bodies.count(body) > 1:
            raise Broken(f"two patches change {' '.join(body)}: one program holds one of them")
    return faults


def run(bench, faults):
    """(fault, what the check said, or why it was not caught) of each; one program holds them all."""
    results, objects = {}, {}
    for fault in faults:
        try:
            objects.setdefault(fault.program, {})[fault] = fault.compiled(bench)
        except Broken as reason:
            results[fault] = reason
    for program, seeded in objects.items():
        # The tests pass without the faults, or they would catch nothing.
        everything = ":".join(fault.caught + (":" + fault.spared if fault.spared else "") for fault in seeded)
        _, failed, _ = bench.tests(bench.build / "bin" / program, everything)
        mutant = bench.work / program
        try:
            bench.link(program, seeded.values(), mutant)
        except Broken as reason:
            results |= {fault: reason for fault in seeded}
            continue
        for fault in seeded:
            try:
                results[fault] = fault.judge(bench, mutant)
                if any(test.startswith(fault.caught.split("*")[0]) for test in failed):
                    results[fault] = Broken(f"{failed[0]} fails without the fault")
            except (Broken, Survived) as reason:
                results[fault] = reason
        mutant.unlink()
    return [(fault, results[fault]) for fault in faults]
