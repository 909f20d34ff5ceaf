# SPDX-License-Identifier: Apache-2.0
"""Caches under faults: watches that lag and break, compacted histories, servers restored from a backup.

The invariants: a cache never goes back to older resourceVersions unless the server did, the changes that
it reports add up to the objects that it holds, and in the end it holds what the server serves.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from apimachinery.errors import ControllerRuntimeError
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.client.client import Client
from controller_runtime.client.decoding import Decoding
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import FaultKind, ScriptedFaults, SystemFault, SystemFaults
from embedded_apiserver import APIServer, History
from kit.fault_runs.body_reads import BodyReads, drawn
from kit.fault_runs.compressing import compress
from kit.fault_runs.drawing import DrawnFaults, Profile
from kit.fault_runs.environment import Course
from kit.fault_runs.invariants import Violated
from kit.fault_runs.ledger import Ledger
from kit.fault_runs.outcome import Outcome, observe
from kit.fault_runs.restorable import RestorableDisk

READERS = ("streams", "pages")
"""The hosts of the readers: the first fills its cache from a stream, the second from a paged list."""
SERVER = "server"
FAULTS_UNTIL = 400.0
"""Virtual seconds during which faults begin; longer than the 150 s after which a silent watch is given up."""
RECOVERY = 700.0
"""Virtual seconds after the faults until every cache must be right: twice 150 s, the longest delay, and a reserve."""
NAMES = "abcdef"

PROFILES = {
    "broad": Profile(
        {FaultKind.CUT: 3, FaultKind.PAUSE: 2, FaultKind.CRASH: 2, FaultKind.RESTORE: 1, FaultKind.REWIND: 1},
        rates=(0.0, 0.1, 0.3),
    ),
    "lagging": Profile({FaultKind.CUT: 1}, rates=(0.3, 0.6), longest=200.0),
    "restarts": Profile({FaultKind.CRASH: 3, FaultKind.RESTORE: 2}, most=20, rates=(0.0, 0.1)),
    "backups": Profile({FaultKind.REWIND: 1, FaultKind.CUT: 1}, most=4, rates=(0.0, 0.1)),
}
"""The kinds of faults for caches, by name."""

LOST = 15
"""Writes that a server loses when it is restored: more than it can take again before all caches have noticed."""


def run(seed: int, *, profile: str = "broad", script: Iterable[SystemFault] | None = None) -> Outcome:
    """Run the caches of readers while faults happen, then without faults, and check that the caches have recovered.

    Args:
        seed: Determines latencies, the schedule, the writes, and without a script the faults.
        profile: The name of the profile in `PROFILES` that faults are drawn from.
        script: The faults, instead of drawn ones.
    """
    faults: SystemFaults = (
        DrawnFaults(seed, PROFILES[profile], (*READERS, SERVER), FAULTS_UNTIL)
        if script is None
        else ScriptedFaults(script)
    )
    return observe(seed, lambda sim, fired: CacheSystem(sim, faults, fired).run())


class Reader:
    """A program with one cache and three listeners: a handler, a slow subscriber, and a handler that is added late.

    With `bodies` its cache has the metadata of all objects, and it reads whole ones now and then.
    """

    def __init__(
        self, host: SimulatedHost, network: Network, disk: RestorableDisk, bodies: Bodies | None, *, compressed: bool
    ) -> None:
        self.stop = Stop(host)
        options = CacheOptions(streaming=host.name == READERS[0], compress=compress(compressed), bodies=bodies)
        self.informers = Informers(host, NetworkTransport(network, host), options)
        self.informer = self.informers.of(Collection(NODES))
        asleep = Stop(host)

        def ledger(how: str, pause: float = 0.0) -> Ledger:
            return Ledger(
                f"the {how} of {host.name}",
                disk,
                lambda: asleep.wait(pause * host.random.random()) if pause else None,
            )

        def add_late() -> None:
            asleep.wait(FAULTS_UNTIL / 2)
            self.informer.add_handler(self.ledgers[2])

        self.ledgers = [ledger("handler"), ledger("slow subscriber", 3.0), ledger("late handler")]
        self.informer.add_handler(self.ledgers[0])
        self.informer.subscribe(self.ledgers[1], name="slow")
        self.bodies = BodyReads(host, self.informer, disk, NAMES)
        self.informers.start(self.stop)
        host.spawn("late", add_late)
        if bodies is not None:
            host.spawn("bodies", lambda: self.bodies.read_until(self.stop))
        self._was_at = ""
        self._resets = 0

    def look(self) -> None:
        """Raise `Violated` if an invariant does not hold at this step."""
        store = self.informer.store
        if store.version != self._was_at:
            if compare_versions(store.version, self._was_at) < 0 and store.resets == self._resets:
                raise Violated("never back", f"{self.informer}: from {self._was_at} to {store.version}")
            self._was_at, self._resets = store.version, store.resets
        for violated in (self.bodies.violated, *(ledger.violated for ledger in self.ledgers)):
            if violated is not None:
                raise violated

    def settled(self, served: set[tuple[str, str, str]]) -> None:
        """Raise `Violated` unless the cache holds what the server serves, and every listener knows all of it."""
        held = {(obj.name, obj.uid, obj.resource_version) for obj in self.informer.store.list()}
        if held != served or self.informer.last_error:
            raise Violated("converges", f"{held} is held, {served} is served; {self.informer.last_error}")
        for ledger in self.ledgers:
            ledger.check_against(self.informer.store)
        self.bodies.check_last(served)


class CacheSystem:
    """A server on a disk with backups, a user who writes, two readers, and the faults that happen to them."""

    def __init__(self, sim: Simulation, faults: SystemFaults, fired: list[SystemFault]) -> None:
        chance = sim.chance("caches")
        self._sim = sim
        self._course = Course(sim, faults.timed, self._supervise, self._inject)
        self._disk = RestorableDisk()
        self._history = History(changes=chance.choice((3, 20, 1000)))
        self._network = Network(sim, faults, fired, latency=chance.choice((0.001, 0.1)), until=FAULTS_UNTIL)
        self._host = sim.host(SERVER)
        self._starts_at: float | None = None
        self._boot()
        sim.settle()
        self._hosts = {name: sim.host(name) for name in READERS}
        compressed = sim.chance("compression")
        bodies = sim.chance("bodies")
        self._readers = [
            Reader(host, self._network, self._disk, drawn(bodies, "at"), compressed=compressed.random() < 0.5)
            for host in self._hosts.values()
        ]
        user = sim.host("user")
        self._user_stop = Stop(user)
        client = Client(user, NetworkTransport(self._network, user), request_timeout=5.0)
        user.spawn("user", lambda: write_until(self._user_stop, client, user.random))
        for reader in self._readers:
            sim.check(reader.look)

    def run(self) -> None:
        """Run with faults, then without; raise `Violated` if an invariant does not hold."""
        self._course.pass_until(FAULTS_UNTIL)
        self._user_stop.set()
        self._course.pass_until(FAULTS_UNTIL + RECOVERY)
        served = self._served()
        for reader in self._readers:
            reader.settled(served)
            reader.stop.set()

    def _supervise(self) -> None:
        if self._starts_at is not None and self._sim.time >= self._starts_at:
            self._boot()

    def _boot(self) -> None:
        self._starts_at = None
        host = self._host
        host.spawn(
            "boot", lambda: self._network.serve(host, APIServer(host, journal=self._disk, history=self._history))
        )

    def _inject(self, fault: SystemFault) -> None:
        self._network.note(fault)
        reader = self._hosts.get(fault.host)
        match fault.kind:
            case FaultKind.CUT:
                for name in [fault.host] if reader is not None else [*READERS, "user"]:
                    self._network.cut(name, fault.seconds)
            case FaultKind.PAUSE:
                self._sim.pause(reader or self._host, fault.seconds)
            case FaultKind.CRASH | FaultKind.RESTORE | FaultKind.REWIND if self._starts_at is None:
                self._restart(fault)
            case _:  # the server is down already
                pass

    def _restart(self, fault: SystemFault) -> None:
        self._host = self._sim.restart(self._host)
        self._starts_at = self._sim.time + fault.seconds
        if fault.kind is FaultKind.CRASH or not self._disk.restore(LOST):
            return
        if fault.kind is FaultKind.REWIND:
            # The server derives resourceVersions from its clock, so they go back only if the clock does. Nothing is
            # written from then on, because a history that reaches the lost resourceVersions again cannot be told from
            # the lost history.
            self._sim.jump(self._host, -3600.0)
            self._user_stop.set()

    def _served(self) -> set[tuple[str, str, str]]:
        assert self._network.server is not None, "a server has been started"
        answer = self._network.server.handler.handle(HTTPRequest("GET", "/api/v1/nodes"))
        assert isinstance(answer, HTTPResponse), "a list is an answer"
        return {(obj.name, obj.uid, obj.resource_version) for obj in Decoding(NODES).page(answer.body).items}


def write_until(stop: Stop, client: Client, chance: random.Random) -> None:
    """Create, change and delete a few nodes, at a varying pace, until `stop` is set."""
    while not stop.wait(chance.choice((0.0, 0.1, 1.0, 10.0)) * chance.random()):
        name = chance.choice(NAMES)
        try:
            match chance.randrange(3):
                case 0:
                    client.create(NODES, {"metadata": {"name": name}})
                case 1:
                    client.patch(NODES, ObjectKey(name), {"metadata": {"labels": {"at": str(chance.random())}}})
                case _:
                    client.delete(NODES, ObjectKey(name))
        except ControllerRuntimeError:  # the node exists already, or is gone, or the request was lost
            pass
