# SPDX-License-Identifier: Apache-2.0
"""Random values for the fields of a schema, and random edits of an object by it."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from apimachinery.schema import Schema

STRINGS = (
    *("a", "b", "", "a b", "x" * 64, "Bad", "None", "-x", "10", "1.2.3.4", "example.com/x", "/a/b", "{ns}"),
    "http",
    "Always",
)
NUMBERS = (0, 1, 2, 5, 80, -1, 70000, 2**31)
QUANTITIES = ("1", "0.5", "100m", "1Gi", "1024Mi", "1.5", "0", "-1", "1e3", "abc", 2)
TIMES = ("2001-02-03T04:05:06Z", "2001-02-03T04:05:06.000007Z", "nope")
_ENUMS = {
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Equal", "Gt", "Bad"),
    "effect": ("NoSchedule", "NoExecute", "PreferNoSchedule", "Bad"),
    "protocol": ("TCP", "UDP", "SCTP", "Bad"),
    "type": (
        "RollingUpdate",
        "Recreate",
        "OnDelete",
        "ClusterIP",
        "NodePort",
        "LoadBalancer",
        "ExternalName",
        "Container",
        "Bad",
        "",
    ),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never", "Bad"),
    "restartPolicy": ("Always", "OnFailure", "Never", "Bad"),
    "dnsPolicy": ("ClusterFirst", "Default", "None", "Bad"),
    "status": ("True", "False", "Unknown", "Bad"),
    "schedule": ("* * * * *", "@daily", "nope", ""),
    "timeZone": ("Etc/UTC", "Nope/Zone", ""),
}


def value_of(random: Random, schema: Schema | None, key: str, depth: int = 0) -> Any:
    """Return a random value for a field: mostly of its type, valid or not, and rarely of another type or null."""
    if schema is None or random.random() < 0.03:
        return random.choice((None, "a", 1, True, [], {}, ["a"], {"a": "b"}))
    if schema.name.endswith("resource.Quantity"):
        return random.choice(QUANTITIES)
    if schema.format in ("date-time",):
        return random.choice(TIMES)
    if schema.format == "int-or-string" or (not schema.type and not schema.properties):
        return random.choice((1, 0, 80, "25%", "http", "a b", "-1%"))
    if schema.type == "string":
        if key in _ENUMS and random.random() < 0.7:
            return random.choice(_ENUMS[key])
        return random.choice(STRINGS)
    if schema.type in ("integer", "number"):
        return random.choice(NUMBERS)
    if schema.type == "boolean":
        return random.random() < 0.5
    if schema.type == "array":
        count = random.choice((0, 1, 1, 2)) if depth < 6 else 0
        return [value_of(random, schema.items, key, depth + 1) for _ in range(count)]
    if schema.additional is not None:
        names = random.sample(("app", "a", "cpu", "memory", "a b", "storage"), random.choice((0, 1, 1, 2)))
        return {name: value_of(random, schema.additional, name, depth + 1) for name in names}
    return _object(random, schema, depth)


def _object(random: Random, schema: Schema, depth: int) -> dict[str, Any]:
    names = [name for name in schema.required if random.random() < 0.9]
    others = [name for name in schema.properties if name not in names]
    names += random.sample(others, min(len(others), random.choice((0, 1, 1, 2)) if depth < 5 else 0))
    return {
        name: value_of(random, schema.properties[name], name, depth + 1) for name in names if name in schema.properties
    }


def edit(random: Random, obj: dict[str, Any], schema: Schema, within: str = "spec") -> dict[str, Any]:
    """Return a copy of an object with one random edit at a random depth of one of its fields."""
    changed = copy.deepcopy(obj)
    place, at = changed, schema
    step = within if within in at.properties else _choice(random, at)
    while True:
        below = at.properties.get(step) if at.properties else at.additional
        if below is None or (random.random() < 0.25 and place is not changed) or not _goes_deeper(below):
            break
        if below.type == "array":
            items = place.setdefault(step, [])
            if not isinstance(items, list) or below.items is None or not below.items.properties:
                break
            if not items or random.random() < 0.2:
                items.append(_object(random, below.items, 1))
            place, at = random.choice(items), below.items
        else:
            place, at = place.setdefault(step, {}), below
        if not isinstance(place, dict):
            return changed
        step = _choice(random, at, place)
    if random.random() < 0.15:
        place.pop(step, None)
    else:
        place[step] = value_of(random, below, step)
    return changed


def _goes_deeper(schema: Schema) -> bool:
    return bool(schema.properties) or schema.type == "array"


def _choice(random: Random, schema: Schema, present: dict[str, Any] | None = None) -> str:
    names = [name for name in schema.properties if name not in ("apiVersion", "kind", "metadata")] or ["a"]
    if present and random.random() < 0.5:
        return str(random.choice(sorted(present, key=str)))
    return random.choice(names)
