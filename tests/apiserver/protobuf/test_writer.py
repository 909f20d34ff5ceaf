# SPDX-License-Identifier: Apache-2.0
"""Messages, compared byte for byte with those of Kubernetes' own types."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.apiserver.protobuf import field, messages_below, without_zeros

from apimachinery.schema import Schema, schema_for
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.parts import EVICTION, SCALE
from embedded_apiserver.groups.pods.kinds import BINDING
from embedded_apiserver.protobuf.messages import META, schema_of
from embedded_apiserver.protobuf.reader import decode
from embedded_apiserver.protobuf.wire import varint
from embedded_apiserver.protobuf.writer import encode

RECORDING = Path(__file__).parents[2] / "data" / "recordings" / "protobuf-objects-1.36.2.jsonl.gz"
POLICIES = RECORDING.with_name("protobuf-policies-1.36.2.jsonl")
CORE, BATCH, LEASES = "io.k8s.api.core.v1.", "io.k8s.api.batch.v1.", "io.k8s.api.coordination.v1."
DEFINITION = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
SENT = [*KINDS, BINDING, EVICTION, SCALE]
MESSAGES = sorted({part.name for kind in SENT for part in messages_below(kind.schema)})
DEPTH = 2  # levels of generated messages; the messages of deeper levels are generated, too


def recorded() -> list[Any]:
    """Return the recorded objects as parameters: an empty one of each kind, a whole one, and one in parts."""
    lines = [*gzip.decompress(RECORDING.read_bytes()).splitlines(), *POLICIES.read_bytes().splitlines()]
    contents = [json.loads(line) for line in lines]
    forms = ("empty", "whole", "in parts")
    return [
        pytest.param(content, id=f"{content['apiVersion']} {content['kind']} {forms[number % 3]}")
        for number, content in enumerate(contents)
    ]


def message_name(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    schema = schema_for(group, version, kind)
    return schema.name if schema is not None else META + kind


@pytest.mark.parametrize("content", recorded())
def test_an_object_is_encoded_as_kubernetes_encodes_it(content: dict[str, Any]) -> None:
    name = message_name(content["apiVersion"], content["kind"])

    assert encode(name, content["object"]) == base64.b64decode(content["message"])


@pytest.mark.parametrize("content", recorded())
def test_a_message_of_kubernetes_is_decoded_to_its_json(content: dict[str, Any]) -> None:
    name = message_name(content["apiVersion"], content["kind"])

    assert without_zeros(decode(name, base64.b64decode(content["message"]))) == without_zeros(content["object"])


def test_every_kind_is_recorded() -> None:
    kinds = {(one.values[0]["apiVersion"], one.values[0]["kind"]) for one in recorded()}

    assert {(kind.api_version, kind.kind) for kind in SENT} <= kinds


@pytest.mark.parametrize(
    ("message", "obj", "expected"),
    [
        pytest.param(f"{CORE}Toleration", {}, field(1, "") + field(2, "") + field(3, "") + field(4, ""),
                     id="texts that are not there"),
        pytest.param(f"{CORE}Toleration", {"tolerationSeconds": 0},
                     field(1, "") + field(2, "") + field(3, "") + field(4, "") + field(5, 0), id="zero of a pointer"),
        pytest.param(f"{CORE}SecretKeySelector", {"name": "s", "key": "k", "optional": False},
                     field(1, field(1, "s")) + field(2, "k") + field(3, 0), id="a part whose fields are the parent's"),
        pytest.param(f"{CORE}Volume", {"name": "v", "emptyDir": {}},
                     field(1, "v") + field(2, field(2, field(1, ""))), id="an empty object that means something"),
        pytest.param(f"{CORE}ConfigMap", {"metadata": None, "binaryData": {"b": "AP8=", "a": "", "n": None}},
                     field(1, encode(f"{META}ObjectMeta", {}))
                     + field(3, field(1, "a") + field(2, b"")) + field(3, field(1, "b") + field(2, b"\0\xff"))
                     + field(3, field(1, "n")), id="bytes, empty ones and none, by key"),
        pytest.param(f"{CORE}ServicePort", {"port": -1},
                     field(1, "") + field(2, "") + field(3, -1) + field(4, field(1, 0) + field(2, 0) + field(3, ""))
                     + field(5, 0), id="a negative number, and a number or text that is not there"),
        pytest.param(f"{CORE}ResourceFieldSelector", {"resource": "cpu", "divisor": 2},
                     field(1, "") + field(2, "cpu") + field(3, field(1, "2")), id="a quantity that is a number"),
        pytest.param(f"{LEASES}LeaseSpec", {"holderIdentity": "", "renewTime": "2026-01-01T00:00:00.123456Z"},
                     field(1, "") + field(4, field(1, 1767225600) + field(2, 123456000)), id="microseconds"),
        pytest.param(f"{LEASES}LeaseSpec", {"renewTime": "2026-01-01T02:00:00.5+02:00"},
                     field(4, field(1, 1767225600) + field(2, 500000000)), id="a time of another zone"),
        pytest.param(f"{META}ManagedFieldsEntry", {"time": "2026-01-01T00:00:00.9Z", "fieldsV1": {}},
                     field(1, "") + field(2, "") + field(3, "") + field(4, field(1, 1767225600) + field(2, 0))
                     + field(6, "") + field(7, field(1, "{}")) + field(8, ""), id="whole seconds, and any JSON"),
        pytest.param(f"{META}OwnerReference", {"kind": "K", "unknown": 1, "uid": None},
                     field(1, "K") + field(3, "") + field(4, "") + field(5, ""), id="unknown fields and null"),
    ],
)  # fmt: skip
def test_the_fields_of_a_message(message: str, obj: dict[str, Any], expected: bytes) -> None:
    assert encode(message, obj) == expected


@pytest.mark.parametrize(
    "words",
    [
        {"items": {"type": "string"}},
        {"items": [{"type": "string"}, {"type": "integer"}]},
        {"additionalProperties": False},
        {"additionalProperties": True},
        {"additionalProperties": {"type": "string"}},
        {"dependencies": {"a": ["b", "c"], "d": {"type": "string"}}},
        {"default": 0, "enum": ["x", 1, None, {"a": []}], "example": False},
        {"properties": {"$ref": {"$ref": "#/x", "maximum": 0.5, "minimum": -3, "multipleOf": 1e300}}},
        {"x-kubernetes-preserve-unknown-fields": False},
    ],
)
def test_a_schema_of_a_definition_comes_back(words: dict[str, Any]) -> None:
    assert decode(DEFINITION, encode(DEFINITION, words)) == words


_TOO_LONG = b"\xff" * 9


# As a server of 1.36 answered.
@pytest.mark.parametrize(
    ("sent", "read"),
    [
        pytest.param(_TOO_LONG + b"\x01", -1, id="64 bits"),
        pytest.param(_TOO_LONG + b"\x03", -1, id="65 bits"),
        pytest.param(_TOO_LONG + b"\x7f", -1, id="70 bits"),
        pytest.param(varint(2**32 + 5), 5, id="33 bits"),
        pytest.param(varint(2**31), -(2**31), id="32 bits"),
        pytest.param(varint(2**32 - 5), -5, id="a negative number in 32 bits"),
    ],
)
def test_of_a_number_that_is_too_long_for_its_field_the_lowest_bits_count(sent: bytes, read: int) -> None:
    assert decode(f"{LEASES}LeaseSpec", b"\x10" + sent) == {"leaseDurationSeconds": read}


def test_more_than_64_bits_are_cut_before_a_field_reads_them_and_a_number_of_eleven_bytes_is_refused() -> None:
    assert decode(f"{CORE}ConfigMap", b"\x20" + b"\x80" * 9 + b"\x02") == {"immutable": False}
    decode(DEFINITION, varint(9 << 3) + _TOO_LONG + b"\x7f")  # maximum, a double
    with pytest.raises(ValueError, match="a number is too long"):
        decode(f"{LEASES}LeaseSpec", b"\x10" + _TOO_LONG + b"\xff\x01")


@given(st.integers(-(2**63), 2**63 - 1))
def test_all_numbers_of_64_bits_come_back(number: int) -> None:
    assert decode(f"{CORE}Toleration", field(5, number)) == {"tolerationSeconds": number}
    assert varint(number) == field(5, number)[1:]


def values(schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """Return a strategy for valid values of a schema."""
    if (special := SPECIAL.get(schema.name.rpartition(".")[2])) is not None:
        return special
    if schema.items is not None:
        return st.lists(values(schema.items, depth + 1), max_size=2 if depth < DEPTH else 0)
    if schema.additional is not None:
        return st.dictionaries(TEXTS, values(schema.additional, depth + 1), max_size=2 if depth < DEPTH else 0)
    if schema.properties:
        # An object within another has no kind of its own on the wire.
        names = [name for name in schema.properties if depth < DEPTH and name not in ("apiVersion", "kind")]
        return st.fixed_dictionaries({}, optional={name: values(schema.properties[name], depth + 1) for name in names})
    if schema.format == "byte":
        return BYTES
    return PLAIN[schema.type]


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
ANY = st.recursive(st.booleans() | st.integers(-(2**53), 2**53) | TEXTS, lambda inner: st.lists(inner, max_size=2))
SCHEMAS = st.fixed_dictionaries({}, optional={"type": TEXTS, "maxLength": st.integers(0, 2**63 - 1)})
BYTES = st.binary(max_size=5).map(lambda raw: base64.b64encode(raw).decode())
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "object": st.just({}),  # one without fields, such as the subresource `status` of a definition
    "boolean": st.booleans(),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "number": st.floats(allow_nan=False, allow_infinity=False),
}
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "Time": st.just("2026-01-01T00:00:00Z"),
    "MicroTime": st.just("1969-12-31T23:59:59.999999Z"),
    "Quantity": st.sampled_from(("100m", "1Gi", "0")),
    "IntOrString": st.integers(-(2**31), 2**31 - 1) | TEXTS.filter(bool),
    "FieldsV1": st.dictionaries(TEXTS, ANY, max_size=2),
    "RawExtension": st.dictionaries(TEXTS, ANY, max_size=2),
    "JSON": ANY,
    "JSONSchemaProps": SCHEMAS,
    "JSONSchemaPropsOrBool": SCHEMAS | st.booleans(),
    "JSONSchemaPropsOrArray": SCHEMAS | st.lists(SCHEMAS, min_size=1, max_size=2),
    "JSONSchemaPropsOrStringArray": SCHEMAS | st.lists(TEXTS, min_size=1, max_size=2),
}


@given(
    data=st.data(), name=st.sampled_from(sorted({part.name for kind in SENT for part in messages_below(kind.schema)}))
)
def test_an_encoded_message_is_decoded_to_itself(name: str, data: st.DataObject) -> None:
    obj = data.draw(values(schema_of(name)))

    assert without_zeros(decode(name, encode(name, obj))) == without_zeros(obj)


def test_a_message_without_a_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        encode("io.k8s.api.core.v1.Nope", {})
    with pytest.raises(KeyError):
        schema_of("io.k8s.api.core.v1.Nope")
