# SPDX-License-Identifier: Apache-2.0
"""Runs hollow nodes and an API server under faults, and returns the violated invariant and the script of the faults."""

from __future__ import annotations

import json
from collections.abc import Iterable

from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.testing.simulation import Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import FaultKind, ScriptedFaults, SystemFault, SystemFaults
from controllers.heartbeat.node_lease import RENEW_INTERVAL, REQUEST_TIMEOUT
from controllers.hollow.nodes import RETRY, HollowNodes
from embedded_apiserver.server import APIServer
from kit.fault_runs.disk import Disk
from kit.fault_runs.drawing import DrawnFaults, Profile
from kit.fault_runs.environment import TURN, Course
from kit.fault_runs.invariants import Violated
from kit.fault_runs.outcome import Outcome, observe

NODES = 4
SPREAD = 1.0
FAULTS_UNTIL = 60.0
"""Virtual seconds after which no fault begins."""
SERVER, HOLLOW = "server", "hollow"
INTERVAL = RENEW_INTERVAL * 1.04 + 0.2
"""The longest time between two renewals: the interval with its jitter of 4 %, and latencies."""
STEADY = 60.0
"""Virtual seconds after the faults during which renewals are counted."""

PROFILES = {
    "network": Profile({FaultKind.CUT: 1}, rates=(0.1, 0.3, 0.6)),
    "freezes": Profile({FaultKind.PAUSE: 2, FaultKind.CUT: 1}, rates=(0.0, 0.1)),
    "restarts": Profile({FaultKind.CRASH: 3, FaultKind.CUT: 1}, rates=(0.0, 0.1, 0.3)),
    "clocks": Profile({FaultKind.JUMP: 1, FaultKind.CRASH: 1}, most=20, rates=(0.0, 0.1)),
    "broad": Profile({FaultKind.CUT: 2, FaultKind.PAUSE: 2, FaultKind.JUMP: 2, FaultKind.CRASH: 2}),
}


def run(seed: int, *, script: Iterable[SystemFault] | None = None) -> Outcome:
    """Run hollow nodes under faults, then without faults until every lease must be renewed."""
    profile = [*PROFILES.values()][seed % len(PROFILES)]
    faults: SystemFaults = (
        DrawnFaults(seed, profile, (HOLLOW, SERVER), FAULTS_UNTIL) if script is None else ScriptedFaults(script)
    )
    return observe(seed, lambda sim, fired: HeartbeatSystem(sim, faults, fired).run())


class Renewals:
    """Follows each lease on the server's disk: its time, which must not go back, and the number of renewals."""

    def __init__(self, disk: Disk) -> None:
        self.times: dict[str, str] = {}
        self.renewals: dict[str, int] = {}
        self._disk = disk
        self._looked_at = 0

    def look(self) -> None:
        """Take the writes since the last call into account; raise `Violated` if a time went back."""
        while self._looked_at < len(self._disk.writes):
            write = self._disk.writes[self._looked_at]
            self._looked_at += 1
            if write.collection.startswith("leases") and write.raw is not None:
                self._take(write.key, json.loads(write.raw)["spec"]["renewTime"])

    def _take(self, name: str, time: str) -> None:
        before = self.times.get(name, "")
        if time < before:
            raise Violated("no time goes back", f"{name} carries {time} after {before}")
        if time > before:
            self.times[name] = time
            self.renewals[name] = self.renewals.get(name, 0) + 1


class HeartbeatSystem:
    """A server on a disk, a process of hollow nodes, the network, and the faults that happen to them."""

    def __init__(self, sim: Simulation, faults: SystemFaults, fired: list[SystemFault]) -> None:
        self._sim = sim
        self._course = Course(sim, faults.timed, self._supervise, self._inject)
        self._disk = Disk()
        self._renewals = Renewals(self._disk)
        self._network = Network(sim, faults, fired, until=FAULTS_UNTIL)
        self._hosts = {name: sim.host(name) for name in (SERVER, HOLLOW)}
        self._programs = {SERVER: self._serve, HOLLOW: self._beat}
        self._starts_at = {SERVER: 0.0, HOLLOW: 0.0}
        self._healed_at = FAULTS_UNTIL
        self._has_restarted = False

    def run(self) -> None:
        """Run with faults, then without; raise `Violated` if an invariant does not hold."""
        self._course.pass_until(FAULTS_UNTIL)
        while self._starts_at:
            self._course.pass_until(self._sim.time + TURN)
        self._advance_to(self._healed_at)
        in_hand = REQUEST_TIMEOUT  # until a request that was lost is given up
        joining = RETRY.cap + SPREAD if self._has_restarted or len(self._renewals.times) < NODES else 0.0
        self._advance_to(self._healed_at + in_hand + joining)
        self._check_beats(1, 2, RENEW_INTERVAL)
        self._check_beats(int(STEADY / INTERVAL), int(STEADY / RENEW_INTERVAL) + 1, STEADY)

    def _check_beats(self, least: int, most: int, seconds: float) -> None:
        """Check that every lease is renewed `least` to `most` times in the next `seconds` and one interval's jitter."""
        before = dict(self._renewals.renewals)
        self._advance_to(self._sim.time + seconds + INTERVAL - RENEW_INTERVAL)
        if len(self._renewals.renewals) != NODES:
            raise Violated("every lease is renewed", f"there are leases of {sorted(self._renewals.renewals)} alone")
        for name, count in self._renewals.renewals.items():
            beats = count - before.get(name, 0)
            if beats < least:
                raise Violated("every lease is renewed", f"{name}: {beats} times in {seconds} s")
            if beats > most:
                raise Violated("one beat an interval", f"{name}: {beats} times in {seconds} s")

    def _advance_to(self, time: float) -> None:
        self._sim.advance(max(0.0, time - self._sim.time))
        self._renewals.look()

    def _supervise(self) -> None:
        self._renewals.look()
        for name, time in list(self._starts_at.items()):
            if self._sim.time >= time:
                del self._starts_at[name]
                if self._hosts[name].crashed:
                    self._hosts[name] = self._sim.restart(self._hosts[name])
                self._hosts[name].spawn("program", self._programs[name])

    def _serve(self) -> None:
        self._network.serve(self._hosts[SERVER], APIServer(self._hosts[SERVER], journal=self._disk))

    def _beat(self) -> None:
        host = self._hosts[HOLLOW]
        client = Client(host, NetworkTransport(self._network, host))
        HollowNodes(host, client, NODES, spread=SPREAD, workers=2 * NODES).run(Stop(host))

    def _inject(self, fault: SystemFault) -> None:
        self._network.note(fault)
        host = self._hosts[fault.host]
        if fault.kind is not FaultKind.JUMP:
            self._healed_at = max(self._healed_at, fault.when + fault.seconds)
        match fault.kind:
            case FaultKind.CUT:
                self._network.cut(HOLLOW, fault.seconds)
            case FaultKind.PAUSE:
                self._sim.pause(host, fault.seconds)
            case FaultKind.JUMP:
                self._sim.jump(host, fault.seconds)
            case _:
                self._has_restarted |= fault.host == HOLLOW
                self._sim.crash(host)
                self._starts_at[fault.host] = self._sim.time + fault.seconds
