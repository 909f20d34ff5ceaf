# SPDX-License-Identifier: Apache-2.0
"""The requests that the server declares heavy before it answers them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from embedded_apiserver.audit import AuditedHandler
from embedded_apiserver.server import APIServer
from embedded_apiserver.weight import LIGHT

HOST = SystemHost()
MAPS = "/api/v1/namespaces/default/configmaps"
NODES = "/api/v1/nodes"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
BINDING = {"policyName": "p", "validationActions": ["Deny"]}
MUTATION = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
SPEC = {"matchConstraints": {"resourceRules": [RULE]}}
POLICIES = {
    "validating": {"metadata": {"name": "p"}, "spec": {**SPEC, "validations": [{"expression": "true"}]}},
    "mutating": {
        "metadata": {"name": "p"},
        "spec": {**SPEC, "reinvocationPolicy": "Never", "mutations": [MUTATION]},
    },
}
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"


def is_heavy(
    server: APIServer, method: str, path: str, size: int = 0, content_type: str = "application/json", **query: str
) -> bool:
    request = HTTPRequest(method, path, tuple(query.items()), {"content-type": content_type}, b"x" * size)
    return server.is_heavy(request)


def make(server: APIServer, path: str, obj: object) -> None:
    body = msgspec.json.encode(obj)
    answer = server.handle(HTTPRequest("POST", path, (), {"content-type": "application/json"}, body))
    assert answer.status == 201, answer  # type: ignore[union-attr]


def definition(words: int) -> object:
    """Return a definition of widgets, whose schema has an enumeration of so many words."""
    kind = {"type": "string", "enum": [f"word-{n}" for n in range(words)]}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"kind": kind}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


@pytest.fixture(scope="module")
def server() -> APIServer:
    """Return a server with a small and a large config map, a small node, and few other objects."""
    server = APIServer(HOST)
    make(server, MAPS, {"metadata": {"name": "small"}})
    make(server, MAPS, {"metadata": {"name": "large"}, "data": {"x": "y" * LIGHT}})
    make(server, NODES, {"metadata": {"name": "small"}})
    return server


@pytest.mark.parametrize(
    ("method", "path", "size", "content_type"),
    [
        pytest.param("PUT", f"{MAPS}/small", 500, "application/json", id="a small update"),
        pytest.param("POST", MAPS, LIGHT, "application/json", id="a creation of the limit"),
        pytest.param("PATCH", f"{NODES}/small", 500, MERGE, id="a small merge patch"),
        pytest.param("PATCH", f"{NODES}/small/status", 500, STRATEGIC, id="a small strategic merge patch"),
        pytest.param("GET", f"{MAPS}/small", 0, "", id="a small object"),
        pytest.param("GET", f"{MAPS}/none", 0, "", id="no object"),
        pytest.param("GET", NODES, 0, "", id="a short list"),
        pytest.param("GET", DEFINITIONS, 0, "", id="no definitions"),
        pytest.param("DELETE", f"{MAPS}/small", 0, "", id="a small deletion"),
        pytest.param("GET", "/healthz", 0, "", id="health"),
        pytest.param("GET", "/apis/apps/v1", 0, "", id="discovery"),
        pytest.param("GET", "/nothing", 0, "", id="nothing"),
    ],
)
def test_the_usual_requests_are_light(server: APIServer, method: str, path: str, size: int, content_type: str) -> None:
    assert not is_heavy(server, method, path, size, content_type)


@pytest.mark.parametrize(
    ("method", "path", "size", "content_type"),
    [
        pytest.param("POST", MAPS, LIGHT + 1, "application/json", id="a large creation"),
        pytest.param("POST", "/nothing", LIGHT + 1, "application/json", id="a large body for nothing"),
        pytest.param("PUT", f"{MAPS}/large", 10, "application/json", id="a small update of a large object"),
        pytest.param("PATCH", f"{MAPS}/large", 10, MERGE, id="a small patch of a large object"),
        pytest.param("GET", f"{MAPS}/large", 0, "", id="a large object"),
        pytest.param("PATCH", f"{NODES}/small", 10, JSON_PATCH, id="a JSON patch"),
        pytest.param("PATCH", f"{NODES}/small", 10, f" {JSON_PATCH.upper()}; charset=utf-8", id="in another spelling"),
        pytest.param("PATCH", f"{NODES}/small", 10, APPLY, id="an apply"),
        pytest.param("PATCH", f"{NODES}/small", 10, "", id="a patch of no type"),
        pytest.param("GET", MAPS, 0, "", id="a list with a large object"),
        pytest.param("GET", f"{MAPS}/", 0, "", id="the same with a slash"),
        pytest.param("DELETE", MAPS, 0, "", id="the deletion of such a collection"),
        pytest.param("POST", DEFINITIONS, 10, "application/json", id="a new definition"),
        pytest.param("DELETE", f"{DEFINITIONS}/widgets.example.com", 0, "", id="the end of a definition"),
        pytest.param("GET", "/openapi/v3", 0, "", id="schemas"),
        pytest.param("POST", f"{RBAC}/namespaces/default/roles", 500, "application/json", id="a role"),
        pytest.param("POST", f"{ADMISSION}/validatingadmissionpolicies", 500, "application/json", id="a policy"),
        pytest.param("POST", "/apis/resource.k8s.io/v1/deviceclasses", 500, "application/json", id="a device class"),
        pytest.param("PUT", f"{RBAC}/clusterrolebindings/a", 500, "application/json", id="a binding"),
    ],
)
def test_what_may_take_long_is_heavy(server: APIServer, method: str, path: str, size: int, content_type: str) -> None:
    assert is_heavy(server, method, path, size, content_type)


def test_a_watch_is_light_whatever_it_begins_with(server: APIServer) -> None:
    assert not is_heavy(server, "GET", MAPS, watch="true")


def test_a_list_of_one_namespace_weighs_what_is_there(server: APIServer) -> None:
    assert not is_heavy(server, "GET", MAPS.replace("default", "kube-system"))


def test_a_list_of_many_small_objects_is_heavy() -> None:
    server = APIServer(HOST)
    for n in range(257):
        make(server, NODES, {"metadata": {"name": f"n{n}"}})

    assert is_heavy(server, "GET", NODES, limit="1")


def test_a_custom_object_weighs_as_much_as_its_definition_makes_it() -> None:
    server = APIServer(HOST)
    path = "/apis/example.com/v1/namespaces/default/widgets"
    make(server, DEFINITIONS, definition(10_000))

    assert not is_heavy(server, "POST", path, 100)
    assert is_heavy(server, "POST", path, 2000)


def test_a_small_custom_object_of_a_usual_definition_is_light() -> None:
    server = APIServer(HOST)
    make(server, DEFINITIONS, definition(10))

    assert not is_heavy(server, "POST", "/apis/example.com/v1/namespaces/default/widgets", 2000)


def test_a_custom_object_that_rules_judge_is_heavy() -> None:
    server = APIServer(HOST)
    made: Any = definition(10)
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": "has(self.kind)"}]
    make(server, DEFINITIONS, made)

    assert is_heavy(server, "POST", "/apis/example.com/v1/namespaces/default/widgets", 100)
    assert not is_heavy(server, "DELETE", "/apis/example.com/v1/namespaces/default/widgets/a")
    assert not is_heavy(server, "GET", "/apis/example.com/v1/namespaces/default/widgets/a")


@pytest.mark.parametrize("kind", ["validating", "mutating"])
def test_writes_are_heavy_while_a_policy_is_bound(kind: str) -> None:
    server = APIServer(HOST)
    storage, resources = server.storage, f"{kind}admissionpolicies.admissionregistration.k8s.io"
    assert storage.is_empty(resources)
    make(server, f"{ADMISSION}/{kind}admissionpolicies", POLICIES[kind])
    assert not is_heavy(server, "POST", MAPS, 100)

    make(server, f"{ADMISSION}/{kind}admissionpolicybindings", {"metadata": {"name": "p"}, "spec": BINDING})

    assert is_heavy(server, "POST", MAPS, 100)
    assert is_heavy(server, "DELETE", MAPS)
    assert not is_heavy(server, "GET", f"{MAPS}/small")


def test_a_server_knows_its_token_by_the_head() -> None:
    server = APIServer(HOST, token="secret")

    assert server.knows({"authorization": "Bearer secret"})
    assert not server.knows({"authorization": "Bearer Secret"})
    assert not server.knows({})
    assert APIServer(HOST).knows({})


def test_an_audited_server_tells_as_much_as_the_one_inside(tmp_path: Path) -> None:
    with AuditedHandler(HOST, APIServer(HOST, token="secret"), tmp_path / "log") as audited:
        assert audited.knows({"authorization": "Bearer secret"})
        assert not audited.knows({})
        assert audited.is_heavy(HTTPRequest("PATCH", f"{NODES}/x", (), {"content-type": APPLY}, b"{}"))
        assert not audited.is_heavy(HTTPRequest("GET", NODES))
