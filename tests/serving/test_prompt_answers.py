# SPDX-License-Identifier: Apache-2.0
"""The small HTTP server with answers that take no time, through real sockets."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping

import pytest

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.core.listening import bind
from controller_runtime.serving import front
from controller_runtime.serving.front import MOST_SILENT
from controller_runtime.serving.prompt import MOST_ANSWERS, Answer, PromptAnswers
from controller_runtime.serving.reader import HEAD_LIMIT
from controller_runtime.serving.server import Server
from controller_runtime.serving.slots import ConnectionSlots, Key

HOST = SystemHost()
SMALL = 4096  # bytes of a socket's buffer
LARGE = 400_000  # bytes, more than the small buffers of both sides hold


def echo(request: HTTPRequest, is_local: bool) -> HTTPResponse:
    return HTTPResponse(200, {}, f"{request.path} {request.query} {is_local}".encode())


def answering(
    listener: socket.socket, answers: Mapping[str, Answer] | None = None, name: str = "", stop: Stop | None = None
) -> Server:
    """Return a server whose only answer is `echo`, unless others are given."""
    names = (name, str(listener.getsockname()[0]))
    return Server(HOST, stop or Stop(HOST), listener, PromptAnswers(answers or {"echo": echo}, names).arrived)


def fail(request: HTTPRequest, is_local: bool) -> HTTPResponse:
    raise ZeroDivisionError


@pytest.fixture(autouse=True)
def a_machine_of_any_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no connection end by the time that it takes: these tests are of places, and each of time sets its own."""
    monkeypatch.setattr(front, "PATIENCE", 3600.0)


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    answers = {"echo": echo, "fail": fail, "large": lambda request, is_local: HTTPResponse(200, {}, b"x" * LARGE)}
    with bind("127.0.0.1:0") as listener, answering(listener, answers):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)  # that of accepted connections, too
        yield listener.getsockname()


def said(connection: socket.socket) -> str:
    """Return all bytes until the other side ends; the test's timeout bounds the wait."""
    with connection, contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return ""


def exchange(address: tuple[str, int], request: str, host: str = "localhost") -> str:
    """Return the answer to a request, whose Host header is filled in."""
    connection = socket.create_connection(address)
    connection.sendall(request.replace("\r\n", f"\r\nhost: {host}\r\n", 1).encode())
    return said(connection)


@pytest.mark.parametrize(
    ("request_text", "status", "body"),
    [
        pytest.param("GET /echo/a%20b?c=d&e HTTP/1.1\r\n\r\n", "200 OK", None, id="path and query"),
        pytest.param("GET /nothing HTTP/1.1\r\n\r\n", "404 Not Found", "not found\n", id="unknown path"),
        pytest.param("POST /echo HTTP/1.1\r\n\r\n", "405 Method Not Allowed", "method not allowed\n", id="not GET"),
        pytest.param("HEAD /echo HTTP/1.1\r\n\r\n", "200 OK", "", id="head"),
        pytest.param("GET /fail HTTP/1.1\r\n\r\n", "500 Internal Server Error", "internal server error\n", id="bug"),
        pytest.param("nonsense\r\n\r\n", "400 Bad Request", "bad request\n", id="no HTTP"),
        pytest.param("GET //[ HTTP/1.1\r\n\r\n", "400 Bad Request", "bad request\n", id="no path"),
        pytest.param("GET /ü HTTP/1.1\r\n\r\n", "400 Bad Request", "bad request\n", id="not ASCII"),
    ],
)
def test_each_request_is_answered_and_its_connection_closed(
    address: tuple[str, int], request_text: str, status: str, body: str | None
) -> None:
    head, _, shown = exchange(address, request_text).partition("\r\n\r\n")

    assert head.startswith(f"HTTP/1.1 {status}\r\n")
    assert "connection: close" in head
    assert shown == ("/echo/a b (('c', 'd'), ('e', '')) True" if body is None else body)


def test_a_head_that_is_too_long_is_refused(address: tuple[str, int]) -> None:
    answer = exchange(address, "GET /echo HTTP/1.1\r\nx: " + "y" * HEAD_LIMIT + "\r\n\r\n")

    assert answer.startswith("HTTP/1.1 431 ")


def test_whoever_says_nothing_is_not_waited_for(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as hurried:
        hurried.setattr(front, "PATIENCE", 0.05)
        silent = socket.create_connection(address)
        assert said(silent) == ""

    assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")


def test_the_oldest_silent_connection_makes_place_for_another(address: tuple[str, int]) -> None:
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(MOST_SILENT + 3)]

        assert [said(connection) for connection in silent[:3]] == ["", "", ""]
        for connection in silent[3:]:
            connection.sendall(b"GET /echo HTTP/1.1\r\n\r\n")
        assert all("200 OK" in said(connection) for connection in silent[3:]), "the others have their places"


def test_silent_connections_that_come_again_keep_no_probe_from_its_answer(address: tuple[str, int]) -> None:
    """Connections are accepted in their order: once a probe is answered, all before it had a place or made way."""
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(96)]
        for _ in range(4):
            assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")
            ended, silent = silent[: 96 + 1 - MOST_SILENT], silent[96 + 1 - MOST_SILENT :]
            assert [said(connection) for connection in ended] == [""] * len(ended)
            silent += [stack.enter_context(socket.create_connection(address)) for _ in ended]


def test_a_connection_is_not_dropped_for_another_before_its_grace_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    all_taken = threading.Semaphore(0)

    class Watched(ConnectionSlots[Key]):
        """Tells when another connection would have to wait, or when one was dropped for it."""

        def wait_for_one(self, now: float) -> float:
            if (seconds := super().wait_for_one(now)) > 0.0:
                all_taken.release()
            return seconds

        def take(self, key: Key, now: float) -> Key | None:
            if (dropped := super().take(key, now)) is not None:
                all_taken.release()
            return dropped

    monkeypatch.setattr(front, "GRACE", 3600.0)
    monkeypatch.setattr(front, "ConnectionSlots", Watched)
    with bind("127.0.0.1:0") as listener, answering(listener), contextlib.ExitStack() as stack:
        enter = lambda: stack.enter_context(socket.create_connection(listener.getsockname()))  # noqa: E731
        late = [enter() for _ in range(MOST_SILENT)]
        enter()  # waits in the operating system's queue
        all_taken.acquire()
        for connection in late:
            connection.sendall(b"GET /echo HTTP/1.1\r\n\r\n")

        assert all("200 OK" in said(connection) for connection in late)


def unread(address: tuple[str, int], path: str) -> socket.socket:
    """Return a connection that has sent a request, and does not read the answer."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
    connection.connect(address)
    connection.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    return connection


def test_answers_that_are_not_read_take_the_places_of_their_own_path_alone(address: tuple[str, int]) -> None:
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(contextlib.closing(unread(address, "/large"))) for _ in range(MOST_ANSWERS)]

        answers = [exchange(address, "GET /echo HTTP/1.1\r\n\r\n") for _ in range(2 * MOST_ANSWERS)]

        assert all("200 OK" in answer for answer in answers)
        assert all(len(said(connection)) > LARGE for connection in slow), "and those of another path drop none of them"


def test_the_oldest_answer_that_is_not_read_makes_place_for_another(address: tuple[str, int]) -> None:
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(contextlib.closing(unread(address, "/large"))) for _ in range(MOST_ANSWERS)]

        assert len(exchange(address, "GET /large HTTP/1.1\r\n\r\n")) > LARGE
        assert sum(len(said(connection)) > LARGE for connection in slow) == MOST_ANSWERS - 1


def test_a_client_that_ends_half_way_is_no_trouble(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /echo")

    assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")


@pytest.mark.scenario("MG-12")
def test_an_address_that_is_taken_is_refused_at_once_and_free_again_after_the_stop() -> None:
    """The error names the address and the remedy; the server answers, and refuses connections after its stop."""
    with bind("127.0.0.1:0") as listener:
        address = listener.getsockname()
        with answering(listener):
            with pytest.raises(UsageError, match=f"127.0.0.1:{address[1]}: it is in use; give another"):
                bind(f"127.0.0.1:{address[1]}")
            assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    bind(f"127.0.0.1:{address[1]}").close()


def test_the_stop_waits_for_no_client() -> None:
    with bind("127.0.0.1:0") as listener:
        with answering(listener):
            silent = [socket.create_connection(listener.getsockname()) for _ in range(3)]
            for connection in silent:
                connection.sendall(b"GET /echo")
            exchange(listener.getsockname(), "GET /echo HTTP/1.1\r\n\r\n")  # so those before it were accepted

        assert [said(connection) for connection in silent] == ["", "", ""]


def test_a_stop_at_any_moment_of_a_connection_leaves_none_open() -> None:
    for number in range(50):
        with bind("127.0.0.1:0") as listener, answering(listener):
            connections = [socket.create_connection(listener.getsockname()) for _ in range(number % 5)]

        assert {said(connection) for connection in connections} <= {""}


@pytest.mark.parametrize("address", ["", "8080", "localhost", "localhost:", "localhost:http", "localhost:99999", "::"])
def test_what_is_no_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(UsageError, match=r"give HOST:PORT such as 127\.0\.0\.1:8080, or 0 to serve nothing"):
        bind(address)


def test_a_host_that_is_not_known_is_named() -> None:
    with pytest.raises(UsageError, match=r"cannot serve on nowhere\.invalid:8080: "):
        bind("nowhere.invalid:8080")


@pytest.mark.parametrize(("address", "connects_to"), [(":0", "127.0.0.1"), ("localhost:0", "127.0.0.1")])
def test_where_it_listens(address: str, connects_to: str) -> None:
    with bind(address) as listener, answering(listener):
        answer = exchange((connects_to, listener.getsockname()[1]), "GET /echo HTTP/1.1\r\n\r\n")

    assert answer.endswith("True"), "it is known to come from this machine, whichever way it is written"


@pytest.mark.parametrize(
    ("host", "is_trusted"),
    [
        pytest.param("localhost", True, id="the loopback's name"),
        pytest.param("LOCALHOST:8080", True, id="with a port"),
        pytest.param("127.0.0.1:1", True, id="the address that is bound"),
        pytest.param("127.9.9.9", True, id="another loopback address"),
        pytest.param("[::1]:8080", True, id="that of the other family"),
        pytest.param("me.test:8080", True, id="the name that was bound"),
        pytest.param("rebound.example.com", False, id="another name"),
        pytest.param("rebound.example.com:127", False, id="another name with a port"),
        pytest.param("localhost.example.com", False, id="a name that begins well"),
        pytest.param("192.0.2.1", False, id="another address"),
        pytest.param("localhost, rebound.example.com", False, id="two names"),
        pytest.param("", False, id="no name"),
    ],
)
def test_this_machine_must_be_asked_for_by_a_name_of_its_own(host: str, is_trusted: bool) -> None:
    """A web page can let a name of its own resolve to this machine; the browser sends that name as the Host."""
    with bind("127.0.0.1:0") as listener, answering(listener, name="me.test"):
        answer = exchange(listener.getsockname(), "GET /echo HTTP/1.1\r\n\r\n", host)

    assert answer.endswith(str(is_trusted))


def test_a_second_host_header_is_no_way_round(address: tuple[str, int]) -> None:
    assert exchange(address, "GET /echo HTTP/1.1\r\nhost: rebound.example.com\r\n\r\n").endswith("False")


def test_other_machines_are_told_apart(outward: str) -> None:
    with bind(f"{outward}:0") as listener, answering(listener):
        assert exchange(listener.getsockname(), "GET /echo HTTP/1.1\r\n\r\n").endswith("False")


def test_a_thread_that_fails_fails_its_stop() -> None:
    def leave(request: HTTPRequest, is_local: bool) -> HTTPResponse:
        raise SystemExit(3)

    stop = Stop(HOST)
    with (
        bind("127.0.0.1:0") as listener,
        answering(listener, {"leave": leave}, stop=stop),
        socket.create_connection(listener.getsockname()) as connection,
    ):
        connection.sendall(b"GET /leave HTTP/1.1\r\n\r\n")
        assert stop.wait(60.0)

    assert isinstance(stop.failure, SystemExit)
