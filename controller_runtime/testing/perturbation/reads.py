# SPDX-License-Identifier: Apache-2.0
"""Finds the fields of each collection that a manager's views read, so that changes of other fields need no plans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import inspect

from controller_runtime.api.resources import Resource
from controller_runtime.manager.manager import Manager

EVERYTHING = ""
"""The path for a view that may read any field, such as a dict."""

# The fields that a lister's selectors, owner look-ups and waits for a deletion read, whatever the view is.
_ALWAYS = frozenset({"metadata.labels", "metadata.ownerReferences", "metadata.deletionTimestamp", "metadata.uid"})
# They change with each write, or with many; changes are recorded without them, so their readers read everything.
_UNRECORDED = ("metadata.resourceVersion", "metadata.managedFields", "metadata.generation")

Reads = Mapping[str, frozenset[str]]
"""The paths that are read of each collection, such as `spec.replicas`; `EVERYTHING` stands for all."""

_Fields = inspect.StructType | inspect.DataclassType | inspect.TypedDictType


def reads_of(managers: Iterable[Manager]) -> Reads:
    """Return the paths that the views of some managers read, by collection; collections that only a client reads are
    absent.
    """
    found: dict[str, set[str]] = {}
    for manager in managers:
        for controller in manager.controllers:
            for collection in controller.collections:
                found.setdefault(_name(collection.resource), set()).update(_ALWAYS)
            for collection in controller.inspected:
                found[_name(collection.resource)].add(EVERYTHING)
        for resource, views in manager.informers.views().items():
            paths = found.setdefault(_name(resource), set())
            paths |= _ALWAYS
            for view in views:
                paths |= paths_of(view)
    return {resource: frozenset(paths) for resource, paths in found.items()}


def paths_of(view: type[Any]) -> frozenset[str]:
    """Return the paths that a view reads: the fields of its class.

    `EVERYTHING` if they are unknown, or if one of them is not recorded in changes, such as the resourceVersion.
    """
    try:
        shape = inspect.type_info(view)
    except (TypeError, NameError):  # a model of the official client
        return frozenset({EVERYTHING})
    paths = frozenset(_paths(shape, ""))
    return frozenset({EVERYTHING}) if paths.intersection(_UNRECORDED) else paths


def is_read(fields: Iterable[str], paths: frozenset[str] | None) -> bool:
    """Return whether readers of `paths` can see a change of `fields`; always True if `paths` is None, for unknown
    readers.
    """
    if paths is None or EVERYTHING in paths:
        return True
    return any(
        field == path or field.startswith(f"{path}.") or path.startswith(f"{field}.")
        for field in fields
        for path in paths
    )


def _name(resource: Resource[Any]) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _paths(shape: inspect.Type, where: str) -> Iterator[str]:
    match shape:
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType():
            for field in shape.fields:
                yield from _paths(field.type, f"{where}.{field.encode_name}" if where else field.encode_name)
        case inspect.UnionType(types):
            for each in types:
                if not isinstance(each, inspect.NoneType):
                    yield from _paths(each, where)
        case _:  # a value, a list or a map, whose changes are recorded as one
            yield where
