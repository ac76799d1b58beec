"""Whether the programs that measured are of the sources that a record binds.

`writ` says what is bound, other programs measure: a build that is half made holds programs of several states of
the sources. Each says what it was built of, and what it reads; where that is not what is bound, nothing was
measured of what is here, and the record is unresolved.
"""

import json

KERNEL_PROGRAMS = ("kernels_test", "threaded_test")
# Read by `writ` and by stitched_parity when they run, from the same files; the report names them.
READ_WHEN_RUN = ("circuit:", "profile:")


def gaps(bench, comparison, record):
    """What speaks against a record of the kinds that programs measure."""
    if record.kind == "contract":
        return of_programs(bench, [*bench.programs("*mpfr_test"), "reference_test"], record.bound)
    if record.kind == "provider":
        return of_programs(bench, KERNEL_PROGRAMS, record.bound)
    if record.kind == "stitched":
        mine = [report for report in bench.reports if f"{report['circuit']}.{report['profile']}" == record.subject]
        return unique(gap for report in mine
                      for gap in differences("stitched_parity", report.get("built_of"),
                                             parts_of(bench, record.bound), READ_WHEN_RUN))  # fmt: skip
    if record.kind == "end_to_end":
        try:
            said = json.loads(comparison.read_text()).get("built_of")
        except (OSError, json.JSONDecodeError):
            return []  # that it is absent is said elsewhere
        return differences(comparison.name, said, record.bound)
    return []  # `writ` itself measures what the others are


def of_programs(bench, programs, bound):
    found = []
    for program in programs:
        tests = bench.tests(program)
        if program in bench.deaths:
            found.append(f"{program} {bench.deaths[program]}")
        elif tests is None:
            found.append(f"{program} was not built")
        else:
            found += differences(program, bench.built_of.get(program), parts_of(bench, bound))
    return found


def parts_of(bench, bound):
    """`bound` with the contracts of a fusion's parts for the fusion's, which has no file of its own."""
    found = {}
    for key, digest in bound.items():
        if "+" in key:
            digests = bench.digests()["digests"]
            found |= {each: digests[each] for each in (f"contract:{part}" for part in key.split(":", 1)[1].split("+"))}
        else:
            found[key] = digest
    return found


def differences(program, there, bound, read=()):
    """What a program was built of, or reads, that is not what a record binds; `read`: prefixes of other keys."""
    if not there:
        return [f"{program} does not say what it was built of"]
    return [f"{program} was built of another '{key}'" if key in there
            else f"{program} does not say of which '{key}' it was built"
            for key, digest in bound.items()
            if digest and there.get(key) != digest and not key.startswith(tuple(read))]  # fmt: skip


def unique(texts):
    return list(dict.fromkeys(texts))
