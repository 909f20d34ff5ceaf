# SPDX-License-Identifier: Apache-2.0
"""One run: a seed and its weather in, what was violated and the script of what went wrong out."""

from __future__ import annotations

import random
from collections.abc import Iterable

import attrs

from controller_runtime.apiserver.server import APIServer
from controller_runtime.apiserver.storage.history import History
from controller_runtime.client.client import Client
from controller_runtime.core.stop import Stop
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import Hang, LockHeld, SimulatedHost, Simulation
from controller_runtime.testing.simulation.faults import (
    PROFILES,
    DrawnFaults,
    Fault,
    Faults,
    Kind,
    Script,
    ScriptedFaults,
)
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.system.disk import Disk
from controller_runtime.testing.system.invariants import Invariants, Violated
from controller_runtime.testing.system.replica import Replica
from controller_runtime.testing.system.work import User, do_what_is_wanted

REPLICAS = ("r0", "r1", "r2")
SERVER = "server"
STORM = 120.0
"""Virtual seconds during which faults begin."""
CALM = 260.0
"""Virtual seconds after that until everything must be done: a silent watch is noticed after 150."""
DRIFT = 5_000
"""Microseconds a second by which clocks are fast or slow, at most."""

CONFIG = LeaderElectionConfig(name="replicas", namespace="kube-system")


@attrs.frozen
class Outcome:
    """What came of a run.

    Attributes:
        seed: Its seed.
        invariant: What does not hold; empty if all does.
        message: How one sees it.
        script: What went wrong with the system's surroundings, in order.
        digest: A hash over every step.
        steps: How many there were.
    """

    seed: int
    invariant: str
    message: str
    script: Script
    digest: str
    steps: int


def run(seed: int, *, profile: str = "broad", script: Iterable[Fault] | None = None) -> Outcome:
    """Let the system run through a storm and the calm after it.

    Args:
        seed: Latencies, drifts, the schedule, and without a script the faults.
        profile: Of `faults.PROFILES`; the weather that faults are drawn from.
        script: The faults, in place of drawn ones.
    """
    faults: Faults = (
        DrawnFaults(seed, PROFILES[profile], (*REPLICAS, SERVER), STORM) if script is None else ScriptedFaults(script)
    )
    invariant = message = ""
    sim = Simulation(seed)
    fired: list[Fault] = []
    try:
        with sim:
            System(sim, faults, fired).run()
    except Violated as error:
        invariant, message = error.invariant, str(error)
    except (Hang, LockHeld) as error:
        invariant, message = type(error).__name__, str(error)
    return Outcome(seed, invariant, message, tuple(fired), sim.digest, sim.steps)


class System:
    """An API server on a disk, three replicas, a user, the network between them, and what befalls them."""

    def __init__(self, sim: Simulation, faults: Faults, fired: list[Fault]) -> None:
        chance = sim.chance("system")
        self._sim = sim
        self._timed = list(faults.timed)
        self._disk = Disk()
        self._history = chance.choice((History(), History(changes=20)))
        self._server = sim.host(SERVER, drift=_drift(chance))
        self._server_starts_at: float | None = 0.0
        self._network = Network(sim, faults, fired, latency=chance.choice((0.001, 0.01, 0.1)), until=STORM)
        self._replicas = [Replica(sim, sim.host(name, drift=_drift(chance)), self._program) for name in REPLICAS]
        user_host = sim.host("user")
        reach = NetworkTransport(self._network, user_host)
        self._user = User(user_host, Client(user_host, reach, request_timeout=5.0))
        self._user_stop = Stop(user_host)
        self._invariants = Invariants(sim, CONFIG, self._disk, self._replicas)
        self._network.on_begin.append(self._invariants.begins)
        self._network.on_answer.append(self._invariants.answered)
        sim.check(self._invariants.look)
        user_host.spawn("user", lambda: self._user.run(self._user_stop))

    def run(self) -> None:
        """The storm, the calm, and what must have come of it."""
        while self._sim.time < STORM + CALM:
            self._supervise()
            due = self._timed[0].when if self._timed else STORM + CALM
            self._sim.advance(max(0.0, min(due, self._sim.time + 1.0) - self._sim.time))
            while self._timed and self._timed[0].when <= self._sim.time:
                self._befall(self._timed.pop(0))
            if self._sim.time >= STORM:
                self._user_stop.set()
        self._invariants.settled(self._user)

    def _program(self, host: SimulatedHost) -> Manager:
        manager = Manager(host, NetworkTransport(self._network, host), leader_election=CONFIG)
        manager.add(do_what_is_wanted(manager))
        return manager

    def _supervise(self) -> None:
        for replica in self._replicas:
            replica.supervise()
        if self._server_starts_at is not None and self._sim.time >= self._server_starts_at:
            self._server_starts_at = None
            if self._server.crashed:
                self._server = self._sim.restart(self._server)
            self._server.spawn("boot", self._boot)

    def _boot(self) -> None:
        self._network.serve(self._server, APIServer(self._server, journal=self._disk, history=self._history))

    def _befall(self, fault: Fault) -> None:
        self._network.note(fault)
        replica = next((r for r in self._replicas if r.host.name.partition("#")[0] == fault.host), None)
        host = replica.host if replica is not None else self._server
        match fault.kind:
            case Kind.CUT:
                for name in [fault.host] if replica is not None else [*REPLICAS, "user"]:
                    self._network.cut(name, fault.seconds)
            case Kind.PAUSE:
                self._sim.pause(host, fault.seconds)
            case Kind.JUMP:
                self._sim.jump(host, fault.seconds)
            case Kind.STOP if replica is not None:
                replica.stop(fault.seconds)
            case Kind.CRASH if replica is not None:
                replica.die(fault.seconds)
            case _:
                self._sim.crash(self._server)
                self._server_starts_at = self._sim.time + fault.seconds


def _drift(chance: random.Random) -> int:
    return chance.randrange(-DRIFT, DRIFT + 1)
