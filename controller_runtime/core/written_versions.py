# SPDX-License-Identifier: Apache-2.0
"""The versions that this program wrote last, each with the chain of reconciles that led to it.

A chain is a series of reconciles, each of which was caused only by writes of the previous one. A version that is not
here was written by another program, or so long ago that no request waits for it any more.
"""

from __future__ import annotations

import contextvars
from typing import Any, NamedTuple, Protocol

from apimachinery.http import HTTPRequest

KEPT = 16_384
"""The least number of versions that are kept, once so many were written; at most twice as many, about 3 MiB. If more
requests than this wait in the queue for versions that the program wrote, their chains are forgotten.
"""

DELETED = ""
"""Stands for the version of an object's deletion, which the server's answer does not contain."""


class Chain(NamedTuple):
    """The chain of reconciles that led to a version: each wrote the version that caused the next one.

    Attributes:
        length: The number of reconciles; 1 if the one that wrote the version was not caused by a write of this program.
        since: The time of the first write, in monotonic seconds.
        controllers: The names of the controllers of these reconciles, once the chain is long enough to be watched;
            empty for a short chain.
    """

    length: int
    since: float
    controllers: frozenset[str]


class WrittenVersions:
    """Keeps the resourceVersions that this program wrote last.

    Threads: any. There is no lock, because each step is one operation on a dict, with or without the GIL. Two threads
    that find it full at the same time drop the older half early, which only makes chains look shorter.
    """

    def __init__(self) -> None:
        # Two halves, of which the older one is dropped as a whole: to forget single versions would need an order of
        # use, and a lock. The hash of key and version takes a quarter of their memory.
        self._newer: dict[int, Chain] = {}
        self._older: dict[int, Chain] = {}

    def note(self, key: tuple[str, str], version: str, chain: Chain) -> bool:
        """Record that a reconcile of `chain` wrote `version` of the object `key`; return True if the version is new.

        The first record of a version stays, since a write that changes nothing is answered with the version of an
        earlier write. For deletions (`DELETED`) the last record replaces earlier ones.
        """
        token = hash((key, version))
        if version != DELETED and (token in self._newer or token in self._older):
            return False
        if len(self._newer) >= KEPT:
            self._older, self._newer = self._newer, {}
        self._newer[token] = chain
        return True

    def chain(self, key: tuple[str, str], version: str) -> Chain | None:
        """Return the chain that led to `version` of the object `key`; None if no recent write of this
        program made it.
        """
        token = hash((key, version))
        return self._newer.get(token) or self._older.get(token)


class WritesWatcher(Protocol):
    """Receives the writes of reconciles. Threads: any."""

    def wrote(self, running: RunningReconcile, request: HTTPRequest, body: bytes) -> None:
        """Record a write of the reconcile `running` that the server carried out. `body` is the body of its answer."""


class RunningReconcile:
    """The reconcile that a thread or coroutine runs, or ran last.

    Each thread of a controller has one instance for all its reconciles, of which only `request` changes: setting a
    context variable for each would cost as much as a tenth of a reconcile that does nothing.

    Attributes:
        watcher: Receives the writes of the reconcile.
        controller: The name of the controller.
        queue: The queue from which the request came.
        request: The request.

    Threads: the reconcile's own thread writes; threads that it starts read.
    """

    __slots__ = ("controller", "queue", "request", "watcher")

    def __init__(self, watcher: WritesWatcher, controller: str, queue: Any) -> None:
        self.watcher, self.controller, self.queue = watcher, controller, queue
        self.request: Any = None


running_reconcile: contextvars.ContextVar[RunningReconcile | None] = contextvars.ContextVar("reconcile", default=None)
"""The reconcile that this thread or coroutine runs, or ran last; None if its writes are not watched."""
