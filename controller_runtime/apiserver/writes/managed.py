# SPDX-License-Identifier: Apache-2.0
"""Who owns which field: what a create or an update does to an object's `managedFields`.

The writer gains what it adds and changes, others lose that, and everybody loses what is
removed. Entries are handled as they stand in the object; one whose fields stay the same
is not decoded, so that a renewal costs no more than finding out what it renews.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from controller_runtime.api.objects import timestamp
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.kinds.metadata import CLIENT_METADATA
from controller_runtime.apiserver.options import MANAGER_LENGTH
from controller_runtime.apiserver.writes.body import empty
from controller_runtime.apiserver.writes.fieldset import NOTHING, Fields, Path, contains, decode, encode, field_step
from controller_runtime.apiserver.writes.fieldtree import ABSENT, Changes, child_of, compare

APPLY, UPDATE = "Apply", "Update"
_ANCIENT = "ancient-changes"
_MOST_UPDATERS = 10
_FEW = 64  # fields that are looked up one by one, without decoding the set they are looked for in
_UNKNOWN = "unknown"

Object = Mapping[str, Any]
Entry = Mapping[str, Any]
"""One element of `managedFields`, as it stands in the object."""

Show = Callable[[Object], Object]


def _itself(obj: Object) -> Object:
    return obj


class Writer(NamedTuple):
    """Who writes, and through which door.

    Attributes:
        manager: Its name; empty is `unknown`.
        operation: `Apply` or `Update`.
        subresource: The part of the object written to, empty for the whole.
    """

    manager: str
    operation: str = UPDATE
    subresource: str = ""

    def owns(self, kind: Kind, entry: Entry) -> bool:
        """Whether `entry` is this writer's own. Who applies has one, whatever version it applies in."""
        mine = (self.manager or _UNKNOWN, self.operation, self.subresource)
        if mine != (entry.get("manager", ""), entry.get("operation"), entry.get("subresource", "")):
            return False
        return self.operation == APPLY or entry.get("apiVersion") == kind.api_version

    def entry(self, kind: Kind, fields: Fields, now: datetime) -> Entry:
        """The entry that says this writer owns `fields`."""
        entry = {
            "manager": self.manager or _UNKNOWN,
            "operation": self.operation,
            "apiVersion": kind.api_version,
            "time": timestamp(now),
            "fieldsType": "FieldsV1",
            "fieldsV1": encode(fields),
        }
        return {**entry, "subresource": self.subresource} if self.subresource else entry


def manager_from(user_agent: str) -> str:
    """The manager that a client is which gives no name: its User-Agent up to the first slash, as far as it fits."""
    name = user_agent.partition("/")[0]
    if name.isprintable() and name.isascii() and len(name) <= MANAGER_LENGTH:
        return name
    printable = "".join(filter(str.isprintable, name))
    return printable.encode()[:MANAGER_LENGTH].decode(errors="ignore")


def entries_of(obj: Object) -> Sequence[Entry]:
    """The `managedFields` of an object."""
    entries: Sequence[Entry] = obj["metadata"].get("managedFields", ())
    return entries


def with_entries(obj: Object, entries: Sequence[Entry]) -> dict[str, Any]:
    """`obj` with other `managedFields`."""
    metadata = {**obj["metadata"], "managedFields": entries}
    if not entries:
        del metadata["managedFields"]
    return {**obj, "metadata": metadata}


def is_ownable(kind: Kind, writer: Writer, path: Path) -> bool:
    """Whether a field can be owned through this door: not the server's own metadata, and nothing written elsewhere."""
    part = path[0][2:]
    if part == "metadata":
        return len(path) > 1 and path[1][2:] in CLIENT_METADATA
    return part not in _elsewhere(kind, writer)


def _elsewhere(kind: Kind, writer: Writer) -> tuple[str, ...]:
    """The parts that this writer's path does not write."""
    if not kind.has_status:
        return ()
    return ("spec",) if writer.subresource == "status" else ("status",)


def changes_of(kind: Kind, old: Object, new: Object, writer: Writer) -> Changes:
    """How two states differ in what can be owned through this door."""
    changes = Changes(set(), set(), set())
    declared, elsewhere = kind.schema.properties, _elsewhere(kind, writer)
    # Where a custom kind lets null be, it is a value; elsewhere it is a time that was never set.
    present = _of if kind.definition is None else _in
    for name in {**old, **new}:
        if name != "metadata" and name not in elsewhere:
            path = (field_step(name),)
            compare(child_of(kind.schema, name), present(old, name), present(new, name), path, changes)
    before, after = old.get("metadata", {}), new.get("metadata", {})
    for name in CLIENT_METADATA:
        if name in before or name in after:
            schema, place = declared["metadata"].properties[name], ("f:metadata", field_step(name))
            compare(schema, _of(before, name), _of(after, name), place, changes)
    return changes


def _of(obj: Object, name: str) -> Any:
    value = obj.get(name)
    return ABSENT if value is None else value


def _in(obj: Object, name: str) -> Any:
    return obj.get(name, ABSENT)


def created(kind: Kind, obj: Object, writer: Writer, now: datetime) -> Sequence[Entry]:
    """The entries of a new object: all that it says is its creator's.

    Args:
        kind: What it is.
        obj: As its creator has it, with defaults, but without what the server adds of its own.
        writer: Its creator.
        now: When.
    """
    taken = changes_of(kind, empty(kind), obj, writer).taken
    return [writer.entry(kind, frozenset(taken), now)] if taken else []


def updated(
    kind: Kind, old: Object, new: Object, sent: Object, writer: Writer, now: datetime, show: Show = _itself
) -> Object:
    """`new` with the entries that follow from what changed; equal to `old` if nothing but times would.

    An object nobody has owned anything of stays so until something is applied to it.

    Args:
        kind: What it is.
        old: As stored.
        new: As it will be, with `old`'s entries.
        sent: As the client has it: it may set other entries, or clear them.
        writer: The client.
        now: When.
        show: From a stored object to the kind's own words, in which fields are owned.
    """
    before = entries_of(old)
    base = _base(before, sent["metadata"].get("managedFields"), writer)
    if new == old or not base:
        return settled(old, new, base)
    changes = changes_of(kind, show(old), show(new), writer)
    return with_entries(new, _with_changes(kind, base, changes, writer, now))


def settled(old: Object, new: Object, entries: Sequence[Entry]) -> Object:
    """`new` with `entries`; equal to `old` if the two differ in the times of entries at most."""
    before = entries_of(old)
    if entries is before or (new == old and _timeless(entries) == _timeless(before)):
        return new
    return with_entries(new, entries)


def _timeless(entries: Sequence[Entry]) -> list[Entry]:
    return [{**entry, "time": ""} for entry in entries]


def _base(before: Sequence[Entry], sent: Sequence[Entry] | None, writer: Writer) -> Sequence[Entry]:
    """The entries to start from: the stored ones, unless the client sends others that make sense."""
    if sent is None or sent is before or sent == before or writer.subresource:
        return before
    if sent in ([], [{}]):
        return []
    return _read(sent) or before


def _read(entries: Sequence[Entry]) -> list[Entry]:
    """Entries as a client sends them, their fields spelled in one way; none if one of them makes no sense."""
    try:
        return [entry for entry in map(_checked, entries) if entry["fieldsV1"]]
    except ValueError:
        return []


def _checked(entry: Entry) -> Entry:
    if entry.get("operation") not in (APPLY, UPDATE) or not entry.get("apiVersion"):
        raise ValueError("neither applied nor updated, or in no version")
    if entry.get("fieldsType") != "FieldsV1":
        raise ValueError("not told as FieldsV1")
    return {**entry, "fieldsV1": encode(decode(entry.get("fieldsV1", {})))}


def _with_changes(
    kind: Kind, base: Sequence[Entry], changes: Changes, writer: Writer, now: datetime
) -> Sequence[Entry]:
    taken = changes.taken
    mine: Entry | None = None
    kept: list[Entry] = []
    for entry in base:
        if writer.owns(kind, entry):
            mine = less(entry, changes.removed)
        elif (rest := less(entry, taken | changes.removed)) is not None:
            kept.append(rest)
    if taken:
        mine = _more(kind, mine, taken, writer, now)
    if mine is not None:
        kept.append(mine)
    return in_order(_capped(kept))


def less(entry: Entry, lost: set[Path]) -> Entry | None:
    """`entry` without some fields, itself if it has none of them, None if nothing is left."""
    if not lost or (len(lost) <= _FEW and not any(contains(entry["fieldsV1"], path) for path in lost)):
        return entry
    fields = decode(entry["fieldsV1"])
    rest = fields - lost
    if len(rest) == len(fields):
        return entry
    return {**entry, "fieldsV1": encode(rest)} if rest else None


def _more(kind: Kind, entry: Entry | None, gained: set[Path], writer: Writer, now: datetime) -> Entry:
    if entry is not None and all(contains(entry["fieldsV1"], path) for path in gained):
        return {**entry, "time": timestamp(now)}
    owned = NOTHING if entry is None else decode(entry["fieldsV1"])
    return writer.entry(kind, owned | gained, now)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """The entries as they are told: what was applied first, then by time."""
    return sorted(entries, key=_place) if len(entries) > 1 else list(entries)


def _place(entry: Entry) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in ("operation", "time", "manager", "apiVersion", "subresource"))


def _capped(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries, the oldest of too many updaters merged into one for each version."""
    if len(entries) <= _MOST_UPDATERS:
        return entries
    applied = [entry for entry in entries if entry["operation"] == APPLY]
    updaters = in_order([entry for entry in entries if entry["operation"] == UPDATE])
    return applied + _merged(updaters, len(updaters) - _MOST_UPDATERS)


def _merged(updaters: Sequence[Entry], times: int) -> list[Entry]:
    """Return the entries after merging, `times` times at most, the two oldest entries of one version.

    An entry that has been merged before counts as the oldest.
    """
    left: dict[int, Entry] = dict(enumerate(updaters))
    oldest = {one["apiVersion"]: index for index, one in left.items() if one.get("manager") == _ANCIENT}
    fields: dict[str, set[Path]] = {}  # of what is merged, by version
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
