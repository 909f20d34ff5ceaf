# SPDX-License-Identifier: Apache-2.0
"""The TCP proxy passes some bytes and not others, and each side notices the results."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest

from apimachinery.host import Thread
from apimachinery.system import SystemHost
from controller_runtime.testing import TCPProxy

TIMEOUT = 60.0


class Echo:
    """Sends back what it receives, and keeps it. Threads: its own; a test reads `heard` after it got the echo."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.heard = b""
        self.threads: list[Thread] = []

    def run(self) -> None:
        with contextlib.suppress(OSError):  # the listener is closed
            while True:
                sock = self._listener.accept()[0]
                self.threads.append(SystemHost().spawn("echo", lambda sock=sock: self._serve(sock)))  # type: ignore[misc]

    def _serve(self, sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            while data := sock.recv(65536):
                self.heard += data
                sock.sendall(data)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    thread = SystemHost().spawn("echo", server.run)
    yield server
    server.close()
    assert thread.join_until(SystemHost().monotonic() + TIMEOUT)  # it starts no more threads from here on
    for each in server.threads:
        assert each.join_until(SystemHost().monotonic() + TIMEOUT)


@pytest.fixture
def proxy(echo: Echo) -> Iterator[TCPProxy]:
    with TCPProxy("127.0.0.1", echo.port) as proxy:
        yield proxy


def connected(proxy: TCPProxy) -> socket.socket:
    """Return a connection on which bytes have passed in both directions."""
    sock = socket.create_connection(("127.0.0.1", proxy.port), TIMEOUT)
    assert said(sock, b"hello") == b"hello"
    return sock


def said(sock: socket.socket, data: bytes) -> bytes:
    """Send `data` and return its echo."""
    sock.sendall(data)
    return heard(sock, len(data))


def heard(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (part := sock.recv(65536)):
        data += part
    return data


def is_silent(sock: socket.socket) -> bool:
    """Return whether no byte arrives within 0.1 s."""
    sock.settimeout(0.1)
    try:
        return sock.recv(1) == b"never"
    except TimeoutError:
        return True
    finally:
        sock.settimeout(TIMEOUT)


def was_reset(sock: socket.socket) -> bool:
    try:
        sock.sendall(b"?")
        return sock.recv(1) == b"never"
    except (ConnectionResetError, BrokenPipeError):
        return True


def turns_away(proxy: TCPProxy) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", proxy.port), TIMEOUT) as sock:
            return was_reset(sock)
    except ConnectionResetError:
        return True


def test_what_is_sent_passes_in_both_directions_and_so_does_its_end(proxy: TCPProxy) -> None:
    data = bytes(range(256)) * 4096

    with connected(proxy) as sock:
        sender = SystemHost().spawn("sender", lambda: sock.sendall(data))
        echoed = heard(sock, len(data))
        sender.join_until(None)
        sock.shutdown(socket.SHUT_WR)
        end = sock.recv(1)

    assert echoed == data
    assert end == b""
    assert proxy.accepted == 1


def test_a_cut_resets_what_is_open_and_what_comes_until_it_is_restored(proxy: TCPProxy) -> None:
    with connected(proxy) as before:
        proxy.cut()

        assert was_reset(before)

    assert turns_away(proxy)

    proxy.restore()
    with connected(proxy) as after:
        assert said(after, b"again") == b"again"


def test_a_drop_resets_what_is_open_once(proxy: TCPProxy) -> None:
    with connected(proxy) as before:
        proxy.drop()

        assert was_reset(before)

    with connected(proxy) as after:
        assert said(after, b"again") == b"again"


def test_nothing_passes_a_stall_and_all_of_it_afterwards(proxy: TCPProxy, echo: Echo) -> None:
    with connected(proxy) as before:
        proxy.stall()
        before.sendall(b"old")
        with socket.create_connection(("127.0.0.1", proxy.port), TIMEOUT) as new:
            new.sendall(b"new")

            assert is_silent(before)
            assert is_silent(new)
            assert echo.heard == b"hello"

            proxy.restore()
            assert heard(before, 3) == b"old"
            assert heard(new, 3) == b"new"


def test_a_connection_that_ends_in_a_stall_is_forgotten_when_it_is_over(proxy: TCPProxy) -> None:
    proxy.stall()
    socket.create_connection(("127.0.0.1", proxy.port), TIMEOUT).close()

    proxy.restore()

    with connected(proxy) as after:
        assert said(after, b"again") == b"again"


def test_an_answer_is_lost_after_the_request_arrived(proxy: TCPProxy, echo: Echo) -> None:
    with connected(proxy) as first, connected(proxy) as second:
        proxy.drop_after_request()
        first.sendall(b"write")
        with contextlib.suppress(ConnectionResetError):
            assert first.recv(1) == b""

        assert echo.heard.endswith(b"write")
        assert said(second, b"read") == b"read", "one answer only"


def test_no_answer_can_be_lost_where_nothing_is_open(proxy: TCPProxy) -> None:
    with pytest.raises(RuntimeError, match="no connection is open"):
        proxy.drop_after_request()


def test_answers_drip_at_the_pace_that_was_asked_for(proxy: TCPProxy) -> None:
    clock = SystemHost()

    with connected(proxy) as sock:
        proxy.drip(1000)
        began = clock.monotonic()
        echoed = said(sock, bytes(200))
        took = clock.monotonic() - began

    assert len(echoed) == 200
    assert took > 0.15, "slower if the machine is busy, but never faster"


def test_everything_arrives_later_on_a_slow_network(proxy: TCPProxy) -> None:
    clock = SystemHost()

    with connected(proxy) as sock:
        proxy.slow(0.1)
        began = clock.monotonic()
        echoed = said(sock, b"slow")
        took = clock.monotonic() - began

    assert echoed == b"slow"
    assert took >= 0.2, "there and back"


def test_a_server_that_is_not_there_is_a_reset(echo: Echo) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]

    with TCPProxy("127.0.0.1", port) as proxy:
        assert turns_away(proxy)


@pytest.mark.parametrize("is_stalled", [False, True])
def test_leaving_resets_what_is_open_and_listens_no_more(echo: Echo, is_stalled: bool) -> None:
    with TCPProxy("127.0.0.1", echo.port) as proxy:
        sock = connected(proxy)
        if is_stalled:
            proxy.stall()

    with sock:
        assert was_reset(sock)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", proxy.port), TIMEOUT)
