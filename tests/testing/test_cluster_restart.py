# SPDX-License-Identifier: Apache-2.0
"""A cluster's manager is set up by a function, killed as by `kill -9`, and run again on the same server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.noting import Noting

from apimachinery.errors import ConnectionLost
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from apimachinery.objects import ObjectKey, annotations_of
from apimachinery.system import SystemHost
from controller_runtime.api.references import set_owner
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster, Fault, Refused, Simulation, a_node, a_pod, eventually
from controller_runtime.testing.simulation import SimulatedHost
from embedded_apiserver.server import APIServer

ELECTION = LeaderElectionConfig(name="program", namespace="default")


class Marking(Reconciler):
    """Annotates each node, once."""

    def __init__(self, manager: Manager) -> None:
        self.nodes = manager.lister(NODES, dict)
        self.client: Client = manager.client

    def reconcile(self, request: Request) -> Result:
        if (node := self.nodes.get(request)) is not None and "mark" not in annotations_of(node):
            self.client.patch(NODES, request, {"metadata": {"annotations": {"mark": "yes"}}})
        return Result()


def marking(manager: Manager) -> None:
    manager.add(Controller("marking", Marking(manager)).watch(NODES))


def marked(cluster: EmbeddedCluster) -> list[str]:
    return [node["metadata"]["name"] for node in cluster.user.list(NODES, view=dict) if "mark" in annotations_of(node)]


class WatchingServer(APIServer):
    """Notes whether it acted on a request of one method for a manager that had crashed, and which watches are open."""

    manager: SimulatedHost | None = None
    method = ""
    has_acted_for_the_dead = False

    def __init__(self, host: SimulatedHost) -> None:
        super().__init__(host)
        self.open: list[Watch] = []

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        if request.method == self.method and self.manager is not None and self.manager.crashed:
            self.has_acted_for_the_dead = True
        answer = super().handle(request, on_ready)
        return answer if isinstance(answer, HTTPResponse) else Noted(answer, self.open)


class Noted:
    """A watch that is in a list until it is closed."""

    def __init__(self, inner: Watch, among: list[Watch]) -> None:
        self.headers = inner.headers
        self.take, self.next_wake = inner.take, inner.next_wake
        self._inner, self._among = inner, among
        among.append(self)

    def close(self) -> None:
        self._among.remove(self)
        self._inner.close()


def simulated(host: Host) -> SimulatedHost:
    assert isinstance(host, SimulatedHost)
    return host


def holder(cluster: EmbeddedCluster) -> str:
    identity: str = cluster.user.get(LEASES, ObjectKey("program", "default"), dict)["spec"]["holderIdentity"]
    return identity


def test_run_sets_the_manager_up_and_starts_it(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(marking)
    cluster.user.create(NODES, a_node("a"))
    simulation.settle()

    assert marked(cluster) == ["a"]


@pytest.mark.parametrize("again", ["run", "start"])
def test_a_manager_is_started_once(cluster: EmbeddedCluster, again: str) -> None:
    cluster.run(marking)

    with pytest.raises(RuntimeError, match="started already"):
        cluster.run(marking) if again == "run" else cluster.start()


def test_a_restart_sets_up_another_manager_whose_caches_are_filled_again(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    seen: list[Noting] = []

    def setup(manager: Manager) -> None:
        seen.append(Noting())
        manager.add(Controller("noting", seen[-1]).watch(NODES))

    cluster.user.create(NODES, a_node("a"))
    cluster.run(setup)
    simulation.settle()
    first = cluster.manager

    cluster.restart()
    simulation.settle()

    assert cluster.manager is not first
    assert [noting.seen for noting in seen] == [["a"], ["a"]]
    assert [request.path for request in cluster.transport.requests] == ["/api/v1/nodes"] * 2, "a streamed list each"


def test_a_restart_can_run_another_version_of_the_program(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    noting = Noting()
    cluster.user.create(NODES, a_node("a"))
    cluster.run(lambda manager: manager.add(Controller("noting", noting).watch(NODES)))
    simulation.settle()

    cluster.restart(marking)
    simulation.settle()

    assert marked(cluster) == ["a"]


def test_the_dead_manager_runs_no_more_while_server_and_user_live_on(simulation: Simulation) -> None:
    server = WatchingServer(simulation.host("server"))
    with EmbeddedCluster(simulation.host("here"), server=server) as cluster:
        cluster.run(marking)
        simulation.settle()
        dead = simulated(cluster.host)
        assert len(server.open) == 1

        cluster.kill()
        cluster.kill()
        cluster.user.create(NODES, a_node("a"))
        simulation.settle()

        assert marked(cluster) == []
        assert simulation.threads(dead) == []
        assert server.open == [], "the server noticed that the connections were closed"


def test_the_lease_of_a_dead_manager_is_held_until_it_expires(simulation: Simulation) -> None:
    with EmbeddedCluster(simulation.host("here"), leader_election=ELECTION) as cluster:
        cluster.run(marking)
        simulation.advance(1.0)
        dead, sent = holder(cluster), len(cluster.transport.requests)

        cluster.kill()
        simulation.advance(5.0)
        assert (holder(cluster), len(cluster.transport.requests)) == (dead, sent)

        cluster.restart()
        cluster.user.create(NODES, a_node("a"))
        simulation.advance(8.0)
        assert (holder(cluster), marked(cluster)) == (dead, [])

        simulation.advance(15.0)
        assert holder(cluster) != dead
        assert marked(cluster) == ["a"]


def test_a_request_that_was_sent_is_carried_out_after_the_death_of_its_sender() -> None:
    servers = [killed_at_its_first("PATCH", seed) for seed in range(10)]

    assert any(server.has_acted_for_the_dead for server in servers), "in no schedule did the server act after the crash"


def test_the_server_closes_watches_that_a_dead_manager_had_just_asked_for() -> None:
    servers = [killed_at_its_first("GET", seed) for seed in range(10)]

    assert any(server.has_acted_for_the_dead for server in servers)
    assert [server.open for server in servers] == [[]] * 10


def killed_at_its_first(method: str, seed: int) -> WatchingServer:
    """Kill the manager as soon as it has sent a request of this method, and let the server act."""
    with Simulation(seed) as simulation:
        server = WatchingServer(simulation.host("server"))
        with EmbeddedCluster(simulation.host("here"), server=server) as cluster:
            server.manager, server.method = simulated(cluster.host), method
            cluster.user.create(NODES, a_node("a"))
            cluster.run(marking)
            other = simulation.host("other")

            def kill() -> None:
                while not any(request.method == method for request in cluster.transport.requests):
                    other.leaving("look again")
                cluster.kill()

            other.spawn("kill", kill)
            simulation.settle()

            assert method != "PATCH" or marked(cluster) == ["a"]
            return server


def test_faults_are_numbered_on_over_a_restart(simulation: Simulation) -> None:
    numbers: list[int] = []

    def note(number: int, request: HTTPRequest) -> Fault | None:
        numbers.append(number)
        return Refused() if number == 0 else None

    with EmbeddedCluster(simulation.host("here"), faults=note) as cluster:
        cluster.run(marking)
        simulation.advance(5.0)
        cluster.restart()
        simulation.advance(5.0)

        assert numbers == [0, 1, 2], "one that failed, its retry, and one of the second manager"


@pytest.mark.embedded_cluster(garbage_collection=True)
def test_garbage_is_collected_while_no_manager_runs(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(marking)
    owned = a_pod("owned")
    set_owner(owned, cluster.user.create(PODS, a_pod("owner")))
    cluster.user.create(PODS, owned)

    cluster.kill()
    cluster.user.delete(PODS, ObjectKey("owner", "default"))
    simulation.advance(1.0)

    assert cluster.user.list(PODS) == []


def test_a_restart_needs_the_function_that_sets_up(cluster: EmbeddedCluster) -> None:
    cluster.start()

    with pytest.raises(RuntimeError, match=r"start the cluster with run\(\)"):
        cluster.restart()


def test_a_cluster_with_a_transport_of_the_test_cannot_be_killed(simulation: Simulation) -> None:
    host = simulation.host("here")
    server = APIServer(host)
    with EmbeddedCluster(host, server=server, transport=InProcessTransport(host, server)) as cluster:
        cluster.run(marking)

        with pytest.raises(RuntimeError, match="leave the option out"):
            cluster.restart()


def test_a_killed_manager_in_real_time_gives_nothing_back_and_its_successor_works() -> None:
    with EmbeddedCluster(SystemHost(), leader_election=ELECTION) as cluster:
        nodes = cluster.manager.lister(NODES, dict)
        cluster.run(marking)
        cluster.user.create(NODES, a_node("a"))
        eventually(cluster.manager, NODES, lambda: [n for n in nodes.list() if "mark" in annotations_of(n)])
        dead, sent = holder(cluster), len(cluster.transport.requests)
        client = cluster.manager.client

        cluster.kill()

        assert holder(cluster) == dead
        assert len(cluster.transport.requests) == sent
        with pytest.raises(ConnectionLost, match="the process was killed"):
            client.get(NODES, ObjectKey("a"), dict)


def test_a_restart_in_real_time_fills_the_caches_again(real_cluster: EmbeddedCluster) -> None:
    real_cluster.user.create(NODES, a_node("a"))
    real_cluster.run(marking)
    real_cluster.restart()
    nodes = real_cluster.manager.lister(NODES, dict)

    assert eventually(real_cluster.manager, NODES, lambda: [n for n in nodes.list() if "mark" in annotations_of(n)])
