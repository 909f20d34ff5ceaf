# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI documents, and the headers of requests for them and for discovery."""

from __future__ import annotations

import gc
import gzip
import json
import weakref
from datetime import timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.defining import GROUP, define, structure, version

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.discovery.openapi import Document, OpenAPI
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.kinds.definition import Definition
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.kinds.release import Release

OPENAPI = OpenAPI()


def unpacked(found: Document | None) -> Any:
    assert found is not None
    return json.loads(gzip.decompress(found.packed))


INDEX = unpacked(OPENAPI.find(KINDS, "/openapi/v3"))["paths"]
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBECTL = f"{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"


def document(name: str) -> Any:
    return unpacked(OPENAPI.find(KINDS, f"/openapi/v3/{name}"))


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
    """Aggregated discovery carries an ETag; a request with that ETag is answered 304."""
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


def link(ask: Asking, name: str) -> tuple[str, str]:
    """Return the path and the hash of a document, from its URL in the index."""
    parts = urlsplit(ask.ok("GET", "/openapi/v3")["paths"][name]["serverRelativeURL"])
    return parts.path, parse_qs(parts.query)["hash"][0]


def test_a_document_asked_for_by_its_hash_never_changes(ask: Asking, sim: Simulation) -> None:
    path, name = link(ask, "api/v1")

    told = ask.response("GET", path, hash=name)
    again = ask.response("GET", path, hash=name, headers={"if-none-match": told.headers["etag"]})

    assert (told.headers["etag"], told.headers["cache-control"]) == (f'"{name}"', "public, immutable")
    assert parsedate_to_datetime(told.headers["expires"]) - sim.host("reader").now() > timedelta(days=364)
    assert (again.status, again.body) == (304, b"")
    assert "cache-control" not in ask.response("GET", path).headers


def test_a_document_asked_for_by_an_old_hash_is_elsewhere(ask: Asking) -> None:
    path, name = link(ask, "api/v1")

    told = ask.response("GET", path, hash="0F")

    assert (told.status, told.headers["location"]) == (301, f"{path}?hash={name}")


def test_a_document_is_compressed_for_who_reads_that(ask: Asking) -> None:
    plain = ask.response("GET", "/openapi/v3/api/v1")
    packed = ask.response("GET", "/openapi/v3/api/v1", headers={"accept-encoding": "deflate, gzip"})

    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 5
    assert packed.headers["etag"] == plain.headers["etag"]


@pytest.mark.parametrize(
    ("path", "accept", "status", "content_type"),
    [
        pytest.param("v3", "application/yaml", 200, "application/json", id="the index has one form for all"),
        pytest.param("v3/api/v1", "application/yaml", 406, None, id="v3 in no form that there is"),
        pytest.param("v3/api/v1", "application/yaml, */*", 200, "application/json", id="v3 in any form"),
        pytest.param(
            "v3/api/v1", "text/plain, application/json;q=0.1", 200, "application/json", id="v3, second choice"
        ),
        pytest.param("v2", "text/plain", 406, None, id="v2 in no form that there is"),
        pytest.param("v2", "", 200, "application/json", id="v2 in any form"),
    ],
)
def test_documents_come_in_a_form_that_is_accepted(
    path: str, accept: str, status: int, content_type: str | None, ask: Asking
) -> None:
    told = ask.response("GET", f"/openapi/{path}", headers={"accept": accept} if accept else {})

    assert (told.status, told.headers.get("content-type")) == (status, content_type)


def test_fields_are_described_as_a_real_server_does() -> None:
    schemas = document("apis/apps/v1")["components"]["schemas"]

    whole = schemas["io.k8s.api.apps.v1.Deployment"]
    replicas = schemas["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"]
    assert whole["description"] == "Deployment enables declarative updates for Pods and ReplicaSets."
    assert replicas["description"].startswith("Number of desired pods. This is a pointer to distinguish between")
    assert all(schema.get("description") for schema in schemas.values())


def test_the_document_of_custom_kinds_follows_their_definition(ask: Asking) -> None:
    name = f"apis/{GROUP}/v1"
    assert name not in ask.ok("GET", "/openapi/v3")["paths"]

    define(ask, version(schema=structure({"type": "object", "description": "First."})))
    path, first = link(ask, name)
    made = ask.ok("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.demo.example.com")
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["description"] = "Second."
    ask.ok("PUT", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{made['metadata']['name']}", made)
    path, second = link(ask, name)
    told = ask.ok("GET", path)["components"]["schemas"]["com.example.demo.v1.Widget"]

    assert first != second
    assert told["properties"]["spec"]["description"] == "Second."
    ask.ok("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{made['metadata']['name']}")
    assert name not in ask.ok("GET", "/openapi/v3")["paths"]
    assert ask.response("GET", path).status == 404


@pytest.mark.parametrize("path", ["/openapi", "/openapi/v4", "/openapi/v3/apis/nope/v1", "/apis/nope", "/apis//v1"])
def test_what_is_not_described_is_not_found(path: str, ask: Asking) -> None:
    assert ask.response("GET", path).status == 404


def test_kinds_that_are_gone_are_let_go() -> None:
    openapi = OpenAPI()
    made = Definition.of("demo.example.com", "v1", "Gone", {"type": "object"}, ())
    gone = Kind(group="demo.example.com", version="v1", kind="Gone", plural="gone", definition=made)
    seen = weakref.ref(gone)
    kinds = Kinds((gone,))
    for path in ("/openapi/v3", "/openapi/v2", "/openapi/v3/apis/demo.example.com/v1"):
        assert openapi.find(kinds, path) is not None

    del gone, kinds
    openapi.find(KINDS, "/openapi/v3/api/v1")
    gc.collect()

    assert seen() is None


SHARD_TEXT = (
    "shardSelector restricts the list of returned objects using a CEL-based shard selector expression. The format"
)


@pytest.mark.parametrize("minor", [31, 33, 34, 35, 36])
def test_lists_can_be_sharded_in_the_documents_of_a_release_that_knows_it(minor: int) -> None:
    """A real server 1.36.2 describes the parameter with its feature gate on and off, to the same byte."""
    documents = OpenAPI(Release(minor))
    v3, v2 = (documents.find(KINDS, path) for path in ("/openapi/v3/api/v1", "/openapi/v2"))
    assert v3 is not None
    assert v2 is not None
    described, older = json.loads(gzip.decompress(v3.packed)), json.loads(gzip.decompress(v2.packed))

    item = described["paths"]["/api/v1/namespaces/{namespace}/pods"]
    found = {
        method: [one for one in item[method]["parameters"] if one["name"] == "shardSelector"]
        for method in ("get", "post", "delete")
    }
    text = next((one["description"] for one in found["get"]), "")
    shared = {"name": "shardSelector", "in": "query", "description": text}
    expected = [{**shared, "schema": {"type": "string", "uniqueItems": True}}] if minor == 36 else []
    assert found == {"get": expected, "post": [], "delete": expected}
    assert text.startswith(SHARD_TEXT if minor == 36 else "")
    assert ("shardSelector" in older["parameters"]) is (minor == 36)
    if minor == 36:
        assert older["parameters"]["shardSelector"] == {**shared, "type": "string", "uniqueItems": True}
        reference = {"$ref": "#/parameters/shardSelector"}
        pods = older["paths"]["/api/v1/namespaces/{namespace}/pods"]
        assert reference in pods["get"]["parameters"]
        assert reference in pods["delete"]["parameters"]
