# SPDX-License-Identifier: Apache-2.0
"""A list of made pods by another client, which keeps its objects: lightkube|kr8s COUNT.

The pods are those of `lean_ours`, served by a thread of another process over plain HTTP in one list. Prints the memory
of the whole process after the list, and the peak until then.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.harness import metered, report
from benchmarks.large import VERSION, pod

ASKED = {
    "/version": b'{"major":"1","minor":"36","gitVersion":"v1.36.2"}',
    "/api": b'{"versions":["v1"]}',
    "/apis": b'{"groups":[]}',
    "/api/v1": b'{"groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"singularName":"pod",'
    b'"verbs":["list"]}]}',
}
"""The answers to the requests that kr8s sends before it lists, by path."""


def listed(count: int) -> Iterator[bytes]:
    """Return the parts of a list of made pods."""
    head = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": str(VERSION)}}
    yield json.dumps(head).encode()[:-1] + b',"items":['
    for index in range(count):
        yield b"," * (index > 0) + pod(index, VERSION, is_recorded=False)
    yield b"]}"


def serve(count: int, port: Connection) -> None:
    """Serve the list, and the version that kr8s asks for; send the number of the port first."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            path = self.path.partition("?")[0].rstrip("/")
            self.wfile.writelines([ASKED[path]] if path in ASKED else listed(count))

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    port.send(server.server_port)
    server.serve_forever()


def lightkube(kubeconfig: str) -> Sequence[Any]:
    """List with lightkube."""
    from lightkube import Client, KubeConfig
    from lightkube.resources.core_v1 import Pod

    return [*Client(config=KubeConfig.from_file(kubeconfig)).list(Pod, namespace="*")]


def kr8s(kubeconfig: str) -> Sequence[Any]:
    """List with kr8s."""
    import kr8s

    return [*kr8s.api(kubeconfig=kubeconfig).get("pods", namespace=kr8s.ALL)]


CLIENTS: Mapping[str, Callable[[str], Sequence[Any]]] = {"lightkube": lightkube, "kr8s": kr8s}


def config(port: int) -> str:
    """Write a kubeconfig for the server, and return its path."""
    path = Path(tempfile.mkdtemp()) / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "default"}}
    user = {"name": "u", "user": {"token": "t"}}
    body = {"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "c"}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **body}))
    return str(path)


def main() -> None:
    """List once, keep the objects, and print the figures."""
    who, count = sys.argv[1], int(sys.argv[2])
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(count, theirs), daemon=True)
    server.start()
    kubeconfig, figures = config(ours.recv()), dict[str, float]()
    with metered(figures):
        found = CLIENTS[who](kubeconfig)
    assert len(found) == count, len(found)
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
    report({"objects": float(count), "mib": resident, "peak_mib": figures["peak_mib"], "fill_cpu_s": figures["cpu_s"]})


if __name__ == "__main__":
    main()
