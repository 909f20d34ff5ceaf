# SPDX-License-Identifier: Apache-2.0
"""The access that a request needs, from its method, path, query and body."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apimachinery.http import HTTPRequest
from controller_runtime.rights.asked import AskedAccess, Blocked, asked_by, blocked_by
from embedded_apiserver.authorization.attributes import attributes_of
from embedded_apiserver.users import User

PODS, LEASES = "/api/v1/namespaces/a/pods", "/apis/coordination.k8s.io/v1/namespaces/a/leases"
STREAMED = (("watch", "1"), ("sendInitialEvents", "true"))
APPLY = {"content-type": "application/apply-patch+yaml"}


def body(**metadata: Any) -> bytes:
    return json.dumps({"metadata": metadata}).encode()


@pytest.mark.parametrize(
    ("request_", "asked"),
    [
        pytest.param(HTTPRequest("GET", f"{PODS}/x"), ["get pods a x"], id="get"),
        pytest.param(HTTPRequest("GET", PODS), ["list pods a"], id="list"),
        pytest.param(HTTPRequest("GET", PODS, (("watch", "true"),)), ["watch pods a"], id="watch"),
        pytest.param(HTTPRequest("GET", PODS, STREAMED), ["watch pods a", "list pods a"], id="a list by streaming"),
        pytest.param(HTTPRequest("POST", PODS, body=body(name="x")), ["create pods a x"], id="create"),
        pytest.param(HTTPRequest("POST", PODS, body=body(generateName="x")), ["create pods a"], id="a generated name"),
        pytest.param(HTTPRequest("POST", PODS, body=b"\x00"), ["create pods a"], id="a body that is not JSON"),
        pytest.param(HTTPRequest("POST", f"{PODS}/x/eviction"), ["create pods/eviction a x"], id="subresource"),
        pytest.param(HTTPRequest("PUT", f"{LEASES}/x"), ["update leases.coordination.k8s.io a x"], id="update"),
        pytest.param(HTTPRequest("PATCH", f"{PODS}/x"), ["patch pods a x"], id="patch"),
        pytest.param(
            HTTPRequest("PATCH", f"{PODS}/x", (), APPLY, body(name="x")),
            ["patch pods a x", "create pods a x"],
            id="an apply may create",
        ),
        pytest.param(
            HTTPRequest("PATCH", f"{PODS}/x", (), APPLY, body(uid="1")), ["patch pods a x"], id="an apply to one object"
        ),
        pytest.param(
            HTTPRequest("PATCH", f"{PODS}/x/status", (), APPLY, body(name="x")),
            ["patch pods/status a x"],
            id="an apply to a subresource",
        ),
        pytest.param(HTTPRequest("DELETE", f"{PODS}/x"), ["delete pods a x"], id="delete"),
        pytest.param(HTTPRequest("DELETE", PODS), ["deletecollection pods a"], id="delete a collection"),
        pytest.param(HTTPRequest("GET", "/api/v1/namespaces/a"), ["get namespaces  a"], id="a namespace"),
        pytest.param(
            HTTPRequest("PUT", "/api/v1/namespaces/a/finalize"),
            ["update namespaces/finalize  a"],
            id="a part of a namespace",
        ),
        pytest.param(HTTPRequest("GET", "/metrics"), ["get /metrics"], id="a path"),
        pytest.param(HTTPRequest("GET", "/apis/apps/v1"), [], id="discovery is everybody's"),
        pytest.param(HTTPRequest("GET", "/version"), [], id="so is the version"),
        pytest.param(
            HTTPRequest("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"), [], id="and one's own rights"
        ),
    ],
)
def test_what_a_request_asks(request_: HTTPRequest, asked: list[str]) -> None:
    found = asked_by(request_)

    assert [shown(each) for each in found] == asked
    if found and not (found[0].verb == "create" and "/" not in found[0].resource):  # its name is in the body
        assert found[0] == as_the_server_sees_it(request_)


def shown(asked: AskedAccess) -> str:
    what = asked.path or (f"{asked.resource}.{asked.group}" if asked.group else asked.resource)
    return " ".join(filter(None, [f"{asked.verb} {what}"])) + "".join(
        f" {part}"
        for part in ([asked.namespace, asked.name] if asked.name else [asked.namespace] * bool(asked.namespace))
    )


def as_the_server_sees_it(request: HTTPRequest) -> AskedAccess:
    """Return the attributes for which the embedded server authorizes a request whose path it does not serve."""
    seen = attributes_of(User("u", ()), request, None)
    resource = f"{seen.resource}/{seen.subresource}" if seen.subresource else seen.resource
    namespace = "" if seen.resource == "namespaces" else seen.namespace  # which is in itself
    return AskedAccess(seen.verb, seen.group, resource, namespace, seen.name, seen.path)


OWNER = {"apiVersion": "example.com/v1", "kind": "Cabin", "name": "c", "blockOwnerDeletion": True}
BLOCKED = Blocked("example.com", "Cabin", "a", "c", is_update=False)


@pytest.mark.parametrize(
    ("method", "kind", "sent", "found"),
    [
        pytest.param("POST", "", {"metadata": {"ownerReferences": [OWNER]}}, [BLOCKED], id="create"),
        pytest.param("PATCH", "merge-", {"metadata": {"ownerReferences": [OWNER]}}, [BLOCKED], id="merge patch"),
        pytest.param(
            "PUT", "", {"metadata": {"ownerReferences": [OWNER]}}, [BLOCKED._replace(is_update=True)], id="PUT"
        ),
        pytest.param(
            "PATCH",
            "json-",
            [{"path": "/metadata/ownerReferences/-", "value": OWNER}],
            [BLOCKED],
            id="one by JSON patch",
        ),
        pytest.param(
            "PATCH", "json-", [{"path": "/metadata/ownerReferences", "value": [OWNER]}], [BLOCKED], id="all of them"
        ),
        pytest.param(
            "PATCH",
            "json-",
            [{"path": "/metadata", "value": {"ownerReferences": [OWNER]}}],
            [BLOCKED],
            id="all metadata",
        ),
        pytest.param(
            "POST",
            "",
            {"metadata": {"ownerReferences": [{**OWNER, "blockOwnerDeletion": False}]}},
            [],
            id="not blocking",
        ),
        pytest.param("POST", "", {"spec": {"x": {"ownerReferences": [OWNER]}}}, [], id="elsewhere in the object"),
    ],
)
def test_owners_whose_deletion_a_write_blocks(method: str, kind: str, sent: object, found: list[Blocked]) -> None:
    headers = {"content-type": f"application/{kind}patch+json"} if kind else {"content-type": "application/json"}

    assert [*blocked_by(HTTPRequest(method, f"{PODS}/x", (), headers, json.dumps(sent).encode()))] == found
