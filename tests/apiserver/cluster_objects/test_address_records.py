# SPDX-License-Identifier: Apache-2.0
"""Each address of a service has an `IPAddress`, as long as the service has the address."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from kit.apiserver.asking import Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.upkeep.upkeep import Upkeep

V1 = "/api/v1"
SERVICES = f"{V1}/namespaces/default/services"
RECORDS = "/apis/networking.k8s.io/v1/ipaddresses"
NAMED = {"type": "ExternalName", "externalName": "a.b", "clusterIP": ""}
OWN = {"10.0.0.1": "default/kubernetes"}


@pytest.fixture
def full(sim: Simulation) -> Asking:
    """A client of a server that has the objects of a cluster."""
    return Asking(APIServer(sim.host("server"), cluster_objects=True))


def service(name: str = "s", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name} if name else {"generateName": "g-"}, "spec": {"ports": [{"port": 80}], **spec}}


def records(ask: Asking) -> dict[str, str]:
    """Return which service has each address."""
    found = {one["metadata"]["name"]: one["spec"]["parentRef"] for one in ask.ok("GET", RECORDS)["items"]}
    return {address: f"{of['namespace']}/{of['name']}" for address, of in found.items()}


def held(ask: Asking) -> dict[str, str]:
    found = {f"{one['metadata']['namespace']}/{one['metadata']['name']}": one["spec"] for one in services(ask)}
    return {address: key for key, spec in found.items() for address in spec.get("clusterIPs", []) if address != "None"}


def services(ask: Asking) -> Iterable[Any]:
    found: Iterable[Any] = ask.ok("GET", f"{V1}/services")["items"]
    return found


def test_a_record_is_as_on_a_real_server(full: Asking) -> None:
    full.ok("POST", SERVICES, service(clusterIP="10.0.0.9"))
    record = full.ok("GET", f"{RECORDS}/10.0.0.9")

    labels = {
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    (entry,) = record["metadata"]["managedFields"]
    assert record["metadata"]["labels"] == labels
    assert record["spec"] == {"parentRef": {"resource": "services", "namespace": "default", "name": "s"}}
    assert (entry["manager"], entry["operation"]) == ("kube-apiserver", "Update")
    assert entry["fieldsV1"] == {
        "f:metadata": {"f:labels": {".": {}, **{f"f:{name}": {} for name in labels}}},
        "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
    }


def test_it_is_older_than_its_service(full: Asking) -> None:
    made = full.ok("POST", SERVICES, service(clusterIP="10.0.0.9"))
    record = full.ok("GET", f"{RECORDS}/10.0.0.9")

    assert int(record["metadata"]["resourceVersion"]) < int(made["metadata"]["resourceVersion"])


def test_a_server_without_the_objects_of_a_cluster_has_none(sim: Simulation) -> None:
    ask = Asking(APIServer(sim.host("server")))
    ask.ok("POST", SERVICES, service())

    assert records(ask) == {}


def test_a_server_of_a_release_without_the_kind_has_none(sim: Simulation) -> None:
    server = APIServer(sim.host("server"), cluster_objects=True, release="1.32")

    Asking(server).ok("POST", SERVICES, service())
    assert server.storage.is_empty("ipaddresses.networking.k8s.io")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(service(), id="an address of the server's choice"),
        pytest.param(service(clusterIP="10.0.0.9"), id="an address of its own choice"),
        pytest.param(service(""), id="a generated name"),
        pytest.param(service(clusterIP="None"), id="headless"),
        pytest.param(service(**NAMED), id="a name for another host"),
        pytest.param(service(type="NodePort"), id="with a port on each node"),
    ],
)
def test_a_service_has_its_records_when_its_creation_is_answered(full: Asking, body: dict[str, Any]) -> None:
    full.ok("POST", SERVICES, body)

    assert records(full) == held(full)
    assert len(list(services(full))) == 2


def test_an_update_moves_them_and_a_deletion_takes_them(full: Asking) -> None:
    full.ok("POST", SERVICES, service())
    seen = []
    for spec in (NAMED, {"type": "ClusterIP", "externalName": None}):
        assert full.patch(f"{SERVICES}/s", {"spec": spec})[0] == 200
        seen.append((records(full) == held(full), len(records(full))))
    full.ok("DELETE", f"{SERVICES}/s")

    assert seen == [(True, 1), (True, 2)]
    assert records(full) == OWN


def test_they_go_with_the_namespace(sim: Simulation, full: Asking) -> None:
    full.ok("POST", f"{V1}/namespaces", {"metadata": {"name": "x"}})
    full.ok("POST", f"{V1}/namespaces/x/services", service())
    full.ok("DELETE", f"{V1}/namespaces/x")

    assert Upkeep(sim.host("upkeep"), full.server).settle()
    assert records(full) == OWN


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(service("kubernetes"), 409, id="the name is taken"),
        pytest.param(service(ports=[{"port": 80000}]), 422, id="a port is out of range"),
        pytest.param({"metadata": {"name": "s", "namespace": "x"}, "spec": {}}, 400, id="another namespace"),
    ],
)
def test_a_refused_service_leaves_none(full: Asking, body: dict[str, Any], code: int) -> None:
    assert full("POST", SERVICES, body)[0] == code

    assert records(full) == OWN


def test_a_dry_run_makes_none_and_is_given_none(full: Asking) -> None:
    before = full.server.storage.version
    shown = [
        full.ok("POST", SERVICES, service(**spec), dryRun="All")["spec"]["clusterIP"]
        for spec in ({}, {"clusterIP": "10.0.0.1"})
    ]

    assert shown == ["10.0.0.0", "10.0.0.1"]  # as on a real server, which looks up nothing for a dry run
    assert full.server.storage.version == before


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (service("a/b"), 'spec.clusterIPs: Invalid value: [""]: failed to allocate IP: IPAddress.networking.k8s.io '),
        (
            service("a/b", clusterIP="10.0.0.9"),
            'spec.clusterIPs: Invalid value: ["10.0.0.9"]: failed to allocate IP 10.0.0.9: IPAddress.networking.k8s.io '
            '"10.0.0.9" is invalid: spec.parentRef.name: Invalid value: "a/b": may not contain \'/\'',
        ),
        ({"metadata": {}, "spec": {"ports": [{"port": 80}]}}, " is invalid: spec.parentRef.name: Required value"),
    ],
)
def test_a_name_that_no_record_can_have_is_refused_in_the_words_of_a_real_server(
    full: Asking, body: dict[str, Any], message: str
) -> None:
    code, answer = full("POST", SERVICES, body)

    assert (code, message in answer["message"]) == (422, True), answer["message"]


def test_an_address_that_somebody_has_recorded_is_given_to_no_service(full: Asking) -> None:
    reference = {"group": "gateway.networking.k8s.io", "resource": "gateways", "namespace": "default", "name": "g"}
    for last in range(2, 6):
        full.ok("POST", RECORDS, {"metadata": {"name": f"10.0.0.{last}"}, "spec": {"parentRef": reference}})

    code, answer = full("POST", SERVICES, service(clusterIP="10.0.0.4"))
    assert (code, answer["details"]["causes"][0]["message"]) == (
        422,
        'Invalid value: ["10.0.0.4"]: failed to allocate IP 10.0.0.4: provided IP is already allocated',
    )
    assert full.ok("POST", SERVICES, service())["spec"]["clusterIP"] == "10.0.0.6"


class Written:
    """A journal in memory, of whose writes any number from the first on may have survived."""

    def __init__(self, survived: list[tuple[str, str, int, bytes | None]] | None = None) -> None:
        self.writes = survived or []

    def load(self) -> tuple[int, Iterable[tuple[str, Stored]]]:
        kept = {(place, key): (version, raw) for place, key, version, raw in self.writes}
        objects = [(place, Stored(key, at, raw)) for (place, key), (at, raw) in kept.items() if raw is not None]
        return max((version for _, _, version, _ in self.writes), default=0), objects

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        self.writes.append((collection, key, version, raw))

    def close(self) -> None:
        """Nothing is open."""


def story(ask: Asking) -> None:
    ask.ok("POST", SERVICES, service("a", clusterIP="10.0.0.9"))
    ask.ok("POST", SERVICES, service("b", **NAMED))
    ask.patch(f"{SERVICES}/b", {"spec": {"type": "ClusterIP", "externalName": None}})
    ask.patch(f"{SERVICES}/a", {"spec": NAMED})
    ask.ok("DELETE", f"{SERVICES}/b")
    ask.ok("POST", SERVICES, service("c", clusterIP="10.0.0.9"))


def _killed(journal: Written) -> Iterable[Written]:
    return (Written(journal.writes[:number]) for number in range(len(journal.writes) + 1))


def _of_an_older_server(journal: Written) -> Iterable[Written]:
    return [Written([write for write in journal.writes if write[0] != "ipaddresses.networking.k8s.io"])]


@pytest.mark.parametrize("left", [_killed, _of_an_older_server])
def test_a_restart_mends_them(sim: Simulation, left: Callable[[Written], Iterable[Written]]) -> None:
    journal, host = Written(), sim.host("server")
    story(Asking(APIServer(host, journal=journal, cluster_objects=True)))

    seen = 0
    for kept in left(journal):
        ask = Asking(APIServer(host, journal=kept, cluster_objects=True))
        assert records(ask) == held(ask)
        assert "10.0.0.1" in records(ask)
        seen += 1
    assert seen == (len(journal.writes) + 1 if left is _killed else 1)
