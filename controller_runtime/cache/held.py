# SPDX-License-Identifier: Apache-2.0
"""The object that work has in hand: reads of its key find it, or its absence, to the end of that work."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from apimachinery.errors import StaleCache
from apimachinery.objects import Cached, ObjectKey


@attrs.frozen(eq=False)
class Held:
    """The states of one key in some stores: when the work began, and as it saw them later; None for an absence.

    Attributes:
        key: The key.
        states: The state in each store.
        is_own: Whether a later state may be seen by this work; one that may not is another worker's object.
        bodies: The last body that this work saw, by the store of its metadata, where a cache keeps bodies of some.

    Threads: one; it is in the context of the work.
    """

    key: ObjectKey
    states: dict[Any, Cached | None]
    is_own: Callable[[Cached], bool]
    bodies: dict[Any, Cached] = attrs.field(factory=dict)

    @property
    def present(self) -> Cached | None:
        """The state of the first store that has the object; None if all show its absence."""
        return next((cached for cached in self.states.values() if cached is not None), None)

    def read(self, store: object, key: ObjectKey, found: Cached | None) -> Cached | None:
        """Return the state to see where a store has `found`: that, if it is the work's own, else the one held.

        A state that was seen is held from then on.
        """
        if key != self.key or store not in self.states:
            return found
        if found is not None and self.is_own(found):
            self.states[store] = found
        return self.states[store]

    def body(self, store: object, key: ObjectKey, found: Cached | None) -> Cached | None:
        """Return the body to see where there is `found`: that, if it is the work's own, else the last one seen.

        Raises:
            StaleCache: The object is gone, or another worker's, before this work saw its body. An absence would not be
                the truth: another object may have the name. The cache is about to see it.
        """
        if key != self.key or store not in self.states:
            return found
        if found is not None and self.is_own(found):
            self.bodies[store] = found
        if store not in self.bodies:
            raise StaleCache(f"{key} has gone, or has another owner, and the cache of its metadata has yet to show it")
        return self.bodies[store]


HELD: contextvars.ContextVar[Held | None] = contextvars.ContextVar("held object", default=None)
"""The object in the hands of the work in this context."""


@contextlib.contextmanager
def holding(held: Held) -> Iterator[None]:
    """Have reads in this context find what is held, to the end of the context.

    So work that began with an object does not see it vanish, whether it was deleted or has become another replica's;
    and work that began with an absence does not see an object that is another replica's.
    """
    token = HELD.set(held)
    try:
        yield
    finally:
        HELD.reset(token)
