# SPDX-License-Identifier: Apache-2.0
"""Requests that user code makes itself, for events that no collection of the API server shows: webhooks, messages."""

from __future__ import annotations

from apimachinery.errors import UsageError
from apimachinery.host import Host
from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.sources import Intake, Synced, already_synced
from controller_runtime.queue.workqueue import WorkQueue


class Channel:
    """Passes requests to the one controller that `receive`s it, without ever waiting.

    Until that controller is started (a replica that does not lead may wait long for that), the channel holds the
    requests back: each once, and at most `capacity` of them. From then on it adds them to the controller's queue,
    which holds each once. Once the controller has stopped, its queue ignores them.

    Args:
        host: Its locks, such as `Manager.host`.
        capacity: How many different requests are held back before the start.

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
        # The requests held back, with their causes; empty from the start of the controller on.
        self._held_back: dict[Request, str] = {}
        # The controller's queue; None until it is started.
        self._queue: WorkQueue[Request] | None = None
        self.pushed = 0
        self.refused = 0

    def push(self, request: Request, *, cause: str = "pushed") -> bool:
        """Request a reconcile, and return False if it is refused because too many requests are held back.

        Args:
            request: The key of what to reconcile. The object need not exist.
            cause: Why, for the log: a few words, the same ones for the same reason.
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
            UsageError: Another controller receives it.
        """
        with self._lock:
            if self._is_received:
                raise UsageError("a channel has one controller, and this one has been received already")
            self._is_received = True

    def attach(self, intake: Intake) -> Synced:
        """Feed the controller's queue, first with the requests that were held back; see `sources.Source`."""
        with self._lock:
            held_back, self._held_back, self._queue = self._held_back, {}, intake.queue
        for request, cause in held_back.items():
            intake.queue.add(request, cause=cause)
        return already_synced
