# SPDX-License-Identifier: Apache-2.0
"""Field ownership: how a create or an update changes an object's `managedFields`.

The writer becomes the owner of each field that it adds or changes, and the other managers lose that
field. A removed field has no owner. An entry whose fields stay the same is neither decoded nor
encoded: most writes are renewals and status updates that change a few fields of a large object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from apimachinery.objects import timestamp
from embedded_apiserver.groups.autoscaling.kinds import AUTOSCALER, OLD_AUTOSCALER
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.options import MANAGER_LENGTH
from embedded_apiserver.scale import replicas_of
from embedded_apiserver.typed.body import empty
from embedded_apiserver.typed.fieldset import NOTHING, Fields, Path, contains, decode, encode, field_step
from embedded_apiserver.typed.fieldtree import ABSENT, Changes, child_of, compare
from embedded_apiserver.writes.entries import (
    APPLY,
    UPDATE,
    Entry,
    Object,
    capped,
    entries_of,
    in_order,
    with_entries,
)
from embedded_apiserver.writes.ownable import elsewhere, is_reset, metadata_of, without_reset
from embedded_apiserver.writes.versions import NotComparable, comparable, is_typed

# Up to this many fields are looked up one by one in an encoded set. For more, the set is decoded at once.
_FEW = 64
_UNKNOWN = "unknown"

Show = Callable[[Object], Object]


def _itself(obj: Object) -> Object:
    return obj


class Writer(NamedTuple):
    """A field manager, the operation by which it writes, and the subresource.

    Attributes:
        manager: The name of the field manager. An empty name is recorded as `unknown`.
        operation: `Apply` or `Update`.
        subresource: The written subresource; empty for the object itself.
    """

    manager: str
    operation: str = UPDATE
    subresource: str = ""

    def owns(self, kind: Kind, entry: Entry) -> bool:
        """Return whether an entry in `managedFields` belongs to this writer.

        A manager has one entry for server-side apply in all API versions, and one entry for updates in each API
        version.
        """
        mine = (self.manager or _UNKNOWN, self.operation, self.subresource)
        if mine != (entry.get("manager", ""), entry.get("operation"), entry.get("subresource", "")):
            return False
        return self.operation == APPLY or entry.get("apiVersion") == kind.api_version

    def entry(self, kind: Kind, fields: Fields, now: datetime) -> Entry:
        """Return an entry for `managedFields` that records this writer as the owner of `fields`, at the time `now`."""
        entry: dict[str, Any] = {
            "manager": self.manager or _UNKNOWN,
            "operation": self.operation,
            "apiVersion": kind.api_version,
            **self.time(now),
            "fieldsType": "FieldsV1",
            "fieldsV1": encode(fields),
        }
        return {**entry, "subresource": self.subresource} if self.subresource else entry

    def time(self, now: datetime) -> Entry:
        """Return the field `time` of an entry as a dict; empty for a write through `scale`, as in a real API server."""
        return {} if self.subresource == "scale" else {"time": timestamp(now)}


def manager_from(user_agent: str) -> str:
    """Return the default field manager: the User-Agent up to its first slash, truncated to the allowed length.

    Unprintable characters are removed, because a manager's name must not contain any.
    """
    name = user_agent.partition("/")[0]
    if name.isprintable() and name.isascii() and len(name) <= MANAGER_LENGTH:
        return name
    # The limit is in bytes. The cut can split a character, whose first bytes are then dropped.
    printable = "".join(filter(str.isprintable, name))
    return printable.encode()[:MANAGER_LENGTH].decode(errors="ignore")


def is_ownable(kind: Kind, writer: Writer, path: Path) -> bool:
    """Return whether `writer` can own the field at `path`: not if only the server or another subresource can write
    it.
    """
    part = path[0][2:]
    if part == "metadata":
        return len(path) > 1 and path[1][2:] in metadata_of(kind, writer.subresource)
    return part not in elsewhere(kind, writer.subresource) and not is_reset(kind, writer.subresource, path)


def changes_of(kind: Kind, old: Object, new: Object, writer: Writer) -> Changes:
    """Return the differences between two states of an object, limited to the fields that `writer` can own."""
    changes = Changes(set(), set(), set())
    declared, others = kind.schema.properties, elsewhere(kind, writer.subresource)
    for name in {**old, **new}:
        if name != "metadata" and name not in others:
            path = (field_step(name),)
            compare(child_of(kind.schema, name), _in(old, name), _in(new, name), path, changes)
    before, after = old.get("metadata", {}), new.get("metadata", {})
    for name in metadata_of(kind, writer.subresource):
        if name in before or name in after:
            schema, place = declared["metadata"].properties[name], ("f:metadata", field_step(name))
            compare(schema, _of(before, name), _of(after, name), place, changes)
    return without_reset(kind, writer.subresource, changes)


def _of(obj: Object, name: str) -> Any:
    value = obj.get(name)
    return ABSENT if value is None else value


def _in(obj: Object, name: str) -> Any:
    return obj.get(name, ABSENT)


def created(kind: Kind, obj: Object, writer: Writer, now: datetime) -> Sequence[Entry]:
    """Return the `managedFields` of a new object: its creator owns all fields in the request, and all defaults.

    Args:
        kind: The object's kind.
        obj: The object with defaults, but without the fields that the server sets.
        writer: The field manager that creates the object.
        now: The time of the new entry.
    """
    taken = changes_of(kind, empty(kind), completed(kind, obj), writer).taken
    return [writer.entry(kind, frozenset(taken), now)] if taken and is_typed(kind, obj) else []


def completed(kind: Kind, obj: Object) -> Object:
    """Return an object with the fields that follow from its other fields, such as annotations of an autoscaler in
    `v1`.
    """
    if kind != OLD_AUTOSCALER:
        return obj
    return kind.policy.shown_form({**obj, **kind.policy.stored_form(obj)})


def updated(
    kind: Kind, old: Object, new: Object, sent: Object, writer: Writer, now: datetime, show: Show = _itself
) -> Object:
    """Return `new` with the `managedFields` that follow from its changes, or `old` if only times of entries would
    change.

    As in a real API server, an update adds no entries to an object that has none: only server-side apply begins to
    track it. A client can stop the tracking by sending an empty list.

    Args:
        kind: The object's kind.
        old: The stored object.
        new: The object to be stored, still with the entries of `old`.
        sent: The object from the client with its defaults, in the form that clients see. Its differences from `old`
            determine the ownership, even if they are not stored. It may also replace or remove the entries.
        writer: The field manager that updates the object.
        now: The time of new entries.
        show: A function that converts a stored object to the form that clients see, in which fields are owned.
    """
    before = entries_of(old)
    base = _base(kind, before, sent["metadata"].get("managedFields"), writer)
    if not base:
        return settled(old, new, base)
    shown = show(old)
    sent = completed(kind, sent)
    try:
        base = comparable(kind, base, shown, sent)
    except NotComparable:
        return settled(old, new, [])  # as in a real server, which gives up the ownership of all fields
    changes = changes_of(kind, shown, sent, writer)
    if writer.subresource == "scale":
        changes = _through_scale(base, changes, replicas_of(kind, sent))
    lost = _lost_elsewhere(kind, base, old, new, writer)
    return settled(old, new, _with_changes(kind, base, changes, writer, now, lost))


def _lost_elsewhere(
    kind: Kind, base: Sequence[Entry], old: Object, new: Object, writer: Writer
) -> Mapping[str, set[Path]]:
    """Return what the owners of fields of an autoscaler in its other API version lose, by that version."""
    if kind.stored != AUTOSCALER:
        return {}
    lost: dict[str, set[Path]] = {}
    old = kind.policy.stored_form(kind.policy.shown_form(old))  # as `new` it has been in the version of the write
    for other in (AUTOSCALER, OLD_AUTOSCALER):
        if other != kind and any(entry["apiVersion"] == other.api_version for entry in base):
            show = other.policy.shown_form
            changes = changes_of(other, show(old), show(new), writer)
            lost[other.api_version] = changes.taken | changes.removed
    return lost


def _through_scale(base: Sequence[Entry], changes: Changes, replicas: object) -> Changes:
    """Return changes as a real API server sees them in a scale.

    There, no replicas are a missing field, and a number that no manager owns is not tracked.
    """
    changed = changes.taken | changes.removed
    if not any(contains(entry["fieldsV1"], path) for entry in base for path in changed):
        return Changes(set(), set(), set())
    return changes if replicas else Changes(set(), set(), changed)


def settled(old: Object, new: Object, entries: Sequence[Entry]) -> Object:
    """Return `new` with `entries` as its `managedFields`, or equal to `old` if only the times of entries differ.

    So a write that changes nothing keeps the resourceVersion and causes no watch event.
    """
    before = entries_of(old)
    if entries is before or (new == old and _timeless(entries) == _timeless(before)):
        return new
    return with_entries(new, entries)


def _timeless(entries: Sequence[Entry]) -> list[Entry]:
    return [{**entry, "time": ""} for entry in entries]


def _base(kind: Kind, before: Sequence[Entry], sent: Sequence[Entry] | None, writer: Writer) -> Sequence[Entry]:
    """Return the entries to start from: the stored ones, unless the client sends other valid ones.

    An update of a subresource cannot set them. `[]` and `[{}]` clear them, as in a real API server, which takes an
    empty list in a custom object for none.
    """
    if sent is None or sent is before or sent == before or writer.subresource:
        return before
    if sent == [{}] or (sent == [] and kind.definition is None):
        return []
    return _read(sent) or before


def _read(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that a client sent, with steps in canonical spelling; none if one of them is invalid."""
    try:
        return [entry for entry in map(_checked, entries) if entry["fieldsV1"]]
    except ValueError:
        return []


def _checked(entry: Entry) -> Entry:
    if entry.get("operation") not in (APPLY, UPDATE) or not entry.get("apiVersion"):
        raise ValueError("the operation is neither Apply nor Update, or there is no apiVersion")
    if entry.get("fieldsType") != "FieldsV1":
        raise ValueError("the fieldsType is not FieldsV1")
    return {**entry, "fieldsV1": encode(decode(entry.get("fieldsV1", {})))}


def _with_changes(
    kind: Kind, base: Sequence[Entry], changes: Changes, writer: Writer, now: datetime, lost: Mapping[str, set[Path]]
) -> Sequence[Entry]:
    taken = changes.taken
    mine: Entry | None = None
    rest: list[Entry] = []
    for entry in base:
        if writer.owns(kind, entry):
            mine = less(entry, changes.removed)
        elif (left := less(entry, lost.get(entry["apiVersion"], taken | changes.removed))) is not None:
            rest.append(left)
    if taken:
        mine = _more(kind, mine, taken, writer, now)
    if mine is not None:
        rest.append(mine)
    return in_order(capped(rest))


def less(entry: Entry, lost: set[Path]) -> Entry | None:
    """Return `entry` without the fields `lost`; `entry` itself if it has none of them, None if no field is left."""
    if not lost or (len(lost) <= _FEW and not any(contains(entry["fieldsV1"], path) for path in lost)):
        return entry
    fields = decode(entry["fieldsV1"])
    rest = fields - lost
    if len(rest) == len(fields):
        return entry
    return {**entry, "fieldsV1": encode(rest)} if rest else None


def _more(kind: Kind, entry: Entry | None, gained: set[Path], writer: Writer, now: datetime) -> Entry:
    # Most updates change fields that their writer owns already: then only the time is new.
    if entry is not None and all(contains(entry["fieldsV1"], path) for path in gained):
        return {**entry, **writer.time(now)}
    owned = NOTHING if entry is None else decode(entry["fieldsV1"])
    return writer.entry(kind, owned | gained, now)
