# SPDX-License-Identifier: Apache-2.0
"""Patches applied on this side, for objects whose present state the server does not have. Pure functions.

A JSON patch is applied exactly. A strategic merge patch and an apply merge lists by the schema of
the kind, which this side does not have: lists of objects that all have one of `MERGE_KEYS` are merged by it, and all
other lists are replaced.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from apimachinery.equality import same_json

MERGE_KEYS = ("name", "type", "uid", "containerPort", "port", "mountPath", "devicePath", "ip", "topologyKey", "key")
"""The fields by which Kubernetes' own lists are merged, in the order in which they are tried."""


class PatchFailed(Exception):
    """Raised if a JSON patch cannot be applied; the message has the operation."""


def merged_by_keys(target: Any, patch: Any) -> Any:
    """Return `target` after a strategic merge patch, or an apply, as far as that can be computed without the server."""
    if isinstance(patch, Mapping):
        return _merged_mapping(target if isinstance(target, Mapping) else {}, patch)
    if isinstance(patch, list) and isinstance(target, list) and (key := _merge_key([*target, *patch])):
        return _merged_list(target, patch, key)
    if isinstance(patch, list):
        return [item for item in patch if not _directive(item)]
    return patch


def _merged_mapping(target: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    replaces = patch.get("$patch") == "replace"
    result: dict[str, Any] = {} if replaces else dict(target)
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            field = name.partition("/")[2]
            result[field] = [item for item in result.get(field) or () if item not in value]
        elif name.startswith("$"):
            continue  # the order of a list, or which fields to keep: that shows nothing which others would not
        elif value is None:
            result.pop(name, None)
        elif name == "finalizers" and isinstance(value, list):
            result[name] = [*dict.fromkeys([*(result.get(name) or ()), *value])]
        else:
            result[name] = merged_by_keys(result.get(name), value)
    return result


def _merged_list(target: Sequence[Any], patch: Sequence[Any], key: str) -> list[Any]:
    result = {item[key]: item for item in target}
    for item in patch:
        if _directive(item) == "delete":
            result.pop(item[key], None)
        else:
            result[item[key]] = merged_by_keys(result.get(item[key]), item)
    return [*result.values()]


def _merge_key(items: Sequence[Any]) -> str:
    if not all(isinstance(item, Mapping) for item in items):
        return ""
    return next((key for key in MERGE_KEYS if items and all(_is_plain(item.get(key)) for item in items)), "")


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _directive(item: object) -> str:
    return str(item.get("$patch", "")) if isinstance(item, Mapping) else ""


def json_patched(target: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """Return `target` after a JSON patch (RFC 6902).

    Raises:
        PatchFailed: A path does not exist, or a test fails.
    """
    holder = {"": copy.deepcopy(target)}
    for operation in operations:
        kind, path = str(operation.get("op")), _steps(str(operation.get("path", "")))
        try:
            match kind:
                case "add" | "replace":
                    _put(holder, path, copy.deepcopy(operation.get("value")), inserts=kind == "add")
                case "remove":
                    _take(holder, path)
                case "move":
                    _put(holder, path, _take(holder, _steps(str(operation.get("from", "")))), inserts=True)
                case "copy":
                    _put(
                        holder,
                        path,
                        copy.deepcopy(_found(holder, _steps(str(operation.get("from", ""))))),
                        inserts=True,
                    )
                case "test":
                    if not same_json(_found(holder, path), operation.get("value"), exact=False):
                        raise KeyError("the test")
                case _:
                    raise KeyError("the kind of operation")
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchFailed(f"{kind} {operation.get('path')}: {error} fails or does not exist") from error
    return holder[""]


def _steps(pointer: str) -> list[str]:
    """Return the steps of a JSON pointer, the first of which is the whole document."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]


def _found(holder: Any, path: Sequence[str]) -> Any:
    for step in path:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    return holder


def _put(holder: Any, path: Sequence[str], value: Any, *, inserts: bool) -> None:
    parent, last = _found(holder, path[:-1]), path[-1]
    if isinstance(parent, list):
        at = len(parent) if last == "-" else int(last)
        if not 0 <= at <= len(parent):
            raise IndexError(last)
        parent[at : at if inserts else at + 1] = [value]
    else:
        if not inserts:
            parent[last]
        parent[last] = value


def _take(holder: Any, path: Sequence[str]) -> Any:
    parent, last = _found(holder, path[:-1]), path[-1]
    return parent.pop(int(last) if isinstance(parent, list) else last)
