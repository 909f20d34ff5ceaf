# SPDX-License-Identifier: Apache-2.0
"""Each version of a group is registered as an API service: built-in ones once, those of definitions always."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def definition(**served: bool) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": name, "served": on, "storage": name == "v1", "schema": schema} for name, on in served.items()]
    names = {"plural": "cabins", "kind": "Cabin", "singular": "cabin", "listKind": "CabinList"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": versions}
    return {"metadata": {"name": "cabins.example.com"}, "spec": spec}


@pytest.fixture
def full(sim: Simulation) -> Asking:
    """A client of a server that has the objects of a cluster."""
    return Asking(APIServer(sim.host("server"), cluster_objects=True))


def _registered(ask: Asking) -> set[str]:
    return {one["metadata"]["name"] for one in ask.ok("GET", SERVICES)["items"]}


def test_each_version_that_is_served_is_registered_and_available(full: Asking) -> None:
    groups = full.ok("GET", "/apis")["groups"]
    served = {f"{version['version']}.{group['name']}" for group in groups for version in group["versions"]}

    # As on a real server, where another part serves this group.
    assert _registered(full) == (served | {"v1."}) - {"v1.apiregistration.k8s.io"}
    for one in full.ok("GET", SERVICES)["items"]:
        assert [(c["type"], c["status"], c["reason"]) for c in one["status"]["conditions"]] == [
            ("Available", "True", "Local")
        ]


def test_an_older_release_registers_what_it_serves(sim: Simulation) -> None:
    ask = Asking(APIServer(sim.host("server"), cluster_objects=True, release="1.33"))

    assert "v1.resource.k8s.io" not in _registered(ask)


def test_versions_of_a_definition_come_and_go(full: Asking) -> None:
    built_in = _registered(full)
    full.ok("POST", DEFINITIONS, definition(v1=True, v2=False))
    made = full.ok("GET", f"{SERVICES}/v1.example.com")

    assert _registered(full) == built_in | {"v1.example.com"}
    assert made["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "true"}
    assert made["spec"] == {
        "group": "example.com",
        "groupPriorityMinimum": 1000,
        "version": "v1",
        "versionPriority": 100,
    }

    full.patch(f"{DEFINITIONS}/cabins.example.com", definition(v1=True, v2=True))
    assert _registered(full) == built_in | {"v1.example.com", "v2.example.com"}
    full.ok("DELETE", f"{DEFINITIONS}/cabins.example.com")
    assert _registered(full) == built_in


def test_one_of_a_definition_is_kept_and_a_built_in_one_is_not(full: Asking) -> None:
    full.ok("POST", DEFINITIONS, definition(v1=True))
    path = f"{SERVICES}/v1.example.com"
    full.patch(path, {"spec": {"versionPriority": 7}})
    assert full.ok("GET", path)["spec"]["versionPriority"] == 100

    full.ok("DELETE", path)
    full.ok("DELETE", f"{SERVICES}/v1.apps")

    assert full("GET", path)[0] == 200
    assert full("GET", f"{SERVICES}/v1.apps")[0] == 404


def test_an_api_service_of_somebody_else_is_left_alone(full: Asking) -> None:
    spec = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 5, "versionPriority": 5}
    full.ok("POST", SERVICES, {"metadata": {"name": "v1.example.com"}, "spec": spec})
    full.ok("POST", DEFINITIONS, definition(v1=True))

    assert full.ok("GET", f"{SERVICES}/v1.example.com")["spec"] == spec


def test_flow_schemas_are_shown_in_the_order_of_their_precedence(full: Asking) -> None:
    table = full("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", headers=TABLE)[1]
    precedences = [row["cells"][2] for row in table["rows"]]

    assert precedences == sorted(precedences)
    assert [row["cells"][0] for row in table["rows"][:3]] == ["exempt", "probes", "system-leader-election"]
