# SPDX-License-Identifier: Apache-2.0
"""Runs node lifecycle and taint eviction under faults drawn from a seed; returns violations and a script of the faults.

The system has six hollow nodes with pods, a server, the controllers and the network between them. Grace periods are
half of upstream's, so that many nodes can die within one run.
"""

from __future__ import annotations

from collections.abc import Iterable

from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport
from controller_runtime.testing.simulation.system_faults import FaultKind, ScriptedFaults, SystemFault, SystemFaults
from controllers.hollow.node import node_name
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.pod_maker import PodMaker
from controllers.hollow.pods import HollowPods
from controllers.hollow.selection import Selection
from controllers.node_lifecycle.config import LifecycleConfig
from controllers.node_lifecycle.health import Graces
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.node_lifecycle.zones import ZonePolicy
from controllers.taint_eviction.taint_eviction import taint_eviction
from embedded_apiserver.server import APIServer
from kit.fault_runs.disk import Disk
from kit.fault_runs.drawing import DrawnFaults, Profile
from kit.fault_runs.environment import Course, ServerProcess
from kit.fault_runs.invariants import Violated
from kit.fault_runs.outcome import Outcome, observe
from kit.fault_runs.replica import Replica
from kit.simulation.lifecycle_witness import Door, Witness, evicts, ready_of

COUNT, PODS_EACH = 6, 2
NAMES = tuple(map(node_name, range(COUNT)))
SERVER, CONTROLLERS, KUBELETS = "server", "controllers", "kubelets"
RENEW, GRACE, RATE, TOLERATED = 5.0, 25.0, 0.2, 10
CONFIG = LifecycleConfig(Graces(GRACE, 30.0), ZonePolicy(rate=RATE), monitor_period=2.5)
STORM = 200.0
"""Virtual seconds after which no fault begins."""
CALM = 200.0
"""Seconds until every cache is up to date: a watch that hangs is noticed after 150 s."""
BOUND = GRACE + TOLERATED + 2.0
"""Seconds from a node's last sign of life until its pods are deleted, in a normal zone with an empty queue."""

LONGEST = 90.0
"""Seconds of the longest silence of a host while there are faults."""

PROFILES = {
    "broad": Profile(
        {FaultKind.CUT: 2, FaultKind.PAUSE: 4, FaultKind.JUMP: 2, FaultKind.CRASH: 2}, most=20, longest=LONGEST
    ),
    "deaths": Profile({FaultKind.PAUSE: 1}, most=20, rates=(0.0, 0.02), longest=LONGEST),
    "network": Profile({FaultKind.CUT: 1, FaultKind.PAUSE: 2}, rates=(0.02, 0.1, 0.3), longest=60.0),
    "restarts": Profile({FaultKind.CRASH: 3, FaultKind.PAUSE: 2}, most=20, rates=(0.0, 0.1), longest=60.0),
    "clocks": Profile({FaultKind.JUMP: 2, FaultKind.PAUSE: 1}, most=20, rates=(0.0, 0.1), longest=60.0),
}
"""Faults by profile. A pause of a host with a node's name freezes only that node's kubelet."""
WEATHERS = tuple(PROFILES)


def run(seed: int, *, script: Iterable[SystemFault] | None = None) -> Outcome:
    """Run nodes, pods and controllers with faults for some time, and then without."""
    hosts = (SERVER, CONTROLLERS, CONTROLLERS, KUBELETS, *NAMES)
    profile = PROFILES[WEATHERS[seed % len(WEATHERS)]]
    faults: SystemFaults = DrawnFaults(seed, profile, hosts, STORM) if script is None else ScriptedFaults(script)
    return observe(seed, lambda sim, fired: System(sim, faults, fired).run())


def node_of(pod: str) -> str:
    return node_name(int(pod.rpartition("-")[2]) % COUNT)


class System:
    """The parts of the system, and their faults."""

    def __init__(self, sim: Simulation, faults: SystemFaults, fired: list[SystemFault]) -> None:
        self._sim = sim
        self._course = Course(sim, faults.timed, self._supervise, self._befall)
        self._disk = Disk()
        self._witness = Witness(sim, self._disk, CONTROLLERS, GRACE, node_of)
        self._network = Network(sim, faults, fired, until=STORM)
        self._network.on_begin.append(self._witness.begins)
        self._server = ServerProcess(sim, self._network, sim.host(SERVER), self._api_server)
        self._hollow: HollowNodes | None = None
        self._wakes_at: dict[str, float] = {}
        self._programs = {
            CONTROLLERS: Replica(sim, sim.host(CONTROLLERS), self._control),
            KUBELETS: Replica(sim, sim.host(KUBELETS), self._kubelets),
        }
        sim.check(self._witness.look)

    def run(self) -> None:
        """Run with faults, then without, and check the final state."""
        self._course.pass_until(STORM)
        # The server is restarted because a watch that was slow once would stay slow.
        self._befall(SystemFault(FaultKind.CRASH, SERVER, STORM, 0.0))
        self._pass(CALM)
        self._expect_all_well()
        self._one_dies()
        self._all_die()

    def _expect_all_well(self) -> None:
        for name in NAMES:
            node = self._witness.node(name).was
            if ready_of(node).get("status") != "True" or node["spec"].get("taints"):
                raise Violated("who is back is well", f"{name} is {ready_of(node)}, {node['spec'].get('taints')}")

    def _one_dies(self) -> None:
        """Check that the pods of a dead node are deleted within the bound, and no others."""
        host = self._programs[KUBELETS].host
        maker = self._pod_maker(host, Manager(host, NetworkTransport(self._network, host)))
        host.spawn("maker", lambda: maker.run(Stop(host)))  # evicted while there were faults
        self._pass(10.0)
        dead, began = NAMES[0], self._sim.time
        self._freeze(dead, seconds=1e6)
        self._pass(1.0)  # its last renewal may be under way
        heard = self._witness.node(dead).beats[-1]
        self._pass(heard + BOUND - self._sim.time)
        went = {pod for pod, at in self._witness.evicted.items() if at >= began}
        if len(went) != PODS_EACH or {*map(node_of, went)} != {dead}:
            raise Violated("pods of the dead go in time", f"{dead} died, and those evicted are {sorted(went)}")

    def _all_die(self) -> None:
        """Check that no further node is evicted when all die: then the control plane is the more likely culprit."""
        before = len(self._witness.evicted)
        self._freeze(*NAMES, seconds=1e6)
        self._pass(2 * BOUND + COUNT / RATE)
        tainted = [name for name in NAMES if evicts(self._witness.node(name).was)]
        if tainted or len(self._witness.evicted) != before:
            raise Violated("silence of all evicts nobody", f"tainted are {tainted}, evicted {self._witness.evicted}")

    def _pass(self, seconds: float) -> None:
        self._course.pass_until(self._sim.time + seconds)

    def _supervise(self) -> None:
        for program in self._programs.values():
            program.supervise()
        for name in [name for name, at in self._wakes_at.items() if at <= self._sim.time]:
            del self._wakes_at[name]
            self._tell_kubelets()
        self._server.supervise()

    def _api_server(self, host: SimulatedHost) -> Door:
        return Door(APIServer(host, journal=self._disk), self._witness)

    def _control(self, host: SimulatedHost) -> Manager:
        manager = Manager(host, NetworkTransport(self._network, host), grace=2.0)
        manager.add(node_lifecycle(manager, config=CONFIG))
        manager.add(taint_eviction(manager))
        return manager

    def _kubelets(self, host: SimulatedHost) -> Manager:
        manager = Manager(host, NetworkTransport(self._network, host), grace=2.0)
        hollow = HollowNodes(host, manager.client, COUNT, renew_interval=RENEW, nodes=manager.informer(NODES))
        manager.add(hollow)
        manager.add(HollowPods(manager, hollow.is_running))
        manager.add(self._pod_maker(host, manager))
        self._hollow = hollow
        return manager

    def _pod_maker(self, host: SimulatedHost, manager: Manager) -> PodMaker:
        return PodMaker(host, manager.client, COUNT * PODS_EACH, COUNT, toleration_seconds=TOLERATED)

    def _freeze(self, *names: str, seconds: float) -> None:
        self._wakes_at |= dict.fromkeys(names, self._sim.time + seconds)
        self._tell_kubelets()

    def _tell_kubelets(self) -> None:
        """Deliver commands on a thread of the kubelets' host: if it is frozen, they arrive together later."""
        hollow, host = self._hollow, self._programs[KUBELETS].host
        if hollow is not None and not host.crashed:
            host.spawn("command", lambda: self._freeze_and_wake(hollow))

    def _freeze_and_wake(self, hollow: HollowNodes) -> None:
        for name in NAMES:
            (hollow.pause if name in self._wakes_at else hollow.revive)(Selection((name,)))

    def _befall(self, fault: SystemFault) -> None:
        self._network.note(fault)
        program = self._programs.get(fault.host)
        host = self._server.host if program is None else program.host
        match fault.kind:
            case _ if fault.host in NAMES:
                self._freeze(fault.host, seconds=min(abs(fault.seconds), LONGEST))
            case FaultKind.CUT if program is not None:
                self._network.cut(fault.host, fault.seconds)
            case FaultKind.PAUSE:
                self._sim.pause(host, fault.seconds)
            case FaultKind.JUMP:
                self._sim.jump(host, fault.seconds)
            case FaultKind.CRASH if program is not None:
                program.die(fault.seconds)
            case _:
                self._server.die(fault.seconds)
