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
    """The states of one object that a piece of work, such as a reconcile, has seen, so that its reads stay consistent.

    Attributes:
        key: The key of the object.
        states: The state that was last seen in each store; None if the object was absent.
        is_own: Returns whether the work may see a later state; False for an object that now belongs to another replica.
        bodies: The body that was last seen, by the store of its metadata, for caches that keep only some bodies.

    Threads: one; it is in the context of the work.
    """

    key: ObjectKey
    states: dict[Any, Cached | None]
    is_own: Callable[[Cached], bool]
    bodies: dict[Any, Cached] = attrs.field(factory=dict)

    @property
    def present(self) -> Cached | None:
        """The state in the first store that has the object; None if it is absent from all stores."""
        return next((cached for cached in self.states.values() if cached is not None), None)

    def read(self, store: object, key: ObjectKey, found: Cached | None) -> Cached | None:
        """Return the state that this work shall see where the store now has `found`, and remember it.

        That is `found`, if it is this work's own object, else the state that was seen last.
        """
        if key != self.key or store not in self.states:
            return found
        if found is not None and self.is_own(found):
            self.states[store] = found
        return self.states[store]

    def body(self, store: object, key: ObjectKey, found: Cached | None) -> Cached | None:
        """Return the body that this work shall see where `found` is the current one, and remember it.

        That is `found`, if it is this work's own object, else the body that was seen last.

        Raises:
            StaleCache: No body was seen yet, and the object is gone or belongs to another replica. To report an absence
                could be wrong, since another object may have the name; the cache is about to see it.
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
    """Return a context manager: inside its block, reads of the object's key see the states in `held`.

    So work that began with an object does not see it vanish, even if it is deleted or goes to another replica; and work
    that began without the object does not see one of another replica.
    """
    token = HELD.set(held)
    try:
        yield
    finally:
        HELD.reset(token)
