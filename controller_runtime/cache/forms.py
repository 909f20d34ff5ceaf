# SPDX-License-Identifier: Apache-2.0
"""The form in which a store keeps an object, and the objects that it shares with other stores."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from apimachinery.objects import Cached

Sharing = Callable[[], AbstractContextManager[Callable[[Cached], Cached | None]]]
"""Begins a block in which no other store takes objects, and returns what finds the equal object of another store."""


def nothing(cached: Cached) -> None:
    """Return None: there is no equal object in another store."""


_ALONE: AbstractContextManager[Callable[[Cached], Cached | None]] = nullcontext(nothing)


def alone() -> AbstractContextManager[Callable[[Cached], Cached | None]]:
    """Return the context manager of a store that shares no objects; it yields a function that returns None."""
    return _ALONE


Form = Callable[[Cached, Cached | None, Cached | None], Cached]
"""Returns the form in which a store keeps an object, given the state before and the form in another store, if any."""


def as_received(cached: Cached, before: Cached | None, found: Cached | None) -> Cached:
    """Return `found`, the equal object of another store, if there is one, else `cached`: a store that does not pack."""
    return cached if found is None else found
