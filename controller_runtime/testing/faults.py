# SPDX-License-Identifier: Apache-2.0
"""A transport around another one that applies the faults of `apimachinery.faults`.

A function of the call's number and the request decides which call gets a fault, so a test can write a table and a
simulation can draw from its seed. Faults of whole hosts are in `simulation.system_faults`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import NoReturn

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.faults import (
    Answered,
    CutReply,
    CutStream,
    Delayed,
    Fault,
    LostReply,
    LostRequest,
    Refused,
    SilentStream,
)
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.plain_functions import synchronous
from controller_runtime.client.transport import Stream, Transport, TransportWrapper

__all__ = [
    "Answered",
    "CutReply",
    "CutStream",
    "Delayed",
    "Fault",
    "Faults",
    "FaultyTransport",
    "LostReply",
    "LostRequest",
    "Refused",
    "SilentStream",
    "no_faults",
    "numbered",
    "scripted",
]

Faults = Callable[[int, HTTPRequest], Fault | None]
"""Returns the fault of a call, or None for none. It is called with the number of the call (from 0, requests and streams
together) and the request.
"""


def scripted(script: Mapping[int, Fault]) -> Faults:
    """Return a function that looks up the fault of a call by its number; a call whose number is not in `script` has
    none.
    """
    return lambda number, request: script.get(number)


def no_faults(number: int, request: HTTPRequest) -> Fault | None:
    """Return None, so that no call has a fault."""
    return None


def numbered(faults: Faults) -> Faults:
    """Return `faults` with one numbering of calls for all transports that use the result."""
    numbers, fault_of = itertools.count(), synchronous("faults", faults)
    return lambda number, request: fault_of(next(numbers), request)


class FaultyTransport(TransportWrapper):
    """A `transport.Transport` around another one that applies faults.

    Args:
        host: The client's host.
        inner: Carries the requests that are not lost.
        faults: Returns the fault of each call, or None.

    Threads: any; calls are numbered in the order in which they begin.
    """

    def __init__(self, host: Host, inner: Transport, faults: Faults) -> None:
        self._host = host
        super().__init__(inner)
        self._faults = synchronous("faults", faults)
        # Guards the number of the next call, and the waits that `close` ends.
        self._lock = host.lock("faulty transport")
        self._calls = 0
        self._waits: dict[_Pause, None] = {}

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        fault = self._next_fault(request)
        answer = self._on_the_way(fault, request, deadline)
        if answer is not None:
            return answer
        response = self.inner.request(request, deadline)
        self._lose_reply(fault, request, deadline)
        return response

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        fault = self._next_fault(request)
        answer = self._on_the_way(fault, request, deadline)
        if answer is not None:
            return _AnsweredStream(answer)
        stream = self.inner.stream(request, deadline)
        try:
            self._lose_reply(fault, request, deadline)
        except ConnectionLost:
            stream.close()
            raise
        match fault:
            case CutStream() | SilentStream():
                return _FaultyStream(self._host, stream, fault, request)
            case _:
                return stream

    def close(self) -> None:
        """Close the inner transport; calls that wait because of a fault end at once with `ConnectionLost`."""
        with self._lock:
            waits = [*self._waits]
        for wait in waits:
            wait.end()
        self.inner.close()

    def _next_fault(self, request: HTTPRequest) -> Fault | None:
        with self._lock:
            number = self._calls
            self._calls += 1
        return self._faults(number, request)

    def _on_the_way(self, fault: Fault | None, request: HTTPRequest, deadline: float) -> HTTPResponse | None:
        """Make a fault happen on the way to the server; return an answer instead of the server's, or None to go on."""
        match fault:
            case Refused():
                self._host.leaving("transport")
                raise ConnectionLost(f"{_what(request)}: connection refused")
            case LostRequest():
                self._silence(request, deadline)
            case Delayed(seconds):
                arrival = self._host.monotonic() + seconds
                if arrival >= deadline:
                    self._silence(request, deadline)
                self._wait_until(arrival, request)
                if self._host.monotonic() >= deadline:  # woken too late, as after a standstill
                    raise ConnectionLost(f"{_what(request)}: no answer in time")
            case Answered(response):
                self._host.leaving("transport")
                return response
            case _:
                pass
        return None

    def _lose_reply(self, fault: Fault | None, request: HTTPRequest, deadline: float) -> None:
        match fault:
            case LostReply():
                self._silence(request, deadline)
            case CutReply():
                raise ConnectionLost(f"{_what(request)}: connection cut")
            case _:
                pass

    def _silence(self, request: HTTPRequest, deadline: float) -> NoReturn:
        self._host.leaving("transport")
        self._wait_until(deadline, request)
        raise ConnectionLost(f"{_what(request)}: no answer in time")

    def _wait_until(self, deadline: float, request: HTTPRequest) -> None:
        wait = _Pause(self._host)
        with self._lock:
            self._waits[wait] = None
        given_up = wait.wait_until(deadline)
        with self._lock:
            del self._waits[wait]
        if given_up:
            raise ConnectionLost(f"{_what(request)}: given up")


class _Pause:
    """A wait that another thread can end. Threads: any."""

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards the flag; `wait_until` waits on it.
        self._condition = host.condition("faulty transport")
        self._ended = False

    def wait_until(self, deadline: float) -> bool:
        """Wait until it is ended or until `deadline`, and return whether it was ended."""
        with self._condition:
            while not self._ended and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            return self._ended

    def end(self) -> None:
        with self._condition:
            self._ended = True
            self._condition.notify_all()


class _FaultyStream(Stream):
    """A stream that is cut or becomes silent after some lines. Threads: one reads, any closes."""

    def __init__(self, host: Host, inner: Stream, fault: CutStream | SilentStream, request: HTTPRequest) -> None:
        self.response = inner.response
        self._inner = inner
        self._fault = fault
        self._what = _what(request)
        self._pause = _Pause(host)
        self._left = fault.after  # lines until the fault; only the reading thread uses it

    def read(self, deadline: float) -> list[bytes] | None:
        if self._left > 0:
            lines = self._inner.read(deadline)
            lines = lines if lines is None else lines[: self._left]
            self._left -= len(lines or ())
            return lines
        silent = isinstance(self._fault, SilentStream)
        if self._pause.wait_until(deadline if silent else -math.inf):
            return None
        self.close()
        if silent:
            raise StreamIdle(f"{self._what}: no complete line in time")
        raise ConnectionLost(f"{self._what}: connection cut")

    def receive(self, deadline: float) -> list[bytes] | None:
        if self._left > 0:
            messages = self._inner.receive(deadline)
            messages = messages if messages is None else messages[: self._left]
            self._left -= len(messages or ())
            return messages
        if isinstance(self._fault, SilentStream):
            return None if self._pause.wait_until(deadline) else []
        self.close()
        raise ConnectionLost(f"{self._what}: connection cut")

    def send(self, message: bytes, deadline: float) -> None:
        self._inner.send(message, deadline)

    def close(self) -> None:
        self._pause.end()
        self._inner.close()


class _AnsweredStream(Stream):
    """A stream that has ended, with an answer that is not the server's."""

    def __init__(self, response: HTTPResponse) -> None:
        self.response = response

    def read(self, deadline: float) -> list[bytes] | None:
        return None

    def close(self) -> None:
        return


def _what(request: HTTPRequest) -> str:
    return f"{request.method} {request.path}"
