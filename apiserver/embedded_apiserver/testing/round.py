# SPDX-License-Identifier: Apache-2.0
"""A round: the server of one test, with its storage, scripted faults and recorded requests."""

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
    """The credentials that a server accepts. They stay the same as long as its address does.

    Attributes:
        token: The administrator's bearer token.
        signing_key: The private key that signs the tokens of service accounts, in PEM form.
        authority: The certificate of the server's certificate authority, in PEM form.
        users: Further users by their bearer tokens.
    """

    token: str = attrs.field(repr=False)
    signing_key: str = attrs.field(repr=False)
    authority: str
    users: dict[str, User] = attrs.field(factory=dict, repr=False)


class Round:
    """The server of one test, with its storage, scripted faults and recorded requests; a `Handler` and a `Screen`.

    Args:
        host: The host of the machine.
        credentials: The credentials that the server accepts.
        test: The name of the test, for messages about watches that outlive it.
        options: Further arguments of `APIServer`.

    Attributes:
        server: The server of the test.
        host: The host of the server, whose clock can be moved.
        script: The scripted faults.
        requests: The recorded requests.
        test: The name of the test.
        first: The storage's first resourceVersion. No other round has versions in the range from this one to the
            storage's current one.

    Raises:
        UsageError: An option is invalid.

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
        """Answer a request with a scripted fault or by the server, and record it if its path names a resource, or if it
        is refused.
        """
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
        """Return whether the server accepts the credentials in these headers; see `Screen.knows`."""
        return self.server.knows(headers)

    def is_heavy(self, request: HTTPRequest) -> bool:
        """Return whether the server may take long for a request; see `Screen.is_heavy`."""
        return self.server.is_heavy(request)

    def calls_out(self, request: HTTPRequest) -> bool:
        """Return whether a request may wait: the script may delay it, or the server calls others; see
        `Screen.calls_out`.
        """
        return self.script.waits() or self.server.calls_out(request)

    def run(self, name: str, task: Callable[[Stop], None]) -> None:
        """Run a task on its own thread until the server ends. The task gets a `Stop`, which is then set."""
        self._threads.append(spawn(self.host, self._stop, name, partial(task, self._stop)))

    def on_end(self, close: Callable[[], None]) -> None:
        """Register a function to call when the server ends, before its storage is closed; the last registered is called
        first.
        """
        self._closes.append(close)

    def end(self) -> None:
        """End the server of the test: its watches, delayed requests and tasks.

        Raises:
            Exception: The error of a task that failed.
        """
        self._stop.set()
        for thread in self._threads:
            thread.join_until(None)
        while self._closes:
            self._closes.pop()()
        self.server.close()
        if self._stop.failure is not None:
            raise self._stop.failure
