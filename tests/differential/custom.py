# SPDX-License-Identifier: Apache-2.0
"""Random custom resource definitions, faulty ones as dry runs, and objects of the valid ones."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from differential.operations import Operation
from differential.samples import Sample

GROUP = "{ns}.fz.example.com"
COLLECTION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SCALARS: tuple[dict[str, Any], ...] = (
    *(
        {"type": "string"},
        {"type": "integer"},
        {"type": "boolean"},
        {"type": "number"},
        {"type": "string", "maxLength": 3},
    ),
    *(
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "pattern": "^a"},
        {"type": "integer", "minimum": 1, "maximum": 5},
    ),
    *(
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "ipv4"},
        {"x-kubernetes-int-or-string": True},
    ),
    *({"type": "string", "default": "d"}, {"type": "integer", "default": 3}, {"type": "string", "nullable": True}),
    *(
        {"type": "integer", "format": "int32"},
        {"type": "number", "multipleOf": 0.5},
        {"type": "string", "minLength": 1, "allOf": [{"maxLength": 9}]},
    ),
)
_FAULTS: tuple[dict[str, Any], ...] = (
    *(
        {},
        {"type": "foo"},
        {"type": "array"},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
    ),
    *(
        {"type": "string", "default": 1},
        {"type": "integer", "enum": []},
        {"type": "array", "items": {}},
        {"type": "string", "pattern": "("},
    ),
    *(
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"},
        {"type": "object", "x-kubernetes-embedded-resource": True},
    ),
    *(
        {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
        {"type": "string", "x-kubernetes-map-type": "atomic"},
    ),
    *(
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "object", "additionalProperties": False},
        {"$ref": "#/x"},
    ),
    *(
        {"type": "object", "x-kubernetes-validations": [{"rule": "self."}]},
        {"anyOf": [{"type": "string"}]},
        {"type": "string", "id": "x"},
    ),
    *(
        {"type": "object", "patternProperties": {"a": {"type": "string"}}},
        {"type": "array", "items": True},
        {"type": "string", "nullable": "yes"},
    ),
)


def schema(random: Random, depth: int = 0) -> dict[str, Any]:
    """Return a structural schema."""
    choice = random.random()
    if depth > 2 or choice < 0.55:
        return copy.deepcopy(random.choice(_SCALARS))
    if choice < 0.7:
        found: dict[str, Any] = {"type": "array", "items": schema(random, depth + 1)}
        if found["items"].get("type") in ("string", "integer") and random.random() < 0.3:
            found["x-kubernetes-list-type"] = "set"
        elif random.random() < 0.4:
            keyed = {
                "type": "object",
                "required": ["k"],
                "properties": {"k": {"type": "string"}, "v": schema(random, 3)},
            }
            found |= {"items": keyed, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
        return found
    if choice < 0.8:
        return {"type": "object", "additionalProperties": schema(random, depth + 1)}
    if choice < 0.85:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if choice < 0.88:
        return {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    return fields(random, depth + 1)


def fields(random: Random, depth: int = 0) -> dict[str, Any]:
    """Return the schema of an object with fields."""
    names = [f"f{number}" for number in range(random.choice((1, 2, 3, 5)))]
    found: dict[str, Any] = {"type": "object", "properties": {name: schema(random, depth) for name in names}}
    if random.random() < 0.3:
        found["required"] = [random.choice(names)]
    if random.random() < 0.1:
        found["x-kubernetes-map-type"] = "atomic"
    return found


def value(random: Random, of: dict[str, Any]) -> Any:
    """Return a value, mostly one that fits."""
    if random.random() < 0.06:
        return random.choice((None, "x", 1, True, [], {}, 1.5, ""))
    kind = of.get("type", "string")
    if "enum" in of:
        return random.choice([*of["enum"], "c"])
    if kind == "string":
        return random.choice(("a", "ab", "abcd", "", "2001-02-03T04:05:06Z", "1.2.3.4"))
    if kind in ("integer", "number"):
        return random.choice((1, 2, 0, 7, -1) + ((0.5, 1.25) if kind == "number" else ()))
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "array":
        return [value(random, of["items"]) for _ in range(random.choice((0, 1, 2, 2)))]
    if "properties" in of:
        kept = [name for name in of["properties"] if name in of.get("required", ()) or random.random() < 0.6]
        found = {name: value(random, of["properties"][name]) for name in kept}
        if random.random() < 0.08:
            found["unknown"] = "x"
        return found
    if isinstance(of.get("additionalProperties"), dict):
        return {name: value(random, of["additionalProperties"]) for name in random.sample(("x", "y", "a b"), 1)}
    return random.choice(({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, {"a": {"b": 1}}, {}))


def definition(random: Random, plural: str, kind: str) -> dict[str, Any]:
    """Return a valid definition of one or two versions."""
    spec = fields(random)
    root: dict[str, Any] = {
        "type": "object",
        "properties": {"spec": spec, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    if random.random() < 0.6:
        version["subresources"] = {"status": {}}
        if random.random() < 0.5:
            spec["properties"]["replicas"] = {"type": "integer"}
            version["subresources"]["scale"] = {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
            }
    if random.random() < 0.4:
        column = {"name": "First", "type": "string", "jsonPath": ".spec.f0", "priority": random.choice((0, 1))}
        version["additionalPrinterColumns"] = [
            column,
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ]
    versions = [version]
    if random.random() < 0.33:
        other = copy.deepcopy(version) | {"name": "v1beta1", "storage": False, "deprecated": random.random() < 0.5}
        other["schema"]["openAPIV3Schema"]["properties"]["spec"] = fields(random)
        if "scale" in other.get("subresources", {}):
            other["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["replicas"] = {"type": "integer"}
        versions.append(other)
    names = {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


def definitions(random: Random) -> tuple[list[Operation], list[Sample]]:
    """Return the creates of definitions, three faulty ones as dry runs, and the kind of the valid one."""
    found = []
    for number in range(3):
        faulty = definition(random, f"w10{number}s", f"W10{number}")
        properties = faulty["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        properties["spec"]["properties"]["fault"] = copy.deepcopy(random.choice(_FAULTS))
        found.append(Operation(method="POST", target=f"{COLLECTION}?dryRun=All", body=faulty))
    valid = definition(random, "w0s", "W0")
    found.append(Operation(method="POST", target=COLLECTION, body=valid))
    samples = []
    for version in valid["spec"]["versions"]:
        spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
        body = {"spec": _fitting(spec)}
        has_status = "status" in version.get("subresources", {})
        sample = Sample(
            *(GROUP, version["name"], "w0s", "W0", 1, body),
            {"x": 1, "replicas": 1} if has_status else None,
            scale="scale" in version.get("subresources", {}),
            rich={name: value(random, one) for name, one in spec["properties"].items()},
        )
        samples.append(sample)
    found.append(Operation(method="GET", target=f"{COLLECTION}/w0s.{GROUP}"))
    return found, samples


def _fitting(of: dict[str, Any]) -> Any:
    return {name: value(Random(7), of["properties"][name]) for name in of.get("required", ())}


def custom_sample(random: Random, sample: Sample, obj: dict[str, Any]) -> dict[str, Any]:
    """Return a custom object with another value of a field, or a field that its schema does not have."""
    spec = obj.setdefault("spec", {})
    name = random.choice([*sample.rich, "unknown"])
    spec[name] = random.choice((None, "a", 1, -1, True, [], {}, ["a", "a"], 1.5, sample.rich.get(name)))
    return obj
