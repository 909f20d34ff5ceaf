# SPDX-License-Identifier: Apache-2.0
"""Records of addresses that somebody deletes or changes are mended, with the delays and events of a real server.

The texts, the delays and the order were seen on Kubernetes 1.36.2.
"""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.upkeep.upkeep import Upkeep

SERVICES = "/api/v1/namespaces/default/services"
RECORDS = "/apis/networking.k8s.io/v1/ipaddresses"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
LABELS = {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
}
GATEWAY = {"group": "gateway.networking.k8s.io", "resource": "gateways", "namespace": "default", "name": "g"}


@pytest.fixture
def full(sim: Simulation) -> Asking:
    """A client of a server that has the objects of a cluster, and a service `s` at 10.0.0.9."""
    ask = Asking(APIServer(sim.host("server"), cluster_objects=True))
    ask.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 80}]}})
    return ask


def record(address: str, parent: dict[str, str], labels: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": address, "labels": labels}, "spec": {"parentRef": parent}}


def of(name: str) -> dict[str, str]:
    return {"resource": "services", "namespace": "default", "name": name}


def records(ask: Asking) -> dict[str, str]:
    found = {one["metadata"]["name"]: one["spec"]["parentRef"] for one in ask.ok("GET", RECORDS)["items"]}
    return {address: parent["name"] for address, parent in found.items() if address != "10.0.0.1"}


def told(ask: Asking) -> list[tuple[str, str, str]]:
    events = ask.ok("GET", EVENTS)["items"]
    return [(event["regarding"]["name"], event["reason"], event["note"]) for event in events]


def lifetimes(sim: Simulation, ask: Asking, upkeep: Upkeep, address: str) -> tuple[int, int]:
    """Return the seconds for which a record stays as it is, and for how long it is missing."""
    start, present = sim.time, [address in records(ask)]
    seconds = [0, 0]
    while sim.time - start < 300:
        upkeep.settle()
        present.append(address in records(ask))
        if present[-1] != present[0]:
            break
        sim.advance(1)
        seconds[not present[0]] += 1
    return seconds[0], seconds[1]


@pytest.mark.parametrize(
    ("parent", "labels", "stays", "reason", "note"),
    [
        pytest.param(
            of("nowhere"),
            LABELS,
            61,
            "IPAddressNotAllocated",
            "IPAddress: 10.0.0.77 for Service default/nowhere appears to have leaked: cleaning up",
            id="of a service that is not there",
        ),
        pytest.param(
            of("s"),
            LABELS,
            5,
            "IPAddressWrongReference",
            "IPAddress: 10.0.0.77 for Service default/s has a wrong reference; cleaning up",
            id="of a service with another address",
        ),
        pytest.param(
            GATEWAY,
            LABELS,
            0,
            "IPAddressNotAllocated",
            "IPAddress 10.0.0.77 appears to have been modified, not referencing a Service &ParentReference{Group:"
            "gateway.networking.k8s.io,Resource:gateways,Namespace:default,Name:g,}: cleaning up",
            id="of no service",
        ),
        pytest.param(GATEWAY, {}, 300, "", "", id="kept by others"),
        pytest.param(of("nowhere"), {}, 300, "", "", id="of a service that is not there, kept by others"),
    ],
)
def test_a_record_too_many_goes_in_time(
    sim: Simulation, full: Asking, parent: dict[str, str], labels: dict[str, str], stays: int, reason: str, note: str
) -> None:
    upkeep = Upkeep(sim.host("upkeep"), full.server)
    assert upkeep.settle()
    sim.advance(2)
    full.ok("POST", RECORDS, record("10.0.0.77", parent, labels))

    assert lifetimes(sim, full, upkeep, "10.0.0.77") == (stays, 0)
    assert told(full) == ([("10.0.0.77", reason, note)] if reason else [])
    assert records(full).get("10.0.0.9") == "s"


def test_a_deleted_record_is_there_again_in_three_minutes(sim: Simulation, full: Asking) -> None:
    upkeep = Upkeep(sim.host("upkeep"), full.server)
    assert upkeep.settle()
    full.ok("DELETE", f"{RECORDS}/10.0.0.9")

    assert lifetimes(sim, full, upkeep, "10.0.0.9") == (0, 180)
    assert told(full) == [("s", "ClusterIPNotAllocated", "Cluster IP [IPv4]: 10.0.0.9 is not allocated; repairing")]
    (entry,) = full.ok("GET", f"{RECORDS}/10.0.0.9")["metadata"]["managedFields"]
    assert entry["manager"] == "kube-apiserver"


def test_a_record_that_lost_its_labels_is_made_again_in_three_minutes(sim: Simulation, full: Asking) -> None:
    upkeep = Upkeep(sim.host("upkeep"), full.server)
    assert upkeep.settle()
    before = full.patch(f"{RECORDS}/10.0.0.9", {"metadata": {"labels": None}})[1]

    assert not upkeep.settle()
    sim.advance(180)

    assert upkeep.settle()
    after = full.ok("GET", f"{RECORDS}/10.0.0.9")
    assert (after["metadata"]["labels"], told(full)) == (LABELS, [])
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def test_a_change_of_the_service_brings_it_back_at_once(sim: Simulation, full: Asking) -> None:
    upkeep = Upkeep(sim.host("upkeep"), full.server)
    assert upkeep.settle()
    full.ok("DELETE", f"{RECORDS}/10.0.0.9")
    upkeep.settle()

    full.patch(f"{SERVICES}/s", {"metadata": {"labels": {"a": "b"}}})

    assert upkeep.settle()
    assert records(full) == {"10.0.0.9": "s"}


@pytest.mark.parametrize(
    ("parent", "labels", "seconds", "note"),
    [
        (GATEWAY, {}, 180, "the ClusterIP [IPv4]: 10.0.0.9 for Service default/s has a wrong reference; repairing"),
        (
            of("nowhere"),
            {},
            180,
            "the ClusterIP [IPv4]: 10.0.0.9 for Service default/s has a wrong reference; repairing",
        ),
        (of("s"), {}, 180, None),
        (of("kubernetes"), LABELS, 180, "Cluster IP [IPv4]: 10.0.0.9 is not allocated; repairing"),
    ],
    ids=["of no service", "of a service that is not there", "without labels", "of another service"],
)
def test_a_record_that_somebody_has_replaced_is_made_again(
    sim: Simulation, full: Asking, parent: dict[str, str], labels: dict[str, str], seconds: int, note: str | None
) -> None:
    upkeep = Upkeep(sim.host("upkeep"), full.server)
    assert upkeep.settle()
    full.ok("DELETE", f"{RECORDS}/10.0.0.9")
    full.ok("POST", RECORDS, record("10.0.0.9", parent, labels))

    for _ in range(seconds + 1):
        upkeep.settle()
        sim.advance(1)

    assert upkeep.settle()
    found = full.ok("GET", f"{RECORDS}/10.0.0.9")
    assert (found["metadata"]["labels"], found["spec"]["parentRef"]) == (LABELS, of("s"))
    assert note is None or note in [text for _, _, text in told(full)]


def test_an_event_is_that_of_a_real_server(sim: Simulation, full: Asking) -> None:
    full.ok("POST", RECORDS, record("10.0.0.77", GATEWAY, LABELS))
    host = sim.host("upkeep")
    assert Upkeep(host, full.server).settle()

    (event,) = full.ok("GET", EVENTS)["items"]
    assert event["metadata"]["name"].startswith("10.0.0.77.")
    assert (event["type"], event["action"]) == ("Warning", "IPAddressAllocation")
    assert event["reportingController"] == "ipallocator-repair-controller"
    assert event["reportingInstance"] == f"ipallocator-repair-controller-{host.name}"
    assert event["regarding"].keys() == {"apiVersion", "kind", "name", "uid", "resourceVersion"}


def test_nothing_is_repaired_on_a_server_without_records(sim: Simulation, ask: Asking) -> None:
    ask.ok("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    ask.ok("POST", RECORDS, record("10.0.0.77", GATEWAY, LABELS))

    assert Upkeep(sim.host("upkeep"), ask.server).settle()
    assert records(ask) == {"10.0.0.77": "g"}
