# SPDX-License-Identifier: Apache-2.0
"""A port of this machine whose connections reach a port of a pod, in real time."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from kit.apiserver.talking import Talking
from kit.client.entered import KEY

from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.pods import PortForward
from embedded_apiserver.programs import Process, Program


def upper(process: Process) -> None:
    while line := process.stdin.readline():
        process.stdout.write(line.upper())


@pytest.fixture
def talking() -> Iterator[Talking]:
    talking = Talking(SystemHost())
    talking.server.programs["c"] = Program(lambda process: 0, ports={80: upper})
    yield talking
    talking.server.close()


def forward(talking: Talking, port: int) -> PortForward:
    return Client(talking.host, talking.transport).port_forward(KEY, port)


def test_connections_of_a_listener_reach_the_port(talking: Talking) -> None:
    with forward(talking, 80).listen() as listener:
        for _ in range(2):
            with socket.create_connection(listener.address, timeout=60) as sock:
                sock.sendall(b"hello\n")
                assert sock.recv(6) == b"HELLO\n"


def test_closing_a_listener_ends_its_connections(talking: Talking) -> None:
    listener = forward(talking, 80).listen()
    with socket.create_connection(listener.address, timeout=60) as sock:
        sock.sendall(b"x\n")
        assert sock.recv(2) == b"X\n"
        listener.close()
        listener.close()

        assert sock.recv(1) == b""
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(listener.address, timeout=60)


def test_a_connection_that_cannot_be_forwarded_is_closed_and_logged(
    talking: Talking, caplog: pytest.LogCaptureFixture
) -> None:
    with forward(talking, 81).listen() as listener, socket.create_connection(listener.address, timeout=60) as sock:
        assert sock.recv(1) == b""

    assert "connection refused" in caplog.text
