# SPDX-License-Identifier: Apache-2.0
"""A client that costs next to nothing, so that a measurement is that of the server."""

from __future__ import annotations

import base64
import contextlib
import json
import resource
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
import yaml


@attrs.frozen
class Address:
    """The port and the credentials of a server on loopback; without a certificate authority, plain HTTP is used."""

    port: int
    token: str = ""
    authority: str = ""

    @classmethod
    def of(cls, kubeconfig: str) -> Address:
        """Return the address in a kubeconfig file, or that of `plain:PORT`."""
        if kubeconfig.startswith("plain:"):
            return cls(int(kubeconfig.removeprefix("plain:")))
        content = yaml.safe_load(Path(kubeconfig).read_text())
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        return cls(int(cluster["server"].rpartition(":")[2]), user["token"], authority)


class Connection:
    """A keep-alive connection with at most one request in flight. Threads: one."""

    def __init__(self, address: Address) -> None:
        self._sock = socket.create_connection(("127.0.0.1", address.port))
        self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.authority:
            context = ssl.create_default_context(cadata=address.authority)
            self._sock = context.wrap_socket(self._sock, server_hostname="127.0.0.1")
        self._head = f"host: x\r\nauthorization: Bearer {address.token}\r\ncontent-type: application/json\r\n"
        self._read = b""

    def send(self, method: str, path: str, content: Any = None) -> None:
        """Send a request."""
        body = b"" if content is None else json.dumps(content).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}content-length: {len(body)}\r\n\r\n"
        self._sock.sendall(head.encode() + body)

    def answer(self) -> bytes:
        """Wait for the answer, and return its body."""
        self.read_until(b"\r\n\r\n")
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        assert head[9:12] in (b"200", b"201"), head
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        parts = [self._read]
        missing = length - len(self._read)
        while missing > 0:
            parts.append(self._sock.recv(missing))
            missing -= len(parts[-1])
        self._read = b""
        return b"".join(parts)

    def ask(self, method: str, path: str, content: Any = None) -> dict[str, Any]:
        """Send a request, and return the decoded answer."""
        self.send(method, path, content)
        decoded: dict[str, Any] = json.loads(self.answer())
        return decoded

    def read_until(self, end: bytes) -> None:
        """Read until the data contain `end`."""
        while end not in self._read:
            data = self._sock.recv(262144)
            assert data, "the server has closed the connection"
            self._read += data

    def drop(self) -> None:
        """Discard the data that have been read."""
        self._read = b""

    def close(self) -> None:
        """Close the connection."""
        self._sock.close()


@contextmanager
def connections(address: Address, count: int) -> Iterator[Sequence[Connection]]:
    """Open `count` connections, and close them after the block."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(Connection(address))) for _ in range(count)]


def memory_of(pid: int) -> float:
    """Return the resident memory of a running process, in MiB (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    fields: Mapping[str, str] = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def own_memory() -> int:
    """Return the resident memory of this process, in bytes (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
