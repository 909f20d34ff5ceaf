# SPDX-License-Identifier: Apache-2.0
"""Malformed connections over TLS, while a well-behaved client continues to be served."""

from __future__ import annotations

import contextlib
import http.client
import logging
import os
import random
import re
import socket
import ssl
from collections.abc import Iterator

import attrs
import pytest

from apimachinery.system import SystemHost
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell import request as shell_request
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import make_certificates

HOST = SystemHost()
TOKEN = "secret"
HEAD = b"host: x\r\nauthorization: Bearer secret\r\n"
GET = b"GET /api/v1/nodes HTTP/1.1\r\n" + HEAD + b"\r\n"
POST = b"POST /api/v1/nodes HTTP/1.1\r\n" + HEAD
CREATE = POST + b'content-length: 23\r\n\r\n{"metadata":{"name":1}}'
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
ROUNDS = 150

# Each is answered or disconnected by the server, however long the client waits.
REFUSED = {
    "one word": b"GET\r\n\r\n",
    "another protocol": b"GET / SPDY/9\r\n\r\n",
    "another version": b"GET / HTTP/7.7\r\n" + HEAD + b"\r\n",
    "a long line": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n" + HEAD + b"\r\n",
    "bytes that are no text": b"GET /\xff\xfe HTTP/1.1\r\n" + HEAD + b"connection: close\r\n\r\n",
    "NUL": b"GET /\0 HTTP/1.1\r\n" + HEAD + b"connection: close\r\n\r\n",
    "half a surrogate pair": b"GET /%ed%a0%80 HTTP/1.1\r\n" + HEAD + b"connection: close\r\n\r\n",
    "no target": b"GET  HTTP/1.1\r\n" + HEAD + b"\r\n",
    "an odd target": b"OPTIONS * HTTP/1.1\r\n" + HEAD + b"connection: close\r\n\r\n",
    "a broken absolute target": b"GET http://[ HTTP/1.1\r\n" + HEAD + b"connection: close\r\n\r\n",
    "an authority": b"CONNECT example.com:443 HTTP/1.1\r\n" + HEAD + b"connection: close\r\n\r\n",
    "an upgrade": b"GET /api HTTP/1.1\r\n" + HEAD + b"connection: close, upgrade\r\nupgrade: websocket\r\n\r\n",
    "a flood of headers": b"GET / HTTP/1.1\r\n" + b"".join(b"a%d: b\r\n" % n for n in range(10_000)) + b"\r\n",
    "a long header": b"GET / HTTP/1.1\r\na: " + b"b" * 1_000_000 + b"\r\n\r\n",
    "a header without a name": b"GET / HTTP/1.1\r\n: b\r\n\r\n",
    "a header of odd bytes": b"GET /api HTTP/1.1\r\nauthorization: \xff\xfe\r\nconnection: close\r\n\r\n",
    "two lengths": POST + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "a negative length": POST + b"content-length: -1\r\n\r\n",
    "a length that is no number": POST + b"content-length: ten\r\n\r\n",
    "a length beyond all numbers": POST + b"content-length: " + b"9" * 400 + b"\r\n\r\n",
    "a length and chunks": POST + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "an unknown transfer": POST + b"transfer-encoding: gzip\r\n\r\n",
    "a chunk without a size": POST + b"transfer-encoding: chunked\r\n\r\n\r\n{}\r\n",
    "a chunk of a wrong size": POST + b"transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    "a size that is no number": POST + b"transfer-encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n",
    "a size after a good chunk": POST + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n-5\r\n",
    "a compressed body": POST + b"content-encoding: gzip\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
}


@attrs.frozen
class Serving:
    """A server, and ways to connect to it."""

    port: int
    context: ssl.SSLContext

    def connect(self) -> ssl.SSLSocket:
        plain = socket.create_connection(("127.0.0.1", self.port), 60.0)
        return self.context.wrap_socket(plain, server_hostname="127.0.0.1")

    def exchange(self, *parts: bytes) -> bytes:
        """Send `parts` one by one and return what the server sends until it ends the connection."""
        with self.connect() as sock, contextlib.suppress(ConnectionError, ssl.SSLError):
            for part in parts:
                sock.sendall(part)
            return b"".join(iter(lambda: sock.recv(65536), b""))
        return b""

    def abandon(self, data: bytes) -> None:
        """Send `data` and close the connection."""
        with self.connect() as sock, contextlib.suppress(ConnectionError, ssl.SSLError):
            sock.sendall(data)


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    core = APIServer(HOST, token=TOKEN)
    certificates = make_certificates(HOST.now())
    context = ssl.create_default_context(cadata=certificates.authority.decode())
    with LoopbackServer(HOST, core, certificates=certificates) as server:
        yield Serving(server.port, context)
    core.close()


@pytest.fixture(autouse=True)
def client(serving: Serving, caplog: pytest.LogCaptureFixture) -> Iterator[http.client.HTTPSConnection]:
    """A well-behaved client, served before and after on one connection; the server has logged no failure."""
    connection = http.client.HTTPSConnection("127.0.0.1", serving.port, timeout=60.0, context=serving.context)
    with contextlib.closing(connection):
        assert is_served(connection)
        yield connection
        assert is_served(connection)
    assert [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR] == []


def is_served(client: http.client.HTTPSConnection) -> bool:
    client.request("GET", "/api/v1/namespaces/default", headers={"authorization": f"Bearer {TOKEN}"})
    response = client.getresponse()
    return response.status == 200 and b'"name":"default"' in response.read()


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in REFUSED.items()])
def test_a_broken_request_is_refused(data: bytes, serving: Serving) -> None:
    answer = serving.exchange(data)

    codes = [int(code) for code in STATUS.findall(answer)]
    assert all(200 <= code < 500 for code in codes), answer
    assert codes == [] or codes[-1] >= 400 or b"upgrade" in data


@pytest.mark.parametrize("chunk", [b"xyz\r\n{}\r\n", b"-1\r\n", b"2\r\n{}x\r\n", b""])
def test_a_body_that_does_not_arrive_is_not_waited_for(
    chunk: bytes, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_request, "_PATIENCE", 0.05)

    with serving.connect() as sock:
        sock.sendall(POST + b"transfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n")
        interim = sock.recv(1024)
        sock.sendall(chunk)
        answer = b"".join(iter(lambda: sock.recv(65536), b""))

    assert interim.startswith(b"HTTP/1.1 100 ")
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_a_slow_sender_is_served(serving: Serving) -> None:
    request = b"GET /api/v1/nodes HTTP/1.1\r\n" + HEAD + b"connection: close\r\n\r\n"

    answer = serving.exchange(*(request[place : place + 1] for place in range(len(request))))

    assert answer.startswith(b"HTTP/1.1 200 ")


def test_requests_sent_at_once_are_answered_in_order(serving: Serving) -> None:
    paths = [b"/api/v1/nodes", b"/nothing", b"/api/v1/namespaces/default"] * 30
    requests = [b"GET %b HTTP/1.1\r\n%b" % (path, HEAD) for path in paths]

    answer = serving.exchange(b"\r\n".join(requests) + b"connection: close\r\n\r\n")

    assert [int(code) for code in STATUS.findall(answer)] == [200, 404, 200] * 30


def test_a_request_without_tls_is_answered_by_one_line_and_cut_off(serving: Serving) -> None:
    with socket.create_connection(("127.0.0.1", serving.port), 60.0) as sock:
        sock.sendall(GET)
        answer = b"".join(iter(lambda: sock.recv(65536), b""))

    assert answer == b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(2))
def test_half_requests_harm_nobody_and_leave_no_connection(
    seed: int, serving: Serving, client: http.client.HTTPSConnection
) -> None:
    chance = random.Random(seed)
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(ROUNDS):
        whole = chance.choice((GET, CREATE, *REFUSED.values()))
        serving.abandon(whole[: chance.randrange(len(whole))])
        assert is_served(client)

    deadline = HOST.monotonic() + 60.0
    while len(os.listdir("/proc/self/fd")) > before and HOST.monotonic() < deadline:
        assert is_served(client)
    assert len(os.listdir("/proc/self/fd")) <= before
