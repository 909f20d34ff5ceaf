# SPDX-License-Identifier: Apache-2.0
"""The credentials of an operator: a new token for each start, so that a process of an earlier start is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse, Watch

REFUSED = HTTPResponse(
    401,
    {"content-type": "application/json"},
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized",'
    b'"reason":"Unauthorized","code":401}',
)
GRACE = 2.0
"""Seconds after the end of a process in which its requests may still arrive, because they were sent before its end."""


class Credentials:
    """Issues a token for each start of an operator; requests with an earlier token are refused, and their watches end.

    Attributes:
        survivors: A line for each start that sent a request later than `GRACE` seconds after its end.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards what follows: requests come on many threads, and the trial issues and revokes.
        self._lock = host.lock("credentials of a perturbed operator")
        self._issued = 0
        self._token = ""
        self._ended_at: float | None = None
        self._watches: dict[WatchOfStart, None] = {}
        self._survivors: dict[str, str] = {}

    @property
    def survivors(self) -> list[str]:
        """A line for each start that sent a request later than `GRACE` seconds after its end, with the first such
        request.
        """
        with self._lock:
            return [*self._survivors.values()]

    def issue(self) -> str:
        """Return a new token for a new start of the operator."""
        with self._lock:
            self._issued += 1
            self._token = f"operator-start-{self._issued}"
            return self._token

    def revoke(self, end: Callable[[], None]) -> None:
        """Refuse the token of the current start, end its watches, and call `end`, which kills the process."""
        with self._lock:
            self._token, self._ended_at = "", None
            watches, self._watches = self._watches, {}
        for each in watches:
            each.cut()
        end()
        with self._lock:
            self._ended_at = self._host.monotonic()

    def refuses(self, request: HTTPRequest) -> bool:
        """Return whether a request has no valid token; record it if its process should have ended `GRACE` seconds
        ago.
        """
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        with self._lock:
            if self._token and token == self._token:
                return False
            ended = self._ended_at
            if token.startswith("operator-start-") and ended is not None and self._host.monotonic() > ended + GRACE:
                agent = request.headers.get("user-agent", "no User-Agent")
                what = f"{request.method} {request.path} by {agent[:60]}"
                self._survivors.setdefault(token, f"a process of the operator outlived its end, and asked for {what}")
            return True

    def of_start(self, watch: Watch, on_ready: Callable[[], None]) -> Watch:
        """Return a watch that ends when the token of the current start is revoked, or at once if it is so already.

        Args:
            watch: The watch of the server.
            on_ready: Called when the watch has ended.
        """
        made = WatchOfStart(watch, on_ready, self._forget)
        with self._lock:
            if self._token:
                self._watches[made] = None
                return made
        made.cut()
        return made

    def _forget(self, watch: WatchOfStart) -> None:
        with self._lock:
            self._watches.pop(watch, None)


class WatchOfStart:
    """A watch of one start of an operator; an `apimachinery.http.Watch`.

    Args:
        inner: The watch of the server.
        on_ready: Called when the watch has ended.
        on_close: Called with this watch when its reader closes it.
    """

    def __init__(self, inner: Watch, on_ready: Callable[[], None], on_close: Callable[[WatchOfStart], None]) -> None:
        self.headers: Mapping[str, str] = inner.headers
        self._inner, self._on_ready, self._on_close = inner, on_ready, on_close
        self._is_cut = False

    def cut(self) -> None:
        """End the watch, because its token was revoked."""
        self._is_cut = True
        self._on_ready()

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines, and whether the stream has ended; up to `limit` lines, besides those that a gate has
        held back.
        """
        return ([], True) if self._is_cut else self._inner.take(limit)

    def next_wake(self) -> float | None:
        """Return the seconds until `take` should be called again; None if only `on_ready` says so."""
        return 0.0 if self._is_cut else self._inner.next_wake()

    def close(self) -> None:
        """End the watch. Idempotent."""
        self._on_close(self)
        self._inner.close()
