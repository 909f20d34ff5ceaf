# SPDX-License-Identifier: Apache-2.0
"""Asks a real server how it stores each field of each built-in type.

For each field, one object is sent with the field absent, one with its zero value, and one with another value. A
mutating webhook refuses each of them and says in its refusal what it was shown: the object as it was decoded, with its
defaults, before any validation. So also objects can be asked about that no server would take, and nothing is stored.

A default that differs between the places of a type, or with the value of another field, is told and not recorded:
such a rule is a function in `typed.type_defaults`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from apimachinery.schema import Schema
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.typed.values import reader_for
from tests.kit.webhooks.shown_by_webhook import ABSENT, Asker

MOST_PLACES = 4
# Fields of kinds that are not asked about, because the server fills them in; the metadata of templates are.
OF_THE_SERVER = ("kind", "apiVersion", "metadata")
# The specification of a volume inside an attachment gets no defaults, as the only place of its type.
NOT_ASKED = ("inlineVolumeSpec",)
LATE = (
    *("apiregistration.k8s.io", "autoscaling", "certificates.k8s.io", "discovery.k8s.io", "node.k8s.io"),
    *("flowcontrol.apiserver.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io"),
)
# Kinds that no webhook is shown.
UNSHOWN = ("admissionregistration.k8s.io",)
TIME = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z")
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
ZEROS: Mapping[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0, "array": [], "object": {}}
OTHERS: Mapping[str, Any] = {"string": "a", "boolean": True, "integer": 7, "number": 7, "array": [], "object": {}}
FORMATS: Mapping[str, Any] = {"date-time": "2026-01-01T00:00:00Z", "byte": "YQ==", "int-or-string": 7}


class Place(NamedTuple):
    """Where a type occurs: a kind, and the steps to the value; `[]` is a list's first element, `{}` a map's value."""

    kind: Kind
    steps: tuple[str, ...]

    def document(self, value: Any) -> dict[str, Any]:
        """Return an object of the kind that has `value` here and nothing else."""
        for step in reversed(self.steps):
            value = [value] if step == "[]" else {"a" if step == "{}" else step: value}
        document = {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **value}
        return {**document, "metadata": {"name": "probe", **document.get("metadata", {})}}

    def value_in(self, shown: Any) -> Any:
        """Return the value here, or ABSENT."""
        for step in self.steps:
            try:
                shown = shown[0 if step == "[]" else "a" if step == "{}" else step]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return shown


def places(kinds: Iterable[tuple[Kind, Schema]]) -> dict[str, tuple[Schema, list[Place]]]:
    """Return each named type with fields, and some places where it occurs: one for each field that has the type."""
    found: dict[str, tuple[Schema, list[Place]]] = {}
    walked: set[str] = set()

    def walk(schema: Schema, place: Place) -> None:
        inner = schema.items or schema.additional
        if inner is not None:
            walk(inner, place._replace(steps=(*place.steps, "[]" if schema.items else "{}")))
        elif schema.properties and reader_for(schema) is None:
            known = found.setdefault(schema.name, (schema, []))[1]
            if place.steps != ("metadata",):
                known.append(place)
            if schema.name not in walked:
                walked.add(schema.name)
                for name, child in schema.properties.items():
                    if name not in NOT_ASKED:
                        walk(child, place._replace(steps=(*place.steps, name)))

    # The kinds beside the core come last: of a type that occurs in many places, those of the core are asked about.
    for kind, schema in sorted(kinds, key=lambda one: one[0].group in LATE):
        if kind.is_stored and kind.group not in UNSHOWN:
            walk(schema, Place(kind, ()))
    return {name: (schema, known[:MOST_PLACES]) for name, (schema, known) in found.items()}


def samples(schema: Schema) -> Iterator[tuple[str, Any]]:
    """Yield the values to ask about: the zero value, and another one; each with its name."""
    if schema.name == QUANTITY:
        yield from (("zero", "0"), ("other", "1024Mi"))
        return
    if schema.format in FORMATS:
        if schema.format == "byte":
            yield "zero", ""
        if schema.format == "int-or-string":
            yield "zero", 0
        yield "other", FORMATS[schema.format]
        return
    if schema.type in ZEROS:
        yield "zero", ZEROS[schema.type]
        if schema.type not in ("array", "object"):
            yield "other", OTHERS[schema.type]


def asked(schema: Schema) -> dict[str, Schema]:
    """Return the fields of a type about which the tool asks."""
    is_kind = all(name in schema.properties for name in OF_THE_SERVER)
    return {name: child for name, child in schema.properties.items() if not is_kind or name not in OF_THE_SERVER}


class Answers(NamedTuple):
    """The answers of a server about a type at one place.

    Attributes:
        absent: The value without any field; ABSENT if there is none then.
        given: By field and sample: the value in which that field alone was sent.
    """

    absent: Any
    given: Mapping[tuple[str, str], Any]


def ask(asker: Asker, schema: Schema, place: Place) -> Answers:
    """Return the answers about each field of a type at one place."""

    def shown(value: Any) -> Any:
        answer = asker.shown(place.kind, place.document(value))
        return answer if isinstance(answer, str) else place.value_in(answer)

    given = {
        (name, sample): shown({name: value})
        for name, child in asked(schema).items()
        for sample, value in samples(child)
    }
    return Answers(shown({}), given)


def facts_of(answers: Answers, schema: Schema) -> dict[str, dict[str, Any]]:
    """Return by kind of fact and field what the answers at one place say.

    - `defaults`: the value of a field that is absent, where no other field changes it.
    - `filled`: its default replaces the zero value, too.
    - `dropped`: its zero value is not stored.
    - `depends`: it has a default that depends on another field.
    """
    base = answers.absent if isinstance(answers.absent, dict) else {}
    facts: dict[str, dict[str, Any]] = {"defaults": {}, "filled": {}, "dropped": {}, "depends": {}}
    for name in asked(schema):
        others = [
            (field, value) for (field, _), value in answers.given.items() if field != name and isinstance(value, dict)
        ]
        default = base.get(name, ABSENT)
        changed = sorted({field for field, value in others if value.get(name, ABSENT) != default})
        if changed:
            facts["depends"][name] = changed
        elif default is not ABSENT and not (isinstance(default, str) and TIME.fullmatch(default)):
            facts["defaults"][name] = default
        zero = answers.given.get((name, "zero"), ABSENT)
        if not isinstance(zero, dict):
            continue
        sent = dict(samples(schema.properties[name]))["zero"]
        if name not in zero:
            facts["dropped"][name] = True
        elif zero[name] != sent and default is not ABSENT and sent not in ([], {}):
            facts["filled"][name] = True
    return facts


def merged(name: str, known: Mapping[Place, dict[str, dict[str, Any]]], tell: Callable[[str], None]) -> dict[str, Any]:
    """Return the facts on which all places of a type agree; tell those on which they do not."""
    found: dict[str, Any] = {}
    for sort in ("defaults", "filled", "dropped"):
        fields = sorted({field for facts in known.values() for field in facts[sort]})
        for field in fields:
            values = [facts[sort].get(field, ABSENT) for facts in known.values()]
            if sort == "dropped" or all(value == values[0] for value in values):
                found.setdefault(sort, {})[field] = values[0]
            else:
                where = {f"{p.kind.kind}.{'.'.join(p.steps)}": facts[sort].get(field) for p, facts in known.items()}
                tell(f"{name}.{field}: {sort} differ: {where}")
    for field, changed in {f: c for facts in known.values() for f, c in facts["depends"].items()}.items():
        tell(f"{name}.{field}: depends on {', '.join(changed)}")
    return {sort: value if sort == "defaults" else sorted(value) for sort, value in found.items()}


def form_of(
    asker: Asker, name: str, schema: Schema, known: Iterable[Place], tell: Callable[[str], None]
) -> dict[str, Any]:
    """Return how a server stores the fields of one type, from its answers at some of its places."""
    return merged(name, {place: facts_of(ask(asker, schema, place), schema) for place in known}, tell)
