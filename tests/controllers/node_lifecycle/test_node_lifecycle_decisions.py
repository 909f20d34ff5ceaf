# SPDX-License-Identifier: Apache-2.0
"""The decisions on health and taints, as tables, without a cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis
import hypothesis.strategies as st
import msgspec
import pytest

from controllers.node_lifecycle.health import (
    Graces,
    Health,
    first_seen,
    lease_seen,
    status_seen,
    unknown_conditions,
)
from controllers.node_lifecycle.taints import Eviction, eviction, missing_labels, new_taints
from controllers.node_lifecycle.views import MonitoredNodeView, NodeCondition

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def node(
    *conditions: NodeCondition, taints: list[dict[str, Any]] | None = None, labels: dict[str, str] | None = None
) -> MonitoredNodeView:
    raw = {
        "metadata": {"name": "a", "uid": "u", "creationTimestamp": "2026-01-01T11:00:00Z", "labels": labels},
        "spec": {"taints": taints},
        "status": {"conditions": [msgspec.to_builtins(c) for c in conditions]},
    }
    return msgspec.convert(raw, MonitoredNodeView)


def ready(status: str = "True", heartbeat: str = "h1", transition: str = "t1", reason: str = "") -> NodeCondition:
    return NodeCondition("Ready", status, reason, heartbeat, transition)


@pytest.mark.parametrize(
    ("before", "after", "since"),
    [
        pytest.param(None, None, 1.0, id="absent, absent"),
        pytest.param(None, ready(), 9.0, id="absent, present"),
        pytest.param(ready(), None, 1.0, id="present, absent: as recorded"),
        pytest.param(ready(), ready(), 1.0, id="the same"),
        pytest.param(ready(), ready(transition="t2"), 1.0, id="same heartbeat, other transition"),
        pytest.param(ready(), ready(heartbeat="h2"), 9.0, id="other heartbeat"),
        pytest.param(ready(), ready(heartbeat="h0"), 9.0, id="a heartbeat into the past"),
        pytest.param(ready(), ready("Unknown", reason="NodeStatusUnknown"), 1.0, id="what we wrote"),
        pytest.param(None, ready("Unknown", reason="NodeStatusNeverUpdated"), 1.0, id="what we added"),
    ],
)
def test_what_a_status_says_of_life(before: NodeCondition | None, after: NodeCondition | None, since: float) -> None:
    health = Health("u", before, silent_since=1.0, last_sign=1.0, renewed=None)

    seen = status_seen(health, node(*([after] if after else [])), None, now=9.0)

    assert (seen.silent_since, seen.last_sign, seen.ready) == (since, since, after)


@pytest.mark.parametrize(
    ("saved", "found", "counts"),
    [
        pytest.param(None, NOON, True, id="the first one, however old"),
        pytest.param(NOON, NOON + timedelta(microseconds=1), True, id="later"),
        pytest.param(NOON, NOON, False, id="the same"),
        pytest.param(NOON, NOON - timedelta(hours=1), False, id="backwards"),
        pytest.param(NOON, None, False, id="none"),
        pytest.param(None, None, False, id="never any"),
    ],
)
def test_what_a_lease_says_of_life(saved: datetime | None, found: datetime | None, counts: bool) -> None:
    health = Health("u", None, silent_since=1.0, last_sign=1.0, renewed=saved)

    seen = lease_seen(health, found, now=9.0)

    assert (seen.silent_since, seen.last_sign) == ((9.0, 9.0) if counts else (1.0, 1.0))
    assert seen.renewed == (found if counts else saved)


SIGNS = ("renewal", "heartbeat", "renewal into the past", "the same status", "our own verdict")


@hypothesis.given(st.lists(st.tuples(st.floats(0, 80), st.sampled_from(SIGNS)), max_size=30))
def test_a_node_is_silent_if_its_last_sign_of_life_is_older_than_the_grace_and_only_then(
    signs: list[tuple[float, str]],
) -> None:
    graces, status, lease, latest = Graces(), ready(), NOON, NOON
    now = heard = 100.0
    health = first_seen(node(status), lease, now, age=0.0)

    for number, (pause, sign) in enumerate(signs):
        now += pause
        assert health.is_silent(graces, now) == (now > heard + 50.0)
        match sign:
            case "renewal":
                lease = latest = latest + timedelta(seconds=1)
            case "renewal into the past":
                lease -= timedelta(hours=1)
            case "heartbeat":
                status = ready(heartbeat=f"h{number + 2}")
            case "our own verdict":
                status = ready("Unknown", status.last_heartbeat_time or "", reason="NodeStatusUnknown")
        health = lease_seen(status_seen(health, node(status), lease, now), lease, now)
        heard = now if sign in ("renewal", "heartbeat") else heard


@pytest.mark.parametrize(
    ("given", "renewed", "age", "deadline"),
    [
        pytest.param([], None, 20.0, 140.0, id="no sign of life: from its creation"),
        pytest.param([], None, -3600.0, 160.0, id="created in the future, by a clock that is ahead"),
        pytest.param([], NOON, 20.0, 160.0, id="a lease"),
        pytest.param([ready()], None, 20.0, 150.0, id="a status"),
    ],
)
def test_until_when_a_node_that_is_new_may_be_silent(
    given: list[NodeCondition], renewed: datetime | None, age: float, deadline: float
) -> None:
    graces = Graces()

    health = first_seen(node(*given), renewed, now=100.0, age=age)

    assert health.deadline(graces) == deadline
    assert not health.is_silent(graces, deadline)
    assert health.is_silent(graces, deadline + 0.001)


def test_unknown_is_written_of_four_conditions_and_not_of_the_network() -> None:
    found = node(ready(), NodeCondition("MemoryPressure", "Unknown"), NodeCondition("NetworkUnavailable", "False"))

    made = {c["type"]: c for c in unknown_conditions(found, "now")}

    assert set(made) == {"Ready", "DiskPressure", "PIDPressure"}
    assert made["Ready"]["reason"] == "NodeStatusUnknown"
    assert "lastHeartbeatTime" not in made["Ready"]
    assert made["DiskPressure"]["lastHeartbeatTime"] == "2026-01-01T11:00:00Z"
    assert {c["lastTransitionTime"] for c in made.values()} == {"now"}


OWN = {"key": "dedicated", "value": "x", "effect": "NoExecute", "timeAdded": "before"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "timeAdded": "before"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "before"}


@pytest.mark.parametrize(
    ("given", "taints", "then"),
    [
        pytest.param("True", [], Eviction.CLEAR, id="well"),
        pytest.param("", [UNREACHABLE], Eviction.KEEP, id="no condition"),
        pytest.param("Unknown", [], Eviction.ASK, id="silent"),
        pytest.param("Unknown", [OWN], Eviction.ASK, id="silent, with another's taint"),
        pytest.param("Unknown", [UNREACHABLE], Eviction.SET, id="tainted"),
        pytest.param("Unknown", [NOT_READY], Eviction.SET, id="tainted for another reason"),
        pytest.param("False", [], Eviction.ASK, id="not ready"),
    ],
)
def test_what_becomes_of_the_eviction(given: str, taints: list[dict[str, Any]], then: Eviction) -> None:
    found = node(*([ready(given)] if given else []), taints=taints)

    assert eviction(found, all_silent=False) is then
    assert eviction(found, all_silent=True) is Eviction.CLEAR


@pytest.mark.parametrize("what", Eviction)
def test_a_second_look_finds_nothing_to_write(what: Eviction) -> None:
    first = node(ready("Unknown"), NodeCondition("PIDPressure", "True"), taints=[NOT_READY, OWN])

    written = new_taints(first, what, "now")
    assert written is not None
    again = node(ready("Unknown"), NodeCondition("PIDPressure", "True"), taints=written)

    assert new_taints(again, what, "later") is None
    assert OWN in written


def test_a_swap_is_one_list_with_exactly_one_of_the_two() -> None:
    written = new_taints(node(ready("Unknown"), taints=[NOT_READY, OWN]), Eviction.SET, "now") or []

    assert [(t["key"], t["effect"]) for t in written] == [
        ("dedicated", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoSchedule"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
    ]


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        pytest.param({}, "", id="none"),
        pytest.param({"topology.kubernetes.io/zone": "z"}, ":\0:z", id="a zone"),
        pytest.param({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}, "r:\0:z", id="both"),
        pytest.param(
            {"topology.kubernetes.io/zone": "z", "failure-domain.beta.kubernetes.io/zone": "old"}, ":\0:old", id="older"
        ),
    ],
)
def test_the_zone_of_a_node(labels: dict[str, str], key: str) -> None:
    assert node(labels=labels).zone == key


def test_old_labels_are_only_written_where_they_differ() -> None:
    found = node(labels={"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64"})

    assert missing_labels(found) == {"beta.kubernetes.io/arch": "arm64"}


@pytest.mark.parametrize("graces", [(0.0, 60.0), (50.0, 0.0), (50.0, -1.0)])
def test_a_grace_must_be_positive(graces: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        Graces(*graces)
