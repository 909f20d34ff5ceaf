# SPDX-License-Identifier: Apache-2.0
"""Replicas under faults: they elect a leader, which does what a user asks for."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from apimachinery.stop import Stop
from controller_runtime.cache.scope import CacheScope
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import FaultKind, ScriptedFaults, SystemFault, SystemFaults
from embedded_apiserver import APIServer, History
from kit.fault_runs.compressing import compress, is_chosen
from kit.fault_runs.disk import Disk
from kit.fault_runs.drawing import PROFILES, DrawnFaults
from kit.fault_runs.environment import Course, ServerProcess
from kit.fault_runs.invariants import Invariants
from kit.fault_runs.outcome import Outcome, observe
from kit.fault_runs.replica import Replica
from kit.fault_runs.work import User, do_what_is_wanted

REPLICAS = ("r0", "r1", "r2")
SERVER = "server"
FAULTS_UNTIL = 120.0
"""Virtual seconds during which faults begin."""
RECOVERY = 260.0
"""Virtual seconds after the faults until all work must be done; a silent watch is given up after 150."""
DRIFT = 5_000
"""Microseconds per second by which clocks are fast or slow, at most."""

CONFIG = LeaderElectionConfig(name="replicas", namespace="kube-system")


Work = Callable[[Manager], Controller]
"""Returns the controller of one replica."""


def run(
    seed: int,
    *,
    profile: str = "broad",
    script: Iterable[SystemFault] | None = None,
    work: Work = do_what_is_wanted,
) -> Outcome:
    """Run replicas under faults, then without faults until their work must be done.

    Args:
        seed: Determines latencies, drifts, the schedule, and without a script the faults.
        profile: The name of the profile in `drawing.PROFILES` that faults are drawn from.
        script: The faults, instead of drawn ones.
        work: Makes the controllers, which must do what the one of `do_what_is_wanted` does.
    """
    faults: SystemFaults = (
        DrawnFaults(seed, PROFILES[profile], (*REPLICAS, SERVER), FAULTS_UNTIL)
        if script is None
        else ScriptedFaults(script)
    )
    return observe(seed, lambda sim, fired: ReplicaSystem(sim, faults, fired, work).run())


class ReplicaSystem:
    """An API server on a disk, three replicas, a user, the network, and the faults that happen to them."""

    def __init__(self, sim: Simulation, faults: SystemFaults, fired: list[SystemFault], work: Work) -> None:
        chance = sim.chance("system")
        self._sim = sim
        self._work = work
        self._course = Course(sim, faults.timed, self._supervise, self._inject)
        self._disk = Disk()
        self._history = chance.choice((History(), History(changes=20)))
        server = sim.host(SERVER, drift=_drift(chance))
        self._network = Network(sim, faults, fired, latency=chance.choice((0.001, 0.01, 0.1)), until=FAULTS_UNTIL)
        self._server = ServerProcess(sim, self._network, server, self._api_server)
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
        """Run with faults, then without; raise `Violated` if an invariant does not hold."""
        self._course.pass_until(FAULTS_UNTIL)
        self._user_stop.set()
        self._course.pass_until(FAULTS_UNTIL + RECOVERY)
        self._invariants.settled(self._user)

    def _program(self, host: SimulatedHost) -> Manager:
        manager = Manager(host, NetworkTransport(self._network, host), leader_election=CONFIG)
        manager.scope_caches(CacheScope(compress=compress(is_chosen(host.name))))
        manager.add(self._work(manager))
        return manager

    def _supervise(self) -> None:
        for replica in self._replicas:
            replica.supervise()
        self._server.supervise()

    def _api_server(self, host: SimulatedHost) -> APIServer:
        return APIServer(host, journal=self._disk, history=self._history)

    def _inject(self, fault: SystemFault) -> None:
        self._network.note(fault)
        replica = next((r for r in self._replicas if r.host.name.partition("#")[0] == fault.host), None)
        host = replica.host if replica is not None else self._server.host
        match fault.kind:
            case FaultKind.CUT:
                for name in [fault.host] if replica is not None else [*REPLICAS, "user"]:
                    self._network.cut(name, fault.seconds)
            case FaultKind.PAUSE:
                self._sim.pause(host, fault.seconds)
            case FaultKind.JUMP:
                self._sim.jump(host, fault.seconds)
            case FaultKind.STOP if replica is not None:
                replica.stop(fault.seconds)
            case FaultKind.CRASH if replica is not None:
                replica.die(fault.seconds)
            case _:
                self._server.die(fault.seconds)


def _drift(chance: random.Random) -> int:
    return chance.randrange(-DRIFT, DRIFT + 1)
