# SPDX-License-Identifier: Apache-2.0
"""`--ring` shares the controllers that say that they may be shared, and leaves the others to the leader."""

from __future__ import annotations

import inspect
from typing import Any

import attrs
import pytest
from kit.manager.managing import Calling

from controller_runtime import (
    Client,
    Controller,
    LeaderElectionConfig,
    Lister,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
)
from controller_runtime.errors import UsageError
from controller_runtime.program.plan import ProgramOptions, RingPlan, plan_program
from controller_runtime.program.sharing import share_work
from controller_runtime.program.snapshot import SnapshotSource
from controller_runtime.resources import NODES
from controller_runtime.ring.by import RingBy
from controller_runtime.testing import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation

RING = RingPlan("cabins", "default", RingBy.NAME)
LEASE = LeaderElectionConfig(name="cabins", namespace="default")


@attrs.frozen
class Marker(Reconciler):
    """Writes into each node which replica saw it."""

    nodes: Lister[dict[str, Any]]
    client: Client
    mark: str

    def reconcile(self, request: Request) -> Result:
        if self.nodes.get(request) is not None:
            self.client.patch(NODES, request, {"metadata": {"annotations": {"by": self.mark}}})
        return Result()


def fill(manager: Manager, mark: str) -> Controller:
    nodes = manager.lister(NODES, dict[str, Any])
    controller = Controller("marks", Marker(nodes, manager.client, mark)).watch(NODES).shareable(nodes)
    manager.add(controller)
    return controller


@pytest.mark.scenario("RG-13")
@pytest.mark.parametrize("by", [RingBy.NAME, RingBy.OWNER], ids=str)
def test_what_is_shareable_is_shared_while_what_needs_the_whole_runs_on_the_leader(
    simulation: Simulation, by: RingBy
) -> None:
    with EmbeddedCluster(simulation.host("a"), leader_election=LEASE) as first:
        second = EmbeddedCluster(simulation.host("b"), server=first.server, leader_election=LEASE)
        wholes = []
        for cluster, mark in ((first, "a"), (second, "b")):
            fill(cluster.manager, mark)
            wholes.append(Controller("whole", Calling(lambda request: None)).watch(NODES))
            cluster.manager.add(wholes[-1])
            share_work(cluster.manager, RingPlan("cabins", "default", by))
        for number in range(20):
            first.user.create(NODES, {"metadata": {"name": f"n{number}"}})
        first.start()
        second.start()
        simulation.advance(40.0)

        marks = {str((node["metadata"].get("annotations") or {})["by"]) for node in first.user.list(NODES, view=dict)}
        assert marks == {"a", "b"}
        assert sorted(whole.has_begun for whole in wholes) == [False, True]
        second.stop()


def test_shared_work_is_not_bound_to_the_leadership(simulation: Simulation) -> None:
    with EmbeddedCluster(simulation.host("a"), leader_election=LEASE) as first:
        fill(first.manager, "a")
        share_work(first.manager, RING)
        first.user.create(NODES, {"metadata": {"name": "n"}})
        elsewhere = LeaderElectionConfig(name="cabins", namespace="default", identity="other")
        other = EmbeddedCluster(simulation.host("b"), server=first.server, leader_election=elsewhere)
        other.start()
        simulation.advance(5.0)
        first.start()
        simulation.advance(30.0)

        assert first.manager.elector is not None
        assert not first.manager.elector.is_leader()
        assert first.user.get(NODES, ObjectKey("n"), dict)["metadata"]["annotations"] == {"by": "a"}
        other.stop()


def test_the_view_shows_the_ring(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    fill(cluster.manager, "a")
    share_work(cluster.manager, RING)
    source = SnapshotSource(cluster.manager, kinds=False, events=False)
    cluster.start()
    simulation.advance(30.0)

    assert source.take().ring_lines == ("cabins, epoch 1, slots: this replica 256",)


def test_a_ring_that_would_share_nothing_or_run_something_twice_is_refused(cluster: EmbeddedCluster) -> None:
    manager = cluster.manager
    share_work(manager, None)
    assert manager.rings == []
    manager.add(Controller("whole", Calling(lambda request: None)).watch(NODES))
    with pytest.raises(UsageError, match="--ring has nothing to share: call `shareable` of whole if each"):
        share_work(manager, RING)
    fill(manager, "a")
    with pytest.raises(UsageError, match="--ring would run whole in each replica: add --leader-elect"):
        share_work(manager, RING)


def test_a_ring_whose_name_no_lease_can_have_is_refused_with_the_option_that_names_it(cluster: EmbeddedCluster) -> None:
    fill(cluster.manager, "a")
    with pytest.raises(UsageError, match=r"--ring: name 'My_Ring' cannot name a lease: .* by --leader-election-id"):
        share_work(cluster.manager, RingPlan("My_Ring", "default", RingBy.NAME))


def test_a_controller_is_shared_once_and_only_if_it_says_so(cluster: EmbeddedCluster) -> None:
    manager = cluster.manager
    controller, ring = fill(manager, "a"), manager.ring("cabins")
    whole = Controller("whole", Calling(lambda request: None)).watch(NODES)

    ring.share(controller)
    with pytest.raises(UsageError, match="controller marks cannot be shared"):
        ring.share(controller)
    with pytest.raises(UsageError, match="whole does not say that it is shareable"):
        ring.share(whole)
    assert (controller.needs_leader, whole.needs_leader) == (False, True)


@pytest.mark.parametrize("namespace", ["", "huts"])
def test_a_ring_of_code_has_the_defaults_of_the_flag(sim: Simulation, namespace: str) -> None:
    planned = plan_program(
        ProgramOptions(embedded=True, ring=True, namespace=namespace), in_pod=False, lease_name="cabins"
    ).ring
    assert planned is not None
    with EmbeddedCluster(sim.host("program"), namespace=namespace) as cluster:
        ring = cluster.manager.ring("cabins")

    assert (ring.config.name, ring.config.namespace) == (planned.name, planned.namespace)
    assert inspect.signature(Manager.ring).parameters["by"].default is planned.by
