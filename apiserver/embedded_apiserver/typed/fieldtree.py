# SPDX-License-Identifier: Apache-2.0
"""Objects as trees of fields: the schema decides which parts of an object can have owners of their own.

Objects, maps, lists with keys and lists that are sets have parts, each with a step of its own. A scalar, an
atomic list and an atomic object have one owner as a whole. Server-side apply compares, merges and removes
fields by walks over these parts. No function here modifies its arguments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from apimachinery.schema import Schema
from embedded_apiserver.typed.fieldset import (
    Document,
    Fields,
    Path,
    contains,
    field_step,
    key_step,
    text_of,
    value_step,
)

ABSENT: Any = object()
"""Stands for a missing value. It is not None, because null is a value."""

Parts = list[tuple[str, Schema | None, Any]]
"""Step, schema and value of each part, in order. A step can occur twice if a list has duplicate elements."""


class Changes(NamedTuple):
    """The paths of the fields that were added, modified or removed between two objects."""

    added: set[Path]
    modified: set[Path]
    removed: set[Path]

    @property
    def taken(self) -> set[Path]:
        """The paths of added or modified fields, which the writer will own."""
        return self.added | self.modified


def child_of(schema: Schema | None, name: str) -> Schema | None:
    """Return the schema of a field of an object or of a value of a map; None if the schema declares none."""
    return None if schema is None else schema.properties.get(name) or schema.additional


def _parts(schema: Schema | None, value: Any) -> Parts | None:
    """Return the parts of a value; None if it has one owner as a whole."""
    if schema is None:
        return None
    if type(value) is dict:
        if not _has_fields(schema):
            return None
        return [(field_step(name), child_of(schema, name), item) for name, item in value.items()]
    if type(value) is list and _has_elements(schema, value):
        return [(step_to(schema, element), schema.items, element) for element in value]
    return None


def _has_fields(schema: Schema | None) -> bool:
    """Return whether the fields of an object, or the values of a map, can have different owners."""
    if schema is None or schema.map_type == "atomic":
        return False
    return bool(schema.properties) or schema.additional is not None


def _has_elements(schema: Schema, value: list[Any]) -> bool:
    """Return whether the elements of a list can have different owners.

    A list with keys one of whose elements is not an object has one owner: that element has no key.
    """
    return schema.list_type == "set" or (schema.list_type == "map" and all(type(one) is dict for one in value))


def step_to(schema: Schema, element: Any) -> str:
    """Return the path step (`k:{...}` or `v:...`) to an element of a list of type `map` or `set`.

    Args:
        schema: The schema of the list.
        element: The element. If it lacks a key, the key's default is used; without a default, the other keys identify
            it.
    """
    if schema.list_type == "set":
        return value_step(element)
    properties = {} if schema.items is None else schema.items.properties
    keys = {name: element.get(name, properties[name].default) for name in schema.list_keys}
    return key_step({name: value for name, value in keys.items() if value is not None})


def fields_of(schema: Schema | None, value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the fields that a manager owns by applying `value`.

    These are scalars, maps and lists that are owned as a whole, and each element of a map or list whose elements can
    have different owners. A property that the schema declares, and whose own parts can have different owners, is
    yielded only if it is an empty object or map, and never if it is a list; `with_parents` adds those that contain
    yielded paths.

    Args:
        schema: The schema of `value`; None if there is none, so that `value` is owned as a whole.
        value: The applied value.
        path: The path of `value` in its object.
    """
    parts = _parts(schema, value)
    if parts is None:
        yield path
        return
    declared = {} if schema is None else schema.properties
    for step, child, item in parts:
        here = (*path, step)
        if step[2:] not in declared or item == {}:
            yield here
        yield from fields_of(child, item, here)


def with_parents(schema: Schema, fields: Iterable[Path]) -> Fields:
    """Return `fields` and the paths of the declared fields that contain them."""
    found = set(fields)
    for path in fields:
        node: Schema | None = schema
        for depth, step in enumerate(path, start=1):
            if node is None:
                break
            if not step.startswith("f:"):
                node = node.items
                continue
            if step[2:] in node.properties:
                found.add(path[:depth])
            node = child_of(node, step[2:])
    return frozenset(found)


def compare(schema: Schema | None, old: Any, new: Any, path: Path, changes: Changes) -> None:
    """Add to `changes` the fields in which `new` differs from `old`, both at `path`; either can be ABSENT."""
    if old == new:
        return
    if type(old) is dict and type(new) is dict and _has_fields(schema):
        _compare_fields(schema, old, new, path, changes)
        return
    if old is ABSENT:
        _add_all(schema, new, path, changes.added)
        return
    if new is ABSENT:
        _add_all(schema, old, path, changes.removed)
        return
    before, after = _parts(schema, old) or [], _parts(schema, new) or []
    if not before and not after:
        changes.modified.add(path)
    olds = {step: item for step, _, item in before}
    news = {step: item for step, _, item in after}
    for step, child in {step: child for step, child, _ in before + after}.items():
        compare(child, olds.get(step, ABSENT), news.get(step, ABSENT), (*path, step), changes)


def _add_all(schema: Schema | None, value: Any, path: Path, fields: set[Path]) -> None:
    """Add `path` and all fields below it to `fields`, for a value that was added or removed as a whole."""
    fields.add(path)
    last = {step: (child, item) for step, child, item in _parts(schema, value) or ()}
    for step, (child, item) in last.items():
        _add_all(child, item, (*path, step), fields)


def _compare_fields(
    schema: Schema | None, old: dict[str, Any], new: dict[str, Any], path: Path, changes: Changes
) -> None:
    """Add the differences between two objects to `changes`, with the same result as `compare`, at a lower cost.

    The step of a path is built only for a field that differs: nearly every write changes only a few fields, and those
    are deep inside nested objects.
    """
    for name, item in new.items():
        before = old.get(name, ABSENT)
        if before != item:
            compare(child_of(schema, name), before, item, (*path, field_step(name)), changes)
    for name, item in old.items():
        if name not in new:
            compare(child_of(schema, name), item, ABSENT, (*path, field_step(name)), changes)


def merged(schema: Schema | None, live: Any, applied: Any) -> Any:
    """Return `live` with the values of `applied` merged into it. Unchanged parts are shared with `live`.

    A null in place of a map or list whose elements can have different owners changes nothing, like an empty one.
    """
    if applied is None and _parts(schema, live) is not None:
        return live
    after = _parts(schema, applied)
    if type(live) is not type(applied) or after is None:
        return live if live == applied else applied
    if type(applied) is dict:
        changed = {name: merged(child_of(schema, name), live.get(name, ABSENT), new) for name, new in applied.items()}
        same = all(name in live and live[name] is new for name, new in changed.items())
        return live if same else {**live, **changed}
    return _merged_list(_parts(schema, live) or [], after)


def _merged_list(live: Parts, applied: Parts) -> list[Any]:
    """Return the merged list: applied elements in the order of the configuration, the others between them.

    An element that is not applied stays before the applied element that it preceded in the live list.
    """
    olds = {step: item for step, _, item in reversed(live)}
    steps = {step: None for step, _, _ in applied}
    shared = deque(step for step, _, _ in applied if step in olds)
    rest, result = live[::-1], []
    for step, child, item in applied:
        while rest and (not shared or rest[-1][0] != shared[0]):
            result += _unless_applied(rest.pop(), steps)
        if shared and shared[0] == step:
            shared.popleft()
            if rest:
                rest.pop()
        result.append(merged(child, olds.get(step, ABSENT), item))
    for part in reversed(rest):
        result += _unless_applied(part, steps)
    return result


def _unless_applied(part: tuple[str, Schema | None, Any], steps: Mapping[str, None]) -> list[Any]:
    return [] if part[0] in steps else [part[2]]


def without(schema: Schema | None, value: Any, fields: Document) -> Any:
    """Return `value` without the fields in the set `fields`, and without everything below them."""
    parts = _parts(schema, value)
    if parts is None or not fields:
        return value
    left = [
        (step, without(child, item, fields.get(step, {})))
        for step, child, item in parts
        if not contains(fields, (step,))
    ]
    return {step[2:]: item for step, item in left} if type(value) is dict else [item for _, item in left]


def ambiguities(schema: Schema | None, value: Any, path: Path = ()) -> Iterator[str]:
    """Yield the errors of a configuration's lists: elements without keys, and elements with equal keys."""
    seen = set()
    for index, (step, child, item) in enumerate(_parts(schema, value) or ()):
        if step == "k:{}" and not (schema and item.keys() & set(schema.list_keys)):
            keys = " ".join(f'"{name}"' for name in (schema.list_keys if schema else ()))
            yield (
                f"{text_of(path)}: element {index}: associative list with keys has an element that omits all key "
                f"fields [{keys}] (and doesn't have default values for any key fields)"
            )
        elif step in seen:
            yield f"{text_of(path)}: duplicate entries for key {text_of((step,))}"
        seen.add(step)
        yield from ambiguities(child, item, (*path, step))
