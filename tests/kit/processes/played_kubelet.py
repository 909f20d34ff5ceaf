# SPDX-License-Identifier: Apache-2.0
"""A kubelet for a real API server that has none: it hands connections to containers on to an embedded server."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import yaml

from embedded_apiserver import KubernetesServer
from embedded_apiserver.shell.tls import make_certificates

_PARTS = {"exec": "exec", "attach": "attach", "portForward": "portforward", "containerLogs": "log"}
_STREAMS = {"input": "stdin", "output": "stdout", "error": "stderr", "port": "ports"}
"""The names of parameters that a kubelet has, and those of the API."""
_HEAD = 65536


def api_path(target: str) -> str:
    """Return the path at an API server of what is asked of a kubelet."""
    parts = urlsplit(target)
    what, namespace, pod, *container = parts.path.strip("/").split("/")
    query = [(_STREAMS.get(name, name), value) for name, value in parse_qsl(parts.query)]
    query += [("container", name) for name in container]
    return f"/api/v1/namespaces/{namespace}/pods/{pod}/{_PARTS[what]}?{urlencode(query)}"


@contextlib.contextmanager
def kubelet(server: KubernetesServer) -> Iterator[int]:
    """Serve inside the block, and yield the port on loopback.

    Args:
        server: Has the pods by the same names, and their programs.
    """
    token = yaml.safe_load(server.kubeconfig.read_text())["users"][0]["user"]["token"]
    made = make_certificates(datetime.now(UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        for name, pem in (("cert", made.server), ("key", made.key)):
            (Path(folder) / name).write_bytes(pem)
        context.load_cert_chain(Path(folder) / "cert", Path(folder) / "key")

        open_ones: list[socket.socket] = []
        threads: list[threading.Thread] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    plain, _ = listener.accept()
                    open_ones.append(plain.dup())
                    threads.append(threading.Thread(target=_serve, args=(context, plain, server.url, token)))
                    threads[-1].start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for each in open_ones:
                with contextlib.suppress(OSError), each:
                    each.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()


def _serve(context: ssl.SSLContext, plain: socket.socket, url: str, token: str) -> None:
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    at = urlsplit(url)
    with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as near:
        head = near.recv(_HEAD)
        method, target, rest = head.split(b" ", 2)
        rest = re.sub(rb"(?im)^authorization:.*\r\n", b"", rest)
        first, _, others = rest.partition(b"\r\n")
        with trusting.wrap_socket(socket.create_connection((at.hostname or "", at.port or 0))) as far:
            line = b" ".join((method, api_path(target.decode()).encode(), first))
            far.sendall(line + b"\r\nauthorization: Bearer " + token.encode() + b"\r\n" + others)
            back = threading.Thread(target=_copy, args=(far, near), daemon=True)
            back.start()
            _copy(near, far)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_HEAD):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)
