# SPDX-License-Identifier: Apache-2.0
"""A ring under faults: its members own slots, hand them over, crash, freeze, are cut off, and see restored servers.

The invariants: no slot is owned by two members at one instant (I1), each request for a slot is sent by a member whose
claim of it the server has stored, in time (I2), and what was sent names the version that it changes, so that it fails
if another owner came first (I3). After the faults each slot has an owner, and the loads differ by one slot at most.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

from controller_runtime.api.http import HTTPRequest
from controller_runtime.api.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.apiserver.server import APIServer
from controller_runtime.client.client import Client
from controller_runtime.core.errors import ControllerRuntimeError
from controller_runtime.core.stop import Stop
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.member import RingMember
from controller_runtime.ring.ownership import Ownership, RingTransport
from controller_runtime.ring.records import CLAIM, Claim, annotations_of
from controller_runtime.ring.slots import ALL, SLOTS, count, slots_in
from controller_runtime.testing.fault_runs.environment import Course, ServerProcess
from controller_runtime.testing.fault_runs.invariants import TOLERANCE, Violated
from controller_runtime.testing.fault_runs.outcome import Outcome, observe
from controller_runtime.testing.fault_runs.restorable import RestorableDisk
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import (
    DrawnFaults,
    FaultKind,
    Profile,
    ScriptedFaults,
    SystemFault,
    SystemFaults,
)

MEMBERS = ("r0", "r1", "r2")
SERVER = "server"
FAULTS_UNTIL = 150.0
"""Virtual seconds during which faults begin."""
RECOVERY = 120.0
"""Virtual seconds after the faults until all slots must be owned: the longest freeze, a new membership, a hand-off."""
DRIFT = 5_000
"""Microseconds per second by which clocks are fast or slow, at most."""
KEYS = 8
"""Slots that the workers of a member write for; so few that two owners would meet."""
LOST = (5, 12, 60)
"""Writes that a server loses when it is restored, one of these: the renewals of a few seconds, or of forty."""

PROFILES = {
    "broad": Profile({FaultKind.CUT: 3, FaultKind.PAUSE: 3, FaultKind.JUMP: 1, FaultKind.CRASH: 2, FaultKind.STOP: 2}),
    "network": Profile({FaultKind.CUT: 1}, rates=(0.1, 0.3)),
    "freezes": Profile({FaultKind.PAUSE: 3, FaultKind.STOP: 3}, most=20, rates=(0.0, 0.1)),
    "restarts": Profile({FaultKind.STOP: 3, FaultKind.CRASH: 1}, most=20, rates=(0.02, 0.1)),
    "backups": Profile({FaultKind.RESTORE: 2, FaultKind.CUT: 2, FaultKind.PAUSE: 1}, most=8, rates=(0.0, 0.1)),
}
"""The kinds of faults for a ring, by name."""


def run(seed: int, *, profile: str = "broad", script: Iterable[SystemFault] | None = None) -> Outcome:
    """Run the members of a ring under faults, then without faults until each slot must have an owner.

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
    return observe(seed, lambda sim, fired: RingSystem(sim, faults, fired).run())


class Replica:
    """A host that runs one member and its workers, and the hosts that succeed it after crashes."""

    def __init__(self, sim: Simulation, network: Network, host: SimulatedHost) -> None:
        self.host = host
        self.ownership: Ownership | None = None
        self.identity = ""
        self._sim, self._network = sim, network
        self._stop: Stop | None = None
        self._has_ended = False
        self._starts_at: float | None = 0.0
        self._pause_before_start = 1.0

    @property
    def held(self) -> int:
        """The slots for which it could act at this instant: dead and frozen processes cannot."""
        if self.ownership is None or self.host.crashed or self.host.paused:
            return 0
        return self.ownership.owned | self.ownership.in_hand

    def supervise(self) -> None:
        """Start the program again if it has ended and the time until its start has passed."""
        if self._has_ended:
            self._has_ended = False
            self.die(self._pause_before_start)
            self._pause_before_start = 1.0
        if self._starts_at is not None and self._sim.time >= self._starts_at:
            self._starts_at = None
            if self.host.crashed:
                self.host = self._sim.restart(self.host)
            self.host.spawn("program", self._run)

    def die(self, seconds: float) -> None:
        """Kill the process; it is started again after `seconds`."""
        self._sim.crash(self.host)
        self.ownership = self._stop = None
        self._starts_at = self._sim.time + seconds

    def stop(self, seconds: float) -> None:
        """Ask the process to stop; it is started again `seconds` after it has ended."""
        if self._stop is not None and not self.host.crashed:
            self._pause_before_start = seconds
            self.host.spawn("signal", self._stop.set)

    def _run(self) -> None:
        host = self.host
        stop = self._stop = Stop(host)
        self.identity = host.name.replace("#", "-")
        ownership = self.ownership = Ownership(host)
        transport = NetworkTransport(self._network, host)
        config = RingConfig(name="ring", namespace="default", identity=self.identity)
        member = RingMember(host, Client(host, transport, request_timeout=5.0), config, ownership)
        worker = Client(host, RingTransport(transport), request_timeout=5.0)
        for number in range(2):
            host.spawn(f"worker-{number}", lambda: work(stop, host, ownership, worker))
        member.run(stop)
        self._has_ended = True


def work(stop: Stop, host: SimulatedHost, ownership: Ownership, client: Client) -> None:
    """Read and write the object of a slot that is owned, again and again, as a reconcile does."""
    while not stop.is_cancelled() and not (stop.is_set() and not ownership.owned):
        slot = host.random.randrange(KEYS) * (SLOTS // KEYS)
        turn = ownership.turn(slot)
        if turn is not None:
            with turn:
                reconcile(stop, host.random, client, f"slot-{slot}")
        stop.wait(host.random.choice((0.1, 1.0, 3.0)))


def reconcile(stop: Stop, chance: random.Random, client: Client, name: str) -> None:
    """Add one to the number of an object, over the version that was read."""
    try:
        node = client.get(NODES, ObjectKey(name), dict)
        number = int(annotations_of(node).get("number", 0)) + 1
        stop.wait(chance.choice((0.0, 0.0, 0.5, 8.0)))
        metadata = {"annotations": {"number": str(number)}, "resourceVersion": node["metadata"]["resourceVersion"]}
        client.patch(NODES, ObjectKey(name), {"metadata": metadata})
    except ControllerRuntimeError:  # refused by the fence, by the version, or lost
        pass


class RingSystem:
    """A server on a disk with backups, the members of a ring, and the faults that happen to them."""

    def __init__(self, sim: Simulation, faults: SystemFaults, fired: list[SystemFault]) -> None:
        chance = sim.chance("ring")
        self._sim = sim
        self._course = Course(sim, faults.timed, self._supervise, self._inject)
        self._disk = RestorableDisk()
        self._network = Network(sim, faults, fired, latency=chance.choice((0.001, 0.01, 0.1)), until=FAULTS_UNTIL)
        server = sim.host(SERVER, drift=_drift(chance))
        self._server = ServerProcess(sim, self._network, server, lambda host: APIServer(host, journal=self._disk))
        self._server.supervise()
        sim.settle()
        server.spawn("objects", lambda: make_objects(self._network))
        sim.settle()
        hosts = [sim.host(name, drift=_drift(chance)) for name in MEMBERS]
        self._replicas = [Replica(sim, self._network, host) for host in hosts]
        self._lost = chance.choice(LOST)
        self._checked = 0
        self._sent: dict[bytes, float] = {}
        # For each identity: the claims that the server has stored, and when each ends in the simulation's time.
        self._claims: dict[str, list[tuple[int, float]]] = {}
        self._violated: Violated | None = None
        self._network.on_begin.append(self._begins)
        sim.check(self._look)

    def run(self) -> None:
        """Run with faults, then without; raise `Violated` if an invariant does not hold."""
        self._course.pass_until(FAULTS_UNTIL)
        self._course.pass_until(FAULTS_UNTIL + RECOVERY)
        held = [replica.held for replica in self._replicas]
        loads = [count(slots) for slots in held]
        if sum(loads) != SLOTS or held[0] | held[1] | held[2] != ALL:
            raise Violated("each slot has an owner", f"the members own {loads} slots")
        if max(loads) - min(loads) > 1:
            raise Violated("equal loads", f"the members own {loads} slots")

    def _look(self) -> None:
        """Raise `Violated` if an invariant does not hold at this step."""
        if self._violated is not None:
            raise self._violated
        taken = 0
        for replica in self._replicas:
            held = replica.held
            if both := taken & held:
                names = [each.host.name for each in self._replicas if each.held & both]
                raise Violated("one owner at most", f"{' and '.join(names)} own the slots {[*slots_in(both)][:8]}")
            taken |= held
        while self._checked < len(self._disk.writes):
            write = self._disk.writes[self._checked]
            self._checked += 1
            if write.collection.startswith("leases") and write.raw is not None and b'"ring"' in write.raw:
                self._note_claim(json.loads(write.raw))

    def _note_claim(self, lease: dict[str, object]) -> None:
        text = annotations_of(lease).get(CLAIM, "")
        renewed = lease["spec"]["renewTime"]  # type: ignore[index]
        name = lease["metadata"]["name"]  # type: ignore[index]
        sent_at = self._sent.get(f"{name}/{renewed}".encode(), self._sim.time)
        until = sent_at + RingConfig(name="a", namespace="a").renew_deadline * TOLERANCE
        self._claims.setdefault(name, []).append((Claim.from_text(text).slots, until))

    def _begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Check a request that begins, and note when a lease is written."""
        if request.method in ("POST", "PUT") and "/leases" in request.path:
            lease = json.loads(request.body)
            key = f"{lease['metadata']['name']}/{lease['spec']['renewTime']}".encode()
            self._sent.setdefault(key, self._sim.time)
        elif request.method == "PATCH" and "/nodes/slot-" in request.path and self._violated is None:
            slot = int(request.path.rpartition("-")[2])
            claims = self._claims.get(host.name.replace("#", "-"), [])
            if not any(slots >> slot & 1 and self._sim.time <= until for slots, until in claims[-8:]):
                # Raised by the next look: raised here, it would reach the work that sends the request.
                what = f"{host.name} sends a write for slot {slot}, which it does not own"
                self._violated = Violated("no request outside the interval", what)

    def _supervise(self) -> None:
        for replica in self._replicas:
            replica.supervise()
        self._server.supervise()

    def _inject(self, fault: SystemFault) -> None:
        self._network.note(fault)
        replica = next((r for r in self._replicas if r.host.name.partition("#")[0] == fault.host), None)
        host = replica.host if replica is not None else self._server.host
        match fault.kind:
            case FaultKind.CUT:
                for name in [fault.host] if replica is not None else MEMBERS:
                    self._network.cut(name, fault.seconds)
            case FaultKind.PAUSE:
                self._sim.pause(host, fault.seconds)
            case FaultKind.JUMP:
                self._sim.jump(host, fault.seconds)
            case FaultKind.STOP if replica is not None:
                replica.stop(fault.seconds)
            case FaultKind.CRASH if replica is not None:
                replica.die(fault.seconds)
            case FaultKind.RESTORE:
                self._server.die(fault.seconds)
                self._disk.restore(self._lost)
            case _:
                self._server.die(fault.seconds)


def make_objects(network: Network) -> None:
    """Create the objects that the workers write, past the network and its faults."""
    assert network.server is not None, "a server has been started"
    for number in range(KEYS):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"slot-{number * (SLOTS // KEYS)}"}}
        headers = {"content-type": "application/json"}
        network.server.handler.handle(
            HTTPRequest("POST", "/api/v1/nodes", headers=headers, body=json.dumps(node).encode())
        )


def _drift(chance: random.Random) -> int:
    return chance.randrange(-DRIFT, DRIFT + 1)
