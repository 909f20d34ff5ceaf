# SPDX-License-Identifier: Apache-2.0
"""WebSockets over HTTP, against servers that keep to the protocol and others that do not."""

from __future__ import annotations

import base64
import hashlib
import re
import struct

import pytest
from kit.client.raw_server import Connection, RawServer, Script

from apimachinery.errors import ConnectionLost, UsageError
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.transport import Stream

pytest.importorskip("wsproto")

from controller_runtime.client.http.messages import LONGEST_MESSAGE
from controller_runtime.client.http.transport import HTTPTransport

HEADERS = {"upgrade": "websocket", "sec-websocket-protocol": "v5.channel.k8s.io, v4.channel.k8s.io"}
EXEC = HTTPRequest("GET", "/exec", (), HEADERS)


def frame(opcode: int, data: bytes, *, fin: bool = True) -> bytes:
    head = bytes(((0x80 if fin else 0) | opcode,))
    if len(data) < 126:
        return head + bytes((len(data),)) + data
    return head + b"\x7e" + struct.pack(">H", len(data)) + data


def accept(connection: Connection, **changed: str) -> None:
    """Answer the handshake."""
    found = re.search(rb"sec-websocket-key: (\S+)", connection.read_request())
    assert found is not None
    digest = hashlib.sha1(found[1] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    headers = {
        "upgrade": "websocket",
        "sec-websocket-accept": base64.b64encode(digest).decode(),
        "sec-websocket-protocol": "v4.channel.k8s.io",
        **{name.replace("_", "-"): value for name, value in changed.items()},
    }
    lines = [f"{name}: {value}" for name, value in headers.items()]
    connection.send("\r\n".join(["HTTP/1.1 101 Switching Protocols", *lines, "", ""]).encode())


def received(connection: Connection) -> tuple[int, bytes]:
    """Return the opcode and the data of the client's next frame, which is masked."""
    head = connection.sock.recv(2)
    mask = connection.sock.recv(4)
    data = connection.sock.recv(head[1] & 0x7F) if head[1] & 0x7F else b""
    return head[0] & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))


class Told:
    """A client of a server whose one connection a test scripts."""

    def __init__(self, host: SystemHost, server: RawServer) -> None:
        self.host = host
        self.transport = HTTPTransport(host, server.configuration)

    def soon(self) -> float:
        return self.host.monotonic() + 60

    def open(self) -> Stream:
        return self.transport.stream(EXEC, self.soon())


def to_the_end(stream: Stream, deadline: float) -> None:
    while stream.receive(deadline) is not None:
        pass


def scripted(script: Script) -> tuple[SystemHost, RawServer]:
    host = SystemHost()
    return host, RawServer(host, script)


def test_messages_come_whole_however_they_are_cut_into_frames() -> None:
    def script(connection: Connection) -> None:
        accept(connection)
        connection.send(frame(2, b"\1a", fin=False), frame(9, b"ping"), frame(0, b"b"), frame(1, b"text"))
        assert received(connection) == (10, b"ping")
        connection.send(frame(8, struct.pack(">H", 1000)))
        connection.wait_for_end()

    host, server = scripted(script)
    with server:
        stream = Told(host, server).open()
        heard: list[bytes] = []
        while (messages := stream.receive(host.monotonic() + 60)) is not None:
            heard += messages
        assert (stream.response.status, heard) == (101, [b"\1ab", b"text"])
        stream.close()


def test_a_message_is_sent_as_one_frame() -> None:
    sent: list[tuple[int, bytes]] = []

    def script(connection: Connection) -> None:
        accept(connection)
        sent.extend((received(connection), received(connection)))

    host, server = scripted(script)
    with server:
        stream = Told(host, server).open()
        stream.send(b"\0hello", host.monotonic() + 60)
        stream.close()
        server.wait_for_end_of(1, host.monotonic() + 60)

    assert sent == [(2, b"\0hello"), (8, struct.pack(">H", 1000))]


def test_nothing_came_by_the_deadline_and_the_connection_goes_on() -> None:
    host, server = scripted(lambda connection: (accept(connection), connection.wait_for_end())[-1])
    with server:
        stream = Told(host, server).open()
        assert stream.receive(host.monotonic()) == []
        stream.send(b"x", host.monotonic() + 60)
        stream.close()
        assert stream.receive(host.monotonic() + 60) is None
        with pytest.raises(ConnectionLost, match="has ended"):
            stream.send(b"x", host.monotonic() + 60)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"", "connection cut"),
        (frame(2, b"abc")[:3], "connection cut"),
        (frame(8, struct.pack(">H", 1011) + b"broken"), "closed with 1011 broken"),
        (b"\xff\x00", "(?i)reserved|opcode|invalid|bit"),
        (b"\x82\x7f" + struct.pack(">Q", LONGEST_MESSAGE * 2) + b"x" * (LONGEST_MESSAGE + 9), "longer than"),
    ],
)
def test_an_end_that_is_none_is_an_error(sent: bytes, reason: str) -> None:
    host, server = scripted(lambda connection: (accept(connection), connection.send(sent))[-1])
    with server:
        stream = Told(host, server).open()
        with pytest.raises(ConnectionLost, match=reason):
            to_the_end(stream, host.monotonic() + 60)
        with pytest.raises(ConnectionLost):
            stream.send(b"x", host.monotonic() + 60)
        stream.close()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"sec_websocket_accept": "x"}, "a protocol that was not asked for"),
        ({"upgrade": "h2c"}, "a protocol that was not asked for"),
        ({"sec_websocket_protocol": "v1"}, "chose the subprotocol 'v1', not one of v5.channel.k8s.io, v4.channel"),
    ],
)
def test_a_handshake_that_was_not_asked_for_is_refused(changed: dict[str, str], reason: str) -> None:
    host, server = scripted(lambda connection: accept(connection, **changed))
    with server, pytest.raises(ConnectionLost, match=reason):
        Told(host, server).open()


def test_a_refusal_is_an_answer() -> None:
    host, server = scripted(
        lambda connection: (
            connection.read_request(),
            connection.send(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno"),
        )[-1]
    )
    with server:
        response = Told(host, server).open().response
        assert (response.status, response.body) == (403, b"no")


def test_closing_wakes_a_reader() -> None:
    host, server = scripted(lambda connection: (accept(connection), connection.wait_for_end())[-1])
    with server:
        stream = Told(host, server).open()
        read: list[object] = []
        thread = host.spawn("reader", lambda: read.append(stream.receive(host.monotonic() + 60)))
        stream.close()
        thread.join_until(None)
        assert read == [None]


def test_a_stream_of_lines_has_no_messages() -> None:
    host, server = scripted(
        lambda connection: (
            connection.read_request(),
            connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
        )[-1]
    )
    with server:
        stream = HTTPTransport(host, server.configuration).stream(HTTPRequest("GET", "/x"), host.monotonic() + 60)
        with pytest.raises(UsageError, match="not upgraded"):
            stream.receive(0)
        stream.close()
