# SPDX-License-Identifier: Apache-2.0
"""Server-side apply: what a manager says of an object becomes true, and what it no longer says is taken back.

A manager owns what it applied. A field that another manager owns with another value is a
conflict, unless force takes it over; equal values are owned together.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from controller_runtime.apiserver import status
from controller_runtime.apiserver.bounds import MOST_TOLD, abbreviated, told
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.shape import Misshapen, Place, path_of
from controller_runtime.apiserver.writes import documents, last_applied
from controller_runtime.apiserver.writes.body import IGNORE, STRICT, configuration, empty
from controller_runtime.apiserver.writes.fieldset import NOTHING, Fields, Path, decode, encode, message_order, text_of
from controller_runtime.apiserver.writes.fieldtree import (
    ambiguities,
    fields_of,
    keyed_path,
    merged,
    with_parents,
    without,
)
from controller_runtime.apiserver.writes.managed import (
    UPDATE,
    Entry,
    Object,
    Writer,
    changes_of,
    created,
    entries_of,
    in_order,
    is_ownable,
    less,
)

_BEFORE = Writer("before-first-apply")
_METADATA: Path = ("f:metadata",)


class Applied(NamedTuple):
    """What applying a configuration gives.

    Attributes:
        obj: The object with the configuration in it, not checked yet: give it to `admit`.
        entries: Who owns what from then on.
    """

    obj: dict[str, Any]
    entries: Sequence[Entry]


def read(kind: Kind, name: str, namespace: str, body: bytes, field_validation: str) -> tuple[Object, list[str]]:
    """The configuration in a request's body, without kind and apiVersion; and warnings.

    Args:
        kind: What the path says it is.
        name: Of the path.
        namespace: Of the path.
        body: YAML, or JSON, which is YAML.
        field_validation: `Strict` refuses names that stand there twice.

    Raises:
        StatusError: 400 for what is no configuration of this kind, 500 (as a real server has it) for
            fields that the kind does not have or that cannot be owned.
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
        raise _untyped(kind, name, namespace, [f".{error}"]) from error
    faults: Iterable[Place | str] = itertools.chain(unknown, ambiguities(kind.schema, config))
    first, more = told(faults)
    if first:
        texts = [abbreviated(one if isinstance(one, str) else _undeclared(kind, raw, one)) for one in first]
        raise _untyped(kind, name, namespace, [*texts, *([more] if more else [])])
    documents.check_weight(config, len(body))
    return {"metadata": {}, **config}, [] if field_validation == IGNORE else repeated


def _undeclared(kind: Kind, raw: Mapping[str, Any], place: Place) -> str:
    return f"{keyed_path(kind.schema, raw, f'.{path_of(place)}')}: field not declared in schema"


def _check(kind: Kind, raw: Mapping[str, Any]) -> None:
    version, name = raw.get("apiVersion"), raw.get("kind")
    if version != kind.api_version or name != kind.kind:
        slash = "" if "/" in str(version) else "/"
        raise status.bad_request(f"invalid object type: {slash}{version or ''}, Kind={name or ''}")
    metadata = raw.get("metadata") or {}
    if type(metadata) is dict and metadata.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")


def _untyped(kind: Kind, name: str, namespace: str, faults: Sequence[str]) -> status.StatusError:
    slash = "" if kind.group else "/"
    what = f"{namespace}/{name}; {slash}{kind.api_version}, Kind={kind.kind}"
    text = faults[0] if len(faults) == 1 else "\n  ".join(["errors:", *faults])
    return status.untyped(f"failed to create typed patch object ({what}): {text}")


def apply_first(kind: Kind, config: Object, writer: Writer, now: datetime) -> Applied:
    """The object that a configuration makes where there is none."""
    obj = merged(kind.schema, empty(kind), config)
    owned = _owned(kind, config, writer)
    return Applied(obj, [writer.entry(kind, owned, now)] if owned else [])


def apply(
    kind: Kind, live: Object, config: Object, writer: Writer, *, force: bool, now: datetime, size: int = 0
) -> Applied:
    """`live` with a configuration in it.

    Args:
        kind: What it is.
        live: As stored; not modified, and shared with the result where nothing changes.
        config: From `read`.
        writer: Who applies it.
        force: Take over what others own with another value.
        now: When.
        size: Bytes of both together: what is small is not looked at for how much it holds.

    Raises:
        StatusError: 413 for too many values; 409, with a cause for each field in conflict.
    """
    entries = entries_of(live) or created(kind, live, _BEFORE._replace(subresource=writer.subresource), now)
    others = [entry for entry in entries if not writer.owns(kind, entry)]
    before = NOTHING.union(*(decode(entry["fieldsV1"]) for entry in entries if writer.owns(kind, entry)))
    owned = _owned(kind, config, writer)
    target = merged(kind.schema, live, config)
    documents.check_weight(target, size)
    kept = owned.union(*(decode(entry["fieldsV1"]) for entry in others))
    target = without(kind.schema, target, encode(_given_up(kind, before, kept)))
    changes = changes_of(kind, live, target, writer)
    if not force:
        _refuse_conflicts(others, changes.taken - last_applied.unchanged_since(kind, live, writer.manager))
    rest = [entry for other in others if (entry := less(other, changes.taken | changes.removed)) is not None]
    mine = [writer.entry(kind, owned, now)] if owned else []
    noted = last_applied.noted_anew(kind, live, target, config, writer.manager)
    return Applied(noted, in_order([*rest, *mine]))


def _owned(kind: Kind, config: Object, writer: Writer) -> Fields:
    return frozenset(path for path in fields_of(kind.schema, config) if is_ownable(kind, writer, path))


def _given_up(kind: Kind, before: Fields, kept: Fields) -> Fields:
    """What a manager applied before and nobody owns any more, with the fields that held nothing else."""
    return with_parents(kind.schema, before) - with_parents(kind.schema, kept) - {_METADATA}


def _refuse_conflicts(others: Sequence[Entry], taken: set[Path]) -> None:
    conflicts: dict[str, Sequence[Path]] = {}
    more = 0
    for entry in others:
        fields = decode(entry["fieldsV1"]) & taken
        left = MOST_TOLD - sum(map(len, conflicts.values()))
        if fields and left:
            conflicts[_title(entry)] = heapq.nsmallest(left, fields, key=message_order)
        more += max(0, len(fields) - left)
    if conflicts:
        texts = {title: [abbreviated(text_of(path)) for path in paths] for title, paths in conflicts.items()}
        raise _conflict(texts, more)


def _conflict(conflicts: Mapping[str, Sequence[str]], more: int) -> status.StatusError:
    """409: an applied configuration disagrees with other managers; `conflicts` tells each one's fields.

    `more` is how many it does not tell.
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
    """An entry as messages name it."""
    title = json.dumps(entry.get("manager", ""), ensure_ascii=False)
    if part := entry.get("subresource"):
        title += f' with subresource "{part}"'
    return f"{title} using {entry['apiVersion']}" if entry["operation"] == UPDATE else title
