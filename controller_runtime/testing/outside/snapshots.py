# SPDX-License-Identifier: Apache-2.0
"""The states of an outside service as plain values, and the changes between them."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Mapping, Sequence, Set
from datetime import date, time
from typing import Any, NamedTuple

import attrs

Snapshot = Mapping[str, Any]
"""The items that an outside service holds, by name, as JSON values; one item named `""` if its state is no mapping."""

_ABSENT = object()


class Changed(NamedTuple):
    """An item of an outside service that has changed.

    Attributes:
        key: The name of the item.
        fields: The paths of the changed fields; empty if the item was created or deleted.
        creates: True if the item was created.
        deletes: True if the item was deleted.
    """

    key: str
    fields: tuple[str, ...] = ()
    creates: bool = False
    deletes: bool = False


def snapshot(state: object) -> Snapshot:
    """Return a copy of a state as JSON values, independent of later changes of the state."""
    if isinstance(state, Mapping):
        return {_key(key): _plain(value) for key, value in state.items()}
    return {"": _plain(state)}


def changes(before: Snapshot, after: Snapshot) -> list[Changed]:
    """Return the items that differ between two snapshots, sorted by name."""
    found = []
    for key in sorted({*before, *after}):
        old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
        if old is _ABSENT or new is _ABSENT:
            found.append(Changed(key, creates=old is _ABSENT, deletes=new is _ABSENT))
        elif old != new:
            found.append(Changed(key, tuple(_paths(old, new))))
    return found


def _key(key: object) -> str:
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _plain(value: object) -> Any:
    match value:
        case enum.Enum():
            return value.name
        case None | bool() | int() | float() | str():
            return value
        case date() | time():
            return value.isoformat()
        case Mapping():
            return {_key(key): _plain(part) for key, part in value.items()}
        case bytes() | bytearray():
            return repr(bytes(value))
        case Set():
            return sorted(map(_plain, value), key=repr)
        case Sequence():
            return [_plain(part) for part in value]
        case _:
            return {name: _plain(getattr(value, name)) for name in _fields(value)} or repr(value)


def _fields(value: object) -> list[str]:
    """Return the names of the fields of an object of attrs, of a dataclass, or of any other class with a dict."""
    kind: Any = type(value)
    if attrs.has(kind):
        return [field.name for field in attrs.fields(kind)]
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return [*getattr(value, "__dict__", ())]


def _paths(old: Any, new: Any, path: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            found
            for name in sorted({*old, *new})
            for found in _paths(old.get(name, _ABSENT), new.get(name, _ABSENT), f"{path}.{name}" if path else name)
        ]
    return [] if old == new else [path]
