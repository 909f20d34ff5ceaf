# SPDX-License-Identifier: Apache-2.0
"""Hollow nodes under simulated time: they join, renew their leases, post their status, and are killed and revived."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from kit.controllers.beating import CONFLICT, ERROR
from kit.controllers.hollow_cluster import HollowCluster

from apimachinery.errors import UsageError
from apimachinery.log import text_of
from apimachinery.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.client.patches import PatchType
from controller_runtime.testing.faults import CutReply, Delayed, LostReply, LostRequest, Refused
from controller_runtime.testing.objects import a_node
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.hollow.selection import Selection

pytestmark = pytest.mark.once

FIRST, SECOND = "hollow-00000", "hollow-00001"


def of_nodes(*names: str) -> Selection:
    return Selection(names=names)


def test_they_join_within_the_spread_and_beat_within_one_interval(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 40)

    hollow.start(2.0)
    half = len(hollow.ready())
    sim.advance(2.5)
    assert hollow.ready() == {f"hollow-{index:05d}": "True" for index in range(40)}
    assert 15 <= half <= 25

    sim.advance(10.0)
    assert len(hollow.renew_times()) == 40
    hollow.end()


def test_renewals_are_spread_over_the_interval(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 100)
    hollow.start(15.0)
    hollow.asked.clear()

    sim.advance(100.0)

    by_second = Counter(int(at) for at, method, _ in hollow.asked if method == "PUT")
    assert len(by_second) >= 100, "there is no second without a renewal"
    assert max(by_second.values()) <= 30
    hollow.end()


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def created(objects: list[dict[str, Any]]) -> dict[str, str]:
    return {each["metadata"]["name"]: each["metadata"]["creationTimestamp"] for each in objects}


def test_on_a_slow_server_renewals_do_not_wait_for_nodes_that_join(sim: Simulation) -> None:
    """Two workers make ten requests a second, but the renewals of 120 nodes alone would be twelve a second."""
    hollow = HollowCluster(sim, 120, workers=2)
    hollow.fault = [Delayed(0.2)]

    hollow.start(60.0)

    now = microtime(hollow.host.now())
    joined, begun = (
        created(hollow.world.list(NODES, view=dict)),
        created(hollow.world.list(LEASES, NAMESPACE, view=dict)),
    )
    assert len(joined) >= 70
    assert max(seconds_between(at, begun.get(name, now)) for name, at in joined.items()) <= 20.0
    assert max(seconds_between(at, now) for at in hollow.renew_times().values()) <= 20.0, "a lease lasts 40 s"
    hollow.end()


def test_nodes_that_cannot_register_do_not_keep_others_from_joining(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 30, workers=2)
    refused = {f"hollow-{index:05d}" for index in range(8)}
    hollow.fault_of = lambda name: Refused() if name in refused else None

    hollow.start(6.0)
    assert sorted(hollow.ready()) == [f"hollow-{index:05d}" for index in range(8, 30)]

    hollow.fault_of = lambda name: None
    sim.advance(10.0)
    assert len(hollow.ready()) == 30
    hollow.end()


def test_nodes_that_are_killed_before_they_join_do_not_keep_others_from_joining(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 30, workers=2)
    first = [f"hollow-{index:05d}" for index in range(10)]
    hollow.nodes.kill(of_nodes(*first))
    hollow.start(0.1)
    hollow.nodes.revive(of_nodes(*first[5:]))

    sim.advance(6.0)

    assert sorted(hollow.ready()) == [f"hollow-{index:05d}" for index in range(5, 30)]
    hollow.end()


def test_renewals_that_fall_behind_are_told_together_once_a_minute(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    hollow = HollowCluster(sim, 60, workers=1)
    hollow.start(60.0)
    assert caplog.records == []

    hollow.fault = [Delayed(0.5)]  # two requests a second, where six are due
    sim.advance(200.0)

    told = [record for record in caplog.records if record.name == "controllers.hollow.late_renewals"]
    assert len(told) == 4
    assert {text_of(record).split(":")[0] for record in told} == {"renewals fall behind"}
    assert all(record.levelname == "WARNING" for record in told)
    hollow.fault = [None]
    sim.advance(30.0)
    caplog.clear()
    sim.advance(200.0)
    assert caplog.records == []
    hollow.end()


def test_an_unchanged_status_is_posted_about_every_five_minutes(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 5)
    hollow.start(10.0)

    sim.advance(3600.0)

    posts = [(at, name) for at, method, name in hollow.asked if method == "PATCH"]
    per_node = [[at for at, name in posts if name == f"hollow-{index:05d}"] for index in range(5)]
    gaps = [b - a for each in per_node for a, b in pairwise(each)]
    assert all(len(each) in (11, 12) for each in per_node)
    assert gaps == pytest.approx([300.0] * len(gaps), abs=0.1)
    first = [each[0] for each in per_node]
    assert max(first) - min(first) > 60.0, "those who joined together do not post together"
    node: dict[str, Any] = hollow.world.get(NODES, ObjectKey(FIRST), dict)
    for condition in node["status"]["conditions"]:
        assert condition["lastTransitionTime"] == node["metadata"]["creationTimestamp"] < condition["lastHeartbeatTime"]
    hollow.end()


def test_a_status_that_others_changed_is_put_right_within_10_seconds(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 3)
    hollow.start()
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}

    hollow.world.patch(NODES, ObjectKey(FIRST), unknown, type=PatchType.STRATEGIC, subresource="status")
    sim.advance(10.1)

    node: dict[str, Any] = hollow.world.get(NODES, ObjectKey(FIRST), dict)
    ready = node["status"]["conditions"][-1]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "KubeletReady")
    assert ready["lastTransitionTime"] == ready["lastHeartbeatTime"] > node["metadata"]["creationTimestamp"]
    assert hollow.asked_of(FIRST).count("PATCH") == 1
    hollow.end()


def test_other_fields_of_a_status_are_posted_once(sim: Simulation) -> None:
    """`docs/hollow-nodes.md` says so: a kubelet would put them right."""
    hollow = HollowCluster(sim, 3)
    hollow.start()
    hollow.world.patch(NODES, ObjectKey(FIRST), {"status": {"addresses": None}}, subresource="status")
    sim.advance(601.0)

    node: dict[str, Any] = hollow.world.get(NODES, ObjectKey(FIRST), dict)
    assert "addresses" not in node["status"]
    assert hollow.asked_of(FIRST).count("PATCH") >= 1
    hollow.end()


def test_a_node_that_exists_is_taken_over(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 1, cached=False)
    hollow.world.create(NODES, a_node(FIRST, labels={"mine": "yes"}, ready=False))

    hollow.start()

    assert hollow.ready() == {FIRST: "True"}
    node: dict[str, Any] = hollow.world.get(NODES, ObjectKey(FIRST), dict)
    assert node["metadata"]["labels"] == {"mine": "yes"}
    hollow.end()


def test_a_registration_that_fails_is_repeated_with_a_kubelets_backoff(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 1)
    hollow.fault = [ERROR]

    hollow.start(12.0)
    times = [at for at, method, _ in hollow.asked if method == "POST"]
    assert [b - a for a, b in pairwise(times)] == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2], abs=0.01)

    hollow.fault = [None]
    sim.advance(7.0)
    assert hollow.ready() == {FIRST: "True"}
    hollow.end()


def test_the_killed_are_silent_and_the_others_are_not(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 4)
    hollow.start(15.0)

    assert hollow.nodes.kill(of_nodes(SECOND, FIRST)) == [FIRST, SECOND]
    hollow.asked.clear()
    sim.advance(600.0)

    assert hollow.asked_of(FIRST) == hollow.asked_of(SECOND) == []
    assert hollow.asked_of("hollow-00002").count("PUT") >= 57
    assert hollow.nodes.kill(of_nodes(FIRST)) == [], "it is dead already"
    hollow.end()


def test_the_revived_begin_anew_at_once(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 2)
    hollow.start(15.0)
    hollow.nodes.kill(of_nodes(FIRST))
    sim.advance(60.0)
    hollow.asked.clear()

    assert hollow.nodes.revive(of_nodes(FIRST)) == [FIRST]
    sim.advance(0.1)

    assert [method for _, method, name in hollow.asked if name == "nodes"] == ["POST"]
    assert sorted(hollow.asked_of(FIRST)) == ["GET", "PATCH", "PUT"], "the lease was read, for it is not known"
    hollow.end()


def test_the_paused_go_on_where_they_were(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 2)
    hollow.start(15.0)
    assert hollow.nodes.pause(of_nodes(FIRST)) == [FIRST]
    hollow.asked.clear()
    sim.advance(60.0)
    assert hollow.asked_of(FIRST) == []

    assert hollow.nodes.revive(of_nodes(FIRST, SECOND)) == [FIRST], "the second runs"
    sim.advance(0.1)

    assert sorted(hollow.asked_of(FIRST)) == ["PATCH", "PUT"]
    sim.advance(60.0)
    assert 5 <= hollow.asked_of(FIRST).count("PUT") <= 7, "one beat, not two"
    hollow.end()


def test_a_node_can_be_killed_while_it_is_paused_but_not_paused_when_dead(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 1)
    hollow.start()

    assert hollow.nodes.pause(of_nodes(FIRST)) == [FIRST]
    assert hollow.nodes.kill(of_nodes(FIRST)) == [FIRST]
    assert hollow.nodes.pause(of_nodes(FIRST)) == []
    hollow.end()


def test_a_zone_is_every_third_node(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 7)

    assert hollow.nodes.kill(Selection(zone="zone-b")) == ["hollow-00001", "hollow-00004"]


def test_random_ones_are_drawn_from_those_that_would_change(sim: Simulation) -> None:
    hollow = HollowCluster(sim, 10)

    first = hollow.nodes.kill(Selection(random=6))
    second = hollow.nodes.kill(Selection(random=6))

    assert (len(first), len(second)) == (6, 4)
    assert not {*first} & {*second}
    assert hollow.nodes.revive(Selection(random=100)) == sorted(first + second)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param({}, "name hollow nodes", id="nothing"),
        pytest.param({"names": [FIRST], "random": 1}, "name hollow nodes", id="two at once"),
        pytest.param({"random": -1}, "name hollow nodes", id="less than none"),
        pytest.param({"names": ["hollow-0000"]}, "did you mean hollow-00000", id="unknown name"),
        pytest.param({"zone": "moon"}, "there are zone-a", id="unknown zone"),
        pytest.param({"rack": "rack-a9"}, "did you mean rack-a0", id="unknown rack"),
    ],
)
def test_a_selection_that_means_nobody_is_refused(sim: Simulation, options: dict[str, Any], says: str) -> None:
    hollow = HollowCluster(sim, 1)

    with pytest.raises(UsageError, match=says):
        hollow.nodes.kill(Selection(**options))


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(3))
def test_after_any_faults_every_lease_is_renewed_within_one_interval_and_no_time_goes_back(seed: int) -> None:
    with Simulation(seed) as sim:
        hollow = HollowCluster(sim, 20, workers=20)
        hollow.start(15.0)
        hollow.fault = [None, ERROR, CONFLICT, Refused(), CutReply(), LostReply(), LostRequest()]
        seen = hollow.renew_times()

        for _ in range(60):
            sim.advance(1.0)
            now = hollow.renew_times()
            assert all(now[name] >= time for name, time in seen.items())
            seen = now
        hollow.fault = [None]
        sim.advance(10.0)  # a request that was lost just now is given up after this long
        healed_at = microtime(hollow.host.now())
        sim.advance(10.5)

        assert len(seen) == 20
        assert all(time > healed_at for time in hollow.renew_times().values())
        hollow.end()


def test_the_troubles_of_all_are_told_in_two_lines(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    hollow = HollowCluster(sim, 20)
    hollow.start(15.0)

    with caplog.at_level("INFO"):
        hollow.fault = [Refused()]
        sim.advance(60.0)
        hollow.nodes.kill(of_nodes(FIRST))
        hollow.fault = [None]
        sim.advance(60.0)

    told = [(r.levelname, text_of(r)) for r in caplog.records if r.name == "controllers.shared.trouble_log"]
    assert told == [
        ("WARNING", "requests of hollow nodes fail"),
        ("INFO", "requests of all hollow nodes succeed again"),
    ]
    hollow.end()


def test_a_clock_that_is_set_back_is_told_in_two_lines(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    hollow = HollowCluster(sim, 30)
    hollow.start(20.0)

    with caplog.at_level("INFO", logger="controllers"):
        sim.jump(hollow.host, -60.0)
        sim.advance(90.0)

    told = [(r.levelname, text_of(r)) for r in caplog.records]
    assert told == [
        ("WARNING", "clock is behind leases, renewing from their last times"),
        ("INFO", "clock has caught up with all leases"),
    ]
    hollow.end()


def test_a_deleted_node_is_told_once_and_is_no_trouble_of_the_others(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    hollow = HollowCluster(sim, 3)
    hollow.start(15.0)

    hollow.world.delete(NODES, ObjectKey(FIRST))
    hollow.world.delete(LEASES, ObjectKey(FIRST, NAMESPACE))
    sim.advance(900.0)
    warnings = [text_of(record) for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == ["hollow node was deleted: kill and revive it to register it again"]
    assert sorted(hollow.ready()) == sorted(hollow.renew_times()) == [SECOND, "hollow-00002"]

    hollow.nodes.kill(of_nodes(FIRST))
    hollow.nodes.revive(of_nodes(FIRST))
    sim.advance(10.5)
    assert len(hollow.ready()) == len(hollow.renew_times()) == 3
    hollow.end()
