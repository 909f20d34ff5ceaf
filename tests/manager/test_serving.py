# SPDX-License-Identifier: Apache-2.0
"""The small HTTP server, through real sockets."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.core.errors import UsageError
from controller_runtime.core.system import SystemHost
from controller_runtime.manager import serving
from controller_runtime.manager.serving import HEAD_LIMIT, MOST_CONNECTIONS, Server, bind


def echo(request: HTTPRequest, is_local: bool) -> HTTPResponse:
    return HTTPResponse(200, {}, f"{request.path} {request.query} {is_local}".encode())


def fail(request: HTTPRequest, is_local: bool) -> HTTPResponse:
    raise ZeroDivisionError


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with bind("127.0.0.1:0") as listener, Server(SystemHost(), listener, {"echo": echo, "fail": fail}):
        yield listener.getsockname()


def said(connection: socket.socket) -> str:
    """All that comes until the other side ends; the test's own timeout bounds the wait."""
    with connection, contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    return ""


def exchange(address: tuple[str, int], request: str) -> str:
    connection = socket.create_connection(address)
    connection.sendall(request.encode())
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
    monkeypatch.setattr(serving, "PATIENCE", 0.05)

    silent = socket.create_connection(address)

    assert said(silent) == ""
    assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")


def test_silent_connections_keep_nobody_out_up_to_a_bound(address: tuple[str, int]) -> None:
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(address)) for _ in range(MOST_CONNECTIONS - 1)]

        assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")
        silent.append(stack.enter_context(socket.create_connection(address)))
        assert said(socket.create_connection(address)) == "", "one more is closed at once"


def test_a_client_that_ends_half_way_is_no_trouble(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as connection:
        connection.sendall(b"GET /echo")

    assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")


@pytest.mark.scenario("MG-12")
def test_an_address_that_is_taken_is_refused_at_once_and_free_again_after_the_stop() -> None:
    """The address that is in use is named with the remedy; it serves, and after the stop connections are refused."""
    with bind("127.0.0.1:0") as listener:
        address = listener.getsockname()
        with Server(SystemHost(), listener, {"echo": echo}):
            with pytest.raises(UsageError, match=f"127.0.0.1:{address[1]}: it is in use; give another"):
                bind(f"127.0.0.1:{address[1]}")
            assert "200 OK" in exchange(address, "GET /echo HTTP/1.1\r\n\r\n")

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)
    bind(f"127.0.0.1:{address[1]}").close()


def test_the_stop_waits_for_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "PATIENCE", 3600.0)
    with bind("127.0.0.1:0") as listener:
        with Server(SystemHost(), listener, {"echo": echo}):
            silent = [socket.create_connection(listener.getsockname()) for _ in range(3)]
            for connection in silent:
                connection.sendall(b"GET /echo")
            exchange(listener.getsockname(), "GET /echo HTTP/1.1\r\n\r\n")  # so those before it were accepted

        assert [said(connection) for connection in silent] == ["", "", ""]


def test_a_stop_at_any_moment_of_a_connection_leaves_none_open() -> None:
    for number in range(50):
        with bind("127.0.0.1:0") as listener, Server(SystemHost(), listener, {"echo": echo}):
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
    with bind(address) as listener, Server(SystemHost(), listener, {"echo": echo}):
        answer = exchange((connects_to, listener.getsockname()[1]), "GET /echo HTTP/1.1\r\n\r\n")

    assert answer.endswith("True"), "it is known to come from this machine, whichever way it is written"


def test_other_machines_are_told_apart(outward: str) -> None:
    with bind(f"{outward}:0") as listener, Server(SystemHost(), listener, {"echo": echo}):
        assert exchange(listener.getsockname(), "GET /echo HTTP/1.1\r\n\r\n").endswith("False")
