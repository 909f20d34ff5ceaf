# SPDX-License-Identifier: Apache-2.0
"""The status of a machine: resources, identity, addresses, and the fields that stay when something is not known."""

from __future__ import annotations

import copy
from typing import Any

import attrs
import pytest
from kit.controllers.agent_bench import GI, MACHINE, NAME

from apimachinery.errors import UsageError
from controllers.agent.addresses import addresses
from controllers.agent.machine import Machine, NotObserved
from controllers.agent.node import adoption_patch, initial_node
from controllers.agent.pressure import parse_thresholds
from controllers.agent.resources import allocatable, capacity
from controllers.agent.settings import Settings, parse_node_ips, parse_reserved
from controllers.agent.status import Situation, compose

NOW = "2026-01-01T00:00:00Z"
PLAIN = Settings(name=NAME, thresholds=())


def composed(machine: Machine = MACHINE, before: dict[str, Any] | None = None, **settings: Any) -> dict[str, Any]:
    options = Settings(name=NAME, **settings)
    return compose(before, Situation(machine, options, {}, NOW)).status


def test_capacity_is_what_the_machine_has() -> None:
    machine = attrs.evolve(MACHINE, huge_pages={2 * 1024**2: 4 * 1024**2, GI: 0})

    found = capacity(machine, attrs.evolve(PLAIN, max_pods=110), {"example.com/gpu": "2", "hugepages-64Ki": "0"})

    assert found == {
        "example.com/gpu": "2",
        "cpu": "4",
        "memory": "8Gi",
        "pods": "110",
        "ephemeral-storage": "100Gi",
        "hugepages-2Mi": "4Mi",
        "hugepages-1Gi": "0",
    }


def test_what_is_not_known_is_zero_and_a_disk_stays_as_it_was() -> None:
    blind = Machine(system="plan9", architecture="amd64")

    assert capacity(blind, PLAIN, {}) == {"cpu": "0", "memory": "0", "pods": "0"}
    assert capacity(blind, PLAIN, {"ephemeral-storage": "1Gi"})["ephemeral-storage"] == "1Gi"


@pytest.mark.parametrize(
    ("options", "left"),
    [
        pytest.param({}, {}, id="nothing kept back"),
        pytest.param(
            {"system_reserved": "cpu=100m,memory=1Gi", "kube_reserved": "cpu=1,memory=512Mi,pid=1000"},
            {"cpu": "2900m", "memory": "6656Mi"},
            id="reserved",
        ),
        pytest.param({"kube_reserved": "cpu=9,memory=1Ti"}, {"cpu": "0", "memory": "0"}, id="more than there is"),
        pytest.param(
            {"thresholds": "memory.available<1Gi,nodefs.available<10%,nodefs.inodesFree<5%"},
            {"memory": "7Gi", "ephemeral-storage": "90Gi"},
            id="thresholds",
        ),
        pytest.param({"huge_pages": {2 * 1024**2: GI}}, {"memory": "7Gi", "hugepages-2Mi": "1Gi"}, id="huge pages"),
    ],
)  # fmt: skip
def test_allocatable_is_what_is_not_kept_back(options: dict[str, Any], left: dict[str, str]) -> None:
    machine = attrs.evolve(MACHINE, huge_pages=options.get("huge_pages", {}))
    settings = Settings(
        name=NAME,
        system_reserved=parse_reserved("--system-reserved", options.get("system_reserved", "")),
        kube_reserved=parse_reserved("--kube-reserved", options.get("kube_reserved", "")),
        thresholds=parse_thresholds(options.get("thresholds", "")),
    )
    total = capacity(machine, settings, {"example.com/gpu": "2"})

    assert allocatable(total, machine, settings) == {**total, **left}


def test_a_status_is_made_from_nothing_and_what_it_was_is_not_changed() -> None:
    before = composed(machine=attrs.evolve(MACHINE, cores=1))
    kept = copy.deepcopy(before)

    after = composed(before={**before, "images": ["others"]})

    assert before == kept
    assert after["capacity"]["cpu"] == "4"
    assert after["images"] == ["others"]
    assert after["nodeInfo"]["kubeletVersion"].endswith("+node-agent")
    assert after["nodeInfo"]["containerRuntimeVersion"] == "none://"


def test_swap_is_told_where_there_is_some() -> None:
    assert "swap" not in composed()["nodeInfo"]
    assert composed(attrs.evolve(MACHINE, swap=GI))["nodeInfo"]["swap"] == {"capacity": GI}


def test_another_system_says_what_it_cannot_know() -> None:
    machine = Machine(system="darwin", architecture="arm64", cores=8, memory=GI, memory_available=GI, disk=GI)

    status = composed(machine)

    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "MemoryPressure": "Unknown",
        "DiskPressure": "Unknown",
        "PIDPressure": "Unknown",
        "Ready": "True",
    }
    assert (status["nodeInfo"]["osImage"], status["nodeInfo"]["bootID"]) == ("Unknown", "")
    assert {"tasks", "tasks limit", "boot id", "huge pages", "os image"} <= set(machine.unknown())


@pytest.mark.parametrize(
    ("asked", "machine", "found"),
    [
        pytest.param("192.0.2.7", {}, ["192.0.2.7"], id="as asked"),
        pytest.param("192.0.2.7,2001:db8::7", {"local": ["192.0.2.7", "2001:db8::7"]}, ["192.0.2.7", "2001:db8::7"],
                     id="one of each family"),
        pytest.param("", {"resolved": ["127.0.1.1", "192.0.2.8", "192.0.2.7"]}, ["192.0.2.7"], id="as it resolves"),
        pytest.param("", {"resolved": ["192.0.2.99"], "routed": ["192.0.2.7"]}, ["192.0.2.7"], id="as it is routed"),
        pytest.param("", {"resolved": ["127.0.0.1"], "routed": ["127.0.0.1"]}, None, id="loopback is no address"),
        pytest.param("::", {"local": ["192.0.2.7", "2001:db8::7"], "resolved": ["192.0.2.7", "2001:db8::7"]},
                     ["2001:db8::7"], id="prefers IPv6"),
        pytest.param("", {"local": ["192.0.2.7", "2001:db8::7"], "resolved": ["2001:db8::7", "192.0.2.7"]},
                     ["192.0.2.7"], id="prefers IPv4"),
        pytest.param("::", {}, ["192.0.2.7"], id="prefers IPv6 and has none"),
        pytest.param("192.0.2.99", {}, None, id="somebody else's"),
        pytest.param("", {"local": [], "routed": []}, None, id="none at all"),
    ],
)  # fmt: skip
def test_addresses_follow_a_kubelets_rule(asked: str, machine: dict[str, Any], found: list[str] | None) -> None:
    settings = Settings(name=NAME, node_ips=parse_node_ips(asked))

    if found is None:
        with pytest.raises(NotObserved):
            addresses(attrs.evolve(MACHINE, **machine), settings)
        return
    assert addresses(attrs.evolve(MACHINE, **machine), settings) == [
        *({"type": "InternalIP", "address": each} for each in found),
        {"type": "Hostname", "address": NAME},
    ]


def test_a_name_that_is_an_address_is_one() -> None:
    named = addresses(attrs.evolve(MACHINE, routed=[]), Settings(name="192.0.2.7"))

    assert named[0] == {"type": "InternalIP", "address": "192.0.2.7"}


@pytest.mark.parametrize(
    ("labels", "initial", "after"),
    [
        pytest.param({}, {"kubernetes.io/arch": "a"}, {"kubernetes.io/arch": "a"}, id="added"),
        pytest.param({"kubernetes.io/os": "b"}, {"kubernetes.io/os": "a"}, {"kubernetes.io/os": "a"}, id="changed"),
        pytest.param({"topology.kubernetes.io/zone": "z"}, {"topology.kubernetes.io/zone": ""},
                     {"topology.kubernetes.io/zone": None}, id="removed"),
        pytest.param({"mine": "x"}, {"mine": "y"}, None, id="others are left alone"),
    ],
)  # fmt: skip
def test_default_labels_are_brought_to_date(
    labels: dict[str, str], initial: dict[str, str], after: dict[str, str] | None
) -> None:
    wanted = initial_node(PLAIN, MACHINE, composed())
    wanted["metadata"]["labels"] = initial
    existing = {"metadata": {"labels": labels, "annotations": wanted["metadata"]["annotations"]}, "status": composed()}

    assert adoption_patch(existing, wanted) == ({"metadata": {"labels": after}} if after else {})


def test_huge_pages_and_missing_amounts_of_a_node_that_exists_are_brought_to_date() -> None:
    wanted = initial_node(PLAIN, MACHINE, composed())
    metadata = wanted["metadata"]
    old = {"cpu": "1", "hugepages-1Gi": "1Gi", "hugepages-2Mi": "1Gi"}

    patch = adoption_patch({"metadata": metadata, "status": {"capacity": old}}, wanted)

    assert patch["status"]["capacity"] == {"hugepages-1Gi": None, "hugepages-2Mi": "0"}
    assert patch["status"]["allocatable"] == wanted["status"]["allocatable"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("", "the node has no name", id="none"),
        pytest.param("a_b", "cannot be the name of a node", id="no DNS name"),
    ],
)
def test_a_name_must_be_one(name: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Settings(name=name)
