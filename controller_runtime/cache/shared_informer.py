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
    """Identifies an informer: callers that ask for the same collection and linger share one."""

    collection: Collection
    linger: float


@attrs.define(eq=False)
class Shared:
    """An informer, and how many callers use it.

    Attributes:
        informer: The informer.
        stop: Ends this informer and nothing else.
        any_version: Whether it begins with any state that the server has.
        watched: Has the bodies that a second watch brings; None if there is none.
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
        """Run the informer on a thread of its own until `stop` or that of the program is set."""
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
        """Return whether the informer has run, and neither the informer nor a subscription of it still runs."""
        return self.has_run and not self.informer.subscriptions

    def join_until(self, deadline: float | None) -> list[Thread]:
        """Wait for the threads of the informer and its subscriptions; return those that still run at `deadline`."""
        own = [] if self.thread is None or self.thread.join_until(deadline) else [self.thread]
        return own + self.informer.join_until(deadline)
