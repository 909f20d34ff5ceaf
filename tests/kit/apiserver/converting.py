# SPDX-License-Identifier: Apache-2.0
"""A definition whose objects a webhook converts, and that webhook."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from apimachinery.http import HTTPResponse
from kit.apiserver.webhooks import Object

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "x.conv.io"
TEXT = {"type": "string"}
SPEC = {"type": "object", "properties": {"a": TEXT, "b": TEXT, "kept": TEXT}}
SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}}
CLIENT = {"url": "https://HOST/convert"}


def definition(storage: str = "v1", served: tuple[str, ...] = ("v1", "v2"), **client: Any) -> Object:
    versions = [{"name": name, "served": True, "storage": name == storage, "schema": SCHEMA} for name in served]
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {**CLIENT, **client}}
    return {
        "metadata": {"name": f"foos.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def renamed(obj: Object, desired: str) -> Object:
    """Convert as a webhook would: the field `a` of v1 is `b` in v2."""
    spec = obj.get("spec", {})
    before, after = ("a", "b") if desired.endswith("v2") else ("b", "a")
    if before in spec:
        spec[after] = spec.pop(before)
    return {**obj, "apiVersion": desired}


class Converter:
    """A webhook that converts, and spoils what it answers if it is told to."""

    def __init__(self) -> None:
        self.spoil: Callable[[Object], Object] = lambda obj: obj
        self.answer: Callable[[Object], Any] = lambda response: response
        self.sizes: list[int] = []

    def __call__(self, review: Object) -> HTTPResponse:
        request = review["request"]
        self.sizes.append(len(request["objects"]))
        made = [self.spoil(renamed(copy.deepcopy(obj), request["desiredAPIVersion"])) for obj in request["objects"]]
        response = {"uid": request["uid"], "convertedObjects": made, "result": {"status": "Success"}}
        whole = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
        answered = self.answer(whole)
        return answered if isinstance(answered, HTTPResponse) else HTTPResponse(200, {}, json.dumps(answered).encode())
