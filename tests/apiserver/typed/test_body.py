# SPDX-License-Identifier: Apache-2.0
"""Request bodies: which are accepted, in which form they are stored, and which are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import NODE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.status import StatusError
from embedded_apiserver.typed.body import admit, decode

TIME = "2026-01-02T03:04:05.678901Z"


def lease(**spec: Any) -> bytes:
    return json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode()


def decoded(kind: Kind, obj: dict[str, Any]) -> dict[str, Any]:
    return decode(kind, json.dumps(obj).encode(), "application/json")[0]


def refused(kind: Kind, body: bytes, content_type: str = "application/json", mode: str = "") -> StatusError:
    with pytest.raises(StatusError) as error:
        decode(kind, body, content_type, mode)
    return error.value


def test_kind_and_version_are_checked_and_taken_off() -> None:
    whole = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "a"}, "spec": {}}

    assert (
        decoded(LEASE, whole) == decoded(LEASE, {"metadata": {"name": "a"}}) == {"metadata": {"name": "a"}, "spec": {}}
    )


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        pytest.param(
            {"kind": "Pod", "apiVersion": "v1"},
            'Pod in version "v1" cannot be handled as a Lease: '
            "converting (v1.Pod) to (coordination.Lease): unknown conversion",
            id="another kind",
        ),
        pytest.param(
            {"kind": "Lease", "apiVersion": "v1"},
            'Lease in version "v1" cannot be handled as a Lease: no kind "Lease" is registered for version "v1" in '
            'scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"',
            id="another version",
        ),
    ],
)
def test_an_object_of_another_kind_is_refused(obj: dict[str, Any], message: str) -> None:
    error = refused(LEASE, json.dumps(obj).encode())

    assert (error.code, error.message) == (400, message)


@pytest.mark.scenario("H-71")
@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        pytest.param(TIME, TIME, id="as it is"),
        pytest.param("2026-01-01T00:00:00.123456+02:00", "2025-12-31T22:00:00.123456Z", id="an offset becomes UTC"),
        pytest.param("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z", id="zeros stay"),
    ],
)
def test_micro_times_keep_their_six_digits(sent: str, stored: str) -> None:
    """A MicroTime with six decimal digits is returned with exactly these digits, in UTC."""
    obj, warnings = decode(LEASE, lease(renewTime=sent), "application/json")

    assert (obj["spec"]["renewTime"], warnings) == (stored, [])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        pytest.param(lease(renewTime="2026-01-01T00:00:00Z"), 'cannot parse "Z" as ".000000"', id="no fraction"),
        pytest.param(lease(leaseDurationSeconds="40"), "string into Go struct field LeaseSpec.spec.lease", id="a text"),
        pytest.param(lease(leaseDurationSeconds=1 << 31), "number 2147483648 into Go struct field Le", id="too many"),
        pytest.param(b'{"spec":[]}', "array into Go struct field Lease.spec of type v1.LeaseSpec", id="a list"),
        pytest.param(
            b'{"metadata":{"ownerReferences":[{},{"uid":1}]}}', "OwnerReference.metadata.ownerReferences.uid", id="deep"
        ),
        pytest.param(b'{"metadata":{"labels":{"a":1}}}', "ObjectMeta.metadata.labels of type string", id="in a map"),
    ],
)
def test_values_of_the_wrong_type_are_refused_with_their_place(body: bytes, problem: str) -> None:
    error = refused(LEASE, body)

    assert (error.code, error.reason) == (400, "BadRequest")
    assert error.message.startswith('Lease in version "v1" cannot be handled as a Lease: ')
    assert problem in error.message


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        pytest.param(b"", "application/json", "(<empty>)", id="empty"),
        pytest.param(b'{"a":', "application/json", '({"a":)', id="broken"),
        pytest.param(b"[]", "application/json", "(5b5d)", id="a list"),
        pytest.param(b'{"a":"\xff"}', "application/json", "json parse error", id="no UTF-8"),
        pytest.param(b"[" * 50_000, "application/json", "5b5b5b ...)", id="too deep"),
        pytest.param(b"a: &x {}\nb: *x", "application/yaml", "aliases are not accepted", id="an alias"),
        pytest.param(b"a: 1\na: 2", "application/yaml", "'a' stands there twice", id="twice in YAML"),
        pytest.param(b"a: [", "application/yaml", "yaml parse error", id="broken YAML"),
    ],
)
def test_what_is_no_document_is_refused_and_its_beginning_shown(body: bytes, content_type: str, shown: str) -> None:
    error = refused(LEASE, body, content_type)

    assert error.code == 400
    assert error.message.startswith("the object provided is unrecognized (must be of type Lease): couldn't get version")
    assert shown in error.message


def test_other_media_types_are_refused_with_those_accepted() -> None:
    error = refused(LEASE, b"x", "text/plain")

    assert error.code == 415
    assert error.message.endswith("application/json, application/yaml, application/vnd.kubernetes.protobuf")


def test_yaml_is_read_with_the_types_of_json() -> None:
    body = f"metadata:\n  name: a\n  labels: {{b: c}}\nspec:\n  renewTime: {TIME}\n  leaseDurationSeconds: 40\n"

    obj, warnings = decode(LEASE, body.encode(), "application/yaml; charset=utf-8")

    assert obj == {
        "metadata": {"name": "a", "labels": {"b": "c"}},
        "spec": {"renewTime": TIME, "leaseDurationSeconds": 40},
    }
    assert warnings == []


@pytest.mark.scenario("H-67")
@pytest.mark.parametrize(
    ("body", "findings"),
    [
        pytest.param(b'{"spec":{"x":1}}', ['unknown field "spec.x"'], id="unknown"),
        pytest.param(
            b'{"metadata":{"ownerReferences":[{"uid":"u","x":1}]},"y":2}',
            ['unknown field "metadata.ownerReferences[0].x"', 'unknown field "y"'],
            id="unknown in a list",
        ),
        pytest.param(
            b'{"spec":{"holderIdentity":"a","holderIdentity":"b"}}',
            ['duplicate field "spec.holderIdentity"'],
            id="twice",
        ),
    ],
)
def test_fields_nobody_knows_are_told_refused_or_ignored(body: bytes, findings: list[str]) -> None:
    """Unknown and repeated fields are never stored. They give a warning by default, a refusal under Strict."""
    warned, warnings = decode(LEASE, body, "application/json")
    ignored, silence = decode(LEASE, body, "application/json", "Ignore")
    error = refused(LEASE, body, mode="Strict")

    assert (warnings, silence) == (findings, [])
    assert warned == ignored
    assert "x" not in json.dumps(warned)
    assert error.message.endswith(f"strict decoding error: {', '.join(findings)}")


def test_spellings_that_differ_only_in_form_are_not_taken_for_repetitions() -> None:
    _, warnings = decode(LEASE, b'{ "metadata": {"name": "caf\\u00e9", "annotations": {"a\\/b": "x"}} }', "")

    assert warnings == []


def test_nulls_and_empty_lists_and_maps_are_left_out() -> None:
    sent = {"metadata": {"name": "a", "labels": {}, "finalizers": [], "creationTimestamp": None}, "spec": None}

    assert decoded(LEASE, sent) == {"metadata": {"name": "a"}, "spec": {}}


def test_a_null_in_a_map_of_texts_is_the_empty_text() -> None:
    assert decoded(LEASE, {"metadata": {"labels": {"a": None}}})["metadata"] == {"labels": {"a": ""}}


def test_structures_a_real_server_always_prints_are_filled_in() -> None:
    node = decoded(NODE, {"metadata": {"name": "n"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    pod = decoded(POD, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}})

    assert node["status"]["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 0}}
    assert node["status"]["nodeInfo"]["kubeletVersion"] == ""
    assert node["status"]["conditions"][0]["lastHeartbeatTime"] is None
    assert pod["spec"]["containers"][0]["resources"] == {}


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        pytest.param("500m", "500m", id="milli"),
        pytest.param("8Gi", "8Gi", id="binary"),
        pytest.param(4, "4", id="a number becomes its text"),
        pytest.param("1e3", "1e3", id="an exponent"),
        pytest.param(None, "0", id="null is nothing"),
        pytest.param(" 1\n", "1", id="white space around it"),
        *(pytest.param(text, "0", id=f"no digits: {text}") for text in ("Ki", "-Ti", "m", "E", ".", "+", "e3", "e-9")),
    ],
)
def test_quantities_are_texts(sent: object, stored: str) -> None:
    node = decoded(NODE, {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": sent}}})

    assert node["status"]["capacity"] == {"cpu": stored}


@pytest.mark.parametrize("sent", ["Pi", "Ei", "e-10", "", " ", "1 Ki", "--", "Kii"])
def test_a_text_without_digits_is_not_always_a_quantity(sent: str) -> None:
    assert "quantit" in refused(NODE, json.dumps({"status": {"capacity": {"cpu": sent}}}).encode()).message


def test_quantities_of_nothing_are_refused() -> None:
    error = refused(NODE, b'{"status":{"capacity":{"cpu":"many"}}}')

    assert "quantities must match the regular expression" in error.message


def test_parts_of_the_old_object_are_taken_as_they_are() -> None:
    old = decoded(NODE, {"metadata": {"name": "n"}})
    old["status"]["unheard-of"] = 1  # would give a warning and be dropped if it were checked again

    obj, warnings = admit(NODE, {**old, "metadata": {"name": "n", "labels": {"a": "b"}}}, old=old)

    assert obj["status"] is old["status"]
    assert warnings == []


def test_parts_that_moved_within_a_list_are_known_too() -> None:
    old = decoded(NODE, {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a"}, {"key": "b"}]}})
    first, second = old["spec"]["taints"]
    first["unheard-of"] = 1  # as above

    obj, warnings = admit(NODE, {**old, "spec": {"taints": [second, first]}}, old=old)

    assert obj["spec"]["taints"][0] is second
    assert obj["spec"]["taints"][1] is first
    assert warnings == []


def test_a_patched_object_of_the_wrong_form_is_invalid() -> None:
    old = decoded(LEASE, {"metadata": {"name": "a"}})

    with pytest.raises(StatusError) as error:
        admit(LEASE, {**old, "spec": {"leaseDurationSeconds": "1"}}, old=old)

    assert (error.value.code, error.value.reason) == (422, "Invalid")
    assert "string into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32" in error.value.message


def test_a_patched_object_is_checked_for_unknown_fields() -> None:
    old = decoded(LEASE, {"metadata": {"name": "a"}})
    patched = {**old, "spec": {"x": 1}}

    with pytest.raises(StatusError) as error:
        admit(LEASE, patched, "Strict", old=old)
    _, warnings = admit(LEASE, patched, old=old)

    assert error.value.code == 422
    assert warnings == ['unknown field "spec.x"']
    assert patched["spec"] == {"x": 1}
