# SPDX-License-Identifier: Apache-2.0
"""The list of entries in `managedFields`: its order, and the limit to its length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from embedded_apiserver.typed.fieldset import Fields, Path, decode, encode

APPLY, UPDATE = "Apply", "Update"
# A real server merges the oldest update entries beyond ten into entries of this name, so that an object
# that many clients write does not grow without bound.
_ANCIENT = "ancient-changes"
_MOST_UPDATERS = 10

Object = Mapping[str, Any]
Entry = Mapping[str, Any]
"""One element of `managedFields`, as it is stored in the object."""


def entries_of(obj: Object) -> Sequence[Entry]:
    """Return the entries in the `managedFields` of an object."""
    entries: Sequence[Entry] = obj["metadata"].get("managedFields", ())
    return entries


def with_entries(obj: Object, entries: Sequence[Entry]) -> dict[str, Any]:
    """Return `obj` with `entries` as its `managedFields`."""
    metadata = {**obj["metadata"], "managedFields": entries}
    if not entries:
        del metadata["managedFields"]
    return {**obj, "metadata": metadata}


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of `managedFields` in the order of a real API server.

    Entries of server-side apply come first, then the others; each group is sorted by time, manager, API version and
    subresource.
    """
    return sorted(entries, key=_place) if len(entries) > 1 else list(entries)


def _place(entry: Entry) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in ("operation", "time", "manager", "apiVersion", "subresource"))


def capped(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return all entries of server-side apply and at most ten others; the oldest others are merged by API version.

    There are more than ten others only if they have more than ten API versions.
    """
    if len(entries) <= _MOST_UPDATERS:
        return entries
    applied = [entry for entry in entries if entry["operation"] == APPLY]
    updaters = in_order([entry for entry in entries if entry["operation"] == UPDATE])
    return applied + _merged(updaters, len(updaters) - _MOST_UPDATERS)


def _merged(updaters: Sequence[Entry], times: int) -> list[Entry]:
    """Return the entries after at most `times` merges, each of the two oldest entries of one API version.

    Field paths of different API versions cannot be merged. The result of an earlier merge counts as the oldest entry
    of its API version, so that each API version has at most one such result.
    """
    left: dict[int, Entry] = dict(enumerate(updaters))
    oldest = {one["apiVersion"]: index for index, one in left.items() if one.get("manager") == _ANCIENT}
    fields: dict[str, set[Path]] = {}  # the union of merged entries by API version, encoded once at the end
    for index, entry in enumerate(updaters):
        version = entry["apiVersion"]
        if times <= 0:
            break
        if index not in left or (older := oldest.setdefault(version, index)) == index:
            continue
        owned = fields.setdefault(version, set())
        owned |= decode(entry["fieldsV1"])
        owned |= decode(updaters[older]["fieldsV1"])
        del left[older]
        oldest[version] = index
        times -= 1
    for version, owned in fields.items():
        left[oldest[version]] = _ancient(updaters[oldest[version]], frozenset(owned))
    return list(left.values())


def _ancient(entry: Entry, fields: Fields) -> Entry:
    whole = {**entry, "manager": _ANCIENT, "fieldsV1": encode(fields)}
    return {name: value for name, value in whole.items() if name != "subresource"}
