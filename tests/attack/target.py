# SPDX-License-Identifier: Apache-2.0
"""A server process that attacks start and kill, and requests that are written byte by byte."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from apimachinery.system import SystemHost
from controller_runtime.testing.server_process import APIServerProcess

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TIMEOUT = 30.0
"""Seconds that one exchange may take."""


class Target:
    """A server over TLS as its kubeconfig describes it. Threads: any; each exchange has a connection of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        config = yaml.safe_load(kubeconfig.read_bytes())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.address = (str(urlsplit(cluster["server"]).hostname), int(urlsplit(cluster["server"]).port or 0))
        self.token: str = user["token"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._context = ssl.create_default_context(cadata=authority)

    def connect(self) -> ssl.SSLSocket:
        """Open a connection over TLS."""
        plain = socket.create_connection(self.address, TIMEOUT)
        return self._context.wrap_socket(plain, server_hostname=self.address[0])

    def exchange(self, method: str, path: str, body: bytes = b"", *lines: bytes) -> tuple[int, bytes]:
        """Send one request with further header lines as given; return status and body; 0 means no answer."""
        head = [f"{method} {path} HTTP/1.1".encode(), b"Host: target", b"Connection: close", *lines]
        if not any(line.lower().startswith(b"authorization:") for line in lines):
            head.append(f"Authorization: Bearer {self.token}".encode())
        head += [b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
        answer = b""
        with self.connect() as connection:
            connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
            while part := connection.recv(65536):
                answer += part
        status, _, content = answer.partition(b"\r\n\r\n")
        return int(status.split()[1]) if status else 0, content

    def names(self) -> set[str]:
        """Return the names of the config maps in the namespace `default`."""
        status, body = self.exchange("GET", CONFIG_MAPS)
        assert status == 200, (status, body)
        return {item["metadata"]["name"] for item in json.loads(body)["items"]}

    def create(self, name: str, **data: str) -> int:
        """Create a config map in the namespace `default`; return the status."""
        return self.exchange("POST", CONFIG_MAPS, config_map(name, **data))[0]


def config_map(name: str, **data: str) -> bytes:
    """Return a config map as JSON."""
    obj: dict[str, Any] = {"metadata": {"name": name}, "data": data}
    return json.dumps(obj).encode()


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[tuple[Target, int]]:
    """Run a server during the block; yield the target and the server's process ID."""
    with APIServerProcess(SystemHost("attack"), *arguments, start_timeout=120.0) as server:
        yield Target(server.kubeconfig), server.pid


def kill(pid: int) -> None:
    """Kill a server with SIGKILL, so that it cannot clean up."""
    os.kill(pid, signal.SIGKILL)


def start_and_fail(*arguments: str, umask: int | None = None) -> tuple[int, str]:
    """Start a server that is expected to fail; return its exit status and standard error."""
    command = [sys.executable, "-m", "embedded_apiserver", "--exit-with-parent", *arguments]
    change = -1 if umask is None else umask
    # Standard input is at its end, so that a server that does start stops again after it is ready.
    done = subprocess.run(command, input=b"", capture_output=True, timeout=120, umask=change)
    return done.returncode, done.stderr.decode(errors="replace")
