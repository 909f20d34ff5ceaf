# SPDX-License-Identifier: Apache-2.0
"""Coordinated election under random faults: candidates start, stop, are upgraded and freeze, and so do electors.

`python -m kit.simulation.coordinated_run --seeds 500` walks over seeds and exits 1 at the
first in which something does not hold.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable

from apimachinery.http import HTTPRequest
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import FaultKind, ScriptedFaults, SystemFault, SystemFaults
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.lease_candidate_gc import lease_candidate_gc
from embedded_apiserver.server import APIServer
from kit.fault_runs.disk import Disk
from kit.fault_runs.drawing import PROFILES, DrawnFaults
from kit.fault_runs.environment import TURN, Course, ServerProcess
from kit.fault_runs.invariants import Violated
from kit.fault_runs.outcome import Outcome, observe
from kit.fault_runs.replica import Replica

ELECTORS = ("e0", "e1")
CANDIDATES = ("c0", "c1", "c2")
SERVER = "server"
VERSIONS = ("1.34.0", "1.35.0", "1.36.0")
STORM = 240.0
CALM = 300.0
SILENCE = 150.0
"""Seconds after which a watch that has fallen silent is noticed."""
LATENESS = 60.0
"""Three times 20 s, because a watch opened under faults may be late at a lease's end, at a ping and at its answer."""
FARTHEST = 720.0
"""Seconds by which wall clocks are wrong, at most."""
BOUND = 70.0
"""Seconds without faults after which a replica leads, if there is a live candidate and a live elector.

17 until another elector leads, the lease's 15 as it observes it, a step of 5, an answer's 5, another step, 5 for
the elected, and what remains of it from an elected that fell silent again: see docs/coordinated-leader-election.md.
"""
OWN_LEASE = LeaderElectionConfig(name="leader-election-controller", namespace="kube-system")


def run(
    seed: int,
    *,
    profile: str = "broad",
    script: Iterable[SystemFault] | None = None,
    die_at_write: int | None = None,
    seconds: float = STORM + CALM,
) -> Outcome:
    """Run the system with faults for some time, and then without.

    Args:
        seed: Latencies, drifts, the schedule, versions, and without a script the faults.
        profile: The kinds and rates of faults.
        script: The faults, in place of drawn ones.
        die_at_write: Number of the write at whose beginning the elector is killed; the write may land or not.
        seconds: Duration of the run.
    """
    names = (*ELECTORS, *CANDIDATES, SERVER)
    faults: SystemFaults = (
        DrawnFaults(seed, PROFILES[profile], names, STORM) if script is None else ScriptedFaults(script)
    )
    return observe(seed, lambda sim, fired: System(sim, faults, fired, die_at_write).run(seconds))


class System:
    """A server, electing controllers, candidates, the network between them, and their faults."""

    def __init__(
        self, sim: Simulation, faults: SystemFaults, fired: list[SystemFault], die_at_write: int | None
    ) -> None:
        self._chance = sim.chance("coordinated")
        self._sim = sim
        self._die_at_write = die_at_write
        self._course = Course(sim, faults.timed, self._supervise, self._befall)
        self._disk = Disk()
        server = sim.host(SERVER)
        self._fired = fired
        self._network = Network(sim, faults, fired, latency=self._chance.choice((0.001, 0.05)), until=STORM)
        self._server = ServerProcess(sim, self._network, server, self._api_server)
        self._network.on_begin.append(self._count)
        self._electors = [Replica(sim, self._host(name), self._elector) for name in ELECTORS]
        self._candidates = [Replica(sim, self._host(name), self._candidate) for name in CANDIDATES]
        self._versions = {name: self._chance.choice(VERSIONS) for name in CANDIDATES}
        self._offsets: dict[str, float] = {}
        self._quiet_since = self._led_at = self._cut_until = 0.0
        self._victim: Replica | None = None
        self._writes = 0
        sim.check(self._look)

    def run(self, seconds: float) -> None:
        """Run with faults, then without, and check the final state."""
        self._course.pass_until(seconds)
        # To a wrong clock the stamp of a dead one may look fresh just now, and it is tried for some seconds.
        while (why := self._unsettled()) and self._sim.time < seconds + BOUND:
            self._course.pass_until(self._sim.time + TURN)
        if why:
            raise Violated("converges", why)

    def _unsettled(self) -> str:
        """Return why the final state has not been reached; empty if it has."""
        self._expect_a_leader()
        leader = next((r for r in self._candidates if r.leads), None)
        if leader is None:
            return "nobody leads"
        oldest = min(self._versions[self._name_of(r)] for r in self._candidates if self._lives(r))
        is_oldest = self._versions[self._name_of(leader)] == oldest
        return "" if is_oldest else f"{leader.host.name} leads, but there are candidates of {oldest}"

    def _host(self, name: str) -> SimulatedHost:
        return self._sim.host(name, drift=self._chance.randrange(-5_000, 5_001))

    def _elector(self, host: SimulatedHost) -> Manager:
        manager = Manager(host, NetworkTransport(self._network, host), leader_election=OWN_LEASE)
        manager.add(lease_candidate_election(manager))
        manager.add(lease_candidate_gc(manager))
        return manager

    def _candidate(self, host: SimulatedHost) -> Manager:
        candidacy = Candidacy(binary_version=self._versions[host.name.partition("#")[0]])
        identity = host.name.replace("#", "-")
        config = LeaderElectionConfig(name="work", namespace="default", identity=identity, coordinated=candidacy)
        return Manager(host, NetworkTransport(self._network, host), leader_election=config, grace=2.0)

    def _name_of(self, replica: Replica) -> str:
        return replica.host.name.partition("#")[0]

    def _look(self) -> None:
        """Check at each step that at most one replica leads."""
        leaders = [replica.host.name for replica in self._candidates if replica.leads]
        if len(leaders) > 1:
            raise Violated("one leader at most", " and ".join(leaders))

    def _lives(self, replica: Replica) -> bool:
        return not replica.host.crashed and not replica.host.paused and replica.elector is not None

    def _expect_a_leader(self) -> None:
        """Check that a replica leads if there were no faults for long."""
        if not any(map(self._lives, self._candidates)) or not any(map(self._lives, self._electors)):
            self._quiet_since = max(self._quiet_since, self._sim.time)
        if any(replica.leads for replica in self._candidates):
            self._led_at = self._sim.time
        quiet_since, bound = self._quiet_since, BOUND
        if any(
            fault.kind not in (FaultKind.PAUSE, FaultKind.CRASH, FaultKind.STOP, FaultKind.JUMP)
            for fault in self._fired
        ):
            quiet_since, bound = max(quiet_since, STORM, self._cut_until) + SILENCE, BOUND + LATENESS
        if self._sim.time - max(self._led_at, quiet_since) > bound:
            raise Violated("a leader within the bound", f"nobody has led for {bound:.0f} s without trouble")

    def _supervise(self) -> None:
        self._expect_a_leader()
        if self._victim is not None:
            self._victim.die(3.0)
            self._victim = None
        for replica in (*self._electors, *self._candidates):
            replica.supervise()
        self._server.supervise()

    def _api_server(self, host: SimulatedHost) -> APIServer:
        return APIServer(host, journal=self._disk)

    def _count(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Count what electors write of elections, and kill the one whose write is due."""
        if not host.name.startswith("e") or request.method in ("GET", "PUT") or "/events" in request.path:
            return
        if "/lease" not in request.path or "kube-system" in request.path:
            return
        self._writes += 1
        if self._writes == self._die_at_write:
            self._quiet_since = self._sim.time
            self._victim = next(r for r in self._electors if r.host is host)
            self._sim.pause(host, 1e6)  # none of its threads runs any more; the network decides whether the write lands

    def _befall(self, fault: SystemFault) -> None:
        self._network.note(fault)
        replica = next((r for r in (*self._electors, *self._candidates) if self._name_of(r) == fault.host), None)
        host = replica.host if replica is not None else self._server.host
        is_over_at = self._sim.time + (fault.seconds if replica is None and fault.kind is not FaultKind.JUMP else 0.0)
        self._quiet_since = max(self._quiet_since, is_over_at)
        match fault.kind:
            case FaultKind.CUT:
                self._cut_until = max(self._cut_until, self._sim.time + fault.seconds)
                for name in [fault.host] if replica is not None else [*ELECTORS, *CANDIDATES]:
                    self._network.cut(name, fault.seconds)
            case FaultKind.PAUSE:
                self._sim.pause(host, fault.seconds)
            case FaultKind.JUMP:
                self._set_clock(host, fault.host, fault.seconds / 10)
            case FaultKind.STOP if replica is not None:
                self._upgrade(fault.host)
                replica.stop(fault.seconds)
            case FaultKind.CRASH if replica is not None:
                self._upgrade(fault.host)
                replica.die(fault.seconds)
            case _:
                self._server.die(fault.seconds)

    def _set_clock(self, host: SimulatedHost, name: str, offset: float) -> None:
        """Let a wall clock be wrong by `offset`, which never adds up to more than `FARTHEST`."""
        offset = max(-FARTHEST, min(FARTHEST, offset))
        self._sim.jump(host, offset - self._offsets.get(name, 0.0))
        self._offsets[name] = offset

    def _upgrade(self, name: str) -> None:
        """Draw the version of a replica that starts again."""
        if name in self._versions:
            self._versions[name] = self._chance.choice(VERSIONS)


def main(arguments: list[str]) -> int:
    """Walk over `--seeds N` seeds from `--first N`."""
    logging.disable(logging.CRITICAL)
    options = dict(zip(arguments[::2], map(int, arguments[1::2]), strict=True))
    first, seeds = options.get("--first", 0), options.get("--seeds", 100)
    weathers = tuple(PROFILES)
    for seed in range(first, first + seeds):
        outcome = run(seed, profile=weathers[seed % len(weathers)])
        if outcome.invariant:
            sys.stderr.write(f"seed {seed} ({weathers[seed % len(weathers)]}): {outcome.message}\n")
            return 1
    sys.stdout.write(f"{seeds} seeds: everything held\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
