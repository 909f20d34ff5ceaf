# SPDX-License-Identifier: Apache-2.0
"""The registration of a Node: the times of its tries, the Node that is created, and the patch of one that exists."""

from __future__ import annotations

from typing import Any

import pytest
from kit.controllers.agent_bench import NAME, AgentBench
from kit.controllers.beating import CONFLICT, ERROR, EXISTS, answered

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.testing.faults import Fault
from controller_runtime.testing.simulation import Simulation
from controllers.agent.agent import REGISTRATION_WAIT
from controllers.agent.node import ATTACH_DETACH, version_of_kubelet
from controllers.agent.settings import parse_labels, parse_taints
from controllers.heartbeat.node_lease import NAMESPACE

FORBIDDEN = answered(403, "Forbidden")


def an_existing_node(bench: AgentBench, **changes: Any) -> dict[str, Any]:
    """Create the Node and its lease as an earlier run of the agent left them, with this metadata of the Node."""
    bench.start(15.0)
    bench.end()
    node = bench.node()
    node["metadata"] |= {"labels": {**node["metadata"]["labels"], **changes.pop("labels", {})}, **changes}
    bench.world.update(NODES, node)
    bench.asked()
    return bench.node()


def registration(bench: AgentBench) -> list[str]:
    """Return the requests until the node is registered and its status was posted for the first time."""
    bench.start(0.2)
    asked = [each.what for each in bench.asked() if "leases" not in each.what]
    bench.end()
    return asked


@pytest.mark.scenario("B-01")
def test_the_first_try_comes_a_tenth_of_a_second_after_the_start(sim: Simulation) -> None:
    """Given no Node, the first POST comes no earlier than 100 ms after the start."""
    bench = AgentBench(sim)

    bench.start(1.0)

    assert next(each.at for each in bench.asked() if each.what == "POST nodes") == pytest.approx(0.1, abs=0.001)
    bench.end()


def test_a_first_boot_makes_node_and_lease_without_a_warning(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    bench = AgentBench(sim)

    bench.start(0.2)

    (lease,) = bench.world.list(LEASES, NAMESPACE, view=dict)
    assert lease["metadata"]["ownerReferences"][0]["uid"] == bench.node()["metadata"]["uid"]
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    bench.end()


def test_a_registration_that_fails_does_not_keep_the_lease_of_a_node_from_being_renewed(sim: Simulation) -> None:
    bench = AgentBench(sim)
    an_existing_node(bench)
    bench.faults["POST nodes"].extend([ERROR] * 100)

    bench.start(12.0)

    renewals = [each.at for each in bench.asked() if each.what == "PUT leases"]
    assert renewals == [pytest.approx(REGISTRATION_WAIT), pytest.approx(REGISTRATION_WAIT + 10.2, abs=0.2)]
    bench.end()


@pytest.mark.scenario("B-02")
def test_the_pauses_before_the_tries_double(sim: Simulation) -> None:
    """Given POST fails with 500, the pauses before the tries are 0.1, 0.2, 0.4, 0.8, 1.6 … 7 s."""
    bench = AgentBench(sim)
    bench.faults["POST nodes"].extend([ERROR] * 9)

    bench.start(60.0)

    times = [each.at for each in bench.asked() if each.what == "POST nodes"]
    gaps = [round(b - a, 2) for a, b in zip([0.0, *times], times, strict=False)]
    assert gaps == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0, 7.0, 7.0]
    bench.end()


@pytest.mark.scenario("B-04")
def test_a_label_that_differs_is_all_that_is_patched(sim: Simulation) -> None:
    """Given the Node exists with another hostname label, one PATCH to nodes/status carries only that label."""
    bench = AgentBench(sim)
    an_existing_node(bench, labels={"kubernetes.io/hostname": "other", "mine": "stays"})

    bench.start(0.2)

    first, *_ = bench.patches()
    assert first == {"metadata": {"labels": {"kubernetes.io/hostname": NAME}}}
    assert bench.node()["metadata"]["labels"]["mine"] == "stays"
    bench.end()


@pytest.mark.parametrize(
    ("attach_detach", "before", "patched"),
    [
        pytest.param(True, {}, {ATTACH_DETACH: "true"}, id="put there"),
        pytest.param(False, {ATTACH_DETACH: "true"}, {ATTACH_DETACH: None}, id="taken away"),
    ],
)
def test_the_annotation_of_volumes_is_brought_to_date(
    sim: Simulation, attach_detach: bool, before: dict[str, str], patched: dict[str, Any]
) -> None:
    bench = AgentBench(sim, attach_detach=attach_detach)
    an_existing_node(bench, annotations=before)

    bench.start(0.2)

    assert bench.patches()[0] == {"metadata": {"annotations": patched}}
    bench.end()


def test_a_node_made_just_now_is_not_taken_from_a_cache_that_holds_its_predecessor(sim: Simulation) -> None:
    bench = AgentBench(sim)
    an_existing_node(bench)
    bench.lines_of_the_watch = 2  # the old Node, and the end of the list

    bench.start()
    bench.world.delete(NODES, ObjectKey(NAME))
    sim.advance(0.2)

    assert [each.what for each in bench.asked() if "nodes" in each.what] == [
        "POST nodes",
        "GET nodes",
        "PATCH nodes/status",
    ]
    bench.end()


@pytest.mark.scenario("B-05")
@pytest.mark.parametrize("answer", [pytest.param(FORBIDDEN, id="forbidden"), pytest.param(EXISTS, id="exists")])
def test_a_node_that_may_not_or_need_not_be_made_is_read(sim: Simulation, answer: Fault) -> None:
    """Given POST is Forbidden (or AlreadyExists) and GET succeeds, registration succeeds."""
    bench = AgentBench(sim)
    an_existing_node(bench)
    bench.faults["POST nodes"].append(answer)

    asked = registration(bench)

    assert asked == ["POST nodes", "GET nodes", "PATCH nodes/status"]


@pytest.mark.scenario("B-06")
def test_a_conflict_fails_the_try(sim: Simulation) -> None:
    """Given POST answers Conflict, the try fails and is repeated after its pause."""
    bench = AgentBench(sim)
    bench.faults["POST nodes"].append(CONFLICT)

    bench.start(0.4)

    asked = bench.asked()
    assert [each.at for each in asked if each.what == "POST nodes"] == pytest.approx([0.1, 0.3], abs=0.01)
    assert not [each for each in asked if each.what == "GET nodes" and 0.0 < each.at < 0.3]
    bench.end()


@pytest.mark.parametrize("failing", ["GET nodes", "PATCH nodes/status"])
def test_a_node_that_cannot_be_read_or_patched_fails_the_try(sim: Simulation, failing: str) -> None:
    bench = AgentBench(sim)
    an_existing_node(bench, labels={"kubernetes.io/hostname": "other"})
    bench.faults[failing].append(ERROR)

    bench.start(0.4)

    assert [each.what for each in bench.asked()].count("POST nodes") == 2
    assert bench.node()["metadata"]["labels"]["kubernetes.io/hostname"] == NAME
    bench.end()


@pytest.mark.scenario("B-07")
def test_a_node_is_made_with_its_whole_status(sim: Simulation) -> None:
    """A created Node has capacity, allocatable, addresses, nodeInfo and four conditions with Ready last."""
    bench = AgentBench(sim)

    bench.start(0.2)

    made = next(each.body for each in bench.asked() if each.what == "POST nodes")
    status = made["status"]
    assert {"capacity", "allocatable", "addresses", "nodeInfo", "conditions"} <= set(status)
    assert [c["type"] for c in status["conditions"]] == ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    assert status["conditions"][-1]["status"] == "True"
    assert status["addresses"] == [
        {"type": "InternalIP", "address": "192.0.2.7"},
        {"type": "Hostname", "address": NAME},
    ]
    bench.end()


def test_labels_and_taints_are_those_asked_for_and_win_over_the_defaults(sim: Simulation) -> None:
    bench = AgentBench(
        sim,
        labels=parse_labels("kubernetes.io/arch=strange, zone=a"),
        taints=parse_taints("dedicated=x:NoSchedule,special:NoExecute"),
        provider_id="here://1",
    )

    bench.start(0.2)

    made = next(each.body for each in bench.asked() if each.what == "POST nodes")
    assert made["metadata"]["labels"]["kubernetes.io/arch"] == "strange"
    assert made["metadata"]["labels"]["zone"] == "a"
    assert made["spec"] == {
        "providerID": "here://1",
        "taints": [
            {"key": "dedicated", "value": "x", "effect": "NoSchedule"},
            {"key": "special", "effect": "NoExecute"},
        ],
    }
    bench.end()


def test_labels_and_taints_of_a_node_that_exists_are_its_administrators(sim: Simulation) -> None:
    bench = AgentBench(sim, labels={"more": "x"}, taints=parse_taints("more:NoSchedule"))
    bench.world.create(NODES, {"metadata": {"name": NAME, "labels": {"more": "y"}}})
    before = bench.node()

    bench.start(1.0)

    assert bench.node()["metadata"]["labels"]["more"] == "y"
    assert bench.node()["spec"] == before["spec"]
    bench.end()


def test_an_agent_that_does_not_register_waits_for_somebody_to(sim: Simulation) -> None:
    bench = AgentBench(sim, register=False)
    bench.start(30.0)
    assert not [each for each in bench.asked() if each.what == "POST nodes"]

    bench.world.create(NODES, {"metadata": {"name": NAME}})
    sim.advance(25.0)

    assert bench.condition("Ready")["status"] == "True"
    bench.end()


def test_a_node_that_is_deleted_is_not_made_again(sim: Simulation) -> None:
    bench = AgentBench(sim)
    bench.start(20.0)

    bench.world.delete(NODES, ObjectKey(NAME))
    bench.asked()
    sim.advance(30.0)

    asked = [each.what for each in bench.asked()]
    assert "POST nodes" not in asked
    assert "GET nodes" in asked
    bench.end()


@pytest.mark.parametrize(
    ("version", "is_anothers"),
    [
        pytest.param("v1.36.2", True, id="a kubelet's"),
        pytest.param("v0.1.0+node-agent", False, id="an agent's"),
        pytest.param("", False, id="nobody's"),
    ],
)
def test_a_node_says_whether_a_kubelet_keeps_it(version: str, is_anothers: bool) -> None:
    assert (
        bool(version_of_kubelet({"metadata": {}, "status": {"nodeInfo": {"kubeletVersion": version}}})) is is_anothers
    )
    assert not version_of_kubelet({"metadata": {}})
