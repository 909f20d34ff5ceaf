# SPDX-License-Identifier: Apache-2.0
"""OpenAPI v2 in JSON and in protobuf, and the definitions of custom kinds, compared with those of a real server."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking, Object
from kit.apiserver.defining import DEFINITIONS, define, structure, version

from embedded_apiserver.discovery.gnostic import encoded
from embedded_apiserver.groups.all import KINDS

RECORDING = json.loads(
    (Path(__file__).parents[2] / "data" / "recordings" / "openapi-1.36.2.json").read_text(encoding="utf-8")
)
ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
ANSWERED = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def fields(message: bytes) -> list[tuple[int, int | bytes]]:
    """Yield the number and value of each field of a protobuf message."""
    found: list[tuple[int, int | bytes]] = []
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        head = number()
        if head & 7 == 0:
            found.append((head >> 3, number()))
            continue
        size = 8 if head & 7 == 1 else number()
        found.append((head >> 3, message[at : at + size]))
        at += size
    return found


def within(message: bytes, *path: int) -> list[bytes]:
    """Return the messages at a path of field numbers."""
    reached = [message]
    for step in path:
        reached = [bytes(value) for one in reached for number, value in fields(one) if number == step]  # type: ignore[arg-type]
    return reached


def named(message: bytes, *path: int) -> dict[str, bytes]:
    """Return the values of a map's entries by their names."""
    return {within(entry, 1)[0].decode(): within(entry, 2)[0] for entry in within(message, *path)}


@pytest.fixture
def swagger(ask: Asking) -> Object:
    return ask.ok("GET", "/openapi/v2")


def test_every_definition_that_is_referred_to_is_there(swagger: Object) -> None:
    text = json.dumps(swagger)

    definitions = {part.partition('"')[0] for part in text.split("#/definitions/")[1:]}
    parameters = {part.partition('"')[0] for part in text.split("#/parameters/")[1:]}
    assert definitions == swagger["definitions"].keys()
    assert parameters == swagger["parameters"].keys()
    assert "#/components" not in text


@pytest.mark.parametrize("name", RECORDING["recorded"])
def test_a_definition_is_that_of_a_real_server(name: str, swagger: Object) -> None:
    assert swagger["definitions"][name] == RECORDING["recorded"][name]["v2"]


def test_operations_have_the_names_of_a_real_server(ask: Asking) -> None:
    ask.ok("POST", DEFINITIONS, RECORDING["definition"])

    told = ask.ok("GET", "/openapi/v2")["paths"]

    names = {
        path: {
            method: [operation["operationId"], operation["description"]]
            for method, operation in item.items()
            if method != "parameters"
        }
        for path, item in told.items()
        if path in RECORDING["operations"]
    }
    assert names == RECORDING["operations"]


def test_the_parameters_that_kubectl_looks_for_are_the_patchs_own(swagger: Object) -> None:
    patch = swagger["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]

    names = {parameter.get("name") for parameter in patch["parameters"]}
    assert {"dryRun", "fieldValidation", "body"} <= names
    assert {"$ref": "#/parameters/patch.fieldManager"} in patch["parameters"]
    assert "application/apply-patch+yaml" in patch["consumes"]


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_custom_kinds_are_published_as_a_real_server_does(form: str, ask: Asking) -> None:
    ask.ok("POST", DEFINITIONS, RECORDING["definition"])

    if form == "v2":
        told = ask.ok("GET", "/openapi/v2")["definitions"]
    else:
        documents = [ask.ok("GET", f"/openapi/v3/apis/demo.example.com/{name}") for name in ("v1", "v2", "v3")]
        told = {name: schema for one in documents for name, schema in one["components"]["schemas"].items()}

    assert {name: told.get(name) for name in RECORDING[form]} == RECORDING[form]


def test_a_custom_kind_is_gone_with_its_definition(ask: Asking) -> None:
    paths = ask.ok("GET", "/openapi/v2")["paths"]
    made = define(ask)
    with_it = ask.ok("GET", "/openapi/v2")["paths"]

    ask.ok("DELETE", f"{DEFINITIONS}/{made['metadata']['name']}")

    assert {path for path in with_it if path not in paths} == {
        "/apis/demo.example.com/v1/namespaces/{namespace}/widgets",
        "/apis/demo.example.com/v1/namespaces/{namespace}/widgets/{name}",
        "/apis/demo.example.com/v1/widgets",
    }
    assert ask.ok("GET", "/openapi/v2")["paths"] == paths


@pytest.mark.parametrize("accept", [ASKED, ANSWERED, f"{ASKED}, application/json"])
def test_kubectl_gets_it_in_protobuf(accept: str, ask: Asking) -> None:
    told = ask.response("GET", "/openapi/v2", headers={"accept": accept})

    definitions = named(told.body, 9, 1)
    assert (told.status, told.headers["content-type"]) == (200, ANSWERED)
    assert within(told.body, 1) == [b"2.0"]
    assert definitions.keys() == ask.ok("GET", "/openapi/v2")["definitions"].keys()
    about = named(definitions["io.k8s.api.core.v1.ConfigMap"], 31)["x-kubernetes-group-version-kind"]
    assert json.loads(within(about, 2)[0]) == [{"group": "", "kind": "ConfigMap", "version": "v1"}]


def test_kubectl_finds_in_protobuf_that_a_patch_is_validated(ask: Asking) -> None:
    told = ask.response("GET", "/openapi/v2", headers={"accept": ASKED})

    patch = within(named(told.body, 8, 2)["/api/v1/nodes/{name}"], 8)[0]
    about = named(patch, 13)["x-kubernetes-group-version-kind"]
    assert json.loads(within(about, 2)[0]) == {"group": "", "version": "v1", "kind": "Node"}
    assert b"fieldValidation" in within(patch, 8, 1, 2, 3, 4)
    assert b"body" in within(patch, 8, 1, 1, 2)
    assert b"#/parameters/force" in within(patch, 8, 2, 1)
    assert [value for number, value in fields(within(patch, 8, 1, 1)[0]) if number == 4] == [1]


@pytest.mark.parametrize("name", [name for name, one in RECORDING["recorded"].items() if "protobuf" in one])
def test_a_definition_has_the_bytes_of_a_real_server(name: str, swagger: Object) -> None:
    message = encoded({"definitions": {name: swagger["definitions"][name]}})

    assert named(message, 9, 1)[name] == base64.b64decode(RECORDING["recorded"][name]["protobuf"])


def schema(**words: Any) -> bytes:
    return named(encoded({"definitions": {"a": words}}), 9, 1)["a"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param({"minLength": 300}, b"\x60\xac\x02", id="a whole number"),
        pytest.param({"minLength": 300.0}, b"\x60\xac\x02", id="a whole number, as JSON may have it"),
        pytest.param({"minItems": -1}, b"\x78" + b"\xff" * 9 + b"\x01", id="a negative number"),
        pytest.param({"maximum": 1.5}, b"\x39\x00\x00\x00\x00\x00\x00\xf8\x3f", id="a number"),
        pytest.param({"uniqueItems": True, "maximum": 0, "format": ""}, b"\x80\x01\x01", id="zeros are not sent"),
        pytest.param({"additionalProperties": False}, b"\xaa\x01\x02\x10\x00", id="a choice is sent though it is zero"),
        pytest.param({"additionalProperties": {"type": "a"}}, b"\xaa\x01\x08\n\x06\xb2\x01\x03\n\x01a", id="a map"),
        pytest.param({"items": {"title": "a"}}, b"\xba\x01\x05\n\x03\x1a\x01a", id="a list"),
        pytest.param({"enum": ["a", 1]}, b'\xa2\x01\x05\x12\x03"a"\xa2\x01\x03\x12\x011', id="values of any type"),
        pytest.param({"required": ["a", "b"]}, b"\x9a\x01\x01a\x9a\x01\x01b", id="texts"),
        pytest.param({"externalDocs": {"url": "a"}}, b"\xea\x01\x03\x12\x01a", id="a message"),
        pytest.param({"properties": {}}, b"\xca\x01\x00", id="a message of nothing"),
        pytest.param({"nullable": True}, b"", id="what it has no field for"),
        pytest.param({"pattern": "a", "format": "b"}, b"\x12\x01bj\x01a", id="in the order of numbers"),
    ],
)
def test_a_schema_in_protobuf(words: dict[str, Any], expected: bytes) -> None:
    assert schema(**words) == expected


def test_both_forms_tell_different_documents_apart_from_what_is_known(ask: Asking) -> None:
    forms = [ask.response("GET", "/openapi/v2", headers={"accept": accept}) for accept in (ASKED, "application/json")]

    tags = [form.headers["etag"] for form in forms]
    again = ask.response("GET", "/openapi/v2", headers={"accept": ASKED, "if-none-match": tags[0]})

    assert tags[0] != tags[1]
    assert (again.status, again.body) == (304, b"")
    assert all("Accept" in form.headers["vary"] for form in forms)


@pytest.mark.parametrize("word", ["items", "additionalProperties", "properties"])
def test_the_deepest_schema_that_is_taken_is_told(word: str, ask: Asking) -> None:
    inner: Object = {"type": "string"}
    for _ in range(180 if word != "properties" else 90):
        outer = {"type": "array" if word == "items" else "object"}
        inner = {**outer, word: {"a": inner} if word == "properties" else inner}
    define(ask, version(schema=structure({"type": "object", "properties": {"a": inner}})))

    for accept in (ASKED, "application/json"):
        assert ask.response("GET", "/openapi/v2", headers={"accept": accept}).status == 200
    assert ask.response("GET", "/openapi/v3/apis/demo.example.com/v1").status == 200


def test_every_kind_served_is_described(ask: Asking, swagger: Object) -> None:
    undescribed = [kind.kind for kind in KINDS if not swagger["definitions"][kind.schema.name].get("description")]

    assert undescribed == []
