# SPDX-License-Identifier: Apache-2.0
"""Retries of a write after a conflict, for the few writes outside of reconciles.

A reconciler does not need it: it lets the `Conflict` out, and is called again.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeVar

from apimachinery.errors import Cancelled, Conflict
from apimachinery.host import Host
from apimachinery.plain_functions import synchronous
from apimachinery.stop import Stage, Stop
from controller_runtime.core.backoff import Backoff

T = TypeVar("T")


class ConflictRetry(enum.Enum):
    """The number of tries of `retry_on_conflict` and their delays; the numbers are client-go's."""

    QUICK = 5, Backoff(initial=0.01, factor=1.0, cap=0.01, jitter=0.1)
    """5 tries, 10 ms apart: for an object that other clients seldom write."""

    SHARED = 4, Backoff(initial=0.01, factor=5.0, cap=0.25, jitter=0.1)
    """4 tries, with delays of 10, 50 and 250 ms: for an object that many clients write."""


def retry_on_conflict(
    host: Host, attempt: Callable[[], T], *, retry: ConflictRetry = ConflictRetry.QUICK, stop: Stop | None = None
) -> T:
    """Call the function `attempt` until it raises no `Conflict`, and return its result.

    Args:
        host: The source of the time.
        attempt: Reads, decides and writes. It must read again each time; otherwise it gets the same conflict.
        retry: The number of tries and their delays.
        stop: Ends the retries when it is cancelled.

    Raises:
        Conflict: The last try raised it.
        Cancelled: `stop` was cancelled before a try; its cause is the last conflict, if there was one.
        UsageError: `attempt` is an `async def`, or returned a coroutine.
        Exception: `attempt` raised another error, which is not retried.
    """
    tried = synchronous("retry_on_conflict", attempt, "call `AsyncClient.retry_on_conflict`")
    stop = stop or Stop(host, "conflict retry")
    stop.raise_if_cancelled()
    tries, backoff = retry.value
    failures = 0
    while True:
        try:
            return tried()
        except Conflict as conflict:
            failures += 1
            if failures == tries:
                raise
            retry_at = host.monotonic() + backoff.delay(failures, host.random)
            if stop.wait_until(retry_at, Stage.CANCELLED):
                raise Cancelled(f"cancelled after a conflict, before try {failures + 1}") from conflict
