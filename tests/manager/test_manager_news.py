# SPDX-License-Identifier: Apache-2.0
"""Members and sources that are added while a manager runs, or while it waits to lead."""

from __future__ import annotations

import attrs
import pytest

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from embedded_apiserver.server import APIServer

SHARED = LeaderElectionConfig(name="shared", namespace="default")


@attrs.frozen
class Noting(Reconciler):
    """Notes its requests."""

    seen: list[str] = attrs.field(factory=list)

    def reconcile(self, request: Request) -> Result:
        self.seen.append(str(request))
        return Result()


@pytest.mark.scenario("CT-16")
def test_a_watch_added_to_a_controller_of_a_running_manager_works_at_once(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    """Its cache is started, listed and watched; the other caches are not affected."""
    noting = Noting()
    controller = Controller("noting", noting).watch(LEASES)
    cluster.manager.add(controller)
    cluster.user.create(NODES, a_node("old"))
    cluster.start()
    simulation.settle()

    controller.watch(NODES)
    simulation.settle()
    cluster.user.create(NODES, a_node("new"))
    simulation.settle()

    assert noting.seen == ["old", "new"]
    assert [str(informer) for informer in cluster.manager.informers] == ["leases.coordination.k8s.io", "nodes"]


def test_what_is_added_and_pushed_on_a_replica_that_waits_is_done_once_it_leads(simulation: Simulation) -> None:
    server_host = simulation.host("server")
    server = APIServer(server_host)
    noting = Noting()
    with (
        EmbeddedCluster(simulation.host("one"), server=server, leader_election=SHARED) as one,
        EmbeddedCluster(simulation.host("two"), server=server, leader_election=SHARED) as two,
    ):
        one.start()
        simulation.advance(5.0)
        channel, controller = Channel(two.host), Controller("noting", noting)
        two.manager.add(controller.receive(channel))
        two.start()
        simulation.advance(5.0)
        channel.push(ObjectKey("pushed"))
        controller.watch(NODES)
        one.user.create(NODES, a_node("a"))
        simulation.advance(5.0)
        assert noting.seen == []

        one.stop()
        simulation.advance(10.0)

        assert sorted(noting.seen) == ["a", "pushed"]
