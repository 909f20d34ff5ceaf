# SPDX-License-Identifier: Apache-2.0
"""Finds the old value that corresponds to a part of an updated object, and whether the two are equal.

A rule that an unchanged part breaks does not refuse the update, since the rule may be newer than the object. The error
becomes a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apimachinery.equality import same_json
from embedded_apiserver.kinds.definition import Raw

_SCALARS = (bool, float, int, str)
MISSING: Any = object()


def element_of(schema: Raw, old: Any, item: Any) -> Any:
    """Return the element of the old list that has the same keys as `item`; None if there is none.

    Only elements of lists with keys can be matched; in other lists neither index nor value identifies an element.
    """
    keys = schema.get("x-kubernetes-list-map-keys")
    if schema.get("x-kubernetes-list-type") != "map" or not keys or not isinstance(old, list):
        return None
    wanted = _keys(item, keys)
    if wanted is None:
        return None
    return next((one for one in old if _keys(one, keys) == wanted), None)


def _keys(item: Any, keys: list[str]) -> list[tuple[type, Any]] | None:
    if not isinstance(item, dict) or any(type(item.get(key)) not in _SCALARS for key in keys):
        return None
    return [(type(item[key]), item[key]) for key in keys]


class Correlation:
    """A value in an updated object, with the corresponding value in the stored object.

    Args:
        schema: The schema of both values.
        old: The old value.
        new: The new value.
    """

    def __init__(self, schema: Raw, old: Any, new: Any) -> None:
        self._schema, self._old, self._new = schema, old, new
        self._is_equal: bool | None = None

    def key(self, name: str) -> Correlation | None:
        """Return the correlation of a field or map entry; None if one of the two values or the schema lacks it."""
        old, new, schema = self._old, self._new, self._schema
        if not isinstance(old, dict) or not isinstance(new, dict) or name not in old or name not in new:
            return None
        child = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        return Correlation(child, old[name], new[name]) if isinstance(child, Mapping) else None

    def index(self, index: int) -> Correlation | None:
        """Return the correlation of a list element; None if the old list has no corresponding element."""
        items = self._schema.get("items")
        if not isinstance(self._new, list) or not isinstance(items, Mapping):
            return None
        old = element_of(self._schema, self._old, self._new[index])
        return None if old is None else Correlation(items, old, self._new[index])

    def is_equal(self) -> bool:
        """Return whether the two values are equal. Objects with fields that the schema does not have count as
        different.
        """
        if self._is_equal is None:
            self._is_equal = self._compared()
        return self._is_equal

    def _compared(self) -> bool:
        old, new = self._old, self._new
        if isinstance(old, dict) and isinstance(new, dict):
            return len(old) == len(new) and all((child := self.key(name)) and child.is_equal() for name in new)
        if isinstance(old, list) and isinstance(new, list):
            if self._schema.get("x-kubernetes-list-type") != "map":
                return same_json(old, new)
            children = map(self.index, range(len(new)))
            return len(old) == len(new) and all(child is not None and child.is_equal() for child in children)
        return same_json(old, new)
