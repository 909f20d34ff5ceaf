# SPDX-License-Identifier: Apache-2.0
"""Lets models of pydantic be types of fields: the model supplies the schema and decodes the values.

Pydantic is not imported here: a class of it brings its own methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from controller_runtime.crd.patterns import problem_of

_REF = "#/$defs/"
_KEPT = (
    "type",
    "format",
    "enum",
    "description",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)
_INT_OR_STRING: Mapping[str, Any] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}


def is_pydantic(cls: type) -> bool:
    """Return whether a class is a model of pydantic."""
    return hasattr(cls, "model_json_schema") and hasattr(cls, "model_validate")


def pydantic_schema(cls: Any, path: str) -> dict[str, Any]:
    """Return the structural schema of a model of pydantic.

    The names of fields are those of `model_json_schema`, so a model with names of several words needs an alias
    generator such as `to_camel`, and `populate_by_name`.

    Args:
        cls: The model.
        path: The path of the field, for error messages.

    Raises:
        ValueError: A part of the model has no structural schema; the message names it.
    """
    document: Mapping[str, Any] = cls.model_json_schema(by_alias=True)
    return _structural(document, _ModelPlace(document.get("$defs", {}), path))


class _ModelPlace(NamedTuple):
    """The place of a schema: the definitions that it can refer to, its path, and the definitions that contain it."""

    library: Mapping[str, Any]
    path: str
    inside: tuple[str, ...] = ()

    def below(self, step: str) -> _ModelPlace:
        return self._replace(path=self.path + step)


def _structural(raw: Mapping[str, Any], place: _ModelPlace) -> dict[str, Any]:
    if name := raw.get("$ref", "").removeprefix(_REF):
        if name in place.inside:
            raise ValueError(f"{place.path}: {name} contains itself, and a structural schema cannot; make it a dict")
        made = _structural(place.library[name], place._replace(inside=(*place.inside, name)))
        return {**made, **_kept(raw, place.path)}
    if "anyOf" in raw:
        return {**_union(raw["anyOf"], place), **_kept(raw, place.path)}
    if refused := [word for word in ("oneOf", "allOf", "prefixItems", "discriminator") if word in raw]:
        raise ValueError(
            f"{place.path}: {refused[0]} has no structural schema; declare an optional field for each case"
        )
    made = _kept(raw, place.path)
    if "const" in raw:
        made["enum"] = [raw["const"]]
    if "properties" in raw:
        needed = raw.get("required", ())
        fields = raw["properties"].items()
        made["properties"] = {
            name: _property(name, field, place.below(f".{name}"), name in needed) for name, field in fields
        }
        if needed:
            made["required"] = sorted(needed)
    if "items" in raw:
        made["items"] = _structural(raw["items"], place.below("[]"))
        if raw.get("uniqueItems"):
            made["x-kubernetes-list-type"] = "set"
    if isinstance(values := raw.get("additionalProperties"), Mapping) and values:
        made["additionalProperties"] = _structural(values, place.below("[…]"))
    elif values is True or values == {}:
        made["x-kubernetes-preserve-unknown-fields"] = True
    return made if "type" in made else {**made, "x-kubernetes-preserve-unknown-fields": True}


def _property(name: str, raw: Mapping[str, Any], place: _ModelPlace, needed: bool) -> dict[str, Any]:
    if "_" in name.strip("_"):
        raise ValueError(
            f"{place.path}: {name!r} would be written with an underscore; give the model an alias generator"
        )
    made = _structural(raw, place)
    if not needed:
        made.pop("nullable", None)
    if raw.get("default") not in (None, "", [], {}):
        made["default"] = raw["default"]
    return made


def _union(cases: Sequence[Mapping[str, Any]], place: _ModelPlace) -> dict[str, Any]:
    some = [case for case in cases if case.get("type") != "null"]
    nullable = {"nullable": True} if len(some) < len(cases) else {}
    if len(some) == 1:
        return {**_structural(some[0], place), **nullable}
    if sorted(str(case.get("type")) for case in some) == ["integer", "string"]:
        return {**_INT_OR_STRING, **nullable}
    raise ValueError(f"{place.path}: this union has no structural schema; declare an optional field for each case")


def _kept(raw: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the keywords that mean the same in a definition, and the exclusive bounds in the form that it has."""
    made = {word: raw[word] for word in _KEPT if word in raw}
    if problem := problem_of(raw.get("pattern")):
        raise ValueError(f"{path}: the pattern {raw['pattern']!r} {problem}")
    if "pattern" in raw:
        made["pattern"] = raw["pattern"]
    for bound in ("Minimum", "Maximum"):
        if (value := raw.get(f"exclusive{bound}")) is not None:
            made |= {bound.lower(): value, f"exclusive{bound}": True}
    return made
