# SPDX-License-Identifier: Apache-2.0
"""What must hold at every step, whatever the weather, and in the end, once it has cleared."""

from __future__ import annotations

import json
from typing import Any

from controller_runtime.api.http import HTTPRequest, HTTPResponse
from controller_runtime.api.objects import ObjectKey
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.testing.fault_runs.disk import Disk, Write
from controller_runtime.testing.fault_runs.replica import Replica
from controller_runtime.testing.fault_runs.work import DONE, NAMES, TOKEN, WANTED, User
from controller_runtime.testing.simulation import SimulatedHost, Simulation

TOLERANCE = 1.02
"""By how much a replica's clock may be slower than the simulation's."""


class Violated(Exception):
    """An invariant does not hold.

    Attributes:
        invariant: Its name.
    """

    def __init__(self, invariant: str, message: str) -> None:
        super().__init__(f"{invariant}: {message}")
        self.invariant = invariant


class Invariants:
    """Looks at the system from outside; believes nobody.

    Args:
        sim: The simulation; `look` is asked at each of its steps.
        config: How the replicas elect their leader.
        disk: What the server has kept.
        replicas: All of them.
    """

    def __init__(self, sim: Simulation, config: LeaderElectionConfig, disk: Disk, replicas: list[Replica]) -> None:
        self._sim = sim
        self._config = config
        self._disk = disk
        self._replicas = replicas
        self._looked_at = 0  # of the disk's writes
        self._numbers: dict[str, tuple[int, int, int]] = {}  # wanted, done, token
        self._leader: tuple[str, int] | None = None
        self._sent: dict[bytes, float] = {}  # lease writes under way, by their body, which differs
        self._leads_until: dict[str, float] = {}
        self._violated: Violated | None = None

    def look(self) -> None:
        """Raise `Violated` if something does not hold at this step."""
        if self._violated is not None:
            raise self._violated
        leaders = [replica for replica in self._replicas if replica.leads]
        if len(leaders) > 1:
            names = " and ".join(replica.host.name for replica in leaders)
            raise Violated("one leader at most", f"{names} believe that they lead")
        for replica in leaders:
            self._check_token(replica)
        while self._looked_at < len(self._disk.writes):
            self._check_write(self._disk.writes[self._looked_at])
            self._looked_at += 1

    def settled(self, user: User) -> None:
        """Raise `Violated` unless everything wanted is done, by one leader, and no update is lost."""
        if sum(replica.leads for replica in self._replicas) != 1:
            raise Violated("converges", "nobody leads")
        for name in NAMES:
            wanted, done, _ = self._numbers.get(name, (-1, -1, -1))
            if wanted != done or wanted < 0:
                raise Violated("converges", f"{name}: {wanted} is wanted, {done} is done")
            tally = user.tallies[name]
            if not tally.acknowledged <= wanted <= tally.acknowledged + tally.unknown:
                raise Violated("no lost update", f"{name}: {wanted} is wanted, the user knows of {tally}")

    def begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """A request begins: a write of the work needs a leader."""
        if host.name.startswith("r") and request.method == "PATCH" and "/nodes/" in request.path:
            self._check_leadership(host, request)
        elif "/leases" in request.path and request.body:
            holder = json.loads(request.body)["spec"]["holderIdentity"]
            if holder:
                self._sent[request.body] = self._sim.time
            else:
                self._leads_until.pop(host.name, None)

    def answered(self, host: SimulatedHost, request: HTTPRequest, response: HTTPResponse) -> None:
        """An answer arrives: a lease that was written makes a leader, from when that was sent."""
        sent_at = self._sent.pop(request.body, None)
        if sent_at is not None and response.status in (200, 201):
            until = sent_at + self._config.renew_deadline * TOLERANCE
            self._leads_until[host.name] = max(until, self._leads_until.get(host.name, 0.0))

    def _check_leadership(self, host: SimulatedHost, request: HTTPRequest) -> None:
        until = self._leads_until.get(host.name, 0.0)
        if self._sim.time > until and self._violated is None:
            # Raised at the next step: here it would reach the reconcile.
            late = self._sim.time - until
            what = f"{request.method} {request.path} of {host.name} begins {late:.3f} s too late"
            self._violated = Violated("no write after the deadline", what)

    def _check_token(self, replica: Replica) -> None:
        held = replica.elector.held if replica.elector is not None else None
        if held is None or (replica.host.name, held.token) == self._leader:
            return
        if self._leader is not None and held.token <= self._leader[1]:
            name, token = self._leader
            what = f"{replica.host.name} leads with {held.token}, {name} did before with {token}"
            raise Violated("tokens grow", what)
        self._leader = (replica.host.name, held.token)

    def _check_write(self, write: Write) -> None:
        if write.collection != "nodes" or write.raw is None:
            return
        annotations: dict[str, Any] = json.loads(write.raw)["metadata"].get("annotations") or {}
        new = (int(annotations.get(WANTED, -1)), int(annotations.get(DONE, -1)), int(annotations.get(TOKEN, -1)))
        old = self._numbers.get(write.key, (-1, -1, -1))
        if any(after < before for before, after in zip(old, new, strict=True)) or new[1] > new[0]:
            what = f"{ObjectKey(write.key)}: (wanted, done, token) were {old} and are {new}"
            raise Violated("no lost update", what)
        self._numbers[write.key] = new
