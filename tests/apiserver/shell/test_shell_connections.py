# SPDX-License-Identifier: Apache-2.0
"""The limits of the HTTP shell for clients that do not finish heads or bodies, or do not read answers."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping

import pytest

from apimachinery.http import BODY_LIMIT, HTTPRequest, HTTPResponse, Watch
from apimachinery.system import SystemHost
from controller_runtime.testing.server_process import APIServerProcess
from embedded_apiserver.shell import listener, places, sending
from embedded_apiserver.shell import request as shell_request
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.shell.tls import Certificates, make_certificates

pytestmark = pytest.mark.ends

HOST = SystemHost()
KNOWN = b"host: x\r\nauthorization: yes\r\n"
GET = b"GET /known HTTP/1.1\r\n" + KNOWN + b"\r\n"
# More bytes than fit into the buffers of two sockets.
LONG = 32 * 1024 * 1024


class Core:
    """A handler that authenticates clients with an `authorization` header. `/long` is 32 MB, `/pages` 100 KB."""

    def __init__(self) -> None:
        self.asked: list[HTTPRequest] = []

    def calls_out(self, request: HTTPRequest) -> bool:
        return False

    def knows(self, headers: Mapping[str, str]) -> bool:
        return "authorization" in headers

    def is_heavy(self, request: HTTPRequest) -> bool:
        return False

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        self.asked.append(request)
        if not self.knows(request.headers):
            return HTTPResponse(401, {}, b"who are you?")
        body = {"/long": bytes(LONG), "/pages": bytes(100_000)}.get(request.path, b"hello")
        return HTTPResponse(200, {}, body)


@pytest.fixture
def core() -> Core:
    return Core()


@pytest.fixture
def server(core: Core) -> Iterator[LoopbackServer]:
    with LoopbackServer(HOST, core) as running:
        yield running


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return make_certificates(HOST.now())


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let the listener look for timed-out connections all the time."""
    monkeypatch.setattr(listener, "_SWEEP", 0.01)
    return monkeypatch


@pytest.fixture(autouse=True)
def nothing_is_logged_as_an_error(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR] == []


def connect(server: LoopbackServer, data: bytes = b"") -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", server.port), 60.0)
    sock.sendall(data)
    return sock


def rest_of(sock: socket.socket) -> bytes:
    """Return everything until the server ends the connection."""
    parts = []
    with sock, contextlib.suppress(ConnectionError):
        while part := sock.recv(1024 * 1024):
            parts.append(part)
    return b"".join(parts)


def is_served(sock: socket.socket) -> bool:
    sock.sendall(GET)
    answer = b""
    while not answer.endswith(b"hello"):
        part = sock.recv(65536)
        if not part:
            return False
        answer += part
    return True


# Connections before a request with the token


def test_a_body_without_a_token_is_not_waited_for(server: LoopbackServer, core: Core) -> None:
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % BODY_LIMIT

    answer = rest_of(connect(server, head))

    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"connection: close" in answer.lower()
    assert core.asked[0].body == b""


def test_a_client_without_a_token_is_not_told_to_continue(server: LoopbackServer) -> None:
    head = b"POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"

    answer = rest_of(connect(server, head))

    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("body", [b"{}", b"{}GET / HTTP/1.1\r\n" + KNOWN + b"\r\n", b"x" * 100_000])
def test_nothing_that_follows_a_head_without_a_token_is_a_request(
    body: bytes, server: LoopbackServer, core: Core
) -> None:
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % 1_000_000

    rest_of(connect(server, head + body))

    assert len(core.asked) == 1


def test_malformed_chunks_without_a_token_are_no_error_of_the_server(server: LoopbackServer, core: Core) -> None:
    sock = connect(server, b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n")
    assert sock.recv(1024).startswith(b"HTTP/1.1 401 ")
    sock.sendall(b"xyz\r\n\r\n")

    assert b"HTTP/1.1 2" not in rest_of(sock)
    assert len(core.asked) == 1


def test_a_request_without_token_and_body_leaves_its_connection_open(server: LoopbackServer) -> None:
    with connect(server, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") as sock:
        assert sock.recv(1024).startswith(b"HTTP/1.1 401 ")
        assert is_served(sock)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"", id="nothing at all"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: x\r\nauthorization: yes\r\n", id="a head without an end"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", id="no token"),
    ],
)
def test_an_anonymous_connection_without_a_further_head_is_closed(
    head: bytes, server: LoopbackServer, core: Core, hurried: pytest.MonkeyPatch
) -> None:
    hurried.setattr(places, "ANONYMOUS_TIMEOUT", 0.2)

    assert b" 200 " not in rest_of(connect(server, head))


def test_each_byte_of_a_head_gives_an_anonymous_connection_no_more_time(
    server: LoopbackServer, hurried: pytest.MonkeyPatch
) -> None:
    hurried.setattr(places, "ANONYMOUS_TIMEOUT", 0.2)

    with connect(server, b"GET / HTTP/1.1\r\n") as sock:
        sock.settimeout(0.01)
        drops = 0
        while drops < 6000 and not is_ended(sock):
            drops += 1
            with contextlib.suppress(ConnectionError):
                sock.sendall(b"a")

    assert drops < 6000


def is_ended(sock: socket.socket) -> bool:
    try:
        return sock.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_silent_handshake_is_aborted(core: Core, certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "_HANDSHAKE", 0.05)

    with LoopbackServer(HOST, core, certificates=certificates) as server:
        assert rest_of(connect(server)) == b""


@pytest.mark.parametrize("encrypted", [False, True])
def test_silent_anonymous_connections_keep_no_client_out(
    encrypted: bool, core: Core, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_ANONYMOUS", 8)
    monkeypatch.setattr(places, "ANONYMOUS_GRACE", 0.0)
    context = ssl.create_default_context(cadata=certificates.authority.decode())

    with LoopbackServer(HOST, core, certificates=certificates if encrypted else None) as server:

        def client() -> socket.socket:
            plain = connect(server)
            return context.wrap_socket(plain, server_hostname="127.0.0.1") if encrypted else plain

        with client() as before, contextlib.ExitStack() as stack:
            assert is_served(before)
            silent = [stack.enter_context(connect(server)) for _ in range(40)]
            with client() as after:
                assert is_served(after)
            assert is_served(before)
            gone = [rest_of(sock) for sock in silent[:32]]

    assert gone == [b""] * 32


# Connections after a request with the token


def test_an_idle_connection_ends_after_its_time(server: LoopbackServer, hurried: pytest.MonkeyPatch) -> None:
    hurried.setattr(places, "IDLE_TIMEOUT", 0.2)

    assert rest_of(connect(server, GET)).endswith(b"hello")


def test_a_body_for_which_there_is_no_room_is_refused_for_now(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_request, "BODIES_LIMIT", 1_500_000)
    head = b"POST /known HTTP/1.1\r\n" + KNOWN + b"expect: 100-continue\r\ncontent-length: 1000000\r\n\r\n"

    with connect(server, head) as first:
        assert first.recv(1024).startswith(b"HTTP/1.1 100 ")
        refused = rest_of(connect(server, head))
        first.sendall(bytes(1_000_000))
        assert b" 200 " in first.recv(1024)
        with connect(server, head) as third:
            assert third.recv(1024).startswith(b"HTTP/1.1 100 ")

    assert refused.startswith(b"HTTP/1.1 429 ")
    assert b"retry-after: 1\r\n" in refused.lower()


def test_a_long_answer_that_is_not_read_ends_with_its_connection(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sending, "_STALL_LIMIT", 0.05)
    sock = connect(server, b"GET /long HTTP/1.1\r\n" + KNOWN + b"\r\n")
    wait_until_logged(caplog, "has stopped reading")

    assert 0 < len(rest_of(sock)) < LONG


def test_answers_to_requests_sent_at_once_that_are_not_read_end_with_their_connection(
    server: LoopbackServer, core: Core, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sending, "_STALL_LIMIT", 0.05)
    sock = connect(server, (b"GET /pages HTTP/1.1\r\n" + KNOWN + b"\r\n") * 500)
    wait_until_logged(caplog, "has stopped reading")

    assert len(rest_of(sock)) < 500 * 100_000
    assert len(core.asked) < 500


def wait_until_logged(caplog: pytest.LogCaptureFixture, words: str) -> None:
    deadline = HOST.monotonic() + 60.0
    while words not in caplog.text:
        assert HOST.monotonic() < deadline, "nothing was logged"


# A server in a process of its own, with its limit of descriptors


def test_a_server_process_takes_what_descriptors_it_may_have() -> None:
    with APIServerProcess(HOST) as server:
        soft, hard = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)

    assert soft == min(hard, 16 * 1024 + 64) or soft == resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 16 * 1024


def test_a_system_that_refuses_its_infinite_limit_keeps_the_one_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(which: int, limits: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)

    listener.raise_descriptor_limit()

    assert listener.connection_limit() == 256 - 64


def test_a_server_without_a_descriptor_left_closes_anonymous_connections_and_serves() -> None:
    with APIServerProcess(HOST) as server, contextlib.ExitStack() as stack:
        text = server.kubeconfig.read_text()
        port = int(text.partition("https://127.0.0.1:")[2].split()[0].strip('"'))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        used = len(os.listdir(f"/proc/{server.pid}/fd"))
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (used + 8, used + 8))
        for _ in range(40):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 60.0))
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port), 60.0)) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            answer = client.recv(4096)

    assert answer.startswith(b"HTTP/1.1 200 ")
