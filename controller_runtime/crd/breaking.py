# SPDX-License-Identifier: Apache-2.0
"""Finds changes of a definition that break stored objects or clients: parts that are removed, required or narrowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

_Schema = Mapping[str, Any]
_Judge = Callable[[Any], bool]

_OPEN = "x-kubernetes-preserve-unknown-fields"
_EITHER = "x-kubernetes-int-or-string"
_RULES = "x-kubernetes-validations"
_LOWER = ("minimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")
_CONSTRAINTS = ("pattern", "format", "multipleOf", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems")
_WIDER = {("integer", "number"), ("integer", "int-or-string"), ("string", "int-or-string")}
_IMPLICIT = ("apiVersion", "kind", "metadata")  # each object has them, whatever its schema says
_ITEMS, _ENTRIES = "[]", "[…]"


@attrs.frozen
class BreakingChange:
    """One change of a definition that breaks stored objects, or clients that rely on the version.

    Attributes:
        version: The version of the kind.
        path: The field, such as `.spec.beds`; empty for the version itself.
        text: The change and its consequence.
        concerns: Returns whether the change affects a stored object, given in that version. If that cannot be decided
            here, as for a pattern, it returns whether the object has a value there.
    """

    version: str
    path: str
    text: str
    concerns: _Judge = attrs.field(eq=False, repr=False)

    def __str__(self) -> str:
        return f"{self.version}{self.path}: {self.text}"


def breaking_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[BreakingChange]:
    """Return the breaking changes between an existing definition and the one that would replace it.

    Breaking are: versions that are removed or no longer served, fields that are removed or renamed or have another
    type, newly required fields without a default, and narrower bounds, values and rules. Changes of descriptions,
    defaults, columns and names are not breaking.

    Args:
        before: The definition as a server or a file has it.
        after: The definition that the code generates.
    """
    found: list[BreakingChange] = []
    served = {one["name"]: one for one in after["spec"]["versions"] if one.get("served")}
    for version in before["spec"]["versions"]:
        name = version["name"]
        if not version.get("served"):
            continue
        if name not in served:
            text = "is no longer served, so clients that use it fail"
            found.append(BreakingChange(name, "", text, lambda obj: True))
            continue
        old, new = (_fields_alone(one) for one in (version, served[name]))
        found += [BreakingChange(name, _shown(path), text, judge) for path, text, judge in _changes(old, new, ())]
    return found


_Path = tuple[str, ...]
_Found = tuple[_Path, str, _Judge]


def _changes(old: _Schema, new: _Schema, path: _Path) -> Iterator[_Found]:
    if new.get(_OPEN) and not new.get("type"):
        return
    if _type(old) != _type(new) and (_type(old), _type(new)) not in _WIDER:
        yield path, f"is of type {_type(new)} and was of type {_type(old)}", _has(path)
        return
    yield from _narrowed(old, new, path)
    yield from _fields(old, new, path)
    if "items" in old and "items" in new:
        yield from _changes(old["items"], new["items"], (*path, _ITEMS))
    before, now = (each.get("additionalProperties") for each in (old, new))
    if before and not now and not new.get(_OPEN) and "properties" not in new:
        yield (
            (*path, _ENTRIES),
            "has no entries any more, and those that are stored are dropped",
            _has((*path, _ENTRIES)),
        )
    elif isinstance(before, Mapping) and isinstance(now, Mapping):
        yield from _changes(before, now, (*path, _ENTRIES))


def _fields(old: _Schema, new: _Schema, path: _Path) -> Iterator[_Found]:
    known = new.get("properties", {})
    for name, field in old.get("properties", {}).items():
        here = (*path, name)
        if name in known:
            yield from _changes(field, known[name], here)
        elif not new.get(_OPEN) and not new.get("additionalProperties"):
            yield here, "is gone or has another name, and its stored values are dropped", _has(here)
    if old.get(_OPEN) and not new.get(_OPEN):
        yield path, "keeps unknown fields no longer, and those that are stored are dropped", _has(path)
    for name in new.get("required", ()):
        if name not in old.get("required", ()) and "default" not in known.get(name, {}):
            yield (*path, name), "is required from now on, and has no default", _lacks(path, name)


def _narrowed(old: _Schema, new: _Schema, path: _Path) -> Iterator[_Found]:
    if old.get("nullable") and not new.get("nullable"):
        yield path, "can no longer be null", _any(path, lambda value: value is None)
    if "enum" in new and (gone := [value for value in old.get("enum", ()) if value not in new["enum"]]):
        text = f"can no longer be {', '.join(map(repr, gone))}"
        yield path, text, _any(path, lambda value: value not in new["enum"])
    elif "enum" in new and "enum" not in old:
        text = f"can only be {', '.join(map(repr, new['enum']))} from now on"
        yield path, text, _any(path, lambda value: value not in new["enum"])
    for name in (*_LOWER, *_UPPER):
        if name in new and (name not in old or (new[name] - old[name]) * (1 if name in _LOWER else -1) > 0):
            was = f"was {old[name]}" if name in old else "had none"
            yield path, f"has the {name} {new[name]}, and {was}", _any(path, _breaks(name, new[name]))
    for name in _CONSTRAINTS:
        if new.get(name) and new[name] != old.get(name):
            yield path, f"has the {name} {new[name]!r} from now on", _has(path)
    if new.get("x-kubernetes-list-type") in ("set", "map") and old.get("x-kubernetes-list-type") not in ("set", "map"):
        yield path, "can have no two equal elements from now on", _has(path)
    known = [one.get("rule") for one in old.get(_RULES, ())]
    for rule in (one["rule"] for one in new.get(_RULES, ()) if one["rule"] not in known):
        yield path, f"has a new rule: {rule}", _has(path)


def _breaks(name: str, bound: float) -> _Judge:
    """Return a function that tells whether a value is beyond a bound."""

    def breaks(value: Any) -> bool:
        measure = value if name in ("minimum", "maximum") else len(value) if hasattr(value, "__len__") else bound
        if not isinstance(measure, int | float):
            return False
        return measure < bound if name in _LOWER else measure > bound

    return breaks


def _fields_alone(version: _Schema) -> _Schema:
    """Return the schema of a version without the fields that each object has."""
    schema = version.get("schema", {}).get("openAPIV3Schema", {_OPEN: True})
    fields = {name: field for name, field in schema.get("properties", {}).items() if name not in _IMPLICIT}
    return {**schema, "properties": fields}


def _type(schema: _Schema) -> str:
    return "int-or-string" if schema.get(_EITHER) else str(schema.get("type", "any"))


def _values(obj: Any, path: _Path) -> Iterator[Any]:
    """Yield the values that an object has at a path."""
    if not path:
        yield obj
        return
    step, *rest = path
    inner: Iterable[Any]
    if step == _ITEMS:
        inner = obj if isinstance(obj, list) else ()
    elif step == _ENTRIES:
        inner = obj.values() if isinstance(obj, Mapping) else ()
    else:
        inner = (obj[step],) if isinstance(obj, Mapping) and step in obj else ()
    for each in inner:
        yield from _values(each, tuple(rest))


def _any(path: _Path, judge: _Judge) -> _Judge:
    return lambda obj: any(judge(value) for value in _values(obj, path))


def _has(path: _Path) -> _Judge:
    return _any(path, lambda value: True)


def _lacks(path: _Path, name: str) -> _Judge:
    return _any(path, lambda value: isinstance(value, Mapping) and name not in value)


def _shown(path: _Path) -> str:
    return "".join(step if step in (_ITEMS, _ENTRIES) else f".{step}" for step in path)
