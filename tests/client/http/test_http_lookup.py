# SPDX-License-Identifier: Apache-2.0
"""Names of hosts are looked up, and no caller waits for the resolver beyond its deadline."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kit.client.raw_server import Connection, RawServer
from kubernetes.client import Configuration

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.http.transport import HTTPTransport

GET = HTTPRequest("GET", "/x")
HOST = SystemHost("here")
resolve = socket.getaddrinfo


class Resolver:
    """A substitute for the system's resolver, which answers when the test allows it."""

    def __init__(self) -> None:
        self._condition = HOST.condition("resolver")
        self._may_answer = False
        self.answers: list[tuple[str, int]] = []
        self.asked = 0

    def __call__(self, name: str, port: int, type: int = 0, flags: int = 0) -> Any:  # noqa: A002 (as the system's)
        if flags or name != "api.test":
            return resolve(name, port, type=type, flags=flags)
        with self._condition:
            self.asked += 1
            while not self._may_answer:
                self._condition.wait_until(HOST.monotonic() + 10.0)
        if not self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [found for answer in self.answers for found in resolve(*answer, type=type)]

    def let(self) -> None:
        with self._condition:
            self._may_answer = True
            self._condition.notify_all()


@pytest.fixture
def resolver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Resolver]:
    found = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", found)
    yield found
    found.let()
    for thread in threading.enumerate():
        if thread.name == "look-up":
            thread.join(10.0)


@pytest.fixture
def transport(resolver: Resolver) -> Iterator[HTTPTransport]:
    with contextlib.closing(HTTPTransport(HOST, Configuration(host="http://api.test:1"))) as made:
        yield made


def soon(seconds: float = 60.0) -> float:
    return HOST.monotonic() + seconds


def answers(connection: Connection) -> None:
    while connection.read_request():
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


def test_a_resolver_that_does_not_answer_is_not_waited_for_and_asked_once(
    resolver: Resolver, transport: HTTPTransport
) -> None:
    for _ in range(3):
        with pytest.raises(ConnectionLost, match=r"the look-up of api\.test timed out"):
            transport.request(GET, soon(0.1))

    assert resolver.asked == 1
    resolver.let()
    with pytest.raises(ConnectionLost, match="cannot be looked up"):  # by then the first has ended
        transport.request(GET, soon())


def test_closing_ends_the_wait_for_a_resolver(resolver: Resolver, transport: HTTPTransport) -> None:
    lost: list[str] = []

    def ask() -> None:
        with pytest.raises(ConnectionLost) as caught:
            transport.request(GET, soon(60.0))
        lost.append(str(caught.value))

    asker = HOST.spawn("asker", ask)
    while not asker.join_until(soon(0.01)):
        transport.close()
    resolver.let()

    assert lost[0].endswith(": given up")


def test_a_name_that_is_not_known_is_named(resolver: Resolver, transport: HTTPTransport) -> None:
    resolver.let()

    with pytest.raises(ConnectionLost, match=r"api\.test cannot be looked up: Name or service not known"):
        transport.request(GET, soon())


def test_what_cannot_be_a_name_is_not_known() -> None:
    transport = HTTPTransport(HOST, Configuration(host=f"http://{'a' * 70}.test:1"))

    with (
        contextlib.closing(transport),
        pytest.raises(ConnectionLost, match=r"a\.test cannot be looked up: it is not a valid host name"),
    ):
        transport.request(GET, soon())


def test_an_address_that_refuses_leaves_the_next_one(resolver: Resolver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = listener.getsockname()[1]
    with RawServer(HOST, answers) as server:
        resolver.answers = [("127.0.0.1", refusing), ("127.0.0.1", server.port)]
        resolver.let()
        with contextlib.closing(HTTPTransport(HOST, Configuration(host="http://api.test:1"))) as transport:
            assert transport.request(GET, soon()).status == 200


def test_an_address_that_is_silent_leaves_time_for_the_next_one(resolver: Resolver) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, RawServer(HOST, answers) as server:
        address = full.getsockname()
        with socket.create_connection(address), contextlib.ExitStack() as stack:
            for _ in range(3):  # this keeps the next one from being accepted
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(address)
            resolver.answers = [address, ("127.0.0.1", server.port)]
            resolver.let()
            with contextlib.closing(HTTPTransport(HOST, Configuration(host="http://api.test:1"))) as transport:
                assert transport.request(GET, soon(2.0)).status == 200


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_an_address_of_version_6_is_dialled_and_named_in_brackets() -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
            port = listener.getsockname()[1]
    except OSError:
        pytest.skip("no IPv6 here")
    transport = HTTPTransport(HOST, Configuration(host=f"http://[::1]:{port}"))

    with pytest.raises(ConnectionLost, match=rf"no answer from \[::1\]:{port}: .*refused"):
        transport.request(GET, soon())
