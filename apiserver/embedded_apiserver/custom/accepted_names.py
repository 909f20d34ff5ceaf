# SPDX-License-Identifier: Apache-2.0
"""Decides which of the names that custom resource definitions request are accepted.

A name is accepted if nothing else in the group has it. A definition that has a name keeps it, whichever definitions
come later; a definition with a conflict gets its names as soon as they are free.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from embedded_apiserver.custom.definition import with_condition
from embedded_apiserver.custom.kinds import is_true
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object

# Fields with names, each with its name space: two definitions of a group may not share a name in one name space.
_FIELDS = {
    "plural": "resource",
    "singular": "resource",
    "shortNames": "resource",
    "kind": "kind",
    "listKind": "kind",
}

Claim = tuple[str, str]
"""A name that is taken, with its name space: `resource` or `kind`."""


def with_names(definitions: Sequence[Object], others: Iterable[Kind], now: datetime) -> list[Object]:
    """Return custom resource definitions with accepted names and conditions in their status, in the same order.

    A definition whose names have already been accepted is returned unchanged.

    Args:
        definitions: All stored definitions.
        others: The built-in kinds.
        now: The transition time of conditions that change.
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
    """Return a definition with those of its names accepted that are free or that it already has."""
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
    """Return a definition with its conditions. An established kind stays established, whatever names it asks for."""
    if conflict is None:
        accepted = ("True", "NoConflicts", "no conflicts found")
        established = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    else:
        accepted = ("False", *conflict)
        established = ("False", "NotAccepted", "not all names are accepted")
    made = with_condition(definition, "NamesAccepted", *accepted, now)
    return made if is_true(definition, "Established") else with_condition(made, "Established", *established, now)
