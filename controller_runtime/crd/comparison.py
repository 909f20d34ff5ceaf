# SPDX-License-Identifier: Apache-2.0
"""The comparison of a class with the definition that a server has, before the first object is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from controller_runtime.crd.declaration import declaration_of
from controller_runtime.crd.types import CustomResource

_Schema = Mapping[str, Any]
_OPEN = "x-kubernetes-preserve-unknown-fields"
_EITHER = "x-kubernetes-int-or-string"
_LOWER = ("minimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")

VERSIONS = "spec.versions"
"""The path of a difference that is about the version itself."""


@attrs.frozen
class Difference:
    """One difference between a class and a definition.

    Attributes:
        path: The path of the field, such as `.spec.beds`, or of a part of the definition, such as `spec.versions`.
        text: The difference and its consequence.
        is_error: True if the class cannot read any object with this field. False if it may fail to read some objects,
            or if the server may refuse or drop values that the class writes.
    """

    path: str
    text: str
    is_error: bool

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def compare(cls: type[CustomResource], definition: Mapping[str, Any]) -> list[Difference]:
    """Return the relevant differences between a class and a custom resource definition, errors first.

    A class may have fewer fields than the definition: fields that only the definition has count only if they are
    required and have no default.

    Args:
        cls: A class declared with `custom_resource`.
        definition: The definition, as a server or a file has it.

    Raises:
        TypeError: The class is not declared.
        ValueError: The definition is for another kind.
    """
    declared = declaration_of(cls)
    resource, spec = declared.resource, definition["spec"]
    if (spec["group"], spec["names"]["kind"]) != (resource.group, resource.kind):
        raise ValueError(f"the definition is of {spec['names']['kind']} in {spec['group']}, not of {cls.__name__}")
    found = [*_names(declared.resource.plural, resource.namespaced, spec)]
    version = next((one for one in spec["versions"] if one["name"] == resource.version), None)
    if version is None:
        served = ", ".join(one["name"] for one in spec["versions"])
        return [*found, _error(VERSIONS, f"has no version {resource.version}, only {served}")]
    if not version.get("served"):
        found.append(_error(VERSIONS, f"version {resource.version} is not served"))
    if declared.has_status and "status" not in version.get("subresources", {}):
        text = "is not a subresource in the definition: a patch with subresource='status' answers 404"
        found.append(Difference(".status", text, is_error=False))
    schema = version.get("schema", {}).get("openAPIV3Schema", {_OPEN: True})
    fields = {name: field for name, field in declared.schema["properties"].items() if name not in _IMPLICIT}
    found += _differences({**declared.schema, "properties": fields}, schema, "")
    return sorted(found, key=lambda one: not one.is_error)


_IMPLICIT = ("apiVersion", "kind", "metadata")  # every object has them, whatever its schema says


def _names(plural: str, namespaced: bool, spec: Mapping[str, Any]) -> Iterator[Difference]:
    if spec["names"]["plural"] != plural:
        yield _error("spec.names.plural", f"is {spec['names']['plural']!r}, and {plural!r} in the class")
    if (spec["scope"] == "Namespaced") != namespaced:
        yield _error("spec.scope", f"is {spec['scope']}, and the class has the other one")


def _differences(own: _Schema, theirs: _Schema, path: str) -> Iterator[Difference]:
    """Yield the differences at one place and below it.

    Args:
        own: The schema of the class.
        theirs: The schema of the definition.
        path: The place.
    """
    if not own.get("type") and not own.get(_EITHER):  # the class takes any value
        return
    if theirs.get(_OPEN) and not theirs.get("type"):
        return
    if _type(own) != _type(theirs) and not _reads_as(own, theirs):
        yield _error(path, f"is of type {_type(theirs)} in the definition, and {_type(own)} in the class")
        return
    yield from _values(own, theirs, path)
    if "properties" in own:
        yield from _fields(own, theirs, path)
    if "items" in own and "items" in theirs:
        yield from _differences(own["items"], theirs["items"], f"{path}[]")
    values = theirs.get("additionalProperties")
    if "additionalProperties" in own and isinstance(values, Mapping):
        yield from _differences(own["additionalProperties"], values, f"{path}[…]")


def _type(schema: _Schema) -> str:
    return "int-or-string" if schema.get(_EITHER) else str(schema.get("type", "any"))


def _reads_as(own: _Schema, theirs: _Schema) -> bool:
    """Return whether every value of the definition's type is one of the class's type."""
    return (_type(own), _type(theirs)) in {
        ("int-or-string", "integer"),
        ("int-or-string", "string"),
        ("number", "integer"),
    }


def _fields(own: _Schema, theirs: _Schema, path: str) -> Iterator[Difference]:
    known, needed = theirs.get("properties", {}), own.get("required", ())
    values = theirs.get("additionalProperties")
    for name, field in own["properties"].items():
        here, other = f"{path}.{name}", known.get(name, values if isinstance(values, Mapping) else None)
        if other is not None:
            yield from _differences(field, other, here)
            if name in needed and name not in theirs.get("required", ()) and "default" not in other:
                yield _warning(here, "is required by the class alone, which cannot read objects without it")
        elif not theirs.get(_OPEN):
            lost = "no object can be read" if name in needed else "the server drops it, and the class reads its default"
            yield Difference(here, f"is not in the definition: {lost}", is_error=name in needed)
    for name in theirs.get("required", ()):
        if name not in own["properties"] and "default" not in known.get(name, {}):
            yield _warning(f"{path}.{name}", "is required by the definition: create objects by a dict that has it")
        elif name in own["properties"] and name not in needed and "default" not in own["properties"][name]:
            yield _warning(f"{path}.{name}", "is required by the definition, and optional in the class")


def _values(own: _Schema, theirs: _Schema, path: str) -> Iterator[Difference]:
    """Yield the differences in the values that are allowed."""
    if theirs.get("nullable") and not own.get("nullable"):
        yield _warning(path, "can be null in the definition, which the class cannot read")
    if "enum" in own:
        missing = _texts(value for value in theirs.get("enum", ()) if value not in own["enum"])
        more = _texts(value for value in own["enum"] if value not in theirs.get("enum", own["enum"]))
        if "enum" not in theirs:
            yield _warning(path, "can have any value in the definition, and the class reads only those that it names")
        if missing:
            yield _warning(path, f"can be {missing} in the definition, which the class cannot read")
        if more:
            yield _warning(path, f"cannot be {more} in the definition, so the server refuses it")
    for names, is_narrower in ((_LOWER, _is_above), (_UPPER, _is_below)):
        for name in names:
            if name in own and is_narrower(own[name], theirs.get(name)):
                bound = theirs.get(name, "no bound")
                yield _warning(path, f"has {name} {own[name]} in the class and {bound} in the definition")
    if "default" in own and "default" in theirs and own["default"] != theirs["default"]:
        yield _warning(
            path, f"has the default {theirs['default']!r} in the definition and {own['default']!r} in the class"
        )


def _is_above(own: float, theirs: float | None) -> bool:
    return theirs is None or own > theirs


def _is_below(own: float, theirs: float | None) -> bool:
    return theirs is None or own < theirs


def _texts(values: Iterator[Any]) -> str:
    found: Sequence[str] = [repr(value) for value in values]
    return ", ".join(found)


def _error(path: str, text: str) -> Difference:
    return Difference(path, text, is_error=True)


def _warning(path: str, text: str) -> Difference:
    return Difference(path, text, is_error=False)
