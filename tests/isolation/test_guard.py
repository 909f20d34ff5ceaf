# SPDX-License-Identifier: Apache-2.0
"""While a guard is on, no thread of the process reaches the world outside, unless the library does itself."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from apimachinery.errors import UsageError
from controller_runtime.isolation.calls import OutwardCall
from controller_runtime.isolation.guard import Guard, OutsideRefused, guarded, permitted


@pytest.fixture
def service() -> Iterator[socket.socket]:
    """A service on this machine, as the world outside."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def port_of(service: socket.socket) -> int:
    return int(service.getsockname()[1])


def was_called(service: socket.socket) -> bool:
    service.setblocking(False)
    with suppress(BlockingIOError):
        service.accept()[0].close()
        return True
    return False


def send_datagram(port: int) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))


WAYS: dict[str, Callable[[int], object]] = {
    "by its address": lambda port: socket.create_connection(("127.0.0.1", port)).close(),
    "by its name": lambda port: socket.create_connection(("localhost", port)).close(),
    "without an error": lambda port: socket.socket().connect_ex(("127.0.0.1", port)),
    "by a datagram": send_datagram,
    "on another thread": lambda port: ThreadPoolExecutor().submit(WAYS["by its address"], port).result(),
    "by a coroutine": lambda port: asyncio.run(asyncio.open_connection("127.0.0.1", port)),  # type: ignore[arg-type]
    "by a program": lambda port: subprocess.run([sys.executable, "-c", "pass"], check=True),
    "by a shell": lambda port: os.system("true"),
    "by a process": lambda port: multiprocessing.get_context("spawn").Process(target=print).start(),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_world_outside_is_refused_whatever_the_way(service: socket.socket, way: str) -> None:
    told: list[OutwardCall] = []

    with guarded(Guard(on_refused=told.append)), pytest.raises(OutsideRefused):
        WAYS[way](port_of(service))

    assert told
    assert not was_called(service)


def test_code_that_takes_any_failure_for_a_passing_one_does_not_go_on(service: socket.socket) -> None:
    tries = 0

    def retrying() -> None:
        nonlocal tries
        for _ in range(3):
            tries += 1
            with suppress(Exception):
                socket.create_connection(("127.0.0.1", port_of(service)))

    with guarded(Guard()), pytest.raises(OutsideRefused, match=r"refused: the program calls 127\.0\.0\.1:"):
        retrying()

    assert tries == 1


def test_one_host_can_be_opened_by_its_name_and_others_stay_closed(service: socket.socket) -> None:
    with guarded(Guard(allowed=["LOCALHOST"])):
        socket.create_connection(("localhost", port_of(service))).close()
        with pytest.raises(OutsideRefused):
            socket.create_connection(("127.0.0.2", port_of(service)))

    assert was_called(service)


def test_one_program_can_be_opened_by_its_name() -> None:
    with guarded(Guard(allowed=[os.path.basename(sys.executable)])):
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        with pytest.raises(OutsideRefused):
            subprocess.run(["sh", "-c", "true"], check=True)


def test_the_librarys_own_connections_are_permitted_and_no_other_context_is(service: socket.socket) -> None:
    with guarded(Guard()), ThreadPoolExecutor() as pool:
        with permitted():
            socket.create_connection(("127.0.0.1", port_of(service))).close()
            with pytest.raises(OutsideRefused):
                pool.submit(WAYS["by its address"], port_of(service)).result()
        with pytest.raises(OutsideRefused):
            socket.create_connection(("127.0.0.1", port_of(service)))

    assert was_called(service)


def test_nothing_is_refused_once_the_guard_is_off(service: socket.socket) -> None:
    before = socket.getaddrinfo

    with guarded(Guard()), suppress(OutsideRefused):
        socket.create_connection(("127.0.0.1", port_of(service)))
    socket.create_connection(("127.0.0.1", port_of(service))).close()

    assert was_called(service)
    assert socket.getaddrinfo is before


def test_one_guard_is_on_at_a_time() -> None:
    with guarded(Guard()), pytest.raises(UsageError, match="by another guard"), guarded(Guard()):
        pass
