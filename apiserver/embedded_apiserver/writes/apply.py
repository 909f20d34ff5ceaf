# SPDX-License-Identifier: Apache-2.0
"""Server-side apply: merges a manager's configuration into an object and removes what it no longer contains.

A manager owns the fields that it applied. A field that another manager owns with another value is a
conflict, unless `force` takes it over. A field to which both give the same value has both as owners.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from embedded_apiserver import status
from embedded_apiserver.bounds import MOST_TOLD, abbreviated, told
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.metadata import CLIENT_METADATA
from embedded_apiserver.typed import documents, mismatches
from embedded_apiserver.typed.body import IGNORE, STRICT, configuration, empty
from embedded_apiserver.typed.decoding_errors import conversion_error
from embedded_apiserver.typed.fieldset import NOTHING, Fields, Path, decode, encode, message_order, text_of
from embedded_apiserver.typed.fieldtree import ambiguities, fields_of, merged, with_parents, without
from embedded_apiserver.typed.shape import Misshapen
from embedded_apiserver.writes import last_applied
from embedded_apiserver.writes.entries import UPDATE, Entry, Object, entries_of, in_order
from embedded_apiserver.writes.managed import Writer, changes_of, created, is_ownable, less
from embedded_apiserver.writes.versions import NotComparable, check_existing, check_prunable, comparable

# The owner that a real server records for the fields of an object that was never tracked, when something is
# applied to it for the first time. Without it, those fields would have no owner and the apply no conflict.
_BEFORE = Writer("before-first-apply")
_METADATA: Path = ("f:metadata",)
Result = TypeVar("Result")


class Applied(NamedTuple):
    """The result of a server-side apply.

    Attributes:
        obj: The object with the configuration merged into it, not validated yet: pass it to `admit`.
        entries: The new `managedFields`.
    """

    obj: dict[str, Any]
    entries: Sequence[Entry]


_IDENTITY = ("name", "namespace", "uid", "resourceVersion")


def status_applied(config: Object) -> dict[str, Any]:
    """Return the part of an applied configuration that can change a custom object through its `status` subresource.

    The result has no `spec`, and of the metadata only the identifying fields.
    """
    metadata = {name: value for name, value in config["metadata"].items() if name in _IDENTITY}
    return {**{name: value for name, value in config.items() if name != "spec"}, "metadata": metadata}


def read(kind: Kind, body: bytes, field_validation: str) -> tuple[Object, list[str]]:
    """Return the configuration in a request's body, without kind and apiVersion, and the warnings about it.

    Args:
        kind: The kind in the request's path.
        body: The body in YAML or JSON.
        field_validation: `Strict` refuses a repeated field name, `Ignore` suppresses the warning.

    Raises:
        StatusError: 400, the body is not a configuration of this kind; 413, it contains too many values; 500 (as from a
            real API server), it has an unknown field, a value of a wrong type, or a list with elements that have equal
            keys or none.
    """
    try:
        raw, repeated = documents.from_json(body) if body.lstrip()[:1] == b"{" else documents.from_yaml(body)
    except documents.Unreadable as error:
        raise status.bad_request(f"error decoding YAML: {error}") from error
    if repeated and field_validation == STRICT:
        raise status.bad_request(f"error strict decoding YAML: {', '.join(repeated)}")
    _check(kind, raw)
    try:
        config, unknown = configuration(kind, raw)
    except Misshapen as error:
        _check_types(kind, raw)
        fault = conversion_error(kind.schema, raw) if kind.definition is None else ""
        raise _unconverted(kind, raw, fault or str(error)) from error
    # The types of a built-in kind are known to be right now, unless a list has elements that cannot be told apart.
    if kind.definition is not None or unknown or next(ambiguities(kind.schema, config), None) is not None:
        _check_types(kind, raw)
    documents.check_weight(config, len(body))
    return {**config, "metadata": config.get("metadata") or {}}, [] if field_validation == IGNORE else repeated


def _check_types(kind: Kind, raw: Mapping[str, Any]) -> None:
    """Refuse a configuration with values that have no place in the kind's schema."""
    bare = {name: value for name, value in raw.items() if name not in ("kind", "apiVersion")}
    first, more = told(mismatches.errors(kind.schema, bare))
    if first:
        faults = [*map(abbreviated, first), *([more] if more else [])]
        text = faults[0] if len(faults) == 1 else "\n  ".join(["errors:", *faults])
        raise status.untyped(f"failed to create typed patch object ({_shown(kind, raw)}): {text}")


def _unconverted(kind: Kind, raw: Mapping[str, Any], fault: str) -> status.StatusError:
    """Return the refusal of a value that has the right type, but is not among the values of its field."""
    failure = f"unable to convert unstructured object to {_version(kind)}: {fault}"
    return status.untyped(f"failed to convert new object ({_shown(kind, raw)}) to proper version: {failure}")


def _shown(kind: Kind, raw: Mapping[str, Any]) -> str:
    """Return how messages name a configuration: with the namespace and the name that it has itself."""
    metadata = raw.get("metadata")
    about = metadata if isinstance(metadata, Mapping) else {}
    return f"{about.get('namespace') or ''}/{about.get('name') or ''}; {_version(kind)}"


def _version(kind: Kind) -> str:
    return f"{'' if kind.group else '/'}{kind.api_version}, Kind={kind.kind}"


def _check(kind: Kind, raw: Mapping[str, Any]) -> None:
    version, name = raw.get("apiVersion"), raw.get("kind")
    if version != kind.api_version or name != kind.kind:
        slash = "" if "/" in str(version) else "/"
        raise status.bad_request(f"invalid object type: {slash}{version or ''}, Kind={name or ''}")
    metadata = raw.get("metadata") or {}
    if type(metadata) is dict and metadata.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")


def apply_first(kind: Kind, config: Object, writer: Writer, now: datetime) -> Applied:
    """Return the result of applying a configuration when no object of that name exists."""
    obj = merged(kind.schema, empty(kind), config)
    owned = _owned(kind, config, writer)
    return Applied(obj, [writer.entry(kind, owned, now)] if owned else [])


def apply(
    kind: Kind, live: Object, config: Object, writer: Writer, *, force: bool, now: datetime, size: int = 0
) -> Applied:
    """Return `live` with a configuration merged into it, and without the fields that only the manager's last
    configuration had.

    Args:
        kind: The object's kind.
        live: The stored object. It is not modified; the result shares the unchanged parts.
        config: The configuration, as returned by `read`.
        writer: The field manager that applies the configuration.
        force: True to take over fields that other managers own with other values. If False, they are a conflict.
        now: The time of the manager's entry in `managedFields`.
        size: The size of object and configuration together, in bytes. The number of values is checked only if `size` is
            large.

    Raises:
        StatusError: 413, the result has too many values; 409, a conflict, whose causes name the fields; 500, the object
            cannot be converted to an API version in its `managedFields`.
    """
    if not (entries := entries_of(live)):
        _convertible(lambda: check_existing(kind, live))
        entries = created(kind, live, _BEFORE._replace(subresource=writer.subresource), now)
    entries = _comparable(kind, entries, live)
    others = [entry for entry in entries if not writer.owns(kind, entry)]
    last = [entry for entry in entries if writer.owns(kind, entry)]
    before = NOTHING.union(*(decode(entry["fieldsV1"]) for entry in last))
    owned = _owned(kind, config, writer)
    target = merged(kind.schema, live, config)
    documents.check_weight(target, size)
    _convertible(lambda: check_prunable(kind, last, others, target))
    still_owned = owned.union(*(decode(entry["fieldsV1"]) for entry in others))
    target = without(kind.schema, target, encode(_given_up(kind, before, still_owned)))
    _comparable(kind, others, live, target)
    changes = changes_of(kind, live, target, writer)
    if not force:
        # Fields that kubectl set by client-side apply and that still have its value do not conflict: the
        # same manager owns them under the operation Update.
        taken = changes.taken - last_applied.unchanged_since(kind, live, writer.manager)
        _refuse_conflicts(others, taken, writer.subresource)
    rest = [entry for other in others if (entry := less(other, changes.taken | changes.removed)) is not None]
    mine = [writer.entry(kind, owned, now)] if owned else []
    if mine and target == live:
        mine = [_as_of(mine[0], last[0] if last else {})]
    annotated = last_applied.with_annotation(kind, live, target, config, writer.manager)
    return Applied(annotated, in_order([*rest, *mine]))


def _comparable(kind: Kind, entries: Sequence[Entry], live: Object, target: Object | None = None) -> Sequence[Entry]:
    return _convertible(lambda: comparable(kind, entries, live, target))


def is_untidy(kind: Kind, applied: Object) -> bool:
    """Return whether an applied object is stored with empty metadata fields; see `Stored.is_untidy`."""
    return kind.definition is not None and any(applied["metadata"].get(name) in ({}, []) for name in CLIENT_METADATA)


def _convertible(do: Callable[[], Result]) -> Result:
    try:
        return do()
    except NotComparable as error:
        raise status.untyped(str(error)) from error


def _as_of(entry: Entry, before: Entry) -> Entry:
    """Return an entry with the time of the manager's last one: an apply that changes no field is not dated."""
    undated = {name: value for name, value in entry.items() if name != "time"}
    return {**undated, "time": before["time"]} if "time" in before else undated


def _owned(kind: Kind, config: Object, writer: Writer) -> Fields:
    return frozenset(path for path in fields_of(kind.schema, config) if is_ownable(kind, writer, path))


def _given_up(kind: Kind, before: Fields, still_owned: Fields) -> Fields:
    """Return the fields that a manager applied before and that no manager owns now, with parents left empty.

    `metadata` is never one of them: each object has it, even if no manager owns a field in it.
    """
    return with_parents(kind.schema, before) - with_parents(kind.schema, still_owned) - {_METADATA}


def _refuse_conflicts(others: Sequence[Entry], taken: set[Path], subresource: str) -> None:
    """Refuse a configuration that sets fields of other managers. In a scale, they are fields of the scale."""
    conflicts: dict[str, Sequence[Path]] = {}
    more = 0
    # A large object can have far more conflicts than a message may list: only those listed are sorted and formatted.
    for entry in others:
        fields = decode(entry["fieldsV1"]) & taken
        left = MOST_TOLD - sum(map(len, conflicts.values()))
        if fields and left:
            shown = {**entry, "apiVersion": SCALE.api_version} if subresource == "scale" else entry
            conflicts[_title(shown)] = heapq.nsmallest(left, fields, key=message_order)
        more += max(0, len(fields) - left)
    if conflicts:
        texts = {title: [abbreviated(text_of(path)) for path in paths] for title, paths in conflicts.items()}
        if subresource == "scale":
            texts = {title: [".spec.replicas"] for title in texts}
        raise _conflict(texts, more)


def _conflict(conflicts: Mapping[str, Sequence[str]], more: int) -> status.StatusError:
    """Return a 409 error for an applied configuration that conflicts with other managers.

    Args:
        conflicts: The fields in conflict by manager, as text.
        more: How many further fields are not listed.
    """
    pairs = [(manager, field) for manager, fields in conflicts.items() for field in fields]
    if len(pairs) + more == 1:
        text = f"1 conflict: conflict with {pairs[0][0]}: {pairs[0][1]}"
    else:
        lines = [f"conflicts with {manager}:\n- " + "\n- ".join(conflicts[manager]) for manager in sorted(conflicts)]
        text = f"{len(pairs) + more} conflicts: " + "\n".join([*lines, *([f"and {more:,} more"] if more else [])])
    causes = [
        status.Cause("FieldManagerConflict", f"conflict with {manager}", field)._asdict() for manager, field in pairs
    ]
    return status.StatusError(409, "Conflict", f"Apply failed with {text}", details={"causes": causes})


def _title(entry: Entry) -> str:
    """Return an entry's manager in the form in which conflict messages name it."""
    title = json.dumps(entry.get("manager", ""), ensure_ascii=False)
    if part := entry.get("subresource"):
        title += f' with subresource "{part}"'
    return f"{title} using {entry['apiVersion']}" if entry["operation"] == UPDATE else title
