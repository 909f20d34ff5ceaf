# SPDX-License-Identifier: Apache-2.0
"""Computes the JSON patch (RFC 6902) that turns one JSON value into another, with operations only where they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apimachinery.equality import same_json


def json_patch(before: Any, after: Any) -> list[dict[str, Any]]:
    """Return the JSON patch operations that turn `before` into `after`; an empty list if they are equal.

    Fields are compared one by one. In lists, equal elements at the beginning and at the end are skipped; those between
    are compared in order, and the rest is removed or added.
    """
    return [*_changes(before, after, "")]


def _changes(before: Any, after: Any, path: str) -> Iterator[dict[str, Any]]:
    if same_json(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _fields(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _elements(before, after, path)
    else:
        yield {"op": "replace", "path": path, "value": after}


def _fields(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[dict[str, Any]]:
    for name, value in before.items():
        here = f"{path}/{_escaped(name)}"
        if name in after:
            yield from _changes(value, after[name], here)
        else:
            yield {"op": "remove", "path": here}
    for name, value in after.items():
        if name not in before:
            yield {"op": "add", "path": f"{path}/{_escaped(name)}", "value": value}


def _elements(before: list[Any], after: list[Any], path: str) -> Iterator[dict[str, Any]]:
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and same_json(before[start], after[start]):
        start += 1
    end = 0
    while end < shorter - start and same_json(before[-1 - end], after[-1 - end]):
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for index, (one, other) in enumerate(zip(old, new, strict=False), start):
        yield from _changes(one, other, f"{path}/{index}")
    for index in range(start + len(old) - 1, start + len(new) - 1, -1):  # backwards, as each removal moves the rest
        yield {"op": "remove", "path": f"{path}/{index}"}
    for index in range(start + len(old), start + len(new)):
        yield {"op": "add", "path": f"{path}/{index}", "value": after[index]}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
