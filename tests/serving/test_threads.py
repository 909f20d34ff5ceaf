# SPDX-License-Identifier: Apache-2.0
"""The small HTTP server with answers that may wait, through real sockets without TLS."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.core.listening import bind
from controller_runtime.serving import threads
from controller_runtime.serving.server import Server
from controller_runtime.serving.threads import Answer, AnswerThreads

HOST = SystemHost()
ASK = b"POST /echo HTTP/1.1\r\ncontent-length: 4\r\n\r\nbody"
SMALL = 4096  # bytes of a socket's buffer
LARGE = 400_000  # bytes, more than the small buffers of both sides hold


def echo(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(200, {}, request.body)


@contextlib.contextmanager
def serving(answer: Answer = echo) -> Iterator[tuple[str, int]]:
    """Serve at a free port; no connection ends by the time that it takes."""
    stop = Stop(HOST)
    with bind("127.0.0.1:0") as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)  # that of accepted connections, too
        with (
            AnswerThreads(HOST, stop, answer, lambda path: 1000, 1_000_000) as answers,
            Server(HOST, stop, listener, answers.arrived),
        ):
            yield listener.getsockname()
    assert stop.failure is None


@pytest.fixture(autouse=True)
def a_machine_of_any_load(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("front", "reader", "threads"):
        monkeypatch.setattr(f"controller_runtime.serving.{module}.PATIENCE", 3600.0)


def status(connection: socket.socket) -> int:
    """Return the status of the next answer, of which the body is `body`; 0 if the connection has ended."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while not got.endswith(b"body") and (data := connection.recv(1)):
            got += data
    return int(got.split()[1]) if got else 0


def asked(connection: socket.socket) -> int:
    with contextlib.suppress(ConnectionError):
        connection.sendall(ASK)
    return status(connection)


def test_two_requests_that_come_at_once_are_answered_in_their_order() -> None:
    with serving() as address, socket.create_connection(address) as connection:
        connection.sendall(ASK + ASK)

        assert [status(connection), status(connection)] == [200, 200]


def test_a_connection_that_had_an_answer_stays_while_others_that_had_none_make_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "MOST_CONNECTIONS", 2)
    with serving() as address, contextlib.ExitStack() as stack:
        first, *others = (stack.enter_context(socket.create_connection(address)) for _ in range(4))
        assert asked(first) == 200
        for number, each in enumerate(others):
            each.sendall(ASK[:-1])  # a body that never ends
            if number:
                assert status(others[number - 1]) == 0

        assert asked(first) == 200


def test_a_connection_whose_request_is_being_answered_makes_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_CONNECTIONS", 1)
    begun, may_end = threading.Event(), threading.Event()

    def slow(request: HTTPRequest) -> HTTPResponse:
        begun.set()
        may_end.wait()
        return echo(request)

    with serving(slow) as address, contextlib.ExitStack() as stack:
        busy, refused = (stack.enter_context(socket.create_connection(address)) for _ in range(2))
        busy.sendall(ASK)
        begun.wait()

        assert asked(refused) == 0
        may_end.set()
        assert status(busy) == 200


def test_a_connection_that_does_not_read_its_answer_makes_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST_CONNECTIONS", 1)
    first = threading.Event()

    def large_at_first(request: HTTPRequest) -> HTTPResponse:
        if first.is_set():
            return echo(request)
        first.set()
        return HTTPResponse(200, {}, b"x" * LARGE)

    with serving(large_at_first) as address, socket.socket() as unread:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        unread.connect(address)
        unread.sendall(ASK)
        first.wait()

        answered = 0
        while answered != 200:  # refused until the answer is being sent
            with socket.create_connection(address) as other:
                answered = asked(other)


def test_the_end_waits_for_requests_that_are_being_answered_and_not_for_idle_connections() -> None:
    with contextlib.ExitStack() as stack:

        def after_the_idle_one(request: HTTPRequest) -> HTTPResponse:
            if request.path == "/slow":
                begun.set()
                assert idle.recv(1) == b"", "an idle connection is ended at the end alone"
            return echo(request)

        begun = threading.Event()
        with serving(after_the_idle_one) as address:
            idle, busy = (stack.enter_context(socket.create_connection(address)) for _ in range(2))
            assert asked(idle) == 200
            busy.sendall(ASK.replace(b"/echo", b"/slow"))
            begun.wait()

        assert status(busy) == 200
