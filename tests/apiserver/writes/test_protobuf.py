# SPDX-License-Identifier: Apache-2.0
"""Bodies in protobuf, as clients written in Go send them."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.asking import LEASES, PODS, Asking, pod

from controller_runtime.api.http import HTTPRequest
from controller_runtime.apiserver.status import StatusError
from controller_runtime.apiserver.writes.protobuf import MEDIA_TYPE, readable

PROTOBUF = {"content-type": MEDIA_TYPE}
# What kubectl 1.32 sends for `kubectl create namespace foo`.
RECORDED = bytes.fromhex(
    "6b3873000a0f0a02763112094e616d657370616365121b0a130a03666f6f12001a0022002a0032003800420012001a020a001a002200"
)


def varint(number: int) -> bytes:
    """A number in groups of seven bits."""
    number &= (1 << 64) - 1
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def field(number: int, value: int | str | bytes) -> bytes:
    """One field as it stands on the wire."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def message(api_version: str, kind: str, *fields: bytes) -> bytes:
    """An object in its envelope."""
    about = field(1, api_version) + field(2, kind)
    return b"k8s\0" + field(1, about) + field(2, b"".join(fields))


def read(body: bytes) -> Any:
    return json.loads(readable(HTTPRequest("POST", "/", (), PROTOBUF, body)).body)


NAMED = field(1, field(1, "x"))


def test_a_namespace_as_kubectl_sends_it_is_created(ask: Asking) -> None:
    status, created = ask("POST", "/api/v1/namespaces", RECORDED, headers=PROTOBUF, fieldValidation="Strict")

    assert (status, created["metadata"]["name"]) == (201, "foo")
    assert created["status"] == {"phase": "Active"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(field(1, 0), {"replicas": 0}, id="zero of a pointer is kept"),
        pytest.param(field(5, 0), {}, id="zero of a plain number is no number"),
        pytest.param(field(1, -1), {"replicas": -1}, id="negative"),
        pytest.param(field(2, field(1, field(1, "a") + field(2, "b"))),
                     {"selector": {"matchLabels": {"a": "b"}}}, id="map"),
        pytest.param(field(4, field(2, field(1, field(1, 1) + field(3, "25%")))),
                     {"strategy": {"rollingUpdate": {"maxUnavailable": "25%"}}}, id="a text where a number may stand"),
        pytest.param(field(4, field(2, field(1, field(2, 3)))),
                     {"strategy": {"rollingUpdate": {"maxUnavailable": 3}}}, id="a number where a text may stand"),
        pytest.param(field(999, "new"), {}, id="a field of tomorrow is skipped"),
    ],
)  # fmt: skip
def test_the_fields_of_a_deployment(spec: bytes, expected: dict[str, Any]) -> None:
    assert read(message("apps/v1", "Deployment", NAMED, field(2, spec))).get("spec", {}) == expected


def test_a_lease_keeps_its_microseconds_and_its_empty_holder() -> None:
    times = field(4, field(1, 1767225600) + field(2, 123456000)) + field(3, b"")

    read_lease = read(message("coordination.k8s.io/v1", "Lease", NAMED, field(2, field(1, "") + times)))

    assert read_lease["spec"] == {"holderIdentity": "", "renewTime": "2026-01-01T00:00:00.123456Z"}


def test_a_pod_has_its_volumes_parts_among_their_own_fields() -> None:
    secret = field(2, field(6, field(1, "s")))
    quantities = field(8, field(1, field(1, "cpu") + field(2, field(1, "500m"))))
    container = field(2, field(1, "c") + quantities)

    spec = read(message("v1", "Pod", NAMED, field(2, field(1, field(1, "v") + secret) + container)))["spec"]

    assert spec["volumes"] == [{"name": "v", "secret": {"secretName": "s"}}]
    assert spec["containers"] == [{"name": "c", "resources": {"limits": {"cpu": "500m"}}}]


def test_bytes_become_base64() -> None:
    entry = field(2, field(1, "k") + field(2, b"\0\xff"))

    assert read(message("v1", "Secret", NAMED, entry))["data"] == {"k": base64.b64encode(b"\0\xff").decode()}


def test_a_list_in_a_map_stands_in_a_message_of_its_own() -> None:
    extra = field(5, field(1, "scopes") + field(2, field(1, "a") + field(1, "b")))

    review = read(message("authorization.k8s.io/v1", "SubjectAccessReview", NAMED, field(2, extra)))

    assert review["spec"]["extra"] == {"scopes": ["a", "b"]}


def test_the_options_of_a_deletion_are_read(ask: Asking) -> None:
    ask.ok("POST", PODS, pod("p", nodeName="n"))
    options = message("v1", "DeleteOptions", field(1, 0))

    assert ask("DELETE", f"{PODS}/p", options, headers=PROTOBUF)[0] == 200
    assert ask("GET", f"{PODS}/p")[0] == 404


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b"{}", 400, id="JSON"),
        pytest.param(RECORDED[:20], 400, id="cut off"),
        pytest.param(b"k8s\0\x0f", 400, id="unknown wire type"),
        pytest.param(message("v1", "Namespace", b"\x0d\x00"), 400, id="short number"),
        pytest.param(message("v1", "Namespace", field(1, 5)), 400, id="number for a message"),
        pytest.param(b"k8s\0" + b"\xff" * 20, 400, id="endless number"),
        pytest.param(message("v1", "Nope", NAMED), 415, id="unknown kind"),
        pytest.param(message("apiextensions.k8s.io/v1", "CustomResourceDefinition", NAMED), 415, id="without numbers"),
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes, code: int, ask: Asking) -> None:
    assert ask("POST", "/api/v1/namespaces", body, headers=PROTOBUF)[0] == code


@given(st.binary(max_size=40))
def test_whatever_comes_is_read_or_refused(tail: bytes) -> None:
    request = HTTPRequest("POST", "/", (), PROTOBUF, message("v1", "Pod", tail))

    with contextlib.suppress(StatusError):
        assert readable(request).headers["content-type"] == "application/json"


def test_other_bodies_are_left_alone(ask: Asking) -> None:
    request = HTTPRequest("POST", LEASES, (), {"content-type": "application/json"}, b"k8s\0")

    assert readable(request) is request
