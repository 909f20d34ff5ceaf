# SPDX-License-Identifier: Apache-2.0
"""The form in which a store keeps an object, and how stores share the memory of equal objects."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from apimachinery.objects import Cached

Sharing = Callable[[], AbstractContextManager[Callable[[Cached], Cached | None]]]
"""Returns a context manager for adding objects to a store, while no other store takes any.

The context manager yields a function that returns the equal object of another store, or None.
"""


def nothing(cached: Cached) -> None:
    """Return None; for a store that shares no objects with other stores."""


_ALONE: AbstractContextManager[Callable[[Cached], Cached | None]] = nullcontext(nothing)


def alone() -> AbstractContextManager[Callable[[Cached], Cached | None]]:
    """Return a context manager for a store that shares no objects with other stores.

    It yields a function that finds no equal object, so it always returns None.
    """
    return _ALONE


Form = Callable[[Cached, Cached | None, Cached | None], Cached]
"""Returns the form in which a store keeps an object: of the object, its previous state in the store, and the equal
object of another store; the last two may be None.
"""


def as_received(cached: Cached, before: Cached | None, found: Cached | None) -> Cached:
    """Return an object as it was received, without compression; this is a `Form`.

    If another store has an equal object, `found`, that one is returned in place of `cached`, to share its memory.
    """
    return cached if found is None else found
