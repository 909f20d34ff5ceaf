# SPDX-License-Identifier: Apache-2.0
"""Strategic merge patch: a merge patch that merges lists where the schema says so.

The elements of such a list are matched by their merge key, or by value if they are scalars, and merged.
Directives in the patch delete, replace and order elements. Other lists are replaced as a whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apimachinery.schema import Schema
from embedded_apiserver import status
from embedded_apiserver.go_texts import go_value
from embedded_apiserver.typed.mergepatch import with_changes

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_SET_ORDER = "$setElementOrder/"

# The types that a merge key can have. Others are unhashable, or equal to a key of another type: 1.0 and True are 1.
_KEY_TYPES = (str, int)
Key = Callable[[Any], Any]
"""Returns the merge key of an element, or the element itself if it is a scalar."""


def apply(schema: Schema, current: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return `current` with a strategic merge patch applied. Unchanged parts are shared with `current`.

    Raises:
        StatusError: 400, a directive is malformed or an element lacks its merge key; 422, `$retainKeys` leaves out a
            field that the same patch sets; 500, as in a real API server, a `$patch` has an unknown value.
    """
    return _merged(schema, current, patch)


def _merged(schema: Schema | None, current: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    before: Any = current if type(current) is dict else {}
    directive = patch.get(_PATCH)
    if directive == "delete":
        return {}
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _PATCH}
    if _PATCH in patch and (type(current) is dict or directive != "merge"):
        raise status.untyped(f"unknown patch type: {go_value(directive)} in map: {go_value(patch)}")
    changes: dict[str, Any] = {}  # None: the field is deleted
    for name in _fields(patch):
        value = patch.get(name)
        child = _child(schema, name)
        if value is None and name in patch:
            changes[name] = None
        elif type(value) is dict:
            replaces = child is not None and "replace" in child.strategies
            changes[name] = value if replaces else _merged(child, before.get(name), value)
        elif child is not None and "merge" in child.strategies:
            changes[name] = _merged_list(name, child, before.get(name), patch)
        elif name in patch:
            changes[name] = value
    return with_changes(_retained(before, patch), changes)


def _fields(patch: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields that a patch changes.

    The patch has a value for such a field, or only a directive about it, such as `$setElementOrder/containers`.
    """
    names: dict[str, None] = {}
    for name in patch:
        if not name.startswith("$"):
            names[name] = None
        elif name.startswith((_DELETE_FROM, _SET_ORDER)):
            names[name.partition("/")[2]] = None
        elif name not in (_PATCH, _RETAIN_KEYS):
            raise status.bad_request(f"unknown patch directive: {name!r}")
    return list(names)


def _child(schema: Schema | None, name: str) -> Schema | None:
    return None if schema is None else schema.properties.get(name) or schema.additional


def _retained(before: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    if _RETAIN_KEYS not in patch:
        return before
    keys = {key for key in _list_of(patch, _RETAIN_KEYS) if type(key) is str}
    if any(value is not None and not name.startswith("$") and name not in keys for name, value in patch.items()):
        raise status.rejected()
    return {name: value for name, value in before.items() if name in keys}


def _list_of(patch: Mapping[str, Any], name: str) -> list[Any]:
    value = patch.get(name, [])
    if type(value) is not list:
        raise status.bad_request(f"{name} is not a list")
    return value


def _merged_list(name: str, schema: Schema, current: Any, patch: Mapping[str, Any]) -> list[Any]:
    before = current if type(current) is list else []
    elements = _list_of(patch, name)
    order = _list_of(patch, _SET_ORDER + name) if _SET_ORDER + name in patch else None
    if not schema.merge_key:
        return _merged_set(before, elements, _list_of(patch, _DELETE_FROM + name), order)
    key = _key_of(name, schema.merge_key)
    replace, wanted, deleted = _sorted_out(elements, key)
    if replace:
        return wanted
    merged = [element for element in before if key(element) not in deleted]
    places = _places(merged, key)
    for element in wanted:
        place = places.setdefault(key(element), len(merged))
        if place == len(merged):
            merged.append(_merged(schema.items, None, element))
        else:
            merged[place] = _merged(schema.items, merged[place], element)
    return _ordered(merged, wanted, order, before, key)


def _merged_set(before: list[Any], added: list[Any], deleted: list[Any], order: list[Any] | None) -> list[Any]:
    gone = {element for element in deleted if type(element) in _KEY_TYPES}
    left = [element for element in before if element not in gone]
    merged = list(dict.fromkeys([*left, *map(_value, added)]))
    return _ordered(merged, added, order, before, _value)


def _value(element: Any) -> Any:
    if type(element) not in _KEY_TYPES:
        raise status.bad_request(f"{element!r} cannot tell the elements of a list apart")
    return element


def _key_of(name: str, merge_key: str) -> Key:
    def key(element: Any) -> Any:
        if type(element) is not dict or element.get(merge_key) is None:
            raise status.bad_request(f"{name}: an element has no {merge_key}, by which the list is merged")
        return _value(element[merge_key])

    return key


def _sorted_out(elements: Sequence[Any], key: Key) -> tuple[bool, list[Any], set[Any]]:
    """Return whether the list is replaced, the elements to merge, and the keys of the elements to delete."""
    replace = False
    wanted: list[Any] = []
    deleted: set[Any] = set()
    for element in elements:
        directive = element.get(_PATCH) if type(element) is dict else None
        if directive is None:
            key(element)  # refuses an element without its merge key, even if the list is replaced
            wanted.append(element)
        elif directive == "delete":
            deleted.add(key(element))
        elif directive == "replace":
            replace = True
        else:
            raise status.bad_request(f"unknown patch directive for an element of a list: {directive!r}")
    return replace, wanted, deleted


def _places(elements: Sequence[Any], key: Key) -> dict[Any, int]:
    """Return the index of the first element with each key."""
    return {key(element): index for index, element in reversed(list(enumerate(elements)))}


def _ordered(
    merged: list[Any], wanted: Sequence[Any], order: Sequence[Any] | None, before: list[Any], key: Key
) -> list[Any]:
    """Return the elements of the patch in the patch's order and, between them, the others in their present order.

    Another element comes before the next element of the patch only if it did so in the old list. A new element of the
    patch therefore comes before all others that are left, as in a real API server.
    """
    place = _places(before, key)
    ranks = {key(item): rank for rank, item in enumerate(wanted if order is None else order)}
    if any(key(element) not in ranks for element in wanted):
        raise status.bad_request("the list of $setElementOrder leaves out an element of the patch")
    named = [element for element in merged if key(element) in ranks]
    named.sort(key=lambda element: ranks[key(element)])
    others = deque(element for element in merged if key(element) not in ranks)
    result: list[Any] = []
    for element in named:
        limit = place.get(key(element), -1)
        while others and place[key(others[0])] < limit:
            result.append(others.popleft())
        result.append(element)
    result += others
    same = len(result) == len(before) and all(new is old for new, old in zip(result, before, strict=True))
    return before if same else result
