# SPDX-License-Identifier: Apache-2.0
"""Every cluster has some objects: from the beginning, in each new namespace, and again when they are deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.apiserver.asking import Asking, pod

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

V1 = "/api/v1"
HERE = f"{V1}/namespaces/default"
FIRST = ["default", "kube-node-lease", "kube-public", "kube-system"]
PER_NAMESPACE = [("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")]


@pytest.fixture
def full(sim: Simulation) -> Asking:
    """A client of a server that has the objects of a cluster."""
    return Asking(APIServer(sim.host("server"), cluster_objects=True, authority="CA"))


def test_a_server_has_none_of_them_unless_it_is_asked_to(ask: Asking) -> None:
    for plural in ("services", "serviceaccounts", "configmaps", "endpoints"):
        assert ask.ok("GET", f"{V1}/{plural}")["items"] == []


@pytest.mark.parametrize(("plural", "name"), PER_NAMESPACE)
def test_each_namespace_has_an_account_and_the_authority(full: Asking, plural: str, name: str) -> None:
    full.ok("POST", f"{V1}/namespaces", {"metadata": {"name": "new"}})

    found = [one["metadata"] for one in full.ok("GET", f"{V1}/{plural}")["items"]]
    assert [(one["namespace"], one["name"]) for one in found] == [(each, name) for each in [*FIRST, "new"]]


@pytest.mark.parametrize(("plural", "name"), [*PER_NAMESPACE, ("services", "kubernetes"), ("endpoints", "kubernetes")])
def test_a_deleted_one_is_made_again(full: Asking, plural: str, name: str) -> None:
    path = f"{HERE}/{plural}/{name}"
    before = full.ok("GET", path)
    full.ok("DELETE", path)

    after = full.ok("GET", path)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def test_the_authority_is_corrected_and_other_fields_are_left_alone(full: Asking) -> None:
    path = f"{HERE}/configmaps/kube-root-ca.crt"
    full.patch(path, {"data": {"ca.crt": "forged", "more": "1"}, "metadata": {"labels": {"a": "b"}}})

    found = full.ok("GET", path)
    assert found["data"] == {"ca.crt": "CA"}
    assert found["metadata"]["labels"] == {"a": "b"}


def test_nothing_is_made_in_a_namespace_that_is_being_deleted(full: Asking) -> None:
    full.ok("POST", f"{V1}/namespaces", {"metadata": {"name": "going"}})
    full.ok("DELETE", f"{V1}/namespaces/going")

    for plural, name in PER_NAMESPACE:
        full.ok("DELETE", f"{V1}/namespaces/going/{plural}/{name}")
        assert full("GET", f"{V1}/namespaces/going/{plural}/{name}")[0] == 404


def test_the_service_of_the_server_is_as_on_a_real_one(full: Asking) -> None:
    service = full.ok("GET", f"{HERE}/services/kubernetes")

    assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    assert service["spec"] == {
        "clusterIP": "10.0.0.1",
        "clusterIPs": ["10.0.0.1"],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }


def test_the_service_names_the_port_at_which_the_server_listens(full: Asking) -> None:
    full.server.publish(7443)

    assert full.ok("GET", f"{HERE}/services/kubernetes")["spec"]["ports"][0]["targetPort"] == 7443
    endpoints = full.ok("GET", f"{HERE}/endpoints/kubernetes")
    assert [one["ports"][0]["port"] for one in endpoints["subsets"]] == [7443]


def test_a_new_service_gets_another_address_than_that_of_the_server(full: Asking) -> None:
    made = full.ok("POST", f"{HERE}/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})

    assert made["spec"]["clusterIP"] not in ("", "10.0.0.1")


def test_pods_run_under_the_account_of_their_namespace(full: Asking) -> None:
    made = full.ok("POST", f"{HERE}/pods", pod("p"))

    assert made["spec"]["serviceAccountName"] == "default"
    assert [one["name"] for one in made["spec"]["volumes"]] == ["kube-api-access"]


def test_the_step_of_accounts_can_still_be_switched_off(sim: Simulation) -> None:
    host = sim.host("server")
    server = APIServer(host, cluster_objects=True, disable_admission_plugins=["ServiceAccount"])

    assert "serviceAccountName" not in Asking(server).ok("POST", f"{HERE}/pods", pod("p"))["spec"]


def test_a_restart_changes_nothing(sim: Simulation, tmp_path: Path) -> None:
    host, stored = sim.host("server"), []
    for _ in range(2):
        server = APIServer(host, cluster_objects=True, authority="CA", data_dir=tmp_path)
        server.publish(7443)
        plurals = ("services", "endpoints", "serviceaccounts", "configmaps")
        stored.append([item.raw for plural in plurals for item in server.storage.read(plural).items])
        server.close()

    assert stored[0] == stored[1] != []
