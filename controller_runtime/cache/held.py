# SPDX-License-Identifier: Apache-2.0
"""The object for which a piece of work runs: the work sees it, or its absence, unchanged to its end."""

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
        is_own: Returns whether the work may see a later state; False for an object that now belongs to another slot.
        bodies: The body that was last seen, by the store of its metadata, for caches that keep only some bodies.

    Threads: one; it is in the context of the work.
    """

    key: ObjectKey
    states: dict[Any, Cached | None]
    is_own: Callable[[Cached], bool]
    bodies: dict[Any, Cached] = attrs.field(factory=dict)

    @property
    def present(self) -> Cached | None:
        """The last seen state of the object, from the first store that has it; None if every store lacks it."""
        return next((cached for cached in self.states.values() if cached is not None), None)

    def read(self, store: object, key: ObjectKey, found: Cached | None) -> Cached | None:
        """Return the state that this work may see when the store now has `found`, and remember it.

        That is `found` if the object is there and still belongs to the slot of the work, otherwise the state that the
        work saw last.
        """
        if key != self.key or store not in self.states:
            return found
        if found is not None and self.is_own(found):
            self.states[store] = found
        return self.states[store]

    def body(self, store: object, key: ObjectKey, found: Cached | None) -> Cached | None:
        """Return the body that this work may see when `found` is the current one, and remember it.

        That is `found` if the object is there and still belongs to the slot of the work, otherwise the body that the
        work saw last.

        Raises:
            StaleCache: The work has seen no body yet, and the object is gone or belongs to another slot. The object is
                not reported as absent, since another object may have its name; the cache will show it soon.
        """
        if key != self.key or store not in self.states:
            return found
        if found is not None and self.is_own(found):
            self.bodies[store] = found
        if store not in self.bodies:
            raise StaleCache(f"{key} has gone, or has another owner, and the cache of its metadata has yet to show it")
        return self.bodies[store]


HELD: contextvars.ContextVar[Held | None] = contextvars.ContextVar("held object", default=None)
"""The object for which the work in this context runs; None outside of such work."""


@contextlib.contextmanager
def holding(held: Held) -> Iterator[None]:
    """Return a context manager: inside its block, reads of the object's key see the states in `held`.

    So work that began with an object sees it to the end, even if it is deleted or now belongs to another slot. Work
    that began without the object does not see one that belongs to another slot.
    """
    token = HELD.set(held)
    try:
        yield
    finally:
        HELD.reset(token)
