# SPDX-License-Identifier: Apache-2.0
"""A ring under faults: managers share their work, crash, freeze, are cut off, stop, and see restored servers.

`ring_invariants` has the invariants: no slot is owned twice, no request is sent outside its interval, nothing is
undone, each slot has an owner in time, and no key is lost.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable

from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.config import RingOptions
from controller_runtime.ring.ring import Ring
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.links import Way
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import (
    CALLS,
    FaultKind,
    ScriptedFaults,
    SystemFault,
    SystemFaults,
)
from embedded_apiserver import APIServer
from kit.fault_runs.drawing import DrawnFaults
from kit.fault_runs.environment import TURN, Course, ServerProcess
from kit.fault_runs.outcome import Outcome, observe
from kit.fault_runs.replica import Replica
from kit.fault_runs.restorable import RestorableDisk
from kit.fault_runs.ring_faults import (
    CUTS,
    FAULTS_UNTIL,
    MEMBERS,
    PROFILES,
    SERVER,
    timed_faults,
)
from kit.fault_runs.ring_hand import Hand
from kit.fault_runs.ring_invariants import CALL, RingInvariants, Standing
from kit.fault_runs.ring_liveness import bounds
from kit.fault_runs.ring_program import (
    CONFIG,
    GIVEN_UP,
    Caches,
    Health,
    program,
)
from kit.fault_runs.ring_user import WISHES, Wisher

RECOVERY = 75.0
"""Virtual seconds after the faults until all must be done: the longest fault, a new membership, a silent watch."""
CALM = 3.0
"""Virtual seconds for which all must be done, after the last effect of a fault, until a run ends: three turns of each
member."""
DRIFTS = (5_000, 150_000)
"""Microseconds per second by which clocks are fast or slow at most, one of these; the second is beyond any clock."""
LATENCIES = (0.001, 0.02, 0.2)
"""Seconds that a message takes, one of these."""
KEY_COSTS = (0.0, 0.0, 0.3, 1.0)
"""Seconds that a read takes for each key when slots come, one of these; the last is longer for all than a deadline."""
LOST = (5, 12, 60)
"""Writes that a server loses when it is restored, one of these: the renewals of a second, or of twenty."""


def run(seed: int, *, profile: str = "broad", script: Iterable[SystemFault] | None = None) -> Outcome:
    """Run the members of a ring under faults, then without faults until all must be done.

    Args:
        seed: Determines latencies, drifts, the schedule, and without a script the faults.
        profile: The name of the profile in `PROFILES` that faults are drawn from.
        script: The faults, instead of drawn ones.
    """
    faults: SystemFaults = (
        DrawnFaults(seed, PROFILES[profile], (*MEMBERS, SERVER), FAULTS_UNTIL)
        if script is None
        else ScriptedFaults(script)
    )

    def live(sim: Simulation, fired: list[SystemFault]) -> None:
        if script is None:
            faults.timed = timed_faults(profile, sim.chance("disasters"), faults.timed)
        RingSystem(sim, faults, fired).run()

    return observe(seed, live)


class RingSystem:
    """A server on a disk with backups, replicas that form a ring, a user, and the faults that happen to them."""

    def __init__(self, sim: Simulation, faults: SystemFaults, fired: list[SystemFault]) -> None:
        chance = sim.chance("ring")
        drift, latency = chance.choice(DRIFTS), chance.choice(LATENCIES)
        self._lost, self._by = chance.choice(LOST), chance.choice(list(WISHES))
        whole = sim.chance("whole caches").random() < 0.5
        self._divided = self._by is RingBy.UID or (self._by is RingBy.OWNER and not whole)
        # The second version divides by this where no object is needed for it; else it names a division.
        others = {RingBy.NAMESPACE: RingBy.NAME, RingBy.NAME: RingBy.NAMESPACE}
        self._second_by = others.get(self._by) if sim.chance("second by").random() < 0.5 else None
        self._key_cost = sim.chance("keys").choice(KEY_COSTS)
        # Lists are in the way of slots with divided caches alone.
        self._given_up = GIVEN_UP / (1 - drift / 1e6) if self._divided else 0.0
        self._sim, self._fired, self._noted, self._effects_until = sim, fired, 0, 0.0
        self._course = Course(sim, faults.timed, self._supervise, self._inject)
        self._disk = RestorableDisk()
        self._network = Network(sim, faults, fired, latency=latency, until=FAULTS_UNTIL)
        server = sim.host(SERVER, drift=_drift(chance, drift))
        gates = {"ShardedListAndWatch": sim.chance("shards").random() < 0.5}

        def serve(host: SimulatedHost) -> APIServer:
            return APIServer(host, journal=self._disk, feature_gates=gates)

        self._server = ServerProcess(sim, self._network, server, serve)
        self._programs: dict[str, tuple[Health, Ring, Caches, int]] = {}
        self._hand = Hand(sim, self._network)
        self._is_named_by_host = sim.chance("identities").random() < 0.5
        self._versions = dict.fromkeys(MEMBERS, 0)
        self._identities: dict[str, list[str]] = {name: [] for name in MEMBERS}  # of all runs
        hosts = [sim.host(name, drift=_drift(chance, drift)) for name in MEMBERS]
        self._replicas = [Replica(sim, host, self._program) for host in hosts]
        within = bounds(divided=self._divided, drift=drift, latency=latency)
        self.invariants = RingInvariants(sim, self._disk, self._by, divided=self._divided, bounds=within)
        self._network.on_begin.append(self.invariants.begins)
        self._network.on_answer.append(self.invariants.answered)
        sim.check(self._look)
        user = sim.host("user")
        client = Client(user, NetworkTransport(self._network, user), request_timeout=2.0)
        wisher = Wisher(user, client, WISHES[self._by], CONFIG.map_key)
        self._user_stop = Stop(user)
        user.spawn("user", lambda: wisher.run(self._user_stop))

    def run(self) -> None:
        """Run with faults, then without; raise `Violated` if an invariant does not hold."""
        self._course.pass_until(FAULTS_UNTIL)
        self._user_stop.set()
        settled_since = math.inf
        while self._sim.time < min(settled_since + CALM, FAULTS_UNTIL + RECOVERY):
            self._course.pass_until(self._sim.time + TURN)
            has_settled = self._sim.time >= self._effects_until and self.invariants.unsettled() is None
            settled_since = min(settled_since, self._sim.time) if has_settled else math.inf
        if (violated := self.invariants.unsettled()) is not None:
            raise violated

    def _program(self, host: SimulatedHost) -> Manager:
        effects = self.invariants.effects
        name = host.name.partition("#")[0]
        version = self._versions[name]
        # Without `check_rights`: its requests would be a third of those of a short membership.
        options = RingOptions(
            lease_duration=CONFIG.lease_duration,
            renew_deadline=CONFIG.renew_deadline,
            retry_period=CONFIG.retry_period,
            identity=name if self._is_named_by_host else host.name.replace("#", "-"),
            check_rights=False,
            division="the second" if version and self._second_by is None else None,
        )
        manager, ring, caches = program(
            *(self._network, host, self._by_of(version), effects, options),
            wishes=WISHES[self._by],
            divided=self._divided,
            key_cost=self._key_cost,
        )
        self._identities[name].append(ring.member.identity)
        self._programs[host.name] = Health(host, ring), ring, caches, version
        self.invariants.standings = self._stand()
        return manager

    def _by_of(self, version: int) -> RingBy:
        return self._second_by if version and self._second_by is not None else self._by

    def _stand(self) -> list[Standing]:
        """Return all replicas as they are. It is asked for at events only, because each step would be too dear."""
        server = self._network.server
        serves = server is not None and not server.host.crashed and not server.host.paused
        found = []
        for replica in self._replicas:
            host = replica.host
            runs = not host.crashed and not host.paused
            reaches = serves and not any(self._network.is_cut(host, way) for way in Way)
            _, ring, caches, version = self._programs.get(host.name, (None, None, {}, 0))
            found.append(Standing(host, ring, caches, version, self._by_of(version), runs and reaches))
        return found

    def _look(self) -> None:
        while self._noted < len(self._fired):
            fault = self._fired[self._noted]
            self._noted += 1
            if fault.kind in CALLS:
                self.invariants.disturbed(max(CALL, fault.seconds, self._given_up))
            elif fault.kind in CUTS:
                self.invariants.disturbed(fault.seconds + self._given_up)
            elif fault.kind is FaultKind.BROWN_OUT:
                self.invariants.disturbed(fault.seconds + max(CALL, self._given_up))
            elif fault.kind is FaultKind.JUMP:  # a member may begin again at its next turn
                self.invariants.disturbed(CONFIG.retry_period)
            elif fault.kind is FaultKind.UNWELL:
                self.invariants.disturbed(fault.seconds + CALL)
            if fault.kind is not FaultKind.JUMP:
                self._effects_until = max(self._effects_until, self._sim.time + fault.seconds)
        self.invariants.look()

    def _supervise(self) -> None:
        for replica in self._replicas:
            replica.supervise()
        self._server.supervise()
        self.invariants.standings = self._stand()

    def _inject(self, fault: SystemFault) -> None:
        self.invariants.standings = self._stand()  # a member that came back a moment ago is lost again by this fault
        self.invariants.look_again()
        self._network.note(fault)
        replica = next((r for r in self._replicas if r.host.name.partition("#")[0] == fault.host), None)
        host = replica.host if replica is not None else self._server.host
        match fault.kind:
            case FaultKind.CUT | FaultKind.CUT_IN | FaultKind.CUT_OUT:
                ways = {FaultKind.CUT: [*Way], FaultKind.CUT_IN: [Way.IN], FaultKind.CUT_OUT: [Way.OUT]}[fault.kind]
                for name in [fault.host] if replica is not None else MEMBERS:
                    self._network.cut(name, fault.seconds, ways)
            case FaultKind.PAUSE:
                self._sim.pause(host, fault.seconds)
            case FaultKind.SUSPEND:
                self._sim.suspend(host, fault.seconds)
            case FaultKind.JUMP:
                self._sim.jump(host, fault.seconds)
            case FaultKind.BROWN_OUT:
                for name in [fault.host] if replica is not None else MEMBERS:
                    self._network.links.brown_out(name, fault.seconds)
            case FaultKind.FOREIGN_MAP:
                self._hand.put_foreign_map(fault.seconds)
            case FaultKind.RETURN_LEASE if replica is not None:
                self._return_lease(self._identities[fault.host])
            case FaultKind.UNWELL | FaultKind.DELETE_LEASE | FaultKind.UNLABEL_LEASE | FaultKind.FOREIGN_LEASE:
                self._trouble(fault, host)
            case FaultKind.CHANGE_VERSION if replica is not None:
                self._versions[fault.host] ^= 1
                replica.stop(fault.seconds)
            case FaultKind.STOP if replica is not None:
                replica.stop(fault.seconds)
            case FaultKind.CRASH if replica is not None:
                replica.die(fault.seconds)
            case FaultKind.RESTORE:
                self._server.die(fault.seconds)
                if self._disk.restore(self._lost):
                    self.invariants.restored()
            case _:
                self._server.die(fault.seconds)
        self.invariants.standings = self._stand()

    def _trouble(self, fault: SystemFault, host: SimulatedHost) -> None:
        """Let a replica do no work for a while, or change its lease by hand; no effect while no program runs."""
        if host.crashed or host.name not in self._programs:
            return
        health, ring, _, _ = self._programs[host.name]
        identity = ring.member.identity
        match fault.kind:
            case FaultKind.UNWELL:
                host.spawn("unwell", lambda: health.be_unwell(fault.seconds))
            case FaultKind.UNLABEL_LEASE:
                self._hand.unlabel_lease(identity)
            case FaultKind.FOREIGN_LEASE:
                self.invariants.touched(host.name)
                self._hand.put_foreign_lease(identity, fault.seconds)
            case _:
                self.invariants.touched(host.name)
                self._hand.delete_lease(identity)

    def _return_lease(self, identities: list[str]) -> None:
        """Let a person create the last lease again that a member before the present one had."""
        places = {f"{CONFIG.namespace}/{name}" for name in identities[:-1] if name != identities[-1]}
        for write in reversed(self._disk.writes):
            if write.collection.startswith("leases") and write.raw is not None and write.key in places:
                self._hand.return_lease(json.loads(write.raw))
                return


def _drift(chance: random.Random, most: int) -> int:
    return chance.randrange(-most, most + 1)
