# SPDX-License-Identifier: Apache-2.0
"""Requests that user code makes by itself: of a webhook, a message, a sensor; whatever no collection tells."""

from __future__ import annotations

from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.sources import Intake, Synced, at_once
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host
from controller_runtime.queue.workqueue import WorkQueue


class Channel:
    """Hands requests to the one controller that `receive`s it; never blocks.

    Until that controller is started (a replica that does not lead yet may wait for long) they are
    kept, each once and `capacity` of them at most. From then on they go to its queue, where
    each waits once. After its end they come to nothing.

    Args:
        host: What it runs on, such as `Manager.host`.
        capacity: How many different requests are kept before the start.

    Attributes:
        pushed: How many requests were pushed.
        refused: How many of them were refused.

    Raises:
        ValueError: A capacity below one.

    Threads: any; `push` is quick enough to be called under a lock.
    """

    collection: None = None

    def __init__(self, host: Host, *, capacity: int = 1024) -> None:
        if capacity < 1:
            raise ValueError(f"capacity ({capacity}) must be at least 1")
        self._capacity = capacity
        # Guards the fields below.
        self._lock = host.lock("channel")
        self._is_received = False
        # Requests and their causes, before the start; afterwards there is a queue.
        self._kept: dict[Request, str] = {}
        self._queue: WorkQueue[Request] | None = None
        self.pushed = 0
        self.refused = 0

    def push(self, request: Request, *, cause: str = "pushed") -> bool:
        """Request a reconcile; False if it is refused because too many are kept.

        Args:
            request: What to reconcile. The object need not exist.
            cause: Why, for the log: a few words, the same ones for the same reason.
        """
        with self._lock:
            self.pushed += 1
            queue = self._queue
            if queue is None:
                is_kept = request in self._kept or len(self._kept) < self._capacity
                self.refused += not is_kept
                if is_kept:
                    self._kept.setdefault(request, cause)
                return is_kept
        queue.add(request, cause=cause)
        return True

    def receive(self) -> None:
        """Take it for a controller; for `Controller.receive`.

        Raises:
            UsageError: Another controller has it.
        """
        with self._lock:
            if self._is_received:
                raise UsageError("a channel has one controller, and this one has been received already")
            self._is_received = True

    def attach(self, intake: Intake) -> Synced:
        """Feed the queue, first with what was kept; see `sources.Source`."""
        with self._lock:
            kept, self._kept, self._queue = self._kept, {}, intake.queue
        for request, cause in kept.items():
            intake.queue.add(request, cause=cause)
        return at_once
