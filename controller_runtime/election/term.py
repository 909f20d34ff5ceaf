# SPDX-License-Identifier: Apache-2.0
"""Leadership as a deadline that can be extended until it has passed once, and the limit that it sets to requests."""

from __future__ import annotations

import contextvars
from collections.abc import Callable

from apimachinery.errors import LeadershipLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from controller_runtime.client.deadlines import Limit
from controller_runtime.election.decision import HeldLease


class Term:
    """One leadership, which ends at a deadline.

    Once any thread has seen that it is over, it stays over for all threads.

    The time while the machine is suspended counts, too, if the system has a clock for it (`Host.elapsed`).

    Args:
        host: The source of the time.
        token: The fencing token, `leaseTransitions` of the lease.
        until: The initial deadline, in seconds of `Host.elapsed`.

    Attributes:
        why_over: Why the leadership is over; meaningless before.

    Threads: any.
    """

    def __init__(self, host: Host, token: int, until: float) -> None:
        self._host = host
        self._token = token
        self.why_over = "its deadline has passed"
        # Guards the reason above and the two fields below. A reader that finds the deadline ahead needs no lock: a
        # stale deadline is an earlier one, since `extend` only moves it forward.
        self._lock = host.lock("term")
        self._until = until
        self._is_over = False

    @property
    def held(self) -> HeldLease:
        """The token and the current deadline in monotonic seconds, which is earlier after a suspension."""
        asleep = self._host.elapsed() - self._host.monotonic()
        return HeldLease(self._token, self._until - asleep)  # the token never changes, and the deadline is one number

    def is_over(self) -> bool:
        """Return True once the deadline has passed or `end` was called, and forever after."""
        # Without the lock; see where it is made. `_is_over` is set once and never cleared.
        if not self._is_over and self._host.elapsed() < self._until:
            return False
        with self._lock:
            return self._check()

    def extend(self, until: float) -> bool:
        """Move the deadline to `until` (seconds of `Host.elapsed`), never backwards; return False if it has passed."""
        with self._lock:
            if self._check():
                return False
            self._until = max(self._until, until)
            return True

    def end(self, why: str) -> None:
        """End the leadership now, before its deadline. If it is over already, nothing changes.

        Otherwise requests that are refused from now on give `why` as the reason.
        """
        with self._lock:
            if not self._check():
                self.why_over, self._is_over = why, True

    def _check(self) -> bool:
        self._is_over = self._is_over or self._host.elapsed() >= self._until
        return self._is_over


needs_no_leader = contextvars.ContextVar("needs_no_leader", default=False)
"""True in a context whose work has a limit of its own, so that it may continue while another replica leads."""


def leadership_limit(term: Callable[[], Term | None]) -> Limit:
    """Return a limit for `DeadlineTransport` that refuses requests once the leadership is over.

    Each request must end by the deadline that the leadership has when the request begins. So no request is sent after
    that deadline, however long it waits for a connection, for credentials or for a second try; only a request that was
    sent earlier can still take effect.

    Args:
        term: Returns the latest leadership, if there was one; called before each request.
    """

    def limit(request: HTTPRequest) -> float | None:
        present = term()
        if present is None or needs_no_leader.get():
            return None
        if present.is_over():
            raise LeadershipLost(
                f"{request.method} {request.path} was not sent: leadership is lost, {present.why_over}"
            )
        return present.held.until

    return limit
