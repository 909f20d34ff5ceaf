# SPDX-License-Identifier: Apache-2.0
"""Trying again after a conflict, in place: for the few writes that cannot go through a work queue.

A reconciler has no need of it: it lets the `Conflict` out, and is called again.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeVar

from controller_runtime.core.backoff import Backoff
from controller_runtime.core.errors import Cancelled, Conflict
from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stage, Stop

T = TypeVar("T")


class ConflictRetry(enum.Enum):
    """How often `retry_on_conflict` tries, and how far apart; the numbers are client-go's."""

    QUICK = 5, Backoff(initial=0.01, factor=1.0, cap=0.01, jitter=0.1)
    """5 tries, 10 ms apart: for an object that others seldom write."""

    SHARED = 4, Backoff(initial=0.01, factor=5.0, cap=0.25, jitter=0.1)
    """4 tries, after 10, 50 and 250 ms: for one that many write."""


def retry_on_conflict(
    host: Host, attempt: Callable[[], T], *, retry: ConflictRetry = ConflictRetry.QUICK, stop: Stop | None = None
) -> T:
    """What `attempt` returns, tried again as long as it raises `Conflict`.

    Args:
        host: Times the delays.
        attempt: Reads, decides and writes; all of it anew each time.
        retry: How often, and how far apart.
        stop: Whose cancelling ends it.

    Raises:
        Conflict: The last try still met one.
        Cancelled: `stop` was cancelled before a try; the conflict before it is its cause.
        Exception: Anything else that `attempt` raises, at once.
    """
    stop = stop or Stop(host, "conflict retry")
    stop.raise_if_cancelled()
    tries, backoff = retry.value
    failures = 0
    while True:
        try:
            return attempt()
        except Conflict as conflict:
            failures += 1
            if failures == tries:
                raise
            retry_at = host.monotonic() + backoff.delay(failures, host.random)
            if stop.wait_until(retry_at, Stage.CANCELLED):
                raise Cancelled(f"cancelled after a conflict, before try {failures + 1}") from conflict
