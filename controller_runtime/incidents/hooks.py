# SPDX-License-Identifier: Apache-2.0
"""The three places at which a running attempt records: the client's transport, the host for user code, and the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Any

from apimachinery.host import Condition, Host, Lock, Thread
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import Line, fields_of, text_of
from controller_runtime.client.transport import Stream, TransportWrapper
from controller_runtime.core.attempts import current_attempt
from controller_runtime.incidents.attempt import RecordedAttempt
from controller_runtime.incidents.chance import AttemptRandom, uuid_of

_CONSTANT = ("controller", "request", "reconcile", "trace_id")  # fields that all lines of one attempt have


class AttemptTransport(TransportWrapper):
    """A `transport.Transport` whose requests go through the thread's running attempt at a reconcile, if there is one.

    The attempt records the requests and their answers, or in a replay answers them itself. Threads: any.
    """

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        attempt = current_attempt()
        if attempt is None:
            return self.inner.request(request, deadline)
        return attempt.send(request, lambda: self.inner.request(request, deadline))

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        if (attempt := current_attempt()) is not None:
            attempt.stream(request)
        return self.inner.stream(request, deadline)


class AttemptHost:
    """A `Host` whose times and random numbers the running attempt records or replays.

    Everything else is the given host's.

    Args:
        host: The host.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.name = host.name
        self.random: Random = AttemptRandom(host)

    def __getattr__(
        self, name: str
    ) -> Any:  # what only one kind of host has, such as the simulation of a simulated one
        return getattr(self._host, name)

    def now(self) -> datetime:
        """Return the wall clock's time, recorded or replayed for the running reconcile."""
        attempt = current_attempt()
        return self._host.now() if attempt is None else attempt.clock("now", self._host.now)

    def monotonic(self) -> float:
        """Return monotonic seconds, recorded or replayed for the running reconcile."""
        attempt = current_attempt()
        return self._host.monotonic() if attempt is None else attempt.clock("monotonic", self._host.monotonic)

    def elapsed(self) -> float:
        """Return seconds, including those of suspensions, recorded or replayed for the running reconcile."""
        attempt = current_attempt()
        return self._host.elapsed() if attempt is None else attempt.clock("elapsed", self._host.elapsed)

    def uuid(self) -> str:
        """Return a new random UUID, from the random numbers of the running reconcile if it is recorded or replayed."""
        attempt = current_attempt()
        return self._host.uuid() if attempt is None else uuid_of(attempt.chance())

    def lock(self, label: str) -> Lock:
        """Return a new lock of the inner host."""
        return self._host.lock(label)

    def condition(self, label: str) -> Condition:
        """Return a new condition of the inner host."""
        return self._host.condition(label)

    def spawn(self, name: str, target: Callable[[], None], *, daemon: bool = False) -> Thread:
        """Start a thread on the inner host, and return it; see `Host.spawn`."""
        return self._host.spawn(name, target, daemon=daemon)

    def new_event_loop(self) -> Any:
        """Return a new event loop of the inner host."""
        return self._host.new_event_loop()

    def leaving(self, label: str) -> None:
        """Announce to the inner host a call that leaves the process; see `Host.leaving`."""
        self._host.leaving(label)


class LogHandler(logging.Handler):
    """A log handler that adds each line to the attempt that runs on the logging thread, if `owner` records that
    attempt.

    Attempts of other recorders, such as those of another manager in this process, are left alone. Threads: any.

    Args:
        owner: The recorder whose attempts get the lines.
    """

    def __init__(self, owner: object) -> None:
        super().__init__()
        self._owner = owner

    def emit(self, record: logging.LogRecord) -> None:
        """Add the line to the record of the running reconcile, if this handler's recorder records it."""
        attempt = current_attempt()
        if isinstance(attempt, RecordedAttempt) and attempt.source.owner is self._owner:
            attempt.log(record.levelname.lower(), record.name, line_of(record))


def line_of(record: logging.LogRecord) -> str:
    """Return the text of a log record with its error, without fields that all lines of a reconcile have."""
    fields = {name: value for name, value in fields_of(record).items() if name not in _CONSTANT}
    text = str(Line(text_of(record), fields)) if isinstance(record.msg, Line) else record.getMessage()
    error = record.exc_info[1] if record.exc_info else None
    return text if error is None else f"{text} ({type(error).__name__}: {error})"
