# SPDX-License-Identifier: Apache-2.0
"""Finds the fields that a real server takes and does not store, because their features are off.

Such a field is dropped before it is checked, so whatever stands in it is taken. Each valid sample is sent as a dry run
once more for each field that it lacks, with some value in it: the field is off if the object is accepted without it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from typing import Any

from apimachinery.schema import Schema
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.typed.values import reader_for
from tests.differential.samples import MORE, SAMPLES, Sample
from tests.differential.servers import Real, decoded

NAMESPACE = "default"
_MOST_PLACES = 2
# Dropped from usual containers and kept in init containers, which have the same type.
_IN_PART = (("io.k8s.api.core.v1.Container", "restartPolicy"),)
_OF_THE_SERVER = ("metadata", "status", "kind", "apiVersion")
_SCALARS = {"string": "a", "boolean": True, "integer": 7, "number": 7, "": "a"}
_FORMATS = {"date-time": "2026-01-01T00:00:00Z", "byte": "YQ==", "int-or-string": 7}
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


def switched_off(real: Real, kinds: Iterable[tuple[Kind, Schema]]) -> dict[str, dict[str, None]]:
    """Return by type the fields that are off in all places where the server could be asked about them."""
    schemas = {(kind.group, kind.version, kind.kind): (kind, schema) for kind, schema in kinds}
    asked: dict[tuple[str, str], list[bool]] = {}
    for sample in (*SAMPLES, *MORE):
        found = schemas.get((sample.group, sample.version, sample.kind))
        if found is not None:
            for body in _valid(real, sample):
                _ask(real, sample, body, found[1], asked)
    off: dict[str, dict[str, None]] = {}
    for (name, field), answers in sorted(asked.items()):
        if all(answers) and (name, field) not in _IN_PART:
            off.setdefault(name, {})[field] = None
    return off


def created(real: Real) -> dict[str, Any]:
    """Return each valid sample as the server makes it, by `group/version/plural`, without what differs between runs."""
    found = {}
    for sample in (*SAMPLES, *MORE):
        made = _created(real, sample, sample.object("probe"))
        if made is not None:
            for field in ("uid", "creationTimestamp", "resourceVersion"):
                made["metadata"].pop(field, None)
            found[f"{sample.group}/{sample.version}/{sample.plural}"] = made
    return found


def _valid(real: Real, sample: Sample) -> Iterator[dict[str, Any]]:
    """Yield the bodies of a sample that the server takes: the bare one, and with each of its further fields."""
    bare = sample.object("probe")
    bodies = [bare]
    for name, value in sample.rich.items():
        body = copy.deepcopy(bare)
        (body["spec"] if isinstance(body.get("spec"), dict) else body)[name] = copy.deepcopy(value)
        bodies.append(body)
    for body in bodies:
        if _created(real, sample, body) is not None:
            yield body


def _created(real: Real, sample: Sample, body: dict[str, Any]) -> dict[str, Any] | None:
    text = json.dumps(body).replace("{ns}", NAMESPACE)
    target = f"{sample.collection.replace('{ns}', NAMESPACE)}?dryRun=All"
    answer = real.ask("POST", target, {"content-type": "application/json"}, text.encode())
    return decoded(answer.body) if answer.status == 201 else None


def _ask(
    real: Real, sample: Sample, body: dict[str, Any], schema: Schema, asked: dict[tuple[str, str], list[bool]]
) -> None:
    for path, of in list(_structs(schema, body, ())):
        for name, child in of.properties.items():
            known = asked.get((of.name, name), [])
            if name in _at(body, path) or (not path and name in _OF_THE_SERVER):
                continue
            if not of.name or len(known) >= _MOST_PLACES or False in known:
                continue
            changed = copy.deepcopy(body)
            _at(changed, path)[name] = some(child)
            answer = _created(real, sample, changed)
            if answer is not None:
                there = _at(answer, path)
                asked.setdefault((of.name, name), []).append(isinstance(there, dict) and name not in there)


def some(schema: Schema) -> Any:
    """Return a value of a type that is not its zero value."""
    if schema.items is not None:
        return [some(schema.items)]
    if schema.additional is not None:
        return {"a": some(schema.additional)}
    if schema.name == _QUANTITY:
        return "1Mi"
    if schema.format in _FORMATS:
        return _FORMATS[schema.format]
    return {} if schema.properties and reader_for(schema) is None else _SCALARS.get(schema.type, {})


def _structs(schema: Schema, value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Schema]]:
    if isinstance(value, list) and schema.items is not None and value:
        yield from _structs(schema.items, value[0], (*path, 0))
    elif isinstance(value, dict) and schema.properties:
        yield path, schema
        for name, child in schema.properties.items():
            if name in value and (path or name not in _OF_THE_SERVER):
                yield from _structs(child, value[name], (*path, name))


def _at(value: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
