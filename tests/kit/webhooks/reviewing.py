# SPDX-License-Identifier: Apache-2.0
"""Reviews as an API server sends them, and their answers."""

from __future__ import annotations

import base64
import json
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime import Manager, SystemHost
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.webhooks import Webhooks
from embedded_apiserver.server import APIServer
from embedded_apiserver.typed.jsonpatch import apply

JSON = {"content-type": "application/json"}


def webhooks(*things: Any) -> Webhooks:
    """Return the webhooks of a manager that does not run."""
    host = SystemHost()
    manager = Manager(host, InProcessTransport(host, APIServer(host)))
    manager.webhooks.add(*things)
    return manager.webhooks


def admission_review(obj: Any, old: Any = None, *, operation: str = "", **more: Any) -> dict[str, Any]:
    """Return an AdmissionReview of a write of an object; without an object it is a deletion of the old one."""
    shown = obj or old
    group, _, version = shown["apiVersion"].rpartition("/")
    metadata = shown["metadata"]
    request = {
        "uid": "7c1f7a5e-2e0b-4c5b-9f7b-1d6f3b1f5c11",
        "kind": {"group": group, "version": version, "kind": shown["kind"]},
        "resource": {"group": group, "version": version, "resource": "things"},
        "requestKind": {"group": group, "version": version, "kind": shown["kind"]},
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "operation": operation or ("DELETE" if obj is None else "CREATE" if old is None else "UPDATE"),
        "userInfo": {"username": "ann", "uid": "1", "groups": ["builders", "system:authenticated"]},
        "object": obj,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **more,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def post(path: str, review: Any, **query: str) -> HTTPRequest:
    """Return the request with a review."""
    body = review if isinstance(review, bytes) else json.dumps(review).encode()
    return HTTPRequest("POST", path, tuple(query.items()), JSON, body)


def answered(served: Webhooks, path: str, review: Any, **query: str) -> dict[str, Any]:
    """Return the response in the review that answers `review`."""
    answer = served.handle(post(path, review, **query))
    assert answer.status == 200, answer
    made = json.loads(answer.body)
    assert (made["apiVersion"], made["kind"]) == (review["apiVersion"], review["kind"])
    response: dict[str, Any] = made["response"]
    assert response["uid"] == review["request"]["uid"]
    return response


def operations(response: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the JSON patch of a response."""
    if "patch" not in response:
        return []
    assert response["patchType"] == "JSONPatch"
    made: list[dict[str, Any]] = json.loads(base64.b64decode(response["patch"]))
    return made


def patched(obj: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """Return an object after the patch of a response, as a server applies it."""
    return apply(obj, operations(response))


def conversion_review(wanted: str, *objects: Any) -> dict[str, Any]:
    """Return a ConversionReview of these objects."""
    request = {"uid": "convert-1", "desiredAPIVersion": wanted, "objects": list(objects)}
    return {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}


def shown(answer: HTTPResponse) -> tuple[int, str]:
    """Return the status and the text of a refusal."""
    return answer.status, answer.body.decode()
