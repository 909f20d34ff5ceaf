# SPDX-License-Identifier: Apache-2.0
"""Which requests delete something, and what: read from the request alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apimachinery.http import HTTPRequest
from controller_runtime.deletions.requests import Takes, deletion_of, is_last

PODS = "/api/v1/namespaces/default/pods"
POD = f"{PODS}/a"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
DRY = (("dryRun", "All"),)


def asked(method: str, path: str, body: Any = None, kind: str = "application/json", query: Any = ()) -> HTTPRequest:
    return HTTPRequest(method, path, query, {"content-type": kind}, b"" if body is None else json.dumps(body).encode())


def test_a_part_is_a_part_of_its_object() -> None:
    found = deletion_of(asked("POST", f"{POD}/eviction", {}), {"pods"})

    assert found is not None
    assert (found.kind, found.namespace, found.name, found.path) == ("pods", "default", "a", POD)


def removal(body: Any, kind: str = MERGE) -> HTTPRequest:
    return asked("PUT" if kind == "application/json" else "PATCH", POD, body, kind)


def takes(request: HTTPRequest) -> Takes | None:
    found = deletion_of(request, {"pods"})
    return None if found is None else found.takes


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (asked("DELETE", POD), Takes.OBJECT),
        (asked("DELETE", PODS), Takes.COLLECTION),
        (asked("DELETE", "/api/v1/pods"), Takes.COLLECTION),
        (asked("POST", f"{POD}/eviction", {}), Takes.OBJECT),
        (asked("DELETE", "/api/v1/namespaces/x"), Takes.OBJECT),
        (asked("PUT", "/api/v1/namespaces/x/finalize", {"spec": {"finalizers": []}}), Takes.OBJECT),
        (asked("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b"), Takes.OBJECT),
        (asked("DELETE", "/api/v1/namespaces/default/configmaps/a"), Takes.OBJECT),
        (asked("PUT", "/api/v1/namespaces/x/finalize", {"spec": {"finalizers": ["kubernetes"]}}), None),
        (asked("DELETE", "/api/v1/namespaces/default/services/a"), None),
        (asked("GET", POD), None),
        (asked("POST", PODS, {}), None),
        (asked("DELETE", "/version"), None),
    ],
    ids=lambda value: f"{value.method} {value.path}" if isinstance(value, HTTPRequest) else "",
)
def test_a_deletion_is_known_by_method_and_path(request_: HTTPRequest, expected: Takes | None) -> None:
    assert takes(request_) is expected


@pytest.mark.parametrize(
    ("request_", "is_dry"),
    [
        (asked("DELETE", POD, query=DRY), True),
        (asked("DELETE", POD, {"dryRun": ["All"]}), True),
        (asked("DELETE", POD, {"gracePeriodSeconds": 1}, query=DRY), False),  # the body alone has the options then
        (asked("POST", f"{POD}/eviction", {"deleteOptions": {"dryRun": ["All"]}}), True),
        (asked("POST", f"{POD}/eviction", {}, query=DRY), True),
        (asked("PATCH", POD, {"metadata": {"finalizers": None}}, MERGE, DRY), True),
    ],
)
def test_a_dry_run_deletes_nothing(request_: HTTPRequest, is_dry: bool) -> None:
    assert (takes(request_) is None) is is_dry


@pytest.mark.parametrize(
    ("request_", "may_end"),
    [
        (removal({"metadata": {"finalizers": []}}), True),
        (removal({"metadata": {"finalizers": None}}), True),
        (removal({"metadata": None}), True),
        (removal({"metadata": {"finalizers": ["a"]}}), False),
        (removal({"metadata": {"labels": {}}}), False),
        (removal({"spec": {}}), False),
        (removal({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, STRATEGIC), True),
        (removal([{"op": "remove", "path": "/metadata/finalizers/0"}], JSON), True),
        (removal([{"op": "remove", "path": "/metadata/finalizers"}], JSON), True),
        (removal([{"op": "replace", "path": "/metadata", "value": {}}], JSON), True),
        (removal([{"op": "replace", "path": "", "value": {"metadata": {"finalizers": ["a"]}}}], JSON), False),
        (removal([{"op": "move", "from": "/metadata/finalizers/0", "path": "/metadata/labels/a"}], JSON), True),
        (removal([{"op": "add", "path": "/metadata/finalizers/-", "value": "a"}], JSON), False),
        (removal([{"op": "test", "path": "/metadata/finalizers/0", "value": "a"}], JSON), False),
        (removal({"metadata": {"name": "a"}}, APPLY), True),
        (removal({"metadata": {"name": "a", "finalizers": ["a"]}}, APPLY), False),
        (removal({"metadata": {"name": "a"}}, "application/json"), True),
        (removal({"metadata": {"resourceVersion": "1"}}, "application/json"), False),
        (removal({"metadata": {"resourceVersion": "1", "deletionTimestamp": "x"}}, "application/json"), True),
        (removal({"metadata": {"finalizers": ["a"]}}, "application/json"), False),
    ],
    ids=lambda value: value.body.decode() if isinstance(value, HTTPRequest) else "",
)
def test_a_write_may_take_the_last_finalizer_off(request_: HTTPRequest, may_end: bool) -> None:
    assert (takes(request_) is Takes.LAST_FINALIZER) is may_end


OWNED = [{"manager": "us", "fieldsV1": {"f:metadata": {"f:finalizers": {'v:"a"': {}}}}}]
BY_US = (("fieldManager", "us"),)
FIRST = [{"op": "remove", "path": "/metadata/finalizers/0"}]


@pytest.mark.parametrize(
    ("metadata", "request_", "expected"),
    [
        ({}, removal({"metadata": {"finalizers": []}}), False),
        ({"finalizers": ["a", "b"]}, removal({"metadata": {"finalizers": []}}), True),
        ({"finalizers": ["a", "b"]}, removal(FIRST, JSON), False),
        ({"finalizers": ["a", "b"]}, removal(FIRST * 2, JSON), True),
        ({"finalizers": ["a"]}, removal(FIRST, JSON), True),
        ({"finalizers": ["a"]}, asked("PATCH", POD, {}, APPLY, BY_US), False),
        (
            {"finalizers": ["a"], "managedFields": OWNED},
            asked("PATCH", POD, {}, APPLY, BY_US),
            True,
        ),
        (
            {"finalizers": ["a"], "managedFields": OWNED},
            asked("PATCH", POD, {}, APPLY, (("fieldManager", "x"),)),
            False,
        ),
    ],
)
def test_the_last_finalizer_is_known_from_the_object(
    metadata: dict[str, Any], request_: HTTPRequest, expected: bool
) -> None:
    assert is_last(metadata, request_) is expected
