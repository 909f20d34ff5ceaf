# SPDX-License-Identifier: Apache-2.0
"""Which names of definitions are accepted: those that nobody in their group has, and who has one keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from controller_runtime.apiserver.kinds.custom import is_true
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.definitions.definition import with_condition
from controller_runtime.apiserver.rules.rules import Object

# The names of a definition, each with what it may not share with others of its group.
_FIELDS = {
    "plural": "resource",
    "singular": "resource",
    "shortNames": "resource",
    "kind": "kind",
    "listKind": "kind",
}

Claim = tuple[str, str]
"""A name that somebody has, after what it is the name of."""


def with_names(definitions: Sequence[Object], others: Iterable[Kind], now: datetime) -> list[Object]:
    """The definitions with what came of their names in their status; each is equal to itself if that is known.

    Args:
        definitions: All of them, as stored.
        others: The kinds that are served without a definition.
        now: When.
    """
    named, served = list(definitions), list(others)
    for index, definition in enumerate(named):
        spec, accepted = definition["spec"], definition["status"]["acceptedNames"]
        if spec["names"] != accepted:
            taken = {claim for kind in served if kind.group == spec["group"] for claim in _claims(_names_of(kind))}
            for other in (*named[:index], *named[index + 1 :]):
                if other["spec"]["group"] == spec["group"]:
                    taken |= set(_claims(other["status"]["acceptedNames"]))
            named[index] = _judged(definition, taken, now)
    return named


def _names_of(kind: Kind) -> Object:
    names = {"plural": kind.plural, "singular": kind.singular, "shortNames": kind.short_names}
    return {**names, "kind": kind.kind, "listKind": kind.list_kind}


def _claims(names: Object) -> Iterator[Claim]:
    return ((what, word) for field, what in _FIELDS.items() for word in _words(names, field))


def _words(names: Object, field: str) -> Sequence[str]:
    value = names.get(field) or ()
    return (value,) if isinstance(value, str) else value


def _judged(definition: Object, taken: set[Claim], now: datetime) -> Object:
    """The definition with those of its names that are free, or were its own before."""
    wanted, before = definition["spec"]["names"], definition["status"]["acceptedNames"]
    accepted = {"categories": wanted["categories"]} if "categories" in wanted else {}
    conflict: tuple[str, str] | None = None
    for field, what in _FIELDS.items():
        mine = set(_words(before, field))
        lost = [word for word in _words(wanted, field) if (what, word) in taken and word not in mine]
        names = before if lost else wanted
        if field in names:
            accepted[field] = names[field]
        if lost:
            texts = [f'"{word}" is already in use' for word in lost]
            reason = f"{field[0].upper()}{field[1:]}Conflict"
            conflict = reason, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    judged = {**definition, "status": {**definition["status"], "acceptedNames": accepted}}
    return _with_conditions(judged, conflict, now)


def _with_conditions(definition: Object, conflict: tuple[str, str] | None, now: datetime) -> Object:
    """Once established, a kind stays so, whatever names it asks for."""
    if conflict is None:
        accepted = ("True", "NoConflicts", "no conflicts found")
        established = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    else:
        accepted = ("False", *conflict)
        established = ("False", "NotAccepted", "not all names are accepted")
    told = with_condition(definition, "NamesAccepted", *accepted, now)
    return told if is_true(definition, "Established") else with_condition(told, "Established", *established, now)
