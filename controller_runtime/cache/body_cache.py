# SPDX-License-Identifier: Apache-2.0
"""Keeps whole objects (bodies): the selected ones always, and those that were read within a limit of memory."""

from __future__ import annotations

from collections.abc import Callable

from cachetools import LRUCache

from apimachinery.host import Host
from apimachinery.objects import PlainKey
from controller_runtime.cache.bodies import Body, Seen, fits, replaces
from controller_runtime.cache.delta import Delta


class BodyCache:
    """The whole objects (bodies) of one collection that are kept, by key.

    Bodies that the options select are always kept; others only within `memory`, and not at all if a single one is
    larger.

    Args:
        host: Creates the lock.
        label: The name of the lock.
        memory: The most bytes of the bodies that are not selected.

    Attributes:
        hits: The number of bodies that were read and at hand.
        misses: The number of bodies that were read and not at hand, so that the server had to be asked.

    Threads: any, for every method.
    """

    def __init__(self, host: Host, label: str, memory: int) -> None:
        self.hits = self.misses = 0
        # Guards all fields; nothing else is locked, and no user code runs, under it.
        self._lock = host.lock(f"bodies of {label}")
        self._chosen: dict[PlainKey, Body] = {}
        self._chosen_size = 0
        self._read: LRUCache[PlainKey, Body] = LRUCache(memory, getsizeof=lambda body: body.size)

    def __len__(self) -> int:
        return len(self._chosen) + len(self._read)  # two numbers

    @property
    def chosen_size(self) -> int:
        """The estimated bytes of the whole objects that the options select; `memory` limits only the others."""
        return self._chosen_size  # one number

    @property
    def held(self) -> int:
        """The estimated memory of all kept objects (bodies), in bytes."""
        return self._chosen_size + int(self._read.currsize)  # two numbers

    def count(self, *, hits: int, misses: int) -> None:
        """Add to the counters of reads."""
        with self._lock:
            self.hits += hits
            self.misses += misses

    def get(self, key: PlainKey) -> Body | None:
        """Return the whole object (body) that is kept for a key; None if none is kept."""
        with self._lock:
            return self._chosen.get(key) or self._read.get(key)

    def put(self, key: PlainKey, body: Body, *, chosen: bool) -> None:
        """Keep a whole object, unless a newer state of it is kept. `chosen` is True if the options select it."""
        with self._lock:
            if not replaces(body, self._chosen.get(key) or self._read.get(key)):
                return
            self._drop(key)
            self._keep(key, body, chosen=chosen)

    def place(self, key: PlainKey, *, chosen: bool) -> None:
        """Count the kept object of a key, if any, as selected by the options (`chosen`), or as one that was read."""
        with self._lock:
            body = self._chosen.get(key) or self._read.get(key)
            if body is not None and chosen != (key in self._chosen):
                self._drop(key)
                self._keep(key, body, chosen=chosen)

    def keep_only(self, is_present: Callable[[PlainKey], bool]) -> None:
        """Drop the kept objects for whose key `is_present` returns False; that function must take no lock."""
        with self._lock:
            for key in [key for key in (*self._chosen, *self._read) if not is_present(key)]:
                self._drop(key)

    def drop(self, key: PlainKey, body: Body) -> None:
        """Drop the kept object `body`, which is out of date, unless another state has replaced it."""
        with self._lock:
            if (self._chosen.get(key) or self._read.get(key)) is body:
                self._drop(key)

    def changed(self, delta: Delta, seen: Seen) -> None:
        """Drop a kept object that was deleted, or that has changed unless it still answers reads; see `fits`."""
        key = delta.object.plain_key
        with self._lock:
            body = self._chosen.get(key) or self._read.get(key)
            if body is not None and (delta.new is None or not fits(body, delta.new, seen)):
                self._drop(key)

    def _keep(self, key: PlainKey, body: Body, *, chosen: bool) -> None:
        if chosen:
            self._chosen[key] = body
            self._chosen_size += body.size
        elif body.size <= self._read.maxsize:
            self._read[key] = body

    def _drop(self, key: PlainKey) -> None:
        if (body := self._chosen.pop(key, None)) is not None:
            self._chosen_size -= body.size
        self._read.pop(key, None)
