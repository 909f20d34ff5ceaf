# SPDX-License-Identifier: Apache-2.0
"""The HTTP transport works with servers that misbehave, and with faults that only a real connection has."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import pytest
from kit.client.raw_server import Connection, RawServer, Script
from kit.official import configured
from kubernetes.client import Configuration

from apimachinery.errors import ConnectionLost, StreamIdle
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.http.transport import HTTPTransport

GET = HTTPRequest("GET", "/x")
PUT = HTTPRequest("PUT", "/x", (), {}, b"{}")
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
HOST = SystemHost("here")


Connect = Callable[[Configuration], HTTPTransport]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes transports that are closed at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda configuration: stack.enter_context(contextlib.closing(HTTPTransport(HOST, configuration)))


def soon(seconds: float = 60.0) -> float:
    return HOST.monotonic() + seconds


def silent(connection: Connection) -> None:
    connection.wait_for_end()


def answers_once_and_goes(connection: Connection) -> None:
    connection.read_request()
    connection.send(OK)


def answers(connection: Connection) -> None:
    while connection.read_request():
        connection.send(OK)


def dripping(prefix: bytes, data: bytes) -> Script:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(prefix)
        connection.drip(data)

    return script


def says(*parts: bytes) -> Script:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(*parts)

    return script


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(silent, id="silent"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\nx-drip: ", b"a"), id="dripping head"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"), id="dripping headers"),
        pytest.param(dripping(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n", b"b"), id="dripping body"),
        pytest.param(dripping(CHUNKED, b"1\r\nb\r\n"), id="dripping chunks"),
    ],
)
def test_an_exchange_is_over_at_its_deadline(script: Script, connect: Connect) -> None:
    with RawServer(HOST, script) as server:
        transport = connect(server.configuration)

        with pytest.raises(ConnectionLost, match=r"GET /x: no answer from 127\.0\.0\.1:\d+: timed out"):
            transport.request(GET, soon(0.15))


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((), id="no answer"),
        pytest.param((b"HTTP/1.1 200",), id="cut in the status line"),
        pytest.param((b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",), id="cut in the body"),
        pytest.param((CHUNKED, b"5\r\nab"), id="cut in a chunk"),
        pytest.param((b"SSH-2.0-OpenSSH\r\n",), id="not HTTP"),
    ],
)
def test_half_an_answer_is_none_and_nothing_is_sent_again(parts: tuple[bytes, ...], connect: Connect) -> None:
    with RawServer(HOST, says(*parts), answers) as server:
        transport = connect(server.configuration)

        with pytest.raises(ConnectionLost):
            transport.request(PUT, soon())

        assert server.accepted == 1


def test_a_refused_connection_is_lost_at_once(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    transport = connect(Configuration(host=f"http://127.0.0.1:{port}"))

    with pytest.raises(ConnectionLost, match="refused"):
        transport.request(GET, soon())


def test_connections_are_kept_and_used_again(connect: Connect) -> None:
    with RawServer(HOST, answers) as server:
        transport = connect(server.configuration)

        told = [transport.request(GET, soon()).body for _ in range(3)]

        assert (told, server.accepted) == ([b"{}"] * 3, 1)


def test_a_kept_connection_that_the_server_closed_is_not_used(connect: Connect) -> None:
    with RawServer(HOST, answers_once_and_goes, answers) as server:
        transport = connect(server.configuration)
        transport.request(PUT, soon())
        server.wait_for_end_of(1, soon())

        answer = transport.request(PUT, soon())

        assert (answer.status, server.accepted) == (200, 2)


def test_a_connection_that_dies_under_a_request_is_not_tried_again(connect: Connect) -> None:
    def answers_then_reads_and_goes(connection: Connection) -> None:
        connection.read_request()
        connection.send(OK)
        connection.read_request()

    with RawServer(HOST, answers_then_reads_and_goes, answers) as server:
        transport = connect(server.configuration)
        transport.request(PUT, soon())

        with pytest.raises(ConnectionLost):
            transport.request(PUT, soon())

        assert server.accepted == 1


def test_a_connection_that_the_server_will_close_is_not_kept(connect: Connect) -> None:
    def will_close_some_day(connection: Connection) -> None:
        while connection.read_request():
            connection.send(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}")

    with RawServer(HOST, will_close_some_day, will_close_some_day) as server:
        transport = connect(server.configuration)

        transport.request(GET, soon())
        transport.request(GET, soon())

        assert server.accepted == 2


def test_a_closed_transport_lets_go_of_its_connections_and_connects_anew(connect: Connect) -> None:
    with RawServer(HOST, answers, answers) as server:
        transport = connect(server.configuration)
        transport.request(GET, soon())

        transport.close()
        transport.close()
        server.wait_for_end_of(1, soon())

        assert [transport.request(GET, soon()).status for _ in range(2)] == [200, 200]
        assert server.accepted == 2


@pytest.mark.parametrize("call", [HTTPTransport.request, HTTPTransport.stream], ids=["request", "stream"])
@pytest.mark.parametrize(
    ("scheme", "before"),
    [
        pytest.param("http", lambda connection: connection.read_request(), id="answer"),
        pytest.param("http", lambda connection: connection.send(CHUNKED[:-2]), id="rest of the head"),
        pytest.param("https", lambda connection: connection.sock.recv(1), id="handshake"),
    ],
)
def test_closing_gives_up_what_waits_for_a_silent_server(
    scheme: str, before: Script, call: Callable[..., object], connect: Connect
) -> None:
    def closes_meanwhile(connection: Connection) -> None:
        before(connection)
        transport.close()
        connection.wait_for_end()

    with RawServer(HOST, closes_meanwhile) as server:
        configuration = Configuration(host=f"{scheme}://127.0.0.1:{server.port}")
        configuration.verify_ssl = False
        transport = connect(configuration)

        with pytest.raises(ConnectionLost, match=r"GET /x: no answer from .*: given up"):
            call(transport, GET, soon(60.0))


def test_what_is_given_up_on_a_kept_connection_is_not_sent_on_another(connect: Connect) -> None:
    def answers_and_has_the_next_given_up(connection: Connection) -> None:
        connection.read_request()
        connection.send(OK)
        connection.read_request()
        transport.close()
        connection.wait_for_end()

    with RawServer(HOST, answers_and_has_the_next_given_up, answers) as server:
        transport = connect(server.configuration)
        transport.request(GET, soon())

        with pytest.raises(ConnectionLost, match="given up"):
            transport.request(GET, soon())

        assert server.accepted == 1


def test_closing_gives_up_what_waits_to_be_connected(connect: Connect) -> None:
    lost: list[str] = []
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as full:
        address = listener.getsockname()
        for _ in range(3):  # the listener accepts no connection, so the next one waits in vain
            queued = full.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(address)
        transport = connect(Configuration(host=f"http://127.0.0.1:{address[1]}"))

        def ask() -> None:
            with pytest.raises(ConnectionLost) as caught:
                transport.request(GET, soon(60.0))
            lost.append(str(caught.value))

        asker = HOST.spawn("asker", ask)
        while not asker.join_until(soon(0.01)):
            transport.close()

    assert lost[0].endswith(": given up")


@pytest.mark.parametrize("value", ["a\r\nhost: b", "a\nhost: b", "a\rhost: b"])
def test_a_header_with_a_line_break_is_refused_before_anything_is_sent(connect: Connect, value: str) -> None:
    with RawServer(HOST) as server:
        transport = connect(server.configuration)

        with pytest.raises(ValueError, match="line break"):
            transport.request(HTTPRequest("GET", "/x", (), {"x": value}), soon())


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param((b"4\r\nab\nc\r\n",), [b"ab"], id="inside a line"),
        pytest.param((b"6\r\nab\nc\n",), [b"ab", b"c"], id="inside a chunk, between lines"),
        pytest.param((b"3\r\nab\n\r\n",), [b"ab"], id="between lines"),
        pytest.param((b"4\r\nab\nc\r\n0\r\n\r\n",), [b"ab"], id="ended cleanly, inside a line"),
    ],
)
def test_a_stream_that_is_cut_is_lost(parts: tuple[bytes, ...], expected: list[bytes], connect: Connect) -> None:
    with RawServer(HOST, says(CHUNKED, *parts)) as server:
        stream = connect(server.configuration).stream(GET, soon())
        lines: list[bytes] = []

        with pytest.raises(ConnectionLost) as caught:
            lines.extend(line for more in iter(lambda: stream.read(soon()), None) for line in more)

        assert (lines, stream.read(soon())) == (expected, None)
        assert not isinstance(caught.value, StreamIdle)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((CHUNKED, b"3\r\na", b"b\n", b"\r\n0\r\n\r\n"), id="chunked"),
        pytest.param((b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab\n",), id="of known length"),
        pytest.param((b"HTTP/1.1 200 OK\r\n\r\nab\n",), id="until the end of the connection"),
    ],
)
def test_a_stream_that_ends_after_a_line_is_over(parts: tuple[bytes, ...], connect: Connect) -> None:
    with RawServer(HOST, says(*parts)) as server:
        stream = connect(server.configuration).stream(GET, soon())

        assert [stream.read(soon()), stream.read(soon())] == [[b"ab"], None]


def test_a_body_of_known_length_that_is_cut_is_lost(connect: Connect) -> None:
    with RawServer(HOST, says(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab\n")) as server:
        stream = connect(server.configuration).stream(GET, soon())

        assert stream.read(soon()) == [b"ab"]
        with pytest.raises(ConnectionLost):
            stream.read(soon())


def test_dripping_bytes_do_not_keep_a_stream_alive(connect: Connect) -> None:
    with RawServer(HOST, dripping(CHUNKED, b"1\r\nx\r\n")) as server:
        stream = connect(server.configuration).stream(GET, soon())

        with pytest.raises(StreamIdle, match="no complete line in time"):
            stream.read(soon(0.2))


def test_a_stream_without_headers_is_given_up_at_its_deadline(connect: Connect) -> None:
    with RawServer(HOST, silent) as server, pytest.raises(ConnectionLost, match="timed out"):
        connect(server.configuration).stream(GET, soon(0.1))


def test_closing_wakes_a_read_that_blocks_on_a_silent_connection(connect: Connect) -> None:
    def half_a_line(connection: Connection) -> None:
        connection.read_request()
        connection.send(CHUNKED, b"2\r\nab\r\n")
        connection.wait_for_end()

    with RawServer(HOST, half_a_line) as server:
        stream = connect(server.configuration).stream(GET, soon())
        read: list[object] = []
        reader = HOST.spawn("reader", lambda: read.append(stream.read(soon(60.0))))

        stream.close()

        assert reader.join_until(soon(5.0))
        assert read == [None]


def test_the_descriptor_is_not_given_back_under_the_reader(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it were, another file could get its number, and the reader would read from that file."""
    descriptors: list[int] = []

    def closed_meanwhile(deadline: float) -> None:
        stream.close()
        descriptors.append(sock.fileno())

    with RawServer(HOST, says(CHUNKED)) as server:
        stream = connect(server.configuration).stream(GET, soon())
        sock = stream._connection._socket
        assert sock is not None
        monkeypatch.setattr(stream, "_read_lines", closed_meanwhile)

        assert stream.read(soon()) is None
        descriptors.append(sock.fileno())

        assert [number >= 0 for number in descriptors] == [True, False]


def test_closing_ends_a_read_that_lingers(connect: Connect) -> None:
    def nothing_yet(connection: Connection) -> None:
        connection.read_request()
        connection.send(CHUNKED)
        connection.wait_for_end()

    with RawServer(HOST, nothing_yet) as server:
        stream = connect(server.configuration).stream(GET, soon())
        stream.linger = 3600.0
        read: list[object] = []
        reader = HOST.spawn("reader", lambda: read.append(stream.read(soon(7200.0))))

        stream.close()

        assert reader.join_until(soon(60.0))
        assert read == [None]


def test_what_has_come_is_read_without_lingering(connect: Connect) -> None:
    with RawServer(HOST, says(CHUNKED + b"3\r\nab\n\r\n" + b"3\r\ncd\n\r\n")) as server:
        stream = connect(server.configuration).stream(GET, soon())
        stream.linger = 3600.0

        with stream:
            assert stream.read(soon(7200.0)) == [b"ab", b"cd"]


def test_a_read_that_lingers_is_given_up_at_its_deadline(connect: Connect) -> None:
    with RawServer(HOST, dripping(CHUNKED, b"1\r\nx\r\n")) as server:
        stream = connect(server.configuration).stream(GET, soon())
        stream.linger = 3600.0

        with pytest.raises(StreamIdle, match="no complete line in time"):
            stream.read(soon(0.2))


def test_a_proxy_is_asked_for_a_tunnel_with_its_credentials(connect: Connect) -> None:
    heads: list[bytes] = []

    def proxy(connection: Connection) -> None:
        heads.append(connection.read_request())
        connection.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        heads.append(connection.read_request())
        connection.send(OK)

    with RawServer(HOST, proxy) as server:
        through = configured("http://api.test:8080/base", proxy=f"http://me:p%40ss@127.0.0.1:{server.port}")
        answer = connect(through).request(GET, soon())

    assert answer.body == b"{}"
    assert heads[0].startswith(b"CONNECT api.test:8080 HTTP/1.1\r\nhost: api.test:8080\r\n")
    assert b"proxy-authorization: Basic bWU6cEBzcw==\r\n" in heads[0]
    assert heads[1].startswith(b"GET /base/x HTTP/1.1\r\nhost: api.test:8080\r\n")


def test_a_proxy_that_refuses_is_named(connect: Connect) -> None:
    with RawServer(HOST, says(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")) as server:
        through = configured("http://api.test:8080", proxy=f"http://127.0.0.1:{server.port}")

        with pytest.raises(ConnectionLost, match=r"proxy 127\.0\.0\.1:\d+ answered 407"):
            connect(through).request(GET, soon())


def test_a_proxy_that_is_not_there_is_named(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    through = configured("http://api.test:8080", proxy=f"http://127.0.0.1:{port}")

    with pytest.raises(ConnectionLost, match=rf"proxy 127\.0\.0\.1:{port}: .*refused"):
        connect(through).request(GET, soon())


def test_no_proxy_is_heeded(connect: Connect) -> None:
    with RawServer(HOST, answers) as server:
        direct = configured(
            f"http://127.0.0.1:{server.port}", proxy="http://127.0.0.1:1", no_proxy="example.com,127.0.0.0/8"
        )
        transport = connect(direct)

        assert transport.request(GET, soon()).status == 200


def test_requests_say_who_asks(connect: Connect) -> None:
    heads: list[bytes] = []

    def listening(connection: Connection) -> None:
        heads.append(connection.read_request())
        connection.send(OK)

    with RawServer(HOST, listening) as server:
        configuration = server.configuration
        configuration.api_key = {"BearerToken": "Bearer s3cret\n"}
        transport = connect(configuration)
        transport.request(GET, soon())
        transport.close()

    assert b"\r\nauthorization: Bearer s3cret\r\n" in heads[0]
    assert b"\r\nuser-agent: controller-runtime/" in heads[0]
    assert b" (here)\r\n" in heads[0]
    assert b"accept-encoding" not in heads[0]


class Sleeper(SystemHost):
    """A machine that is suspended for a minute between the beginning of a request and its sending."""

    looks = 0

    def elapsed(self) -> float:  # type: ignore[override]
        self.looks += 1
        return HOST.elapsed() + (60.0 if self.looks > 1 else 0.0)


@pytest.mark.parametrize(("seconds", "is_sent"), [(50.0, False), (600.0, True)])
def test_a_request_is_not_sent_after_its_machine_slept_beyond_the_deadline(seconds: float, is_sent: bool) -> None:
    received: list[bytes] = []

    def notes(connection: Connection) -> None:
        while request := connection.read_request():
            received.append(request)
            connection.send(OK)

    with (
        RawServer(HOST, notes) as server,
        contextlib.closing(HTTPTransport(Sleeper("here"), server.configuration)) as http,
    ):
        if is_sent:
            assert http.request(PUT, soon(seconds)).status == 200
        else:
            with pytest.raises(ConnectionLost, match="too late to send"):
                http.request(PUT, soon(seconds))

    assert bool(received) == is_sent
