# SPDX-License-Identifier: Apache-2.0
"""The HTTP shell around a handler, tested through sockets."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Callable, Iterator, Mapping

import pytest

from apimachinery.http import BODY_LIMIT, VALUE_SEPARATOR, HTTPRequest, HTTPResponse, Watch
from apimachinery.system import SystemHost
from embedded_apiserver.shell import sending
from embedded_apiserver.shell.thread import LoopbackServer

HOST = SystemHost()
LONG = bytes(range(256)) * 16384 + b"the end"


class EndlessWatch:
    """A watch that always has another line. Threads: the server's takes lines; a test reads the counts."""

    headers: Mapping[str, str] = {"content-type": "application/json"}

    def __init__(self, line: bytes, limit: int | None) -> None:
        self._line = line
        self._left = limit
        self._condition = HOST.condition("endless watch")
        self.taken = 0
        self._closed = False

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        if self._left == self.taken:
            return [], False
        self.taken += 1
        return [self._line] * (limit if self._left is None else 1), False

    def next_wake(self) -> float | None:
        return None

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def wait_closed(self) -> bool:
        deadline = HOST.monotonic() + 60.0
        with self._condition:
            while not self._closed and HOST.monotonic() < deadline:
                self._condition.wait_until(deadline)
            return self._closed


class Core:
    """A handler that records requests and refuses long bodies. `/watch` has one line, and `/flood` never ends."""

    def __init__(self) -> None:
        self.asked: list[HTTPRequest] = []
        self.watches: list[EndlessWatch] = []

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        self.asked.append(request)
        match request.path:
            case "/watch":
                self.watches.append(EndlessWatch(b"{}\n", 1))
                return self.watches[-1]
            case "/flood":
                self.watches.append(EndlessWatch(b"x" * 1023 + b"\n", None))
                return self.watches[-1]
            case "/long":
                return HTTPResponse(200, {"content-type": "text/plain"}, LONG)
        if len(request.body) > BODY_LIMIT:
            return HTTPResponse(413, {}, b"too large")
        return HTTPResponse(200, {"content-type": "text/plain", "x-core": "yes"}, b"hello")


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def server(core: Core) -> Iterator[LoopbackServer]:
    with LoopbackServer(HOST, core) as running:
        yield running


def exchange(server: LoopbackServer, data: bytes) -> bytes:
    """Send `data` and return everything until the server ends the connection."""
    with socket.create_connection(("127.0.0.1", server.port), 60.0) as sock:
        sock.sendall(data)
        return b"".join(iter(lambda: sock.recv(65536), b""))


def ask(server: LoopbackServer, method: str, target: str, body: bytes | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10.0)
    with contextlib.closing(connection):
        connection.request(method, target, body)
        response = connection.getresponse()
        response.read()
        return response


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        pytest.param("/a/b", "/a/b", (), id="plain"),
        pytest.param("/a%2Fb/%C3%BC", "/a/b/ü", (), id="percent-encoded"),
        pytest.param("//a/../b/", "//a/../b/", (), id="not normalised"),
        pytest.param("/?a=1&b=&a=2", "/", (("a", "1"), ("b", ""), ("a", "2")), id="pairs in order"),
        pytest.param("/?l=a%3Db%2Cc+d%2B", "/", (("l", "a=b,c d+"),), id="query percent-encoded"),
        pytest.param("http://elsewhere.test/x?y=z", "/x", (("y", "z"),), id="absolute form"),
    ],
)
def test_the_target_is_decoded_and_otherwise_left_alone(
    server: LoopbackServer, core: Core, target: str, path: str, query: tuple[tuple[str, str], ...]
) -> None:
    exchange(server, f"GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())

    assert (core.asked[0].path, core.asked[0].query) == (path, query)


def test_headers_are_lower_case_and_repeated_ones_joined(server: LoopbackServer, core: Core) -> None:
    exchange(server, b"GET / HTTP/1.1\r\nHost: x\r\nAccept: a\r\nACCEPT: b\r\nConnection: close\r\n\r\n")

    assert core.asked[0].headers == {"host": "x", "accept": "a, b", "connection": "close"}


def test_repeated_headers_of_impersonation_can_hold_commas(server: LoopbackServer, core: Core) -> None:
    groups = b"Impersonate-Group: a\r\nimpersonate-group: b, c\r\n"
    exchange(server, b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + groups + b"\r\n")

    assert core.asked[-1].headers["impersonate-group"] == f"a{VALUE_SEPARATOR}b, c"


def test_bytes_that_are_no_text_reach_the_core_as_one_replacement_each(server: LoopbackServer, core: Core) -> None:
    exchange(
        server, b"GET /x%ff?a=%ff HTTP/1.1\r\nHost: x\r\nUser-Agent: a\xff\xed\xa0\x80\r\nConnection: close\r\n\r\n"
    )

    asked = core.asked[-1]
    assert asked.headers["user-agent"] == "a\ufffd\ufffd\ufffd\ufffd"
    assert (asked.path, asked.query) == ("/x\ufffd", (("a", "\ufffd"),))


def test_the_answer_is_the_cores(server: LoopbackServer) -> None:
    answer = exchange(server, b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"x-core: yes" in head
    assert body == b"hello"


def test_a_long_answer_comes_whole_with_its_length(server: LoopbackServer) -> None:
    head, _, body = exchange(server, b"GET /long HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").partition(
        b"\r\n\r\n"
    )

    assert f"content-length: {len(LONG)}".encode() in head.lower()
    assert body == LONG


@pytest.mark.parametrize(
    "path", [pytest.param(b"/", id="of a short answer"), pytest.param(b"/long", id="of a long one")]
)
def test_a_head_request_gets_the_head_alone(server: LoopbackServer, core: Core, path: bytes) -> None:
    answer = exchange(server, b"HEAD %b HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % path)

    assert core.asked[0].method == "HEAD"
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\n")


def test_options_reach_the_core(server: LoopbackServer, core: Core) -> None:
    assert ask(server, "OPTIONS", "/x").status == 200
    assert core.asked[0].method == "OPTIONS"


def test_a_body_of_the_limit_passes(server: LoopbackServer, core: Core) -> None:
    assert ask(server, "POST", "/", b"x" * BODY_LIMIT).status == 200
    assert len(core.asked[0].body) == BODY_LIMIT


def test_no_more_of_a_body_is_read_than_shows_that_it_is_too_long(server: LoopbackServer, core: Core) -> None:
    head = f"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {BODY_LIMIT * 9}\r\n\r\n".encode()

    with socket.create_connection(("127.0.0.1", server.port), 60.0) as sock:
        sock.sendall(head + b"x" * (BODY_LIMIT + 1000))
        answer = sock.recv(1024)

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert len(core.asked[0].body) == BODY_LIMIT + 1


def test_a_client_that_waits_to_be_told_to_go_on_is_told(server: LoopbackServer, core: Core) -> None:
    head = b"PUT / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\nconnection: close\r\n\r\n"

    with socket.create_connection(("127.0.0.1", server.port), 60.0) as sock:
        sock.sendall(head)
        interim = sock.recv(1024)
        sock.sendall(b"{}")
        answer = sock.recv(1024)

    assert interim == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert core.asked[0].body == b"{}"


def test_what_is_not_http_is_refused_and_harms_nobody(server: LoopbackServer, core: Core) -> None:
    assert exchange(server, b"\x16\x03\x01\x02\x00\r\n\r\n").startswith(b"HTTP/1.0 400 ")
    assert ask(server, "GET", "/").status == 200


def test_a_watch_is_chunked_and_to_an_old_client_plain(server: LoopbackServer) -> None:
    with LoopbackServer(HOST, Core()) as old:
        plain = first_bytes(old, b"GET /watch HTTP/1.0\r\n\r\n", b"{}\n")
    chunked = first_bytes(server, b"GET /watch HTTP/1.1\r\nhost: x\r\n\r\n", b"3\r\n{}\n\r\n")

    assert b"chunked" not in plain
    assert plain.endswith(b"\r\n\r\n{}\n")
    assert chunked.endswith(b"\r\n\r\n3\r\n{}\n\r\n")


def first_bytes(server: LoopbackServer, data: bytes, until: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), 60.0) as sock:
        sock.sendall(data)
        read = b""
        while until not in read:
            read += sock.recv(65536)
        return read


def test_a_client_that_goes_ends_its_watch(server: LoopbackServer, core: Core) -> None:
    first_bytes(server, b"GET /watch HTTP/1.1\r\nhost: x\r\n\r\n", b"{}\n")

    assert core.watches[0].wait_closed()


def test_a_reader_that_lags_is_waited_for_and_others_are_served(server: LoopbackServer, core: Core) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 60.0) as sock:
        sock.sendall(b"GET /flood HTTP/1.1\r\nhost: x\r\n\r\n")
        assert sock.recv(1)
        assert ask(server, "GET", "/").status == 200
        unread = core.watches[0].taken

        read = 0
        while read < 64 * 1024 * 1024:
            read += len(sock.recv(1024 * 1024))

    assert unread < 400
    assert core.watches[0].taken > 1000
    assert core.watches[0].wait_closed()


def test_a_reader_that_has_stopped_reading_is_given_up(
    server: LoopbackServer, core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "_STALL_LIMIT", 0.05)

    with socket.create_connection(("127.0.0.1", server.port), 60.0) as sock:
        sock.sendall(b"GET /flood HTTP/1.1\r\nhost: x\r\n\r\n")
        assert sock.recv(1)

        assert core.watches[0].wait_closed()


def test_stopping_ends_watches_cleanly_and_frees_the_port(core: Core) -> None:
    server = LoopbackServer(HOST, core)
    server.start()
    with socket.create_connection(("127.0.0.1", server.port), 60.0) as sock:
        sock.sendall(b"GET /watch HTTP/1.1\r\nhost: x\r\n\r\n")
        assert sock.recv(1)

        server.stop()
        server.stop()
        rest = b"".join(iter(lambda: sock.recv(65536), b""))

    assert rest.endswith(b"3\r\n{}\n\r\n0\r\n\r\n")
    assert core.watches[0].wait_closed()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port), 60.0)


def test_a_port_that_is_taken_is_told_to_who_starts(server: LoopbackServer, core: Core) -> None:
    second = LoopbackServer(HOST, core, port=server.port)

    with pytest.raises(OSError, match="in use"):
        second.start()

    second.stop()
