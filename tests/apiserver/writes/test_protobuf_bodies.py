# SPDX-License-Identifier: Apache-2.0
"""Protobuf bodies, as clients written in Go send them."""

from __future__ import annotations

import base64
import contextlib
import json
import struct
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.apiserver.asking import LEASES, PODS, Asking, pod
from kit.apiserver.defining import GROUP, WIDGETS, define, widget
from kit.apiserver.protobuf import field, message, messages_below

from apimachinery.http import HTTPRequest
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.groups.parts import EVICTION, SCALE
from embedded_apiserver.groups.pods.kinds import BINDING, POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE
from embedded_apiserver.protobuf.messages import numbers as protobuf_numbers
from embedded_apiserver.status import StatusError
from embedded_apiserver.writes.protobuf_bodies import readable

STORED = [kind for kind in KINDS if kind.is_stored and kind is not NAMESPACE]
SENT = (BINDING, EVICTION, SCALE)
PROTOBUF = {"content-type": MEDIA_TYPE}
# The body that kubectl 1.32 sends for `kubectl create namespace foo`.
RECORDED = bytes.fromhex(
    "6b3873000a0f0a02763112094e616d657370616365121b0a130a03666f6f12001a0022002a0032003800420012001a020a001a002200"
)


def read(body: bytes) -> Any:
    return json.loads(readable(HTTPRequest("POST", "/", (), PROTOBUF, body), POD).body)


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
        pytest.param(message("v1", "Nope", NAMED), 400, id="unknown kind"),
    ],
)
def test_what_cannot_be_read_is_refused(body: bytes, code: int, ask: Asking) -> None:
    assert ask("POST", "/api/v1/namespaces", body, headers=PROTOBUF)[0] == code


@given(st.binary(max_size=40))
def test_whatever_comes_is_read_or_refused(tail: bytes) -> None:
    request = HTTPRequest("POST", "/", (), PROTOBUF, message("v1", "Pod", tail))

    with contextlib.suppress(StatusError):
        assert readable(request, POD).headers["content-type"] == "application/json"


def test_other_bodies_are_left_alone(ask: Asking) -> None:
    request = HTTPRequest("POST", LEASES, (), {"content-type": "application/json"}, b"k8s\0")

    assert readable(request, LEASE) is request


@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"{kind.plural}.{kind.group}") for kind in STORED])
def test_objects_of_every_kind_are_deleted_with_options_of_their_own_group(kind: Kind, ask: Asking) -> None:
    group = f"/apis/{kind.group}" if kind.group else "/api"
    path = f"{group}/{kind.version}{'/namespaces/default' if kind.namespaced else ''}/{kind.plural}"
    options = message(kind.api_version, "DeleteOptions", field(1, 0), field(4, "Background"))

    assert ask("DELETE", f"{path}/none", options, headers=PROTOBUF)[0] == 404
    assert ask("DELETE", path, options, headers=PROTOBUF)[0] == 200


@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"{kind.plural}.{kind.group}") for kind in [*KINDS, *SENT]])
def test_every_kind_can_be_sent(kind: Kind) -> None:
    assert read(message(kind.api_version, kind.kind, NAMED))["metadata"] == {"name": "x"}


def test_every_field_of_every_kind_has_a_number() -> None:
    numbers = protobuf_numbers()
    missing = {
        f"{schema.name}.{name}"
        for kind in [*KINDS, *SENT]
        for schema in messages_below(kind.schema)
        for name in schema.properties.keys() - names_in(numbers, schema.name) - {"apiVersion", "kind"}
    }

    assert missing == set()


def names_in(numbers: Mapping[str, Mapping[str, str]], name: str) -> set[str]:
    """Return the JSON names of a message's fields, including those of embedded messages."""
    found: set[str] = set()
    for target in numbers.get(name, {}).values():
        found |= names_in(numbers, target[1:]) if target.startswith("=") else {target.removeprefix("*")}
    return found


def test_a_scale_is_written(ask: Asking) -> None:
    sets = "/apis/apps/v1/namespaces/default/replicasets"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    ask.ok("POST", sets, {"metadata": {"name": "a"}, "spec": spec})
    scale = message("autoscaling/v1", "Scale", field(1, field(1, "a") + field(3, "default")), field(2, field(1, 5)))

    status, body = ask("PUT", f"{sets}/a/scale", scale, headers=PROTOBUF)

    assert (status, body["spec"]) == (200, {"replicas": 5})
    assert ask.ok("GET", f"{sets}/a")["spec"]["replicas"] == 5


def test_a_definition_keeps_what_stands_in_place_of_a_schema() -> None:
    text, number = field(5, "string"), field(5, "number")
    bounds = b"".join(bytes([tag << 3 | 1]) + struct.pack("<d", bound) for tag, bound in ((9, 10.0), (11, -0.5)))
    schema = b"".join(
        [
            field(24, field(1, text)),  # items
            field(29, field(1, "open") + field(2, field(30, field(1, 1)))),
            field(29, field(1, "shut") + field(2, field(30, field(1, 0)))),
            field(29, field(1, "texts") + field(2, field(30, field(1, 1) + field(2, text)))),
            field(29, field(1, "bounded") + field(2, number + bounds + field(8, field(1, "1.5")))),
            field(29, field(1, "pair") + field(2, field(24, field(2, text) + field(2, number)))),
            field(32, field(1, "a") + field(2, field(2, "b") + field(2, "c"))),
            field(32, field(1, "d") + field(2, field(1, text))),
            field(20, field(1, '"x"')) + field(20, field(1, "1")),
        ]
    )
    version = field(1, "v1") + field(4, field(1, schema))

    spec = read(message("apiextensions.k8s.io/v1", "CustomResourceDefinition", NAMED, field(2, field(7, version))))[
        "spec"
    ]

    assert spec["versions"][0]["schema"]["openAPIV3Schema"] == {
        "items": {"type": "string"},
        "properties": {
            "open": {"additionalProperties": True},
            "shut": {"additionalProperties": False},
            "texts": {"additionalProperties": {"type": "string"}},
            "bounded": {"type": "number", "maximum": 10, "minimum": -0.5, "default": 1.5},
            "pair": {"items": [{"type": "string"}, {"type": "number"}]},
        },
        "dependencies": {"a": ["b", "c"], "d": {"type": "string"}},
        "enum": ["x", 1],
    }


def test_objects_of_custom_kinds_have_no_form_in_protobuf(ask: Asking) -> None:
    define(ask)
    ask.ok("POST", WIDGETS, widget())
    path, options = f"{WIDGETS}/w", message(f"{GROUP}/v1", "DeleteOptions")

    assert ask("PUT", path, message(f"{GROUP}/v1", "Widget", NAMED), headers=PROTOBUF)[0] == 415
    assert ask("DELETE", path, options, headers=PROTOBUF)[0] == 200


@pytest.mark.parametrize(
    ("body", "text", "quoted"),
    [
        (b"abc", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]", "616263"),
        (b"k8s\0", "empty body", "6b387300"),
        (b"k8s\0garbage", "proto: illegal wireType 7", "6b38730067617262616765"),
        (b"k8s\0\xff\xff", "unexpected EOF", "6b387300ffff"),
    ],
)
def test_what_is_no_message_is_refused_in_the_words_of_a_real_server(
    ask: Asking, body: bytes, text: str, quoted: str
) -> None:
    created = ask("POST", "/api/v1/namespaces", body, headers=PROTOBUF)[1]["message"]
    deleted = ask("DELETE", "/api/v1/namespaces/a", body, headers=PROTOBUF)[1]["message"]

    assert created == f"the object provided is unrecognized (must be of type Namespace): {text} ({quoted})"
    assert deleted == text


@pytest.mark.parametrize(
    ("media_type", "body", "status"),
    [
        ("application/yaml", b"dryRun: [All]", 200),
        ("application/json", b'{"dryRun": ["All"]}', 200),
        ("application/json; charset=utf-8", b'{"dryRun": ["All"]}', 200),
        ("", b'{"dryRun": ["All"]}', 200),
        ("application/yaml", b"dryRun: [", 400),
        ("application/yaml", b"kind: Pod", 400),
        ("application/yaml", b"", 200),
        ("text/plain", b'{"dryRun": ["All"]}', 415),
        ("application/cbor", b"x", 415),
        ("text/plain", b"", 200),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/nodes/n", "/api/v1/nodes"], ids=["object", "collection"])
def test_options_of_a_deletion_are_read_in_the_forms_of_a_real_server(
    ask: Asking, path: str, media_type: str, body: bytes, status: int
) -> None:
    ask.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})

    assert ask("DELETE", path, body, headers={"content-type": media_type})[0] == status
    assert (ask("GET", "/api/v1/nodes/n")[0] == 404) == (status == 200 and not body)
