"""The rules of a profile, with those that it takes over from the one that it extends."""

import json


def rules(contracts, profile):
    """`contracts`: the folder. A rule of the base with the op and match of an own one is replaced."""
    own = json.loads((contracts / "profiles" / f"{profile}.json").read_text(encoding="utf-8"))
    base = rules(contracts, own["extends"]) if "extends" in own else []
    replaced = [(rule["op"], rule["match"]) for rule in own["rules"]]
    return [rule for rule in base if (rule["op"], rule["match"]) not in replaced] + own["rules"]
