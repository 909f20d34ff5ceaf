# SPDX-License-Identifier: Apache-2.0
"""A heartbeat on an embedded server under simulated time: its requests are noted, and can be made to fail."""

from __future__ import annotations

import json
from collections import deque
from itertools import pairwise
from typing import Any

from apimachinery.errors import ControllerRuntimeError, NotFound
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.faults import Answered, Fault, FaultyTransport
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat
from embedded_apiserver.server import APIServer

OPTIONS: dict[str, Any] = {
    "holder_identity": "me",
    "lease_name": "beat",
    "lease_namespace": "default",
    "lease_duration_seconds": 40,
    "renew_interval": 10.0,
}


def answered(code: int, reason: str = "", **details: Any) -> Answered:
    """Return a fault that answers a request with this failure, without asking the server."""
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, **details}
    return Answered(HTTPResponse(code, {"content-type": "application/json"}, json.dumps(status).encode()))


ERROR = answered(500, "InternalError")
CONFLICT = answered(409, "Conflict")
EXISTS = answered(409, "AlreadyExists")


class Beating:
    """One heartbeat, the faults that its requests meet, and a client for what others do."""

    def __init__(self, sim: Simulation, *, client: bool = True, request_timeout: float = 5.0, **options: Any) -> None:
        self.sim = sim
        self.host = sim.host("component")
        self.server = APIServer(self.host)
        self.world = Client(self.host, InProcessTransport(self.host, self.server))
        self.faults: dict[str, deque[Fault | None]] = {}
        self.asked: list[tuple[float, str, HTTPRequest]] = []
        transport = FaultyTransport(self.host, InProcessTransport(self.host, self.server), self._fault)
        self.hooks = 0
        self.client = Client(self.host, transport, request_timeout=request_timeout)
        self.heartbeat = LeaseHeartbeat(
            self.host,
            self.client if client else None,
            on_repeated_heartbeat_failure=self._hook,
            **{**OPTIONS, **options},
        )
        self.stop = Stop(self.host)

    def will(self, method: str, *faults: Fault | None) -> None:
        """Let the next requests of `method` meet these faults, in their order; None is no fault."""
        self.faults[method] = deque(faults)

    def start(self, settle: float = 0.0) -> None:
        self.thread = spawn(self.host, self.stop, "beating", lambda: self.heartbeat.run(self.stop))
        self.sim.settle()
        if settle:
            self.sim.advance(settle)

    def end(self) -> None:
        self.stop.set()
        self.thread.join_until(None)
        assert self.stop.failure is None

    def methods(self) -> list[str]:
        """Return the methods of the requests since the last call."""
        taken, self.asked = self.asked, []
        return [method for _, method, _ in taken]

    def gaps(self) -> list[float]:
        """Return the seconds between the requests since `methods` was called last."""
        times = [at for at, _, _ in self.asked]
        return [b - a for a, b in pairwise(times)]

    def lease(self) -> dict[str, Any] | None:
        try:
            return self.world.get(LEASES, ObjectKey("beat", "default"), dict)
        except NotFound:
            return None

    def spec(self) -> dict[str, Any]:
        lease = self.lease()
        assert lease is not None
        spec: dict[str, Any] = lease["spec"]
        return spec

    def _fault(self, number: int, request: HTTPRequest) -> Fault | None:
        self.asked.append((self.host.monotonic(), request.method, request))
        faults = self.faults.get(request.method)
        return faults.popleft() if faults else None

    def _hook(self) -> None:
        self.hooks += 1


class PostProcess:
    """Puts a label on the lease, and fails as long as it was called no more than `failures` times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.calls = 0

    def __call__(self, lease: dict[str, Any]) -> None:
        self.calls += 1
        lease["metadata"].setdefault("labels", {})["edited"] = "yes"
        if self.calls <= self.failures:
            raise ControllerRuntimeError("not now")
