# SPDX-License-Identifier: Apache-2.0
"""The bytes that the objects of a store take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from apimachinery.objects import Cached
from controller_runtime.cache.packed import held_by


class Sizes(NamedTuple):
    """The sizes of the objects of a store, in bytes.

    Attributes:
        held: The memory of the objects with their keys and their entries in the store, as an estimate. An object that
            several stores share counts in each.
        json: The size of the objects' JSON.
    """

    held: int = 0
    json: int = 0

    def changed(self, old: Cached | None, new: Cached | None, json_of_new: int | None = None) -> Sizes:
        """Return the sizes after `old` was replaced by `new`, each of which may be None.

        `json_of_new` is the JSON size of `new` if the caller knows it.
        """
        held, json = self
        if old is not None:
            held, json = held - held_by(old), json - old.size
        if new is not None:
            held, json = held + held_by(new), json + (new.size if json_of_new is None else json_of_new)
        return Sizes(held, json)


def sizes_of(objects: Iterable[Cached]) -> Sizes:
    """Return the total size of some objects in bytes."""
    held = json = 0
    for cached in objects:
        held += held_by(cached)
        json += cached.size
    return Sizes(held, json)
