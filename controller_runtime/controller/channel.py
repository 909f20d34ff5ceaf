# SPDX-License-Identifier: Apache-2.0
"""Channels: requests that user code makes itself, for events outside of the API server, such as messages."""

from __future__ import annotations

from apimachinery.errors import UsageError
from apimachinery.host import Host
from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.sources import Intake, Synced, already_synced
from controller_runtime.queue.workqueue import WorkQueue


class Channel:
    """Passes requests from user code to one controller (see `Controller.receive`), without ever waiting.

    Until the controller starts (on a replica that does not lead this may take long), the channel holds the requests
    back, without duplicates and at most `capacity` of them. Then it adds them to the controller's queue, which has no
    duplicates either. Once the controller has stopped, its queue ignores them.

    Args:
        host: The source of locks, such as `Manager.host`.
        capacity: The most different requests that are held back before the start.

    Attributes:
        pushed: The number of requests that were pushed.
        refused: The number of requests that were refused.

    Raises:
        ValueError: `capacity` is below one.

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
        # The requests held back, with their causes; empty from the start of the controller on.
        self._held_back: dict[Request, str] = {}
        # The controller's queue; None until it is started.
        self._queue: WorkQueue[Request] | None = None
        self.pushed = 0
        self.refused = 0

    def push(self, request: Request, *, cause: str = "pushed") -> bool:
        """Request a reconcile; return True, or False if it is refused because too many requests are held back.

        Args:
            request: The key to reconcile. The object need not exist.
            cause: The reason, for the log: a few words, always the same for the same reason.
        """
        with self._lock:
            self.pushed += 1
            queue = self._queue
            if queue is None:
                has_room = request in self._held_back or len(self._held_back) < self._capacity
                self.refused += not has_room
                if has_room:
                    self._held_back.setdefault(request, cause)
                return has_room
        queue.add(request, cause=cause)
        return True

    def receive(self) -> None:
        """Reserve the channel for one controller; called by `Controller.receive`.

        Raises:
            UsageError: A controller receives this channel already.
        """
        with self._lock:
            if self._is_received:
                raise UsageError("a channel has one controller, and this one has been received already")
            self._is_received = True

    def attach(self, intake: Intake) -> Synced:
        """Add requests to the controller's queue from now on, first those that were held back; see `sources.Source`."""
        with self._lock:
            held_back, self._held_back, self._queue = self._held_back, {}, intake.queue
        for request, cause in held_back.items():
            intake.queue.add(request, cause=cause)
        return already_synced
