# SPDX-License-Identifier: Apache-2.0
"""Webhooks in this process: a caller that finds them by their path, and configurations that name them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.webhooks.caller import Target, Unreached

Object = dict[str, Any]
Answer = Callable[[Object], HTTPResponse]
ROOT = "/apis/admissionregistration.k8s.io/v1"
CONFIG_MAPS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


def reviewed(content: object, status: int = 200, media_type: str = "application/json") -> Answer:
    """Return a webhook that always answers the same."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda review: HTTPResponse(status, {"content-type": media_type}, body)


def says(allowed: object = True, **fields: Any) -> Answer:
    """Return a webhook that answers each review with these fields."""

    def answer(review: Object) -> HTTPResponse:
        response = {"uid": review["request"]["uid"], "allowed": allowed, **fields}
        head = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
        return HTTPResponse(
            200, {"content-type": "application/json"}, json.dumps({**head, "response": response}).encode()
        )

    return answer


def patches(*operations: Object) -> Answer:
    """Return a webhook that answers with a JSON patch."""
    packed = base64.b64encode(json.dumps(operations).encode()).decode()
    return says(patch=packed, patchType="JSONPatch")


class Called:
    """A caller of webhooks in this process, and what they were asked.

    Args:
        webhooks: Webhooks by the last segment of their path.
    """

    def __init__(self, webhooks: Mapping[str, Answer] | None = None) -> None:
        self.webhooks = dict(webhooks or {})
        self.targets: list[Target] = []
        self.requests: list[HTTPRequest] = []
        self.reviews: list[Object] = []

    @property
    def names(self) -> list[str]:
        """The names of the webhooks that were called, in their order."""
        return [request.path.rpartition("/")[2] for request in self.requests]

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """See `Caller.call`."""
        review = json.loads(request.body)
        self.targets.append(target)
        self.requests.append(request)
        self.reviews.append(review)
        webhook = self.webhooks.get(target.path.rpartition("/")[2])
        if webhook is None:
            raise Unreached("dial tcp 127.0.0.1:1: connect: connection refused")
        return webhook(review)


def hook(path: str, **fields: Any) -> Object:
    """Return a webhook of a configuration, at a path; for all writes of config maps, unless `fields` say otherwise."""
    return {
        "name": f"{path}.example.com" if "." in path else f"{path}.hooks.example.com",
        "clientConfig": {"url": f"https://HOST/{path}"},
        "rules": [CONFIG_MAPS],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }


def configuration(kind: str, *hooks: Object, name: str = "c") -> Object:
    """Return a configuration of `Mutating` or `Validating` webhooks."""
    word = f"{kind}WebhookConfiguration"
    return {
        "kind": word,
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": name},
        "webhooks": hooks,
    }
