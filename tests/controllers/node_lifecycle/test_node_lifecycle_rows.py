# SPDX-License-Identifier: Apache-2.0
"""A node counts as silent after a time, and the controller then writes its condition or taints, row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.controllers.lifecycle_cluster import CONDITIONS, LifecycleCluster
from kit.controllers.refusing import refused

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.client.patches import PatchType
from controller_runtime.testing.faults import Fault
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.node_lifecycle.config import LifecycleConfig

pytestmark = pytest.mark.once


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[LifecycleCluster]:
    """A cluster with a node that is always healthy, so that the cluster is never wholly silent."""
    made = LifecycleCluster(sim)
    made.healthy("well-1", "well-2")
    yield made
    made.end()


@pytest.mark.scenario("F-01")
def test_the_numbers_are_upstreams() -> None:
    """The monitor period is 5 s, the graces 50 s and 60 s, the rates 0.1 and 0.01, large is 50, the threshold 0.55."""
    config = LifecycleConfig()

    assert config.monitor_period == 5.0
    assert (config.graces.monitor, config.graces.startup) == (50.0, 60.0)
    assert (config.zones.rate, config.zones.secondary_rate) == (0.1, 0.01)
    assert (config.zones.large, config.zones.threshold) == (50, 0.55)


@pytest.mark.scenario("F-02")
def test_a_node_without_a_status_has_sixty_seconds_from_its_creation(cluster: LifecycleCluster) -> None:
    """A node created 59 s ago is left alone; at 61 s it has four Unknown conditions with the time of its creation."""
    cluster.node("young", age=59.0)
    cluster.start()
    cluster.run(0.5)
    assert cluster.status("young") == ""

    cluster.run(1.5)

    made = [cluster.condition("young", kind) for kind in CONDITIONS]
    assert {c["reason"] for c in made} == {"NodeStatusNeverUpdated"}
    assert {c["message"] for c in made} == {"Kubelet never posted node status."}
    assert {c["status"] for c in made} == {"Unknown"}
    assert {c["lastHeartbeatTime"] for c in made} == {cluster.read("young")["metadata"]["creationTimestamp"]}


@pytest.mark.scenario("F-04")
@pytest.mark.parametrize("skew", [pytest.param(-365 * 86400.0, id="a year ago"), pytest.param(3600.0, id="to come")])
def test_the_age_of_a_heartbeat_does_not_matter(cluster: LifecycleCluster, skew: float) -> None:
    """A node whose heartbeat time is a year old is marked 50 s after it was first seen, and not before."""
    cluster.node("old")
    cluster.post("old", skew)
    cluster.start()

    cluster.run(49.9)
    assert cluster.status("old") == "True"
    cluster.run(0.2)

    assert cluster.status("old") == "Unknown"


@pytest.mark.scenario("F-05")
def test_exactly_the_grace_is_not_silence_and_more_is(cluster: LifecycleCluster) -> None:
    """After 50 s of silence nothing is written; after more, Ready is Unknown with its old heartbeat time."""
    cluster.healthy("a")
    cluster.start()
    cluster.silence("a")
    before = cluster.condition("a")

    cluster.run(50.0)
    assert cluster.status("a") == "True"
    cluster.run(0.1)

    after = cluster.condition("a")
    assert (after["status"], after["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert after["message"] == "Kubelet stopped posting node status."
    assert after["lastHeartbeatTime"] == before["lastHeartbeatTime"]
    assert [cluster.status("a", kind) for kind in CONDITIONS] == ["Unknown"] * 4
    assert cluster.taints("a") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert cluster.taints("well-1") == []


@pytest.mark.scenario("F-06")
@pytest.mark.scenario("NL-02")
def test_a_lease_alone_keeps_a_node_ready(cluster: LifecycleCluster) -> None:
    """A node whose status is silent and whose lease is renewed every 10 s stays Ready."""
    cluster.healthy("a", posts=None)
    cluster.post("a")
    cluster.start()

    cluster.run(600.0)

    assert cluster.status("a") == "True"


@pytest.mark.scenario("F-07")
def test_a_status_alone_keeps_a_node_ready(cluster: LifecycleCluster) -> None:
    """A node whose lease is never renewed and whose heartbeat changes every 30 s stays Ready."""
    cluster.healthy("a", renews=None, posts=30.0)
    cluster.start()

    cluster.run(300.0)

    assert cluster.status("a") == "True"


@pytest.mark.scenario("F-08")
@pytest.mark.parametrize("skew", [-3600.0, 0.0, 3600.0])
def test_the_clock_of_a_node_does_not_matter(cluster: LifecycleCluster, skew: float) -> None:
    """Decisions are the same for nodes whose clocks are an hour behind or ahead."""
    cluster.healthy("alive", "dead", skew=skew)
    cluster.start()
    cluster.run(35.0)
    cluster.silence("dead")

    cluster.run(44.9)
    assert cluster.statuses("alive", "dead") == ["True", "True"]
    cluster.run(0.3)

    assert cluster.statuses("alive", "dead") == ["True", "Unknown"]


@pytest.mark.scenario("F-09")
def test_renewals_into_the_past_do_not_count(cluster: LifecycleCluster) -> None:
    """A lease whose renewTime jumps backwards does not count, until it exceeds what it was."""
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.renew("a", 100.0)
    cluster.start()
    for _ in range(5):
        cluster.run(9.9)
        cluster.renew("a")
    assert cluster.status("a") == "True"

    cluster.run(1.0)

    assert cluster.status("a") == "Unknown"


@pytest.mark.scenario("F-09")
def test_a_renewal_that_exceeds_what_counted_counts_again(cluster: LifecycleCluster) -> None:
    """After renewals into the past, the first one later than the latest that counted is a sign of life."""
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.renew("a", 30.0)
    cluster.start()
    cluster.run(20.0)
    cluster.renew("a")
    cluster.run(15.0)
    cluster.renew("a")

    cluster.run(49.0)
    assert cluster.status("a") == "True"
    cluster.run(2.0)

    assert cluster.status("a") == "Unknown"


@pytest.mark.scenario("F-09")
def test_a_heartbeat_makes_renewals_into_the_past_count_again(cluster: LifecycleCluster) -> None:
    """After a status heartbeat, the lease's present renewTime is the one that the next renewal must exceed."""
    cluster.healthy("a", posts=None, renews=None)
    cluster.renew("a", 1000.0)
    cluster.post("a")
    cluster.start()
    cluster.renew("a")
    cluster.run(2.0)
    cluster.post("a")

    for _ in range(8):
        cluster.run(10.0)
        cluster.renew("a")

    assert cluster.status("a") == "True"


@pytest.mark.scenario("F-11")
def test_a_node_that_only_renews_gets_no_conditions(cluster: LifecycleCluster) -> None:
    """A node without a status but with a lease that is renewed never gets a condition."""
    cluster.healthy("a", posts=None)
    cluster.start()

    cluster.run(300.0)

    assert cluster.read("a")["status"].get("conditions", []) == []
    assert cluster.taints("a") == []


@pytest.mark.scenario("F-12")
def test_what_is_unknown_is_not_written_again(cluster: LifecycleCluster) -> None:
    """Conditions that are Unknown already cause no further write."""
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.start()
    cluster.run(60.0)
    written = cluster.writes()

    cluster.run(600.0)

    assert cluster.writes() == written
    assert written.count("PATCH nodes/a/status") == 1


@pytest.mark.scenario("F-13")
def test_only_ready_decides_whether_there_is_a_write(cluster: LifecycleCluster) -> None:
    """A silent node with Ready Unknown and MemoryPressure False is not written."""
    cluster.node("odd")
    cluster.post("odd", Ready="Unknown", MemoryPressure="False")
    cluster.start()

    cluster.run(120.0)

    assert cluster.status("odd", "MemoryPressure") == "False"
    assert "PATCH nodes/odd/status" not in cluster.writes()


@pytest.mark.scenario("F-14")
def test_a_conflict_is_met_by_a_fresh_look_in_the_same_reconcile(cluster: LifecycleCluster) -> None:
    """A status write answered 409 once is made again for the node as it is, without a pause."""
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.start()
    conflicts = iter([refused(409, "Conflict")])
    cluster.fault = lambda request: next(conflicts, None) if request.path.endswith("a/status") else None

    cluster.run(50.002)

    assert cluster.status("a") == "Unknown"
    assert cluster.lifecycle.errors == 0


@pytest.mark.scenario("F-15")
def test_a_node_that_cannot_be_written_holds_up_nobody(cluster: LifecycleCluster) -> None:
    """Writes that always fail leave their node as it is, to be tried again, and the others are marked."""
    cluster.healthy("a", "b", renews=None, posts=None)
    cluster.post("a")
    cluster.post("b")
    cluster.start()
    broken = True

    def fault(request: HTTPRequest) -> Fault | None:
        return refused(500, "InternalError") if broken and request.path.endswith("a/status") else None

    cluster.fault = fault
    cluster.run(60.0)
    assert cluster.statuses("a", "b") == ["True", "Unknown"]

    broken = False
    cluster.run(60.0)

    assert cluster.status("a") == "Unknown"


@pytest.mark.parametrize("ready", ["True", "False", "Unknown", ""])
@pytest.mark.scenario("NL-01")
def test_ready_inside_and_past_the_grace(cluster: LifecycleCluster, ready: str) -> None:
    """Inside the grace nothing changes; past it the four conditions are Unknown, with the reason of each."""
    cluster.node("a")
    if ready:
        cluster.post("a", Ready=ready)
    cluster.start()

    cluster.run(49.0)
    assert cluster.status("a") == ready
    cluster.run(12.0)

    expected = [] if ready == "Unknown" else ["Unknown"] * 4
    reasons = {"Ready": "NodeStatusUnknown" if ready else "NodeStatusNeverUpdated"}
    assert [s for kind in CONDITIONS if (s := cluster.status("a", kind))] == (expected or ["Unknown"])
    if expected:
        found = {kind: cluster.condition("a", kind)["reason"] for kind in CONDITIONS}
        assert found == dict.fromkeys(CONDITIONS, "NodeStatusNeverUpdated") | reasons


@pytest.mark.scenario("F-46")
def test_a_deleted_node_is_told_and_its_lease_left_to_others(cluster: LifecycleCluster) -> None:
    """A deleted node causes the event RemovingNode, and no write to its lease."""
    cluster.healthy("a")
    cluster.start()
    cluster.silence("a")

    cluster.world.delete(NODES, ObjectKey("a"))
    cluster.run(100.0)

    assert cluster.events("RemovingNode") == [("Node", "a", "Node a event: Removing Node a from Controller")]
    assert cluster.world.get(LEASES, ObjectKey("a", NAMESPACE), dict)["spec"]["holderIdentity"] == "a"
    assert not [write for write in cluster.writes() if "leases" in write]


def test_a_node_that_is_made_again_has_its_whole_startup_grace(cluster: LifecycleCluster) -> None:
    cluster.healthy("a")
    cluster.start()
    cluster.silence("a")
    cluster.run(35.0)
    cluster.world.delete(LEASES, ObjectKey("a", NAMESPACE))

    cluster.world.delete(NODES, ObjectKey("a"))
    cluster.node("a")
    cluster.run(59.5)
    assert cluster.status("a") == ""
    cluster.run(1.0)

    assert cluster.condition("a")["reason"] == "NodeStatusNeverUpdated"


def test_a_ready_condition_that_is_removed_leaves_the_time_and_grants_the_startup_grace(
    cluster: LifecycleCluster,
) -> None:
    cluster.healthy("a", renews=None, posts=None)
    cluster.post("a")
    cluster.start()
    cluster.run(20.0)

    patch = {"status": {"conditions": [{"$patch": "delete", "type": "Ready"}]}}
    cluster.world.patch(NODES, ObjectKey("a"), patch, type=PatchType.STRATEGIC, subresource="status")
    cluster.run(39.5)
    assert cluster.status("a") == ""
    cluster.run(1.0)

    assert cluster.condition("a")["reason"] == "NodeStatusNeverUpdated"


@pytest.mark.scenario("F-48")
@pytest.mark.parametrize(
    ("given", "then"),
    [
        pytest.param({"kubernetes.io/os": "linux"}, "linux", id="missing"),
        pytest.param({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "x"}, "linux", id="different"),
        pytest.param({"beta.kubernetes.io/os": "x"}, "x", id="stable one missing"),
    ],
)
def test_the_old_labels_follow_the_new_ones(cluster: LifecycleCluster, given: dict[str, str], then: str) -> None:
    """The beta label takes the value of the stable one, and stays as it is if there is none."""
    cluster.node("a", labels=given)

    cluster.start()
    cluster.run(1.0)

    assert cluster.read("a")["metadata"]["labels"]["beta.kubernetes.io/os"] == then
