# SPDX-License-Identifier: Apache-2.0
"""Which names of definitions are accepted: those that nobody in their group has, and who has one keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from controller_runtime.apiserver.kinds.custom import is_true
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.definition import with_condition
from controller_runtime.apiserver.rules.rules import Object

_OF_RESOURCES, _OF_KINDS = ("plural", "singular"), ("kind", "listKind")
_FIELDS = (*_OF_RESOURCES, "shortNames", *_OF_KINDS)


def with_names(definitions: Sequence[Object], others: Iterable[Kind], now: datetime) -> list[Object]:
    """The definitions with what came of their names in their status; each is equal to itself if that is known.

    Args:
        definitions: All of them, as stored.
        others: The kinds that are served without a definition.
        now: When.
    """
    named = list(definitions)
    served = tuple(others)
    for index, definition in enumerate(named):
        spec = definition["spec"]
        if spec["names"] == definition["status"]["acceptedNames"]:
            continue
        used = {name for kind in served if kind.group == spec["group"] for name in _names_of(kind)}
        for other in (*named[:index], *named[index + 1 :]):
            if other["spec"]["group"] == spec["group"]:
                used |= set(_accepted(other))
        named[index] = _judged(definition, used, now)
    return named


def _names_of(kind: Kind) -> tuple[str, ...]:
    return (kind.plural, kind.singular, kind.kind, f"{kind.kind}List", *kind.short_names)


def _accepted(definition: Object) -> Iterable[str]:
    names = definition["status"]["acceptedNames"]
    return (*(names.get(field, "") for field in (*_OF_RESOURCES, *_OF_KINDS)), *names.get("shortNames", ()))


def _judged(definition: Object, used: set[str], now: datetime) -> Object:
    wanted, accepted = definition["spec"]["names"], dict(definition["status"]["acceptedNames"])
    conflict: tuple[str, str] | None = None
    for field in _FIELDS:
        taken = _taken(wanted, accepted, field, used)
        if taken:
            conflict = f"{field[0].upper()}{field[1:]}Conflict", taken
        elif wanted.get(field):
            accepted[field] = wanted[field]
        else:
            accepted.pop(field, None)
    accepted = {**{name: value for name, value in accepted.items() if name != "categories"}, **_categories(wanted)}
    judged = {**definition, "status": {**definition["status"], "acceptedNames": accepted}}
    if conflict is not None:
        judged = with_condition(judged, "NamesAccepted", "False", *conflict, now)
        if is_true(definition, "Established"):
            return judged
        return with_condition(judged, "Established", "False", "NotAccepted", "not all names are accepted", now)
    judged = with_condition(judged, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now)
    if is_true(definition, "Established"):
        return judged
    text = "the initial names have been accepted"
    return with_condition(judged, "Established", "True", "InitialNamesAccepted", text, now)


def _taken(wanted: Object, accepted: Object, field: str, used: set[str]) -> str:
    """What is said of the names of a field that somebody else has; empty if nobody has."""
    mine = accepted.get(field, ())
    names = [wanted.get(field, "")] if field != "shortNames" else wanted.get(field, ())
    texts = [f'"{name}" is already in use' for name in names if name in used and name != mine and name not in mine]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""


def _categories(wanted: Object) -> dict[str, Any]:
    return {"categories": wanted["categories"]} if wanted.get("categories") else {}
