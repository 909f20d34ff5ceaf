# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI documents, and how they and discovery are asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kit.asking import Asking

from controller_runtime.apiserver.discovery.discovery import AGGREGATED
from controller_runtime.apiserver.discovery.openapi import openapi_document
from controller_runtime.apiserver.kinds.registry import KINDS

INDEX = json.loads(openapi_document(KINDS, "/openapi/v3") or b"")["paths"]
KUBECTL = f"{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"


def document(name: str) -> Any:
    return json.loads(openapi_document(KINDS, f"/openapi/v3/{name}") or b"")


def test_the_index_names_every_group_version_with_its_hash(ask: Asking) -> None:
    links = [link["serverRelativeURL"] for link in INDEX.values()]

    assert {"api/v1", "apis/coordination.k8s.io/v1", "apis/apps/v1"} <= INDEX.keys()
    assert all("?hash=" in link for link in links)
    assert ask.response("GET", links[0].partition("?")[0]).status == 200


@pytest.mark.parametrize("name", INDEX)
def test_a_document_defines_all_it_refers_to(name: str) -> None:
    content = document(name)

    text = json.dumps(content)
    defined = content["components"]["schemas"]
    referred = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert referred == defined.keys()


def test_a_patch_says_what_kubectl_looks_for() -> None:
    content = document("api/v1")

    operation = content["paths"]["/api/v1/nodes/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" in operation["requestBody"]["content"]
    assert "fieldValidation" in {parameter["name"] for parameter in operation["parameters"]}
    assert operation["x-kubernetes-group-version-kind"] == {"group": "", "version": "v1", "kind": "Node"}
    conditions = content["components"]["schemas"]["io.k8s.api.core.v1.NodeStatus"]["properties"]["conditions"]
    assert conditions["x-kubernetes-patch-merge-key"] == "type"


def test_paths_are_those_of_the_kind() -> None:
    paths = document("api/v1")["paths"]

    assert {"get", "post", "delete", "parameters"} == paths["/api/v1/namespaces/{namespace}/pods"].keys()
    assert paths["/api/v1/pods"].keys() == {"get"}
    assert paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"].keys() == {"post", "parameters"}
    assert "delete" not in paths["/api/v1/namespaces"]
    assert paths["/api/v1/nodes/{name}"].keys() == {"get", "put", "patch", "delete", "parameters"}


@pytest.mark.scenario("H-65")
def test_a_document_that_is_known_is_not_sent_again(ask: Asking) -> None:
    """Aggregated discovery carries an ETag, and answers 304 to whoever has it."""
    first = ask.response("GET", "/apis", headers={"accept": KUBECTL})

    again = ask.response("GET", "/apis", headers={"accept": KUBECTL, "if-none-match": first.headers["etag"]})

    assert json.loads(first.body)["kind"] == "APIGroupDiscoveryList"
    assert first.headers["content-type"] == AGGREGATED
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        pytest.param("/api", "application/json", "APIVersions", id="core, plain"),
        pytest.param("/api", KUBECTL, "APIGroupDiscoveryList", id="core, aggregated"),
        pytest.param("/apis", "*/*", "APIGroupList", id="groups, plain"),
        pytest.param("/api/v1", KUBECTL, "APIResourceList", id="one version has one form"),
        pytest.param("/apis/apps", "", "APIGroup", id="one group"),
    ],
)
def test_discovery_comes_in_the_form_asked_for(path: str, accept: str, kind: str, ask: Asking) -> None:
    assert ask.ok("GET", path, headers={"accept": accept})["kind"] == kind


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3/apis/nope/v1", "/apis/nope", "/apis//v1"])
def test_what_is_not_described_is_not_found(path: str, ask: Asking) -> None:
    assert ask.response("GET", path).status == 404
