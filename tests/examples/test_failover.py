# SPDX-License-Identifier: Apache-2.0
"""The operator that promotes a standby by a command in its pod: commands fail, hang, are cut off, and pods go away."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from failover import IN_RECOVERY, PROMOTE, Member, Pair, PairSpec, PairStatus, Step, next_step, setup

from apimachinery.faults import CutReply, CutStream, Fault
from apimachinery.http import HTTPRequest
from controller_runtime import ObjectKey, ObjectMeta
from controller_runtime.resources import PODS
from controller_runtime.testing import EmbeddedCluster, Simulation
from embedded_apiserver.programs import Process

ORDERS = ObjectKey("orders", "default")


def member(name: str, phase: str = "Running") -> Member:
    return Member(name, f"uid of {name}", phase)


ONE, TWO = member("p-0"), member("p-1")
NEW = Member("p-0", "uid of a new pod", "Running", "2026-01-01T00:00:00Z")
CHOSEN = PairStatus("p-0", ONE.uid)


@pytest.mark.parametrize(
    ("members", "status", "step"),
    [
        ([], PairStatus(), Step("create", "p-0")),
        ([ONE], PairStatus(), Step("create", "p-1")),
        ([member("p-0", "Failed"), TWO], CHOSEN, Step("remove", "p-0", ONE.uid)),
        ([member("p-0", "Pending"), member("p-1", "Pending")], PairStatus(), Step("rest")),
        ([member("p-0", "Pending"), TWO], PairStatus(), Step("rest")),
        ([member("p-0", "Pending"), TWO], PairStatus("p-0", "uid of another pod"), Step("choose", "p-1", TWO.uid)),
        ([ONE, TWO], PairStatus(), Step("choose", "p-0", ONE.uid)),
        ([NEW, TWO], PairStatus("p-0", "uid of another pod"), Step("choose", "p-1", TWO.uid)),
        ([ONE, TWO], CHOSEN, Step("promote", "p-0", ONE.uid)),
        ([member("p-0", "Pending"), TWO], CHOSEN, Step("rest")),
        ([ONE, TWO], PairStatus("p-0", "uid of another pod", True), Step("choose", "p-0", ONE.uid)),
        ([ONE, TWO], PairStatus("p-0", ONE.uid, True), Step("rest")),
    ],
)
def test_the_next_step_follows_from_what_is_there(members: list[Member], status: PairStatus, step: Step) -> None:
    assert next_step("p", members, status) == step


class Postgres:
    """The program of the pods: each has a role, which only `pg_ctl promote` changes.

    Args:
        cluster: Has the pods.

    Attributes:
        primaries: The uids of pods that were promoted.
        promotions: How often each was.
        faults: Functions that carry out the next promotions in place of the usual one.
    """

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.primaries: set[str] = set()
        self.promotions: list[str] = []
        self.faults: list[Callable[[Process], int | None]] = []

    def __call__(self, process: Process) -> int | None:
        uid = process.pod["metadata"]["uid"]
        match process.args:
            case args if args == IN_RECOVERY:
                process.stdout.write("f\n" if uid in self.primaries else "t\n")
                return 0
            case args if args == PROMOTE:
                if self.faults:
                    return self.faults.pop(0)(process)
                return self.promote(process)
        return 127

    def promote(self, process: Process) -> int:
        process.wait(0.5)
        self.primaries.add(process.pod["metadata"]["uid"])
        self.promotions.append(process.pod["metadata"]["name"])
        process.log("promoted")
        return 0

    def has_one_primary_at_most(self) -> bool:
        there = {pod["metadata"]["uid"] for pod in self.cluster.user.list(PODS, view=dict)}
        return len(self.primaries & there) <= 1


def fail(process: Process) -> int:
    process.stderr.write("pg_ctl: could not signal the server\n")
    return 1


def hang(process: Process) -> None:
    process.wait(1e6)


def status_of(cluster: EmbeddedCluster) -> PairStatus:
    status = cluster.user.get(Pair, ORDERS).status
    assert status is not None
    return status


def begin(cluster: EmbeddedCluster, simulation: Simulation) -> Postgres:
    postgres = Postgres(cluster)
    cluster.programs["postgres"] = postgres
    cluster.always(postgres.has_one_primary_at_most)
    cluster.run(setup)
    cluster.user.create(Pair(PairSpec(), metadata=ObjectMeta(name="orders", namespace="default")))
    return postgres


@pytest.mark.story
@pytest.mark.embedded_cluster(workloads=True)
def test_the_standby_is_promoted_when_the_primary_is_gone(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    begin(cluster, simulation)
    simulation.advance(60.0)
    first = status_of(cluster)
    assert first.promoted

    cluster.user.delete(PODS, ObjectKey(first.primary, "default"))
    simulation.advance(120.0)

    second = status_of(cluster)
    assert second.promoted
    assert second.uid != first.uid


@pytest.mark.parametrize("fault", [fail, hang])
@pytest.mark.embedded_cluster(workloads=True)
def test_a_promotion_that_fails_or_hangs_is_tried_again(
    simulation: Simulation, cluster: EmbeddedCluster, fault: Callable[[Process], int | None]
) -> None:
    postgres = begin(cluster, simulation)
    postgres.faults += [fault, fault]

    simulation.advance(120.0)

    assert status_of(cluster).promoted
    assert len(postgres.promotions) == 1


@pytest.mark.embedded_cluster(workloads=True)
def test_a_pod_that_goes_away_during_its_promotion_is_replaced(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    gone: list[str] = []

    def go(process: Process) -> None:
        metadata = process.pod["metadata"]
        gone.append(metadata["uid"])
        cluster.user.delete(PODS, ObjectKey(metadata["name"], "default"), grace_period_seconds=0)
        process.wait(1e6)

    postgres = begin(cluster, simulation)
    postgres.faults.append(go)

    simulation.advance(120.0)

    status = status_of(cluster)
    assert status.promoted
    assert [status.uid] != gone
    assert len(postgres.promotions) == 1


@pytest.mark.parametrize("fault", [CutReply(), CutStream(after=0)])
def test_a_promotion_whose_end_is_not_heard_is_sent_to_the_same_pod_alone(simulation: Simulation, fault: Fault) -> None:
    """The command is carried out, and the operator asks the pod before it sends it again."""
    cut: list[HTTPRequest] = []

    def faults(number: int, request: HTTPRequest) -> Fault | None:
        if ("command", "promote") not in request.query or len(cut) > 2:
            return None
        cut.append(request)
        return fault

    with EmbeddedCluster(simulation.host("cluster"), workloads=True, faults=faults) as cluster:
        postgres = begin(cluster, simulation)
        simulation.advance(120.0)

        assert status_of(cluster).promoted
        assert len(cut) >= 1
        assert {*postgres.promotions} == {status_of(cluster).primary}
