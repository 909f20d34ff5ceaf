# SPDX-License-Identifier: Apache-2.0
"""The first step of an orderly stop: a replica works on until other members own its slots."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host
from apimachinery.stop import Stage, Stop
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.wake import Wake


class HandOver:
    """Lets a program that stops wait until no slot is this replica's any more.

    The member gives its slots away by itself once it says that it does not do its work. To stop the work at once
    would leave the slots without an owner until another assignment is published and all members follow it.

    Args:
        host: Its clock.
        config: The ring, whose `retry_period` is the longest wait.
        ownership: The slots of this replica.
        has_successor: Returns whether another member could own them.

    Threads: `wait` on one, the others any.
    """

    def __init__(self, host: Host, config: RingConfig, ownership: Ownership, has_successor: Callable[[], bool]) -> None:
        self._host, self._config, self._ownership, self._has_successor = host, config, ownership, has_successor
        self._turned = Wake(host, f"hand-over of {config.name}")

    @property
    def is_possible(self) -> bool:
        """Whether this replica owns slots, and another member could own them."""
        return bool(self._ownership.owned) and self._has_successor()

    def turned(self) -> None:
        """Note that a turn of the member has ended."""
        self._turned.set()

    def wait(self, until: float, stop: Stop) -> None:
        """Wait while a hand-over is possible, for a `retry_period` at most.

        Args:
            until: Monotonic seconds until which it waits at most.
            stop: Ends the wait when it is cancelled.
        """
        until = min(until, self._host.monotonic() + self._config.retry_period)
        remove = stop.on_set(self._turned.set, Stage.CANCELLED)
        while self.is_possible and self._host.monotonic() < until and not stop.is_cancelled():
            self._turned.wait(until)
        remove()
