# SPDX-License-Identifier: Apache-2.0
"""The invariants of replicas: those that hold at every step, whatever fails, and those that hold after the faults."""

from __future__ import annotations

import json
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from kit.fault_runs.disk import Disk, Write
from kit.fault_runs.replica import Replica
from kit.fault_runs.work import DONE, NAMES, TOKEN, WANTED, User

TOLERANCE = 1.02
"""The factor by which a deadline may be late in the simulation's time, because a replica's clock may be slow."""


class Violated(Exception):
    """An invariant does not hold.

    Attributes:
        invariant: The name of the invariant.
    """

    def __init__(self, invariant: str, message: str) -> None:
        super().__init__(f"{invariant}: {message}")
        self.invariant = invariant


class Invariants:
    """Checks the system from outside: by the server's disk and by the requests, not by what the code under test claims.

    Args:
        sim: The simulation; `look` is to be called at each of its steps.
        config: The replicas' configuration of leader election.
        disk: The server's disk.
        replicas: All replicas.
    """

    def __init__(self, sim: Simulation, config: LeaderElectionConfig, disk: Disk, replicas: list[Replica]) -> None:
        self._sim = sim
        self._config = config
        self._disk = disk
        self._replicas = replicas
        self._checked = 0  # number of the disk's writes that have been checked
        self._numbers: dict[str, tuple[int, int, int]] = {}  # (wanted, done, token) by node
        self._leader: tuple[str, int] | None = None  # host and token of the last leader
        self._sent: dict[bytes, float] = {}  # when a write of the lease was sent, by its body, which is unique
        self._leads_until: dict[str, float] = {}  # the leadership's deadline by host, in virtual seconds
        self._violated: Violated | None = None

    def look(self) -> None:
        """Raise `Violated` if an invariant does not hold at this step."""
        if self._violated is not None:
            raise self._violated
        leaders = [replica for replica in self._replicas if replica.leads]
        if len(leaders) > 1:
            names = " and ".join(replica.host.name for replica in leaders)
            raise Violated("one leader at most", f"{names} believe that they lead")
        for replica in leaders:
            self._check_token(replica)
        while self._checked < len(self._disk.writes):
            self._check_write(self._disk.writes[self._checked])
            self._checked += 1

    def settled(self, user: User) -> None:
        """Raise `Violated` unless everything wanted is done, by one leader, and no update is lost."""
        if sum(replica.leads for replica in self._replicas) != 1:
            raise Violated("converges", "no replica leads")
        for name in NAMES:
            wanted, done, _ = self._numbers.get(name, (-1, -1, -1))
            if wanted != done or wanted < 0:
                raise Violated("converges", f"{name}: {wanted} is wanted, {done} is done")
            tally = user.tallies[name]
            if not tally.acknowledged <= wanted <= tally.acknowledged + tally.unknown:
                raise Violated("no lost update", f"{name}: {wanted} is wanted, the user knows of {tally}")

    def begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Check a request that begins: only a leader may write to a node; note when a lease is written."""
        if host.name.startswith("r") and request.method == "PATCH" and "/nodes/" in request.path:
            self._check_leadership(host, request)
        elif "/leases" in request.path and request.body:
            holder = json.loads(request.body)["spec"]["holderIdentity"]
            if holder:
                self._sent[request.body] = self._sim.time
            else:
                self._leads_until.pop(host.name, None)

    def answered(self, host: SimulatedHost, request: HTTPRequest, response: HTTPResponse) -> None:
        """Note an answer: a successful write of the lease makes its sender the leader, from when it was sent."""
        sent_at = self._sent.pop(request.body, None)
        if sent_at is not None and response.status in (200, 201):
            until = sent_at + self._config.renew_deadline * TOLERANCE
            self._leads_until[host.name] = max(until, self._leads_until.get(host.name, 0.0))

    def _check_leadership(self, host: SimulatedHost, request: HTTPRequest) -> None:
        until = self._leads_until.get(host.name, 0.0)
        if self._sim.time > until and self._violated is None:
            # Raised by the next `look`: raised here, it would reach the reconcile that sends the request.
            late = self._sim.time - until
            what = f"{request.method} {request.path} of {host.name} begins {late:.3f} s too late"
            self._violated = Violated("no write after the deadline", what)

    def _check_token(self, replica: Replica) -> None:
        held = replica.elector.held if replica.elector is not None else None
        if held is None or (replica.host.name, held.token) == self._leader:
            return
        if self._leader is not None and held.token <= self._leader[1]:
            name, token = self._leader
            what = f"{replica.host.name} leads with token {held.token}, {name} led before it with {token}"
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
