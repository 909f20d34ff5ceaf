# SPDX-License-Identifier: Apache-2.0
"""The memory that idle connections take in the server's process."""

from __future__ import annotations

import contextlib
import socket
import ssl
from pathlib import Path

from apimachinery.system import SystemHost
from controller_runtime.testing.server_process import APIServerProcess

CONNECTIONS = 60


def resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def connect(kubeconfig: Path) -> ssl.SSLSocket:
    """Return a TLS connection on which one request was answered."""
    port = int(kubeconfig.read_text().partition("https://127.0.0.1:")[2].split()[0].strip('"'))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    sock = context.wrap_socket(socket.create_connection(("127.0.0.1", port), 60.0))
    sock.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
    assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
    return sock


def test_a_connection_over_tls_costs_less_than_what_asyncio_takes_for_its_buffer() -> None:
    with APIServerProcess(SystemHost()) as server, contextlib.ExitStack() as stack:
        stack.enter_context(connect(server.kubeconfig))
        before = resident_kib(server.pid)
        for _ in range(CONNECTIONS):
            stack.enter_context(connect(server.kubeconfig))

        assert resident_kib(server.pid) - before < CONNECTIONS * 150
