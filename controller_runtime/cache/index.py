# SPDX-License-Identifier: Apache-2.0
"""Finds the objects of a store by values that a function computes for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from apimachinery.objects import Cached, PlainKey
from apimachinery.plain_functions import called, plain

IndexFunction = Callable[[Cached], Iterable[str]]
"""Returns the values under which an object is found. The function must be pure: when an object changes, its old state
is passed to the function again, to remove the old values from the index."""


_WHAT = "an index"


class Index:
    """The keys of objects by the values of one index function.

    Args:
        values_of: The index function.

    Attributes:
        keys: Keys by value; a value is here only if an object has it.

    Threads: those that hold the lock of the index's store. `values` and `over` must be called without it.
    """

    def __init__(self, values_of: IndexFunction) -> None:
        self._values_of = plain(_WHAT, values_of)
        # The inner dicts serve as sets that keep their order, so that reads are the same in each run.
        self.keys: dict[str, dict[PlainKey, None]] = {}

    def values(self, cached: Cached | None) -> tuple[str, ...]:
        """Return the values of an object; an empty tuple for None. Not called under a lock: it runs code of users."""
        return () if cached is None else tuple(called(_WHAT, self._values_of, cached))

    def move(self, key: PlainKey, old: tuple[str, ...], new: tuple[str, ...]) -> None:
        """Remove `key` from the `old` values, and add it to the `new` ones."""
        for value in old:
            holders = self.keys.get(value, {})
            holders.pop(key, None)
            if not holders:  # or values that no object has any more would pile up
                self.keys.pop(value, None)
        for value in new:
            self.keys.setdefault(value, {})[key] = None

    def within(self, objects: Mapping[PlainKey, Cached]) -> Index:
        """Return a new index with those keys that are in `objects`; the index function is not called."""
        fresh = Index(self._values_of)
        for value, keys in self.keys.items():
            if kept := {key: None for key in keys if key in objects}:
                fresh.keys[value] = kept
        return fresh

    def over(self, objects: Mapping[PlainKey, Cached]) -> Index:
        """Return a new index of `objects` with the same index function."""
        fresh = Index(self._values_of)
        for key, cached in objects.items():
            fresh.move(key, (), self.values(cached))
        return fresh


Moves = list[tuple[Index, tuple[str, ...], tuple[str, ...]]]
"""For each index of a store, the values of one object in it before and after a change."""
