# SPDX-License-Identifier: Apache-2.0
"""Whom the contract suite asks: the embedded server in process, or any API server by its kubeconfig."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from controller_runtime.api.http import HTTPRequest, HTTPResponse, Watch
from controller_runtime.apiserver.server import APIServer
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.core.system import SystemHost
from controller_runtime.testing.simulation import Simulation
from kit.recorded import HEADERS, Answer, from_yaml

Target = Callable[[HTTPRequest], Answer]
"""Makes one exchange and gives the whole answer, of a watch when it has ended."""

_PATIENCE = 60.0
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_READ: Mapping[str, Callable[[str], Any]] = {"application/json": json.loads, "application/yaml": from_yaml}


@contextmanager
def embedded() -> Iterator[Target]:
    """The embedded server, in virtual time: a watch of two seconds costs none."""
    with Simulation() as sim:
        server = APIServer(sim.host("server"))

        def ask(request: HTTPRequest) -> Answer:
            answer = server.handle(request, on_ready=lambda: None)
            if isinstance(answer, HTTPResponse):
                return _answer(answer.status, answer.headers, answer.body)
            return Answer(200, _of_note(answer.headers), [json.loads(line) for line in _all_lines(sim, answer)])

        yield ask
        server.close()


@contextmanager
def cluster(kubeconfig: str) -> Iterator[Target]:
    """A real API server: a fresh one, for the suite leaves its objects behind."""
    host = SystemHost()
    transport = HTTPTransport(host, from_kubeconfig(kubeconfig))

    def wait_for_kind(definition: Mapping[str, Any], deadline: float) -> None:
        """Ask for a new kind until it is served: a real server takes seconds for it, the embedded one none."""
        spec = definition["spec"]
        version = next(one["name"] for one in spec["versions"] if one["served"])
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        while transport.request(HTTPRequest("GET", path), deadline).status != 200:
            assert host.monotonic() < deadline, f"{path} is not served"

    def ask(request: HTTPRequest) -> Answer:
        deadline = host.monotonic() + _PATIENCE
        if ("watch", "1") not in request.query:
            whole = transport.request(request, deadline)
            is_tried = any(name == "dryRun" for name, _ in request.query)
            if request.method == "POST" and request.path == _DEFINITIONS and whole.status == 201 and not is_tried:
                wait_for_kind(json.loads(whole.body), deadline)
            return _answer(whole.status, whole.headers, whole.body)
        with transport.stream(request, deadline) as stream:
            if stream.response.status != 200:
                return _answer(stream.response.status, stream.response.headers, stream.response.body)
            events = []
            while (lines := stream.read(deadline)) is not None:
                events += [json.loads(line) for line in lines]
            return Answer(200, _of_note(stream.response.headers), events)

    yield ask
    transport.close()


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
