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
    """Lets a stopping program wait until other members own the slots of this replica.

    The member gives up its slots once it reports that it does not work. If the work stopped at once, the slots would
    have no owner until another assignment is published and all members follow it.

    Args:
        host: The source of the time.
        config: The configuration of the ring; its `retry_period` is the longest wait.
        ownership: The slots of this replica.
        has_successor: Returns whether another member could own the slots.

    Threads: `wait` on one, the other methods any.
    """

    def __init__(self, host: Host, config: RingConfig, ownership: Ownership, has_successor: Callable[[], bool]) -> None:
        self._host, self._config, self._ownership, self._has_successor = host, config, ownership, has_successor
        self._turned = Wake(host, f"hand-over of {config.name}")

    @property
    def is_possible(self) -> bool:
        """Whether this replica owns slots, and another member could own them."""
        return bool(self._ownership.owned) and self._has_successor()

    def turned(self) -> None:
        """Report that the member has finished an update of the ring, so that `wait` checks again."""
        self._turned.set()

    def wait(self, until: float, stop: Stop) -> None:
        """Wait while a hand-over is possible, for at most one `retry_period`.

        Args:
            until: The latest end of the wait, in monotonic seconds.
            stop: Ends the wait when it is cancelled.
        """
        until = min(until, self._host.monotonic() + self._config.retry_period)
        remove = stop.on_set(self._turned.set, Stage.CANCELLED)
        while self.is_possible and self._host.monotonic() < until and not stop.is_cancelled():
            self._turned.wait(until)
        remove()
