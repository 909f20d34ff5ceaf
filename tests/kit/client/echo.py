# SPDX-License-Identifier: Apache-2.0
"""A server core for tests: it echoes, answers with any status, and its watches send the lines that a test sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse, Watch

JSON = {"content-type": "application/json"}


class ScriptedWatch:
    """A watch whose lines a test sets. Threads: any."""

    def __init__(self, host: Host, on_ready: Callable[[], None], wake_every: float | None) -> None:
        self.headers: Mapping[str, str] = {**JSON, "x-watch": "scripted"}
        self._host = host
        self._on_ready = on_ready
        self._wake_every = wake_every
        # Guards the three below.
        self._condition = host.condition("scripted watch")
        self._lines: list[bytes] = []
        self._over = False
        self.closed = False

    def say(self, *lines: bytes, over: bool = False, aloud: bool = True) -> None:
        """Append these lines; if not `aloud`, the reader is not woken and has to look again."""
        with self._condition:
            self._lines += [line + b"\n" for line in lines]
            self._over = over
        if aloud:
            self._on_ready()

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        with self._condition:
            taken, self._lines = self._lines[:limit], self._lines[limit:]
            return taken, self._over and not self._lines

    def next_wake(self) -> float | None:
        return self._wake_every

    def close(self) -> None:
        with self._condition:
            self.closed = True
            self._condition.notify_all()

    def wait_closed(self, deadline: float) -> bool:
        with self._condition:
            while not self.closed and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            return self.closed


class EchoHandler:
    """`/echo` returns the request, `/status/N` answers N, `/watch` is a watch, `/wakeful` one looked at often."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.watches: list[ScriptedWatch] = []

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        if request.path in ("/watch", "/wakeful"):
            if on_ready is None:
                return HTTPResponse(400, JSON, b'"a watch needs a reader"')
            self.watches.append(ScriptedWatch(self._host, on_ready, 0.01 if request.path == "/wakeful" else None))
            return self.watches[-1]
        if request.path.startswith("/status/"):
            return HTTPResponse(int(request.path[8:]), {**JSON, "retry-after": "7"}, b'{"kind":"Status"}')
        return HTTPResponse(200, {**JSON, "x-method": request.method}, _echo(request))


def _echo(request: HTTPRequest) -> bytes:
    told = {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": dict(request.headers),
        "body": request.body.decode(),
    }
    return json.dumps(told).encode()
