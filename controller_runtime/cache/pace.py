# SPDX-License-Identifier: Apache-2.0
"""The waits of a cache after failures: growing delays, which end early when the server is known to be back."""

from __future__ import annotations

from apimachinery.errors import APIError, ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.cache.recovery import is_lost
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.core.backoff import Backoff, Retrying


class Pace:
    """Decides how long one reflector waits after a failure, and carries out the wait.

    Args:
        host: The source of time and randomness.
        backoff: The delays.
        reachable: Ends a wait when the server answers another client of this process.

    Threads: the reflector's.
    """

    def __init__(self, host: Host, backoff: Backoff, reachable: ServerReachable) -> None:
        self._host = host
        self._backoff = backoff
        self._retrying = Retrying(backoff, host.random)
        self._reachable = reachable
        self._listed_at = -float("inf")
        self._was_shortened = False

    def list_begins(self, now: float) -> None:
        """Record that a list is requested at `now`, in monotonic seconds."""
        self._listed_at = now

    def worked(self, seconds: float) -> None:
        """Record that a watch worked for `seconds`; if that is long enough, the next delay is the initial one again."""
        self._retrying.worked(seconds)

    def delay(self, error: ControllerRuntimeError, *, is_relist: bool) -> float:
        """Return the seconds to wait after `error`.

        Args:
            error: Why the last try failed; it may carry the server's own `retry_after`.
            is_relist: True if the watch cannot be resumed, so that a list follows. A list is expensive for the server,
                so the delay counts from the last list: if that was long ago, the wait is short.
        """
        delay = self._retrying.next_delay()
        if is_relist:
            since = self._host.monotonic() - self._listed_at
            delay = max(self._backoff.delay(1, self._host.random), delay - since)
        requested = error.retry_after if isinstance(error, APIError) else None
        return max(delay, requested or 0.0)

    def wait(self, error: ControllerRuntimeError, delay: float, stop: Stop) -> None:
        """Wait `delay` seconds, or until `stop` is set.

        After a lost connection the wait also ends when the server answers another client of this process, but not
        before the initial delay of the backoff has passed. After a wait that ended so, the next one has its full delay.
        A server that fails only this watch therefore gets at most twice the requests that the delays allow.

        Args:
            error: The error because of which the caller waits.
            delay: The delay in seconds.
            stop: Ends the wait.
        """
        may_be_shortened = is_lost(error) and not self._was_shortened
        at_least = min(delay, self._backoff.initial) if may_be_shortened else delay
        self._was_shortened = not stop.wait(at_least) and self._reachable.wait(stop, delay - at_least)
