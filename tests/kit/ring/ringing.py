# SPDX-License-Identifier: Apache-2.0
"""Replicas of a program that share their work by a ring, on one API server in a simulation, and a user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs

from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.ring import Ring
from controller_runtime.ring.token import RingToken
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import ScriptedFaults
from embedded_apiserver.server import APIServer
from kit.fault_runs.costly_lister import CostlyLister

OBJECTS = 60
JOIN = 30.0
"""Virtual seconds after which a new member owns its slots: a lease of 15 s, two turns, and the hand-off."""


@attrs.frozen
class Seen(Reconciler):
    """Writes into each node which replica saw it, how often it was seen, and the value that was wanted."""

    replica: str
    client: Client
    log: list[tuple[str, str]]
    slow: dict[str, tuple[Stop, float]]
    note: Callable[[str], None]

    def reconcile(self, request: Request) -> Result:
        self.log.append((self.replica, request.name))
        self.note(request.name)
        if self.replica in self.slow:
            stop, seconds = self.slow[self.replica]
            stop.wait(seconds)
        self.client.patch(NODES, request, {"metadata": {"annotations": {"by": self.replica}}})
        return Result()


class Replicas:
    """Replicas of a program on one API server, and a user."""

    def __init__(self, sim: Simulation, latency: float = 0.001) -> None:
        self.sim = sim
        server, user = sim.host("server"), sim.host("user")
        self.network = Network(sim, ScriptedFaults(()), [], latency=latency, until=0.0)
        handler = APIServer(server)
        server.spawn("boot", lambda: self.network.serve(server, handler))
        self.user = Client(user, InProcessTransport(user, handler))
        self.log: list[tuple[str, str]] = []
        self.slow: dict[str, tuple[Stop, float]] = {}
        self.tokens: dict[str, list[tuple[str, RingToken]]] = {}
        self.rings: dict[str, Ring] = {}
        self.hosts: dict[str, SimulatedHost] = {}
        self.stops: dict[str, Stop] = {}
        self.managers: dict[str, Manager] = {}
        for number in range(OBJECTS):
            self.user.create(NODES, {"metadata": {"name": f"n{number:02d}", "labels": {"at": "0"}}})

    def start(
        self,
        name: str,
        election: LeaderElectionConfig | None = None,
        *,
        key_cost: float = 0.0,
        by: RingBy = RingBy.NAME,
        work: type[Seen] = Seen,
        **options: Any,
    ) -> Ring:
        host = self.hosts[name] = self.sim.host(name)
        manager = self.managers[name] = Manager(host, NetworkTransport(self.network, host), leader_election=election)
        ring = self.rings[name] = manager.ring("seers", by, **options)
        nodes = CostlyLister(host, manager.lister(NODES, dict), key_cost)

        def note(key: str) -> None:
            self.tokens.setdefault(key, []).append((name, ring.token()))

        seen = ring.shared(work(name, manager.client, self.log, self.slow, note))
        manager.add(Controller("seen", seen).watch(NODES).receive(ring.requests(nodes)))
        stop = self.stops[name] = Stop(host)
        host.spawn("program", lambda: manager.run(stop))
        return ring

    def owners(self) -> Counter[str]:
        """How many slots each living replica owns, which together are all of them, each once."""
        loads = {name: ring.ownership.owned for name, ring in self.rings.items() if not self.hosts[name].crashed}
        together = 0
        for owned in loads.values():
            assert not together & owned, "a slot has two owners"
            together |= owned
        return Counter({name: owned.bit_count() for name, owned in loads.items()})

    def slow_down(self, name: str, seconds: float) -> None:
        """Let each reconcile of a replica take so long from now on, and cause one."""
        self.slow[name] = Stop(self.hosts[name], "slow"), seconds
        self.user.patch(NODES, self.owned_by(name), {"metadata": {"labels": {"at": f"slow-{self.sim.time}"}}})

    def owned_by(self, name: str) -> ObjectKey:
        """The key of an object that a replica owns."""
        keys = [ObjectKey(f"n{number:02d}") for number in range(OBJECTS)]
        return next(key for key in keys if self.rings[name].owns(key))

    def touch(self) -> Counter[str]:
        """Change each node, and return how many were then seen by which replica; each by one."""
        self.log.clear()
        for number in range(OBJECTS):
            label = {"metadata": {"labels": {"at": str(self.sim.time)}}}
            self.user.patch(NODES, ObjectKey(f"n{number:02d}"), label)
        self.sim.advance(5.0)
        by = {name: replica for replica, name in self.log}
        assert {(replica, name) for name, replica in by.items()} == {*self.log}, "two replicas saw one object"
        assert len(by) == OBJECTS
        return Counter(by.values())
