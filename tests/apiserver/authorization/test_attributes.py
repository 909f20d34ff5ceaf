# SPDX-License-Identifier: Apache-2.0
"""From a request to what it asks for, however its path is spelled."""

from __future__ import annotations

import pytest

from apimachinery.http import HTTPRequest
from embedded_apiserver.authorization.attributes import Attributes, attributes_of
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.routes import find_route
from embedded_apiserver.users import User

USER = User("jane")
NAMED = "metadata.name=a"


def of(method: str, path: str, **query: str) -> tuple[str, ...]:
    request = HTTPRequest(method, path, tuple((name.rstrip("_"), value) for name, value in query.items()))
    user, *rest = attributes_of(USER, request, find_route(KINDS, path.rstrip("/")))
    assert user == USER
    return tuple(rest)


def asked(
    verb: str, resource: str, group: str = "", part: str = "", namespace: str = "", name: str = ""
) -> tuple[str, ...]:
    _, *rest = Attributes(USER, verb, group, resource, part, namespace, name)
    return tuple(rest)


PODS = "/api/v1/namespaces/x/pods"


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/nodes", {}, asked("list", "nodes")),
        ("GET", "/api/v1/nodes/", {}, asked("list", "nodes")),
        ("GET", "/api/v1/nodes", {"watch": "1"}, asked("watch", "nodes")),
        ("GET", "/api/v1/nodes", {"watch": "false"}, asked("list", "nodes")),
        ("GET", "/api/v1/nodes", {"watch": "maybe"}, asked("watch", "nodes")),
        ("GET", "/api/v1/nodes/a", {"watch": "1"}, asked("get", "nodes", name="a")),
        ("GET", "/api/v1/nodes", {"fieldSelector": NAMED}, asked("list", "nodes", name="a")),
        ("GET", "/api/v1/nodes", {"fieldSelector": NAMED, "watch": "1"}, asked("watch", "nodes", name="a")),
        ("GET", "/api/v1/nodes", {"fieldSelector": "metadata.name!=a"}, asked("list", "nodes")),
        ("GET", "/api/v1/nodes", {"fieldSelector": "metadata.name=a/b"}, asked("list", "nodes")),
        ("GET", "/api/v1/nodes", {"fieldSelector": "a"}, asked("list", "nodes")),
        ("HEAD", "/api/v1/nodes/a", {}, asked("get", "nodes", name="a")),
        ("POST", PODS, {}, asked("create", "pods", namespace="x")),
        ("POST", f"{PODS}/a/eviction", {}, asked("create", "pods", "", "eviction", "x", "a")),
        ("PUT", f"{PODS}/a", {}, asked("update", "pods", namespace="x", name="a")),
        ("PATCH", f"{PODS}/a/status", {}, asked("patch", "pods", "", "status", "x", "a")),
        ("DELETE", f"{PODS}/a", {}, asked("delete", "pods", namespace="x", name="a")),
        ("DELETE", PODS, {}, asked("deletecollection", "pods", namespace="x")),
        ("DELETE", PODS, {"fieldSelector": NAMED}, asked("deletecollection", "pods", namespace="x")),
        ("FOO", PODS, {}, asked("", "pods", namespace="x")),
        ("GET", "/api/v1/namespaces/x", {}, asked("get", "namespaces", namespace="x", name="x")),
        ("PUT", "/api/v1/namespaces/x/finalize", {}, asked("update", "namespaces", "", "finalize", "x", "x")),
        ("GET", "/apis/apps/v1/deployments", {}, asked("list", "deployments", "apps")),
    ],
)  # fmt: skip
def test_a_served_path_is_what_will_be_executed(
    method: str, path: str, query: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert of(method, path, **query) == expected


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/watch/nodes", asked("watch", "nodes")),
        ("GET", "/api/v1/watch/namespaces/x/pods/a", asked("watch", "pods", namespace="x", name="a")),
        ("DELETE", "/api/v1/proxy/nodes/a", asked("proxy", "nodes", name="a")),
        ("GET", "/apis/example.com/v1/foos", asked("list", "foos", "example.com")),
        ("GET", "/api/v1/namespaces/x/pods/a/log", asked("get", "pods", "", "log", "x", "a")),
        ("GET", "/api/v1/namespaces/x/pods/a/proxy/b/c", asked("get", "pods", "", "proxy", "x", "a")),
        ("GET", "/api/v1/../v1/nodes", asked("get", "..", part="nodes", name="v1")),
        ("GET", "/api/v1/namespaces/x/../../nodes", asked("get", "..", "", "nodes", "x", "..")),
        ("GET", "//api/v1/nodes", asked("list", "nodes")),
        ("GET", "/api//v1/nodes", asked("get", "v1", name="nodes")),
        ("GET", "/api/v1/namespaces//pods", asked("list", "pods")),
        ("DELETE", "/apis/example.com/v1/foos", asked("deletecollection", "foos", "example.com")),
    ],
)  # fmt: skip
def test_a_path_that_is_not_served_is_read_as_by_a_real_server(
    method: str, path: str, expected: tuple[str, ...]
) -> None:
    assert of(method, path) == expected


@pytest.mark.parametrize(
    "path",
    ["/", "/version", "/healthz/", "/api", "/api/v1/", "/apis/apps/v1", "/API/v1/nodes", "/version/../api/v1/nodes"],
)
def test_another_path_is_itself(path: str) -> None:
    assert of("POST", path) == ("post", "", "", "", "", "", path)
