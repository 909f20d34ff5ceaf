# SPDX-License-Identifier: Apache-2.0
"""Admissions by one replica, asked by another process that keeps its connections: REQUESTS CONNECTIONS.

The other process has one request under way on each connection, as an API server has for writes of several clients.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import subprocess
import sys
import time

from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from benchmarks.harness import report
from benchmarks.peers.webhook_tls import replica, review

ALLOWED = b'"allowed":true'


def ask(port: int, path: str, authority: str, requests: int, connections: int) -> float:
    """Send reviews over kept connections, and return the seconds that it took until the last answer was read."""
    context = ssl.create_default_context(cadata=authority)
    messages = [_message(path, number) for number in range(100)]
    with contextlib.ExitStack() as stack:
        kept = [
            stack.enter_context(
                context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
            )
            for _ in range(connections)
        ]
        begin = time.perf_counter()
        for first in range(0, requests, connections):
            for number, connection in enumerate(kept):
                connection.sendall(messages[(first + number) % len(messages)])
            for connection in kept:
                if ALLOWED not in _answer(connection):
                    raise SystemExit("an admission was refused")
        return time.perf_counter() - begin


def _message(path: str, number: int) -> bytes:
    body = review(number)
    head = f"POST {path}?timeout=10s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _answer(connection: ssl.SSLSocket) -> bytes:
    data = connection.recv(65536)
    while True:
        head, end, body = data.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return body
        more = connection.recv(65536)
        if not more:
            raise SystemExit("the replica closed a connection")
        data += more


def main() -> None:
    """Print the admissions in a second, and those in a second of the replica's CPU."""
    if len(sys.argv) > 3:
        port, path, requests, connections = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
        report({"took_s": ask(port, path, sys.stdin.read(), requests, connections)})
        return
    requests, connections = int(sys.argv[1]), int(sys.argv[2])
    host = SystemHost()
    with replica(host, Stop(host)) as (port, path, authority):
        command = [sys.executable, "-m", "benchmarks.peers.webhook_rate", str(port), path, str(requests)]
        cpu = time.process_time()
        asked = subprocess.run(
            [*command, str(connections)], input=authority, stdout=subprocess.PIPE, text=True, check=True
        )
        used = time.process_time() - cpu
    report({"per_s": requests / json.loads(asked.stdout)["took_s"], "replica_per_cpu_s": requests / used})


if __name__ == "__main__":
    main()
