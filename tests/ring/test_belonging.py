# SPDX-License-Identifier: Apache-2.0
"""Objects that have a name of the ring: its own are followed, even without a label; foreign ones are not written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kit.ring.ringing import JOIN, Replicas

from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES
from controller_runtime.ring.assignment import NOBODY
from controller_runtime.ring.belonging import ForeignObject, check_lease, check_map
from controller_runtime.ring.records import CLAIM, RING_LABEL, Assignment, Claim
from controller_runtime.ring.slots import SLOTS
from controller_runtime.testing.simulation import Simulation

OURS, THEIRS = {RING_LABEL: "seers"}, {RING_LABEL: "other"}
DATA = Assignment(3, (NOBODY,) * SLOTS, (0,) * SLOTS, incarnation=9).data()
CLAIMED = {CLAIM: Claim(3).to_text()}
MAP = ObjectKey("seers-ring", "default")
SETTINGS = {"config.yaml": "level: 3"}


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(5) as sim:
        yield Replicas(sim)


@pytest.mark.parametrize(
    ("labels", "content", "is_rings"),
    [
        pytest.param(OURS, {}, True, id="the label"),
        pytest.param(OURS, {"data": SETTINGS}, True, id="the label, and an assignment that cannot be read"),
        pytest.param(None, {"data": DATA}, True, id="an assignment, which has lost its label"),
        pytest.param(THEIRS, {"data": DATA}, False, id="an assignment of another ring"),
        pytest.param(None, {"data": {**DATA, "config.yaml": ""}}, False, id="an assignment and something else"),
        pytest.param(None, {"data": DATA, "binaryData": {"x": "eA=="}}, False, id="an assignment and bytes"),
        pytest.param(None, {"data": SETTINGS}, False, id="settings"),
        pytest.param(None, {}, False, id="nothing"),
    ],
)
def test_a_config_map_is_the_rings_by_its_label_or_by_what_alone_is_in_it(
    labels: dict[str, str] | None, content: dict[str, Any], *, is_rings: bool
) -> None:
    found = {"metadata": {"name": MAP.name, "namespace": MAP.namespace, "labels": labels}, **content}
    if is_rings:
        check_map(found, "seers")
        return
    with pytest.raises(ForeignObject, match="the ConfigMap default/seers-ring is not the ring's, so it is not over"):
        check_map(found, "seers")


@pytest.mark.parametrize(
    ("metadata", "is_rings"),
    [
        pytest.param({"labels": OURS}, True, id="the label"),
        pytest.param({"annotations": CLAIMED}, True, id="a claim, which has lost its label"),
        pytest.param({"annotations": CLAIMED, "labels": {"app": "x"}}, True, id="a claim with a label of its user"),
        pytest.param({"annotations": CLAIMED, "labels": THEIRS}, False, id="a claim of another ring"),
        pytest.param({"annotations": {CLAIM: "?"}}, False, id="a claim that cannot be read"),
        pytest.param({}, False, id="neither"),
    ],
)
def test_a_lease_is_the_rings_by_its_label_or_by_its_claim(metadata: dict[str, Any], *, is_rings: bool) -> None:
    found = {"metadata": {"name": "seers-a", "namespace": "default", **metadata}}
    if is_rings:
        check_lease(found, "seers")
        return
    with pytest.raises(ForeignObject, match="the Lease default/seers-a is not the ring's, so it is not overwritten"):
        check_lease(found, "seers")


@pytest.mark.scenario("RG-18")
def test_a_config_map_of_a_user_that_has_the_rings_name_stays_as_it_is_and_the_member_says_so(
    replicas: Replicas,
) -> None:
    for name in ("seers", MAP.name):
        replicas.user.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": SETTINGS}, "default")
    before = [replicas.user.get(CONFIG_MAPS, ObjectKey(name, "default"), dict) for name in ("seers", MAP.name)]
    ring = replicas.start("a")
    replicas.sim.advance(JOIN)

    assert [replicas.user.get(CONFIG_MAPS, ObjectKey(n, "default"), dict) for n in ("seers", MAP.name)] == before
    assert "the ConfigMap default/seers-ring is not the ring's" in ring.member.last_error

    replicas.user.delete(CONFIG_MAPS, MAP)
    replicas.sim.advance(JOIN)
    assert replicas.owners() == {"a": SLOTS}
    assert ring.member.last_error == ""
    assert replicas.user.get(CONFIG_MAPS, ObjectKey("seers", "default"), dict)["data"] == SETTINGS


def test_a_config_map_of_a_user_in_place_of_the_assignment_is_not_overwritten_either(replicas: Replicas) -> None:
    replicas.start("a")
    replicas.sim.advance(JOIN)
    replicas.user.delete(CONFIG_MAPS, MAP)
    replicas.user.create(CONFIG_MAPS, {"metadata": {"name": MAP.name}, "data": SETTINGS}, "default")
    replicas.sim.advance(JOIN)

    assert replicas.user.get(CONFIG_MAPS, MAP, dict)["data"] == SETTINGS
    assert replicas.owners() == {"a": 0}


def test_what_a_user_adds_to_the_config_map_of_the_assignment_stays_there(replicas: Replicas) -> None:
    replicas.start("a")
    replicas.sim.advance(JOIN)
    replicas.user.patch(CONFIG_MAPS, MAP, {"metadata": {"labels": {"team": "x", RING_LABEL: None}}})
    replicas.start("b")
    replicas.sim.advance(JOIN)

    assert replicas.owners() == {"a": 128, "b": 128}
    assert replicas.user.get(CONFIG_MAPS, MAP, dict)["metadata"]["labels"] == {"team": "x", **OURS}


@pytest.mark.scenario("RG-19")
def test_a_lease_that_loses_its_label_gets_it_back_and_its_member_keeps_its_slots(replicas: Replicas) -> None:
    rings = [replicas.start(name) for name in ("a", "b")]
    replicas.sim.advance(JOIN)
    for ring in rings:
        key = ObjectKey(ring.member.identity, "default")
        replicas.user.patch(LEASES, key, {"metadata": {"labels": {RING_LABEL: None}}})
    for _ in range(120):
        replicas.sim.advance(0.25)
        assert replicas.owners() == {"a": 128, "b": 128}

    leases = replicas.user.list(LEASES, "default", label_selector=f"{RING_LABEL}=seers", view=dict)
    assert {lease["metadata"]["name"] for lease in leases} == {ring.member.identity for ring in rings}


def test_a_lease_of_another_program_under_a_members_name_is_not_written(replicas: Replicas) -> None:
    ring = replicas.start("a")
    key = ObjectKey(ring.member.identity, "default")
    replicas.user.create(LEASES, {"metadata": {"name": key.name}, "spec": {"holderIdentity": "x"}}, "default")
    before = replicas.user.get(LEASES, key, dict)
    replicas.sim.advance(JOIN)

    assert replicas.user.get(LEASES, key, dict) == before
    assert "is not the ring's, so it is not overwritten: give the member another identity" in ring.member.last_error
