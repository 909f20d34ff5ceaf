# SPDX-License-Identifier: Apache-2.0
"""Candidates on hosts of their own, one server, and the requests of each with their times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from apimachinery.host import Thread
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.election.elector import LeaderElector
from controller_runtime.testing.faults import Fault, Faults, FaultyTransport, no_faults
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

LEASE = ObjectKey("program", "default")


@attrs.define
class Candidate:
    """An elector that runs, and the observations of it."""

    host: SimulatedHost
    elector: LeaderElector
    stop: Stop
    outcome: Stop
    calls: list[tuple[float, str]]
    told: list[str]
    thread: Thread | None = None

    @property
    def verbs(self) -> list[str]:
        return [method for _, method in self.calls]

    @property
    def ended(self) -> bool:
        return self.thread is not None and self.thread.join_until(self.host.monotonic())


@attrs.define
class Bench:
    """A server, and candidates for a lease on it."""

    sim: Simulation
    server: APIServer = attrs.field(init=False)
    client: Client = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        host = self.sim.host("server")
        self.server = APIServer(host)
        self.client = Client(host, InProcessTransport(host, self.server))

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.client.get(LEASES, LEASE, dict)["spec"]
        return spec

    def hold(self, holder: str, transitions: int = 0, duration: int = 15) -> None:
        """Make a holder that does not run hold the lease, by a write without a version."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": duration, "leaseTransitions": transitions}
        obj = {"metadata": {"name": LEASE.name, "namespace": LEASE.namespace}, "spec": spec}
        if any(lease["metadata"]["name"] == LEASE.name for lease in self.client.list(LEASES, "default", view=dict)):
            self.client.patch(LEASES, LEASE, {"spec": spec})
        else:
            self.client.create(LEASES, obj)

    def candidate(self, name: str, faults: Faults = no_faults, **config: Any) -> Candidate:
        host = self.sim.host(name)
        calls: list[tuple[float, str]] = []
        told: list[str] = []

        def noted(number: int, request: HTTPRequest) -> Fault | None:
            calls.append((self.sim.time, request.method))
            return faults(number, request)

        transport = FaultyTransport(host, InProcessTransport(host, self.server), noted)
        chosen = LeaderElectionConfig(**{"name": LEASE.name, "namespace": LEASE.namespace, "identity": name, **config})
        elector = LeaderElector(
            host,
            Client(host, transport),
            chosen,
            on_leading=lambda: told.append("leads"),
            on_new_leader=lambda leader: told.append(f"sees {leader!r}"),
        )
        return Candidate(host, elector, Stop(host), Stop(host, "outcome"), calls, told)

    def start(self, name: str, faults: Faults = no_faults, **config: Any) -> Candidate:
        """Return a candidate that runs on a thread of its own."""
        candidate = self.candidate(name, faults, **config)
        target: Callable[[], None] = lambda: candidate.elector.run(candidate.stop)  # noqa: E731
        candidate.thread = spawn(candidate.host, candidate.outcome, "elector", target)
        self.sim.settle()
        return candidate
