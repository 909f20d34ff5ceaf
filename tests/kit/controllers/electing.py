# SPDX-License-Identifier: Apache-2.0
"""The election controllers on a server, with candidates, leases and faults that a test commands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from apimachinery.errors import NotFound
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey, microtime
from controller_runtime.api.resources import EVENTS, LEASE_CANDIDATES, LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import Answered, Fault, SilentStream
from controller_runtime.testing.simulation import Simulation
from controllers.election.lease_candidate_election import lease_candidate_election
from embedded_apiserver.server import APIServer

BROKEN = Answered(HTTPResponse(500, {"content-type": "text/plain"}, b"broken"))
OLDEST = "OldestEmulationVersion"


class World:
    """A server, the controller under test on a host of its own, and the faults of its requests.

    Attributes:
        asked: The controller's requests, without watches, lists and those for events, as `METHOD collection/name`.
        before: By method, an action that runs once, before the controller's next request of that method.
        faults: The faults of requests, by the text in `asked`.
        is_blind: Whether a watch of leases that begins now shows nothing.
    """

    def __init__(
        self, sim: Simulation, make: Callable[[Manager], Controller] = lease_candidate_election, *, start: bool = True
    ) -> None:
        self.sim = sim
        self.host = sim.host("server")
        self.server = APIServer(self.host)
        self.client = Client(self.host, InProcessTransport(self.host, self.server))
        self.asked: list[str] = []
        self.before: dict[str, Callable[[], object]] = {}
        self.faults: dict[str, Fault] = {}
        self.is_blind = False
        self._make = make
        self._starts = 0
        self._is_inside = False  # a request of the controller's
        if start:
            self.start()

    def start(self) -> None:
        """Run a manager with the controller, on a new host."""
        self._starts += 1
        host = self.sim.host(f"controller-{self._starts}")
        self.cluster = EmbeddedCluster(host, server=self.server, faults=self._fault)
        self.controller = self._make(self.cluster.manager)
        self.cluster.manager.add(self.controller)
        self.cluster.start()
        self.sim.settle()

    def end(self) -> None:
        self.cluster.stop()

    def stamp(self, age: float | None) -> str | None:
        return None if age is None else microtime(self.host.now() - timedelta(seconds=age))

    def candidate(
        self,
        name: str,
        version: str = "1.36.0",
        *,
        binary: str = "",
        age: float | None = 0.0,
        lease: str = "lease",
        strategy: str = OLDEST,
        pinged: float | None = None,
    ) -> None:
        """Create a candidate that was renewed `age` seconds ago."""
        spec = {"leaseName": lease, "binaryVersion": binary or version, "emulationVersion": version}
        spec |= {"strategy": strategy, "renewTime": self.stamp(age), "pingTime": self.stamp(pinged)}
        self.client.create(LEASE_CANDIDATES, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        self._settle()

    def renew(self, name: str) -> None:
        """Renew the candidate, as its replica does."""
        patch = {"spec": {"renewTime": self.stamp(0.0)}}
        self.client.patch(LEASE_CANDIDATES, ObjectKey(name, "default"), patch)
        self._settle()

    def hold(self, holder: str | None, lease: str = "lease", **spec: Any) -> None:
        """Write the lease, without a condition on its version."""
        said = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": self.stamp(0.0), **spec}
        if self.spec(lease) is None:
            self.client.create(LEASES, {"metadata": {"name": lease, "namespace": "default"}, "spec": said})
        else:
            self.client.patch(LEASES, ObjectKey(lease, "default"), {"spec": said})
        self._settle()

    def spec(self, lease: str = "lease") -> dict[str, Any] | None:
        return self.spec_of(ObjectKey(lease, "default"))

    def spec_of(self, lease: ObjectKey) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = self.client.get(LEASES, lease, dict)["spec"]
        except NotFound:
            return None
        return found

    def holder(self, lease: str = "lease") -> str:
        return ((self.spec(lease) or {}).get("holderIdentity")) or ""

    def pings(self) -> dict[str, str]:
        found: list[dict[str, Any]] = self.client.list(LEASE_CANDIDATES, "default", view=dict)
        return {one["metadata"]["name"]: one["spec"]["pingTime"] for one in found if "pingTime" in one["spec"]}

    def events(self) -> list[tuple[str, str, str]]:
        found: list[dict[str, Any]] = self.client.list(EVENTS, "default", view=dict)
        return sorted((e["reason"], e["regarding"]["kind"], e["regarding"]["name"]) for e in found)

    def _settle(self) -> None:
        if not self._is_inside:
            self.sim.settle()

    def _fault(self, number: int, request: HTTPRequest) -> Fault | None:
        if self.is_blind and request.path.endswith("/leases") and any(name == "watch" for name, _ in request.query):
            return SilentStream(1)
        head, _, name = request.path.rpartition("/")
        plural = head.rpartition("/")[2] if request.method != "POST" else name
        if plural not in ("leases", "leasecandidates"):
            return None
        what = f"{request.method} {plural}" + ("" if request.method == "POST" else f"/{name}")
        self.asked.append(what)
        if (act := self.before.pop(request.method, None)) is not None:
            self._is_inside = True
            act()
            self._is_inside = False
        return self.faults.get(what)
