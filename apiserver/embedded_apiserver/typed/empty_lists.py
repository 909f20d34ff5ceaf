# SPDX-License-Identifier: Apache-2.0
"""Empty lists and maps that are stored as null.

They stay in the object that a client sent until it is stored: the client owns them, and admission sees them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from apimachinery.schema import Schema
from embedded_apiserver.kinds.kind import Kind, cached_by_kind
from embedded_apiserver.kinds.release import Release
from embedded_apiserver.objects import Object
from embedded_apiserver.typed.stored_forms import stored_form_of
from embedded_apiserver.typed.values import reader_for

Walk = Callable[[Any], Any]


def without_empty_lists(kind: Kind, obj: Object) -> Object:
    """Return a decoded object with null for each empty list or map that a real API server stores as null.

    Where validation refuses the null, the field is left out. An object without such fields is returned unchanged, as
    are custom objects.
    """
    if kind.definition is not None:
        return obj
    walk = _walk_of(kind)
    return obj if walk is None else walk(obj)


@cached_by_kind
def _walk_of(kind: Kind) -> Walk | None:
    return _walk(kind.schema, kind.release, {})


def _walk(schema: Schema | None, release: Release, made: dict[str, Walk | None]) -> Walk | None:
    """Return a function for values of a schema; None if no such list can be in them.

    A type that contains itself is walked once: the only such type, a schema in a definition, has no such lists.
    """
    if schema is None:
        return None
    if schema.name in made:
        return made[schema.name]
    if schema.name:
        made[schema.name] = None
    walk = _walk_parts(schema, release, made)
    if schema.name:
        made[schema.name] = walk
    return walk


def _walk_parts(schema: Schema, release: Release, made: dict[str, Walk | None]) -> Walk | None:
    if schema.items is not None:
        each = _walk(schema.items, release, made)
        return None if each is None else functools.partial(_in_list, each)
    if schema.additional is not None:
        each = _walk(schema.additional, release, made)
        return None if each is None else functools.partial(_in_map, each)
    children = {name: child for name, child in schema.properties.items() if reader_for(child) is None}
    form = stored_form_of(schema.name, release)
    nulls = () if form is None else tuple(name for name in form.nulls if name in children)
    found = {name: _walk(child, release, made) for name, child in children.items() if name != "metadata"}
    parts = {name: walk for name, walk in found.items() if walk is not None}
    kept = () if form is None else tuple(name for name in nulls if name in form.defaults)
    return functools.partial(_in_object, nulls, kept, parts) if nulls or parts else None


def _in_object(nulls: tuple[str, ...], kept: tuple[str, ...], parts: Mapping[str, Walk], value: Any) -> Any:
    """Return an object with null for empty `nulls`, or without them if they are not `kept`: rules refuse those."""
    if type(value) is not dict:
        return value
    changes: dict[str, Any] = {}
    for name in nulls:
        if (item := value.get(name)) is not None and not item:
            changes[name] = None
    for name, walk in parts.items():
        if (item := value.get(name)) and (new := walk(item)) is not item:
            changes[name] = new
    if not changes:
        return value
    whole = {**value, **changes}
    return {name: item for name, item in whole.items() if item is not None or name not in changes or name in kept}


def _in_list(each: Walk, value: Any) -> Any:
    if type(value) is not list:
        return value
    made = [each(item) for item in value]
    return value if all(new is item for new, item in zip(made, value, strict=True)) else made


def _in_map(each: Walk, value: Any) -> Any:
    if type(value) is not dict:
        return value
    made = {name: each(item) for name, item in value.items()}
    return value if all(made[name] is item for name, item in value.items()) else made
