# SPDX-License-Identifier: Apache-2.0
"""An answer that no server should give is refused or read correctly, and is never mixed up with the next one."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from kit.client.raw_server import Connection, RawServer
from kubernetes.client import Configuration

from apimachinery.errors import APIError, ConnectionLost, DecodeError, ServerError
from apimachinery.http import HTTPRequest
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES
from controller_runtime.cache.latch import Latch
from controller_runtime.client.answers import error_of
from controller_runtime.client.client import Client
from controller_runtime.client.http import answer as http_answer
from controller_runtime.client.http import stream as http_stream
from controller_runtime.client.http.transport import HTTPTransport

GET = HTTPRequest("GET", "/x")
PUT = HTTPRequest("PUT", "/x", (), {}, b"{}")
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
HOST = SystemHost("here")

Connect = Callable[[Configuration], HTTPTransport]


@pytest.fixture
def connect() -> Iterator[Connect]:
    with contextlib.ExitStack() as stack:
        yield lambda configuration: stack.enter_context(contextlib.closing(HTTPTransport(HOST, configuration)))


def soon(seconds: float = 60.0) -> float:
    return HOST.monotonic() + seconds


def each(*answers: bytes) -> Callable[[Connection], None]:
    """Makes a script that gives one answer for each request, on one connection, and then ends."""

    def script(connection: Connection) -> None:
        for answer in answers:
            connection.read_request()
            connection.send(answer)

    return script


def reads_and_goes(connection: Connection) -> None:
    connection.read_request()


def answers_then_reads_and_goes(connection: Connection) -> None:
    connection.read_request()
    connection.send(OK)
    connection.read_request()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 70_000 + b"\r\n\r\n", "header line", id="a header of 70 KB"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n", "headers", id="200 headers"),
        pytest.param(b"a" * 70_000, "status line", id="a status line without end"),
        pytest.param(b"HTTP/1.1 900000 OK\r\n\r\n", "900000", id="no status"),
        pytest.param(CHUNKED + b"5\r\nab", "cut inside the answer", id="truncated chunk"),
        pytest.param(CHUNKED + b"zz\r\nab\r\n", "malformed chunks", id="a chunk without a length"),
        pytest.param(CHUNKED + b"-5\r\nab\r\n0\r\n\r\n", "malformed chunks", id="a chunk of negative length"),
        pytest.param(CHUNKED + b"2\r\nabc\r\n0\r\n\r\n", "malformed chunks", id="a chunk that is longer than its size"),
        pytest.param(CHUNKED + b"2" * 70_000, "malformed chunks", id="a size without end"),
        pytest.param(CHUNKED + b"0\r\n" + b"t: x\r\n" * 20_000, "trailers", id="trailers without end"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-length: 2, 3\r\n\r\n{}", "content-length of '2, 3'", id="two lengths"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n{}", "content-length", id="a negative length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n{}", "header line 'no colon", id="a header without a colon"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n{}", "transferred as", id="compressed chunks"
        ),
        pytest.param(CHUNKED + b"ffffffffffffff\r\nab", "cut inside the answer", id="a chunk of petabytes"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000000\r\n\r\nab", "cut inside the answer", id="petabytes"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 22\r\n\r\n" + gzip.compress(b"{}"),
            "encoded as 'gzip', which was not asked for",
            id="compressed",
        ),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\n\r\n", "without response", id="nothing but hints"),
    ],
)
def test_what_cannot_be_read_is_no_answer_and_its_connection_is_not_used_again(
    answer: bytes, told: str, connect: Connect
) -> None:
    with RawServer(HOST, each(answer), each(OK)) as server:
        transport = connect(server.configuration)

        with pytest.raises(ConnectionLost, match=told):
            transport.request(PUT, soon())

        assert (transport.request(PUT, soon()).body, server.accepted) == (b"{}", 2)


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, b"{}", id="continue"),
        pytest.param(
            b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + OK,
            200,
            b"{}",
            id="hints",
        ),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", id="no content"),
        pytest.param(b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", 304, b"", id="not modified"),
        pytest.param(CHUNKED + b"2;ext=1\r\n{}\r\n0\r\ntrailer: x\r\n\r\n", 200, b"{}", id="extensions and trailers"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\ncontent-length: 0\r\n\r\n", 200, b"", id="empty"
        ),
    ],
)
def test_what_is_unusual_is_read_and_the_connection_kept(
    answer: bytes, status: int, body: bytes, connect: Connect
) -> None:
    with RawServer(HOST, each(answer, OK)) as server:
        transport = connect(server.configuration)

        first = transport.request(GET, soon())
        second = transport.request(PUT, soon())

        assert (first.status, first.body, second.body, server.accepted) == (status, body, b"{}", 1)


def test_more_than_was_announced_is_never_the_answer_to_the_next_request(connect: Connect) -> None:
    forged = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"
    with RawServer(HOST, each(OK + forged, OK), each(OK)) as server:
        transport = connect(server.configuration)

        bodies = [transport.request(GET, soon()).body for _ in range(2)]

        assert (bodies, server.accepted) == ([b"{}", b"{}"], 2)


def test_a_body_until_the_end_of_the_connection_is_read_whole(connect: Connect) -> None:
    with RawServer(HOST, each(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 300_000), each(OK)) as server:
        transport = connect(server.configuration)

        assert len(transport.request(GET, soon()).body) == 300_000
        assert transport.request(GET, soon()).body == b"{}"


def test_a_redirect_is_an_error_that_says_where_to(connect: Connect) -> None:
    moved = b"HTTP/1.1 302 Found\r\nlocation: https://login.test/\r\ncontent-length: 0\r\n\r\n"
    with RawServer(HOST, each(moved)) as server:
        client = Client(HOST, connect(server.configuration))

        with pytest.raises(APIError, match=r"the server answered 302, a redirect to https://login\.test/"):
            client.list(NODES)


def test_a_proxys_page_is_one_line(connect: Connect) -> None:
    page = b"<html>\n<h1>Bad gateway</h1>"
    bad = b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n" % len(page)
    with RawServer(HOST, each(bad + page)) as server:
        client = Client(HOST, connect(server.configuration))

        with pytest.raises(ServerError, match=r"^the server answered 502: <html>$"):
            client.list(NODES)


def test_a_page_of_a_login_is_no_list(connect: Connect) -> None:
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"
    with RawServer(HOST, each(page)) as server, pytest.raises(DecodeError, match="the answer is not a list"):
        Client(HOST, connect(server.configuration)).list(NODES)


@pytest.mark.parametrize("asked", ["9" * 400, "86400"])
def test_no_answer_makes_anybody_wait_for_days(asked: str, connect: Connect) -> None:
    busy = f"HTTP/1.1 429 Too Many Requests\r\nretry-after: {asked}\r\ncontent-length: 0\r\n\r\n".encode()
    with RawServer(HOST, each(busy)) as server, pytest.raises(APIError) as caught:
        Client(HOST, connect(server.configuration)).list(NODES)

    assert caught.value.retry_after == 300.0


def test_a_read_whose_kept_connection_was_dead_is_sent_once_more(connect: Connect) -> None:
    with RawServer(HOST, answers_then_reads_and_goes, each(OK)) as server:
        transport = connect(server.configuration)
        transport.request(GET, soon())

        answer = transport.request(GET, soon())

        assert (answer.status, server.accepted) == (200, 2)


def test_a_read_is_sent_once_more_and_not_again(connect: Connect) -> None:
    with RawServer(HOST, answers_then_reads_and_goes, reads_and_goes, each(OK)) as server:
        transport = connect(server.configuration)
        transport.request(GET, soon())

        with pytest.raises(ConnectionLost):
            transport.request(GET, soon())

        assert server.accepted == 2


def test_a_read_on_a_new_connection_is_not_sent_again(connect: Connect) -> None:
    with RawServer(HOST, reads_and_goes, each(OK)) as server:
        with pytest.raises(ConnectionLost):
            connect(server.configuration).request(GET, soon())

        assert server.accepted == 1


def test_a_read_that_was_half_answered_is_not_sent_again(connect: Connect) -> None:
    with RawServer(HOST, each(OK, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"), each(OK)) as server:
        transport = connect(server.configuration)
        transport.request(GET, soon())

        with pytest.raises(ConnectionLost, match="cut inside the answer"):
            transport.request(GET, soon())

        assert server.accepted == 1


def test_a_write_that_could_not_be_sent_whole_is_sent_on_a_new_connection(connect: Connect) -> None:
    def answers_then_takes_a_part_and_resets(connection: Connection) -> None:
        connection.read_request()
        connection.send(OK)
        connection.sock.recv(10)

    def takes_all(connection: Connection) -> None:
        connection.read_request()
        connection.send(OK)

    with RawServer(HOST, answers_then_takes_a_part_and_resets, takes_all) as server:
        transport = connect(server.configuration)
        transport.request(GET, soon())
        large = PUT._replace(body=b" " * 50_000_000)  # this is more than any buffer between the two holds

        assert (transport.request(large, soon()).status, server.accepted) == (200, 2)


def test_one_dead_connection_has_all_kept_ones_closed(connect: Connect) -> None:
    both_ask = Latch(HOST, "both ask")

    def answers_once_both_ask(connection: Connection) -> None:
        connection.read_request()
        both_ask.wait(Stop(HOST), soon())
        connection.send(OK)
        connection.wait_for_end()

    def answers_once(connection: Connection) -> None:
        connection.read_request()
        both_ask.set()
        connection.send(OK)
        connection.wait_for_end()

    def ask() -> None:
        transport.request(GET, soon())

    with RawServer(HOST, answers_once_both_ask, answers_once, each(OK)) as server:
        transport = connect(server.configuration)
        other = HOST.spawn("other", ask)
        ask()
        assert other.join_until(soon())
        assert server.accepted == 2

        with pytest.raises(ConnectionLost, match="timed out"):
            transport.request(PUT, soon(0.1))
        answer = transport.request(PUT, soon())

        assert (answer.status, server.accepted) == (200, 3)


def test_a_line_without_end_does_not_fill_the_memory(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_stream, "_LONGEST_LINE", 1_000_000)

    def without_end(connection: Connection) -> None:
        connection.read_request()
        with contextlib.suppress(OSError):
            connection.send(CHUNKED)
            while True:
                connection.send(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    with RawServer(HOST, without_end) as server:
        stream = connect(server.configuration).stream(GET, soon())

        with pytest.raises(ConnectionLost, match="a line without end"):
            stream.read(soon())


def test_a_long_line_is_read_whole(connect: Connect) -> None:
    line = b"x" * 3_000_000
    with RawServer(HOST, each(CHUNKED + b"%x\r\n%s\n\r\n0\r\n\r\n" % (len(line) + 1, line))) as server:
        stream = connect(server.configuration).stream(GET, soon())

        assert [stream.read(soon()), stream.read(soon())] == [[line], None]


def sending_forever(head: bytes, piece: bytes) -> Callable[[Connection], None]:
    """Answers each request with `head`, and then `piece` again and again until the client goes."""

    def script(connection: Connection) -> None:
        connection.read_request()
        with contextlib.suppress(OSError):
            connection.send(head)
            while True:
                connection.send(piece)

    return script


PIECE = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        pytest.param(CHUNKED, PIECE, id="in chunks"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 0x10000, id="until the connection ends"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999\r\n\r\n", b"x" * 0x10000, id="announced"),
    ],
)
def test_an_answer_without_end_is_given_up_and_its_connection_closed(head: bytes, piece: bytes) -> None:
    with RawServer(HOST, sending_forever(head, piece), each(OK)) as server:
        transport = HTTPTransport(HOST, server.configuration, longest_answer=1_000_000)
        with contextlib.closing(transport):
            with pytest.raises(ConnectionLost, match="the answer is longer than 1000000 bytes"):
                transport.request(GET, soon())

            server.wait_for_end_of(1, soon())
            assert transport.request(GET, soon()).body == b"{}"


def test_an_answer_of_just_the_longest_size_is_read_whole() -> None:
    whole = b"HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n" + b"x" * 300_000
    with RawServer(HOST, each(whole, OK)) as server:
        transport = HTTPTransport(HOST, server.configuration, longest_answer=300_000)
        with contextlib.closing(transport):
            assert len(transport.request(GET, soon()).body) == 300_000
            assert (transport.request(PUT, soon()).body, server.accepted) == (b"{}", 1)


@pytest.mark.parametrize("streamed", [False, True], ids=["a request", "a watch"])
def test_an_answer_in_very_many_pieces_takes_the_memory_of_its_bytes(streamed: bool, connect: Connect) -> None:
    count = 100_000
    with RawServer(HOST, each(CHUNKED + b"1\r\nx\r\n" * count + b"1\r\n\n\r\n0\r\n\r\n")) as server:
        transport = connect(server.configuration)
        tracemalloc.start()
        try:
            if streamed:
                with transport.stream(GET, soon()) as stream:
                    (line,) = stream.read(soon()) or ()
            else:
                line = transport.request(GET, soon()).body.removesuffix(b"\n")
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert line == b"x" * count
    assert peak < 40 * count  # with an object for each piece it was up to 280 times as much


@pytest.mark.parametrize("streamed", [False, True], ids=["a request", "a watch"])
def test_a_failed_answer_without_end_is_known_by_its_status(
    streamed: bool, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_answer, "_LONGEST_REFUSAL", 200_000)
    head = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\n\r\ntoo much of it\n"
    with RawServer(HOST, sending_forever(head, b"x" * 0x10000), each(OK)) as server:
        transport = connect(server.configuration)

        if streamed:
            with transport.stream(GET, soon()) as stream:
                answer = stream.response
        else:
            answer = transport.request(GET, soon())

        server.wait_for_end_of(1, soon())
        assert (answer.status, answer.headers["retry-after"], len(answer.body)) == (503, "7", 200_001)
        assert str(error_of(answer)) == "the server answered 503: too much of it"
        assert transport.request(GET, soon()).body == b"{}"


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, id="hints"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, id="invitations to continue"),
    ],
)
def test_a_head_without_end_is_given_up(piece: bytes, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_answer, "_LONGEST_HEAD", 500_000)
    with RawServer(HOST, sending_forever(b"", piece), each(OK)) as server:
        transport = connect(server.configuration)

        with pytest.raises(ConnectionLost, match="the head of the answer has no end"):
            transport.request(GET, soon())

        server.wait_for_end_of(1, soon())
        assert transport.request(GET, soon()).body == b"{}"


def test_a_bound_of_nothing_is_refused() -> None:
    with RawServer(HOST) as server, pytest.raises(ValueError, match="longest_answer"):
        HTTPTransport(HOST, server.configuration, longest_answer=0)
