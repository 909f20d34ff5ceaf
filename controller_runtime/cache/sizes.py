# SPDX-License-Identifier: Apache-2.0
"""The bytes that the objects of a store take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from apimachinery.objects import Cached
from controller_runtime.cache.packed import bytes_of


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
            less_held, less_json = bytes_of(old)
            held, json = held - less_held, json - less_json
        if new is not None:
            more_held, more_json = bytes_of(new, json_of_new)
            held, json = held + more_held, json + more_json
        return _sizes((held, json))


def sizes_of(objects: Iterable[Cached]) -> Sizes:
    """Return the total size of some objects in bytes."""
    held = json = 0
    for cached in objects:
        more_held, more_json = bytes_of(cached)
        held, json = held + more_held, json + more_json
    return Sizes(held, json)


_sizes: Callable[[tuple[int, int]], Sizes] = partial(tuple.__new__, Sizes)  # without a call of Python: one a change
