# SPDX-License-Identifier: Apache-2.0
"""One informer of a program, and its users."""

from __future__ import annotations

from typing import NamedTuple

import attrs

from apimachinery.host import Host, Thread
from apimachinery.stop import Stop, spawn
from controller_runtime.api.collection import Collection
from controller_runtime.cache.informer import Informer


class Key(NamedTuple):
    """The key of an informer: callers with the same collection and linger (seconds of delay) share one."""

    collection: Collection
    linger: float


@attrs.define(eq=False)
class Shared:
    """An informer, and the number of its users.

    Attributes:
        informer: The informer.
        stop: Ends only this informer.
        any_version: Whether it begins with any state that the server has in memory.
        watched: The informer of a second watch, which brings whole objects; None if there is none.
        users: The calls of `Informers.of` that returned the informer, less those of `Informers.release`.
        thread: The thread of the informer's `run`; None before it is started.
        has_run: Whether the informer's `run` has ended.
    """

    informer: Informer
    stop: Stop
    any_version: bool
    watched: Informer | None = None
    users: int = 1
    thread: Thread | None = None
    has_run: bool = False

    def start(self, host: Host, program: Stop) -> None:
        """Run the informer on a new thread until `stop` or `program` is set."""
        forget = program.on_set(self.stop.set)
        # A released informer leaves no callback at the program's stop, which would keep its store in memory.
        self.stop.on_set(forget)

        def run() -> None:
            try:
                self.informer.run(self.stop, program)
            finally:
                self.has_run = True

        self.thread = spawn(host, program, f"reflector/{self.informer.resource.plural}", run)

    def has_ended(self) -> bool:
        """Return whether the informer's `run` has ended, and all its subscriptions."""
        return self.has_run and not self.informer.subscriptions

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the informer's threads; return those that still run at `deadline` (monotonic seconds)."""
        own = [] if self.thread is None or self.thread.join_until(deadline) else [self.thread]
        return own + self.informer.join_until(deadline)
