# SPDX-License-Identifier: Apache-2.0
"""A manager that is a candidate of a coordinated election on a simulated host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import LEASE_CANDIDATES, NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.faults import Fault, FaultyTransport, Refused
from kit.controllers.electing import World

LEASE = ObjectKey("lease", "default")


@attrs.frozen
class Calling(Reconciler):
    """A reconciler that calls a function."""

    function: Callable[[Request], object]

    def reconcile(self, request: Request) -> Result:
        self.function(request)
        return Result()


class Replica:
    """A manager that is a candidate under its host's name, and works when it leads."""

    def __init__(self, world: World, name: str, version: str = "1.36.0", **config: Any) -> None:
        self.world = world
        self.host = world.sim.host(name)
        self.asked: list[str] = []
        self.refuses: Callable[[HTTPRequest], bool] = lambda request: False
        self.work_takes = 0.0
        self.did: list[str] = []
        candidacy = Candidacy(binary_version=version)
        election = LeaderElectionConfig(
            name=LEASE.name, namespace=LEASE.namespace, identity=name, coordinated=candidacy, **config
        )
        self.manager = Manager(self.host, self._transport(), leader_election=election)
        self.manager.add(Controller("work", Calling(self._work)).watch(NODES))
        self.stop, self.outcome = Stop(self.host), Stop(self.host, "outcome")

    def _transport(self) -> Transport:
        return FaultyTransport(self.host, InProcessTransport(self.host, self.world.server), self._fault)

    def _fault(self, number: int, request: HTTPRequest) -> Fault | None:
        if "/lease" in request.path and "watch" not in str(request.query):
            self.asked.append(f"{request.method} {request.path.rpartition('/')[2]}")
        return Refused() if self.refuses(request) else None

    def _work(self, key: ObjectKey) -> None:
        asleep, until = Stop(self.host, "asleep"), self.host.monotonic() + self.work_takes
        while self.host.monotonic() < until:
            self.manager.stopping.raise_if_cancelled()
            asleep.wait(0.25)
        self.did.append(key.name)

    def start(self) -> Replica:
        spawn(self.host, self.outcome, "manager", lambda: self.manager.run(self.stop))
        self.world.sim.settle()
        return self

    @property
    def leads(self) -> bool:
        assert self.manager.elector is not None
        return self.manager.elector.is_leader()

    @property
    def candidate(self) -> dict[str, Any] | None:
        found: list[dict[str, Any]] = self.world.client.list(LEASE_CANDIDATES, "default", view=dict)
        return next((one["spec"] for one in found if one["metadata"]["name"] == self.host.name), None)
