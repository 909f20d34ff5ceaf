# SPDX-License-Identifier: Apache-2.0
"""The servers that the contract suite can test: the embedded one in process, or any API server by its kubeconfig."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.system import SystemHost
from controller_runtime.client.client import Client
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from kit.contract.real_server import established
from kit.contract.recorded import HEADERS, Answer, from_yaml

Target = Callable[[HTTPRequest], Answer]
"""Makes one request and returns the complete response; that of a watch once it has ended."""

_PATIENCE = 60.0
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_READ: Mapping[str, Callable[[str], Any]] = {"application/json": json.loads, "application/yaml": from_yaml}


@contextmanager
def embedded(**options: Any) -> Iterator[Target]:
    """Yield the embedded server in virtual time, in which a watch of two seconds takes no time."""
    with Simulation() as sim:
        server = APIServer(sim.host("server"), **options)

        def ask(request: HTTPRequest) -> Answer:
            answer = server.handle(request, on_ready=lambda: None)
            if isinstance(answer, HTTPResponse):
                return _answer(answer.status, answer.headers, answer.body)
            return Answer(200, _of_note(answer.headers), [json.loads(line) for line in _all_lines(sim, answer)])

        yield ask
        server.close()


@contextmanager
def cluster(kubeconfig: Path) -> Iterator[Target]:
    """Yield a real API server. After a definition is created, wait until the server serves its kind."""
    host = SystemHost()
    transport = HTTPTransport(host, from_kubeconfig(kubeconfig))
    client = Client(host, transport)

    def ask(request: HTTPRequest) -> Answer:
        deadline = host.monotonic() + _PATIENCE
        if ("watch", "1") not in request.query:
            whole = transport.request(request, deadline)
            is_tried = any(name == "dryRun" for name, _ in request.query)
            if request.method == "POST" and request.path == _DEFINITIONS and whole.status == 201 and not is_tried:
                established(client, json.loads(whole.body)["metadata"]["name"])
            return _answer(whole.status, whole.headers, whole.body)
        with transport.stream(request, deadline) as stream:
            if stream.response.status != 200:
                return _answer(stream.response.status, stream.response.headers, stream.response.body)
            events = []
            while (lines := stream.read(deadline)) is not None:
                events += [json.loads(line) for line in lines]
            return Answer(200, _of_note(stream.response.headers), events)

    with closing(transport):
        yield ask


def _all_lines(sim: Simulation, watch: Watch) -> Iterator[bytes]:
    over = False
    while not over:
        lines, over = watch.take()
        yield from lines
        if not lines and not over:
            sim.advance(watch.next_wake() or 0.0)


def _answer(status: int, headers: Mapping[str, str], body: bytes) -> Answer:
    content: Any = _READ.get(headers.get("content-type", ""), str)(body.decode())
    return Answer(status, _of_note(headers), content)


def _of_note(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name] for name in HEADERS if name in headers}
