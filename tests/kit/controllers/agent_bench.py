# SPDX-License-Identifier: Apache-2.0
"""A node agent on an embedded cluster under simulated time: its machine is set, its requests are noted and may fail."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from typing import Any, NamedTuple

import attrs

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import Fault, FaultyTransport, SilentStream
from controller_runtime.testing.simulation import Simulation
from controllers.agent.agent import add_node_agent
from controllers.agent.machine import Machine
from controllers.agent.settings import Settings
from embedded_apiserver.server import APIServer

EVENTS: Resource[dict[str, Any]] = Resource("", "v1", "Event", "events")
NAME = "n1"
GI = 1024**3

MACHINE = Machine(
    system="linux",
    architecture="amd64",
    cores=4,
    memory=8 * GI,
    memory_available=4 * GI,
    swap=0,
    disk=100 * GI,
    disk_available=50 * GI,
    inodes=1_000_000,
    inodes_available=900_000,
    tasks=200,
    tasks_limit=32768,
    huge_pages={2 * 1024**2: 0},
    kernel="6.1.0",
    os_image="Test Linux",
    machine_id="m",
    system_uuid="s",
    boot_id="b1",
    local=["127.0.0.1", "192.0.2.7"],
    routed=["192.0.2.7"],
)


class Asked(NamedTuple):
    """A request of the agent.

    Attributes:
        at: Seconds since the agent was started.
        what: Method and resource, such as `PATCH nodes/status`.
        body: Its body.
    """

    at: float
    what: str
    body: dict[str, Any]


class AgentBench:
    """One agent, a server without faults of its own, and a client for what others do.

    Attributes:
        machine: The machine that the agent measures.
        faults: Faults that its next requests meet, by `METHOD resource`; None is no fault.
        hooks: How often it closed its connections.
        lines_of_the_watch: Number of lines after which its watch falls silent; None is never.
    """

    def __init__(self, sim: Simulation, *, machine: Machine = MACHINE, **settings: Any) -> None:
        self.sim = sim
        self.machine = machine
        self.host = sim.host("node")
        server_host = sim.host("server")
        self.server = APIServer(server_host)
        self.world = Client(server_host, InProcessTransport(server_host, self.server))
        self.faults: dict[str, deque[Fault | None]] = defaultdict(deque)
        self.hooks = 0
        self.lines_of_the_watch: int | None = None
        self._asked: list[tuple[float, str, bytes]] = []
        self._settings = Settings(name=NAME, **settings)

    def observe(self) -> Machine:
        return self.machine

    def see(self, **changes: Any) -> None:
        """Change attributes of the machine."""
        self.machine = attrs.evolve(self.machine, **changes)

    def start(self, seconds: float = 0.0) -> None:
        """Start the agent; after `end` this is a restart."""
        inner = InProcessTransport(self.host, self.server)
        self._hooked = HookedTransport(self, FaultyTransport(self.host, inner, self._fault))
        self.cluster = EmbeddedCluster(self.host, server=self.server, transport=self._hooked)
        self.reporter = add_node_agent(self.cluster.manager, self, self._settings)
        self._started = self.host.monotonic()
        self.cluster.start()
        self.sim.settle()
        if seconds:
            self.sim.advance(seconds)

    def end(self) -> None:
        self._hooked.counts = False  # the manager closes at its end, too
        self.cluster.stop()

    def asked(self) -> list[Asked]:
        """Return the requests about the Node and its lease since the last call, without the watch."""
        taken, self._asked = self._asked, []
        return [Asked(round(at - self._started, 3), what, json.loads(body or b"{}")) for at, what, body in taken]

    def patches(self) -> list[dict[str, Any]]:
        """Return the patches of the Node's status since `asked` was called last."""
        return [asked.body for asked in self.asked() if asked.what == "PATCH nodes/status"]

    def node(self) -> dict[str, Any]:
        node: dict[str, Any] = self.world.get(NODES, ObjectKey(NAME), dict)
        return node

    def condition(self, kind: str) -> dict[str, Any]:
        found: dict[str, dict[str, Any]] = {c["type"]: c for c in self.node()["status"]["conditions"]}
        return found[kind]

    def events(self) -> list[str]:
        """Return the reasons of all events, sorted, each as often as it was recorded."""
        found = self.world.list(EVENTS, view=dict)
        return sorted(event["reason"] for event in found for _ in range(event.get("count") or 1))

    def _fault(self, number: int, request: HTTPRequest) -> Fault | None:
        if "fieldSelector" in dict(request.query):
            return None if self.lines_of_the_watch is None else SilentStream(self.lines_of_the_watch)
        parts = request.path.split("/")
        what = "nodes/status" if parts[-1] == "status" else next((p for p in ("nodes", "leases") if p in parts), "")
        if not what:
            return None
        self._asked.append((self.host.monotonic(), f"{request.method} {what}", request.body))
        faults = self.faults[f"{request.method} {what}"]
        return faults.popleft() if faults else None


def settled_bench(sim: Simulation) -> AgentBench:
    """Return an agent whose node is registered and whose first round is over."""
    bench = AgentBench(sim)
    bench.start(15.0)
    bench.asked()
    return bench


class HookedTransport:
    """Counts how often the agent closes its connections."""

    def __init__(self, bench: AgentBench, inner: FaultyTransport) -> None:
        self._bench = bench
        self.counts = True
        self.request = inner.request
        self.stream = inner.stream
        self._close = inner.close

    def close(self) -> None:
        self._bench.hooks += self.counts
        self._close()
