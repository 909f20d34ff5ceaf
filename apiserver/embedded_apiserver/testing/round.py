# SPDX-License-Identifier: Apache-2.0
"""A round: one storage, with what was scripted for it and what was asked of it, from the begin of a test to its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs

from apimachinery.faults import Answered, CutReply, Delayed, Refused
from apimachinery.host import Host
from apimachinery.http import NO_ANSWER, HTTPRequest, HTTPResponse, Watch
from apimachinery.stop import Stop, spawn
from embedded_apiserver.routes import find_route
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell.webhook_calls import TLSCaller
from embedded_apiserver.storage.history import History
from embedded_apiserver.testing.clock import MovableHost
from embedded_apiserver.testing.requests import Requests, recorded, status_of
from embedded_apiserver.testing.script import Script
from embedded_apiserver.users import User

# A test that a debugger has stopped for long finds its watches alive: nothing is forgotten but by `forget_history`.
_HISTORY = History(changes=1_000_000, age=10 * 86400.0)


@attrs.frozen
class Credentials:
    """The credentials that a server accepts, which stay as long as its address.

    Attributes:
        token: The administrator's token.
        signing_key: Signs the tokens of service accounts.
        authority: The certificate of the authority, PEM.
        users: Further users by their tokens.
    """

    token: str = attrs.field(repr=False)
    signing_key: str = attrs.field(repr=False)
    authority: str
    users: dict[str, User] = attrs.field(factory=dict, repr=False)


class Round:
    """One storage and all that belongs to it; an `http.Handler`, and a `Screen`.

    Args:
        host: The machine.
        credentials: The credentials that are accepted.
        test: The test that the round is for, by which a watch that outlives it is named.
        options: Further arguments of `APIServer`.

    Attributes:
        server: The server.
        host: The host of the server, whose clock can be moved.
        script: The faults that are to happen.
        requests: The requests so far.
        test: As given.
        first: The storage's first version; no other round has a version from it up to the storage's present one.

    Raises:
        UsageError: An option is wrong.

    Threads: any.
    """

    def __init__(self, host: Host, credentials: Credentials, test: str, options: Mapping[str, Any]) -> None:
        self.host = MovableHost(host)
        self.server = APIServer(
            self.host,
            token=credentials.token,
            signing_key=credentials.signing_key,
            authority=credentials.authority,
            users=credentials.users,
            history=_HISTORY,
            caller=TLSCaller(self.host),
            **options,
        )
        self.first = self.server.storage.version
        self.token, self.test = credentials.token, test
        self.script, self.requests = Script(host), Requests()
        self._stop = Stop(host, "end of a round")
        self._threads: list[Any] = []
        self._closes: list[Callable[[], None]] = []

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """Record a request, and answer it by the script or as the server does."""
        route = find_route(self.server.kinds, request.path.rstrip("/"))
        user = self.server.actors(request)
        acts_as = user.impersonated or user.user
        asked = recorded(request, route, acts_as.name if acts_as else "")
        if route is not None:
            self.requests.add(asked)
        answer = self._answer(request, self.script.take(asked), on_ready)
        asked.status = status_of(answer)
        if route is None and asked.status not in (0, 200):
            self.requests.add(asked)
        return answer

    def _answer(self, request: HTTPRequest, fault: object, on_ready: Callable[[], None] | None) -> HTTPResponse | Watch:
        match fault:
            case Refused():
                return NO_ANSWER
            case Answered(response):
                return response
            case Delayed(seconds):
                if self._stop.wait(seconds):
                    return NO_ANSWER
        answer = self.server.handle(request, on_ready)
        if isinstance(fault, CutReply):
            if not isinstance(answer, HTTPResponse):
                answer.close()
            return NO_ANSWER
        return answer

    def knows(self, headers: Mapping[str, str]) -> bool:
        """See `Screen.knows`."""
        return self.server.knows(headers)

    def is_heavy(self, request: HTTPRequest) -> bool:
        """See `Screen.is_heavy`."""
        return self.server.is_heavy(request)

    def calls_out(self, request: HTTPRequest) -> bool:
        """See `Screen.calls_out`; a request that may be delayed waits like one that calls a webhook."""
        return self.script.waits() or self.server.calls_out(request)

    def run(self, name: str, task: Callable[[Stop], None]) -> None:
        """Run a task on a thread of its own until the end of the round."""
        self._threads.append(spawn(self.host, self._stop, name, partial(task, self._stop)))

    def on_end(self, close: Callable[[], None]) -> None:
        """Call a function at the end of the round, before its storage is closed; the last one first."""
        self._closes.append(close)

    def end(self) -> None:
        """End the watches and what waits, then what runs next to the server; raise the error of a task that failed."""
        self._stop.set()
        for thread in self._threads:
            thread.join_until(None)
        while self._closes:
            self._closes.pop()()
        self.server.close()
        if self._stop.failure is not None:
            raise self._stop.failure
