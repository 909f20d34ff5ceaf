# SPDX-License-Identifier: Apache-2.0
"""Changes of a status, posts of an unchanged one, and patches."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.agent.changes import Reported, differs, node_patch, status_differs

NODE: dict[str, Any] = {
    "metadata": {"name": "n", "labels": {"a": "b"}},
    "spec": {"taints": []},
    "status": {
        "capacity": {"cpu": "2", "memory": "1Gi"},
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}, {"type": "Hostname", "address": "n"}],
        "conditions": [
            {"type": "MemoryPressure", "status": "False", "lastHeartbeatTime": "1", "lastTransitionTime": "1"},
            {"type": "Ready", "status": "True", "lastHeartbeatTime": "1", "lastTransitionTime": "1"},
        ],
    },
}
IP, NAME = NODE["status"]["addresses"]
MEMORY, READY = NODE["status"]["conditions"]


def with_status(**changes: Any) -> dict[str, Any]:
    return {**NODE, "status": {**NODE["status"], **changes}}


@pytest.mark.parametrize(
    ("changes", "is_change"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"conditions": [MEMORY, {**READY, "lastHeartbeatTime": "2"}]}, False, id="a heartbeat"),
        pytest.param({"conditions": [READY, MEMORY]}, False, id="the order of conditions"),
        pytest.param({"conditions": [MEMORY]}, True, id="a condition less"),
        pytest.param({"conditions": [MEMORY, READY, {"type": "X"}]}, True, id="a condition more"),
        pytest.param({"conditions": [MEMORY, {**READY, "status": "False"}]}, True, id="a status"),
        pytest.param({"conditions": [MEMORY, {**READY, "reason": "x"}]}, True, id="a reason"),
        pytest.param({"conditions": [MEMORY, {**READY, "message": "x"}]}, True, id="a message"),
        pytest.param({"conditions": [MEMORY, {**READY, "lastTransitionTime": "2"}]}, True, id="a transition"),
        pytest.param({"capacity": {"cpu": "2000m", "memory": "1024Mi"}}, False, id="the same amounts"),
        pytest.param({"capacity": {"cpu": "2", "memory": "2Gi"}}, True, id="another amount"),
        pytest.param({"addresses": [NAME, IP]}, True, id="the order of addresses"),
        pytest.param({"volumesInUse": []}, False, id="none is empty"),
        pytest.param({"volumesInUse": ["v"]}, True, id="something new"),
    ],
)
@pytest.mark.scenario("B-12")
def test_what_is_a_change(changes: dict[str, Any], is_change: bool) -> None:
    """Heartbeat times and the order of conditions are no change; everything else is, with amounts compared by value."""
    before, after = copy.deepcopy(NODE["status"]), with_status(**changes)["status"]

    assert status_differs(before, after) is is_change
    assert status_differs(after, before) is is_change
    assert before == NODE["status"]


def test_a_status_that_was_not_there_is_a_change() -> None:
    assert status_differs(None, NODE["status"])
    assert status_differs(NODE["status"], None)
    assert not status_differs(None, None)


def test_labels_are_a_change_and_the_spec_is_none() -> None:
    assert differs(NODE, {**NODE, "metadata": {"name": "n", "labels": {"a": "c"}}})
    assert not differs(NODE, {**NODE, "metadata": {"name": "n", "labels": {"a": "b"}, "annotations": None}})
    assert not differs(NODE, {**NODE, "spec": {"unschedulable": True}})


@pytest.mark.parametrize(
    ("last", "now", "is_due"),
    [
        pytest.param(Reported(None, 60.0), 0.0, True, id="never, whatever the delay"),
        pytest.param(Reported(0.0), 240.0, False, id="after four minutes"),
        pytest.param(Reported(0.0, 60.0), 300.0, False, id="after five, delayed by one"),
        pytest.param(Reported(0.0, -120.0), 240.0, True, id="after four, two early"),
        pytest.param(Reported(0.0), 300.0, True, id="after exactly five"),
    ],
)
def test_when_an_unchanged_status_is_due(last: Reported, now: float, is_due: bool) -> None:
    assert last.is_due(now, 300.0) is is_due


@given(st.randoms(use_true_random=False), st.floats(1.0, 1e6))
def test_a_delay_is_at_most_half_the_interval(chance: random.Random, interval: float) -> None:
    after_change = Reported(0.0).after(5.0, interval, changed=True, chance=chance)
    at_first = Reported().after(5.0, interval, changed=False, chance=chance)

    assert all(abs(each.delay) <= interval / 2 for each in (after_change, at_first))
    assert after_change.at == 5.0
    assert after_change.after(9.0, interval, changed=False, chance=chance) == Reported(9.0, 0.0)


def test_the_delay_is_drawn_after_a_change_and_at_first_and_not_otherwise() -> None:
    chance = random.Random(1)

    first = Reported().after(0.0, 300.0, changed=False, chance=chance)
    changed = first.after(1.0, 300.0, changed=True, chance=chance)
    unchanged = changed.after(2.0, 300.0, changed=False, chance=chance)

    assert first.delay != changed.delay
    assert 0.0 not in (first.delay, changed.delay)
    assert unchanged.delay == 0.0


def test_a_heartbeat_is_a_patch_of_the_times_that_moved() -> None:
    after = with_status(conditions=[MEMORY, {**READY, "lastHeartbeatTime": "2"}])

    assert node_patch(NODE, after) == {
        "status": {
            "$setElementOrder/conditions": [{"type": "MemoryPressure"}, {"type": "Ready"}],
            "conditions": [{"type": "Ready", "lastHeartbeatTime": "2"}],
        }
    }
    assert node_patch(NODE, NODE) == {}


def test_a_patch_never_speaks_of_the_spec() -> None:
    after = {**with_status(capacity={"cpu": "2"}), "spec": {"unschedulable": True}}

    assert node_patch(NODE, after) == {"status": {"capacity": {"memory": None}}}


@pytest.mark.parametrize(
    ("before", "after", "patched"),
    [
        pytest.param(None, [IP], [IP], id="none to some"),
        pytest.param([], [IP], [IP], id="empty to some"),
        pytest.param([], [IP, IP], [IP, IP, {"$patch": "replace"}], id="empty to two of a type"),
        pytest.param([IP], None, [{"$patch": "replace"}], id="some to none"),
        pytest.param([IP], [], [{"$patch": "replace"}], id="some to empty"),
        pytest.param([IP, IP], [IP, IP], None, id="two of a type, unchanged"),
        pytest.param([IP], [IP, IP], [IP, IP, {"$patch": "replace"}], id="one to two"),
        pytest.param([IP, NAME], [NAME, IP], [NAME, IP, {"$patch": "replace"}], id="turned round"),
    ],
)
def test_addresses_are_patched_as_a_whole(before: Any, after: Any, patched: Any) -> None:
    patch = node_patch(with_status(addresses=before), with_status(addresses=after))

    assert patch.get("status", {}).get("addresses") == patched
