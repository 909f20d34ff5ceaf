# SPDX-License-Identifier: Apache-2.0
"""Validation of custom objects by their schemas."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking, Object
from kit.apiserver.defining import (
    DEFINITIONS,
    GROUP,
    TEXT,
    WHOLE,
    WIDGETS,
    define_spec,
    fields,
    spec_of,
    structure,
    version,
    widget,
)

APPLY = {"content-type": "application/apply-patch+yaml"}
ONE = f"{WIDGETS}/w"
DEFINITION = f"{DEFINITIONS}/widgets.{GROUP}"


def in_body(told: str) -> str:
    return f"spec.a: Invalid value: {told}"


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        pytest.param(WHOLE, "x", in_body('"string": spec.a in body must be of type integer: "string"'), id="type"),
        pytest.param(
            {**WHOLE, "nullable": True},
            "x",
            in_body('"string": spec.a in body must be of type integer: "string"'),
            id="type of what may be null",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            True,
            in_body('"boolean": spec.a in body must be of type integer,string: "boolean"'),
            id="neither of two types",
        ),
        pytest.param(
            {**TEXT, "enum": ["x", "y"]}, "z", 'spec.a: Unsupported value: "z": supported values: "x", "y"', id="enum"
        ),
        pytest.param(
            {**WHOLE, "enum": [1, 2]},
            3,
            'spec.a: Unsupported value: 3: supported values: "1", "2"',
            id="enum of numbers",
        ),
        pytest.param(
            {**WHOLE, "minimum": 2}, 1, in_body("1: spec.a in body should be greater than or equal to 2"), id="minimum"
        ),
        pytest.param(
            {**WHOLE, "minimum": 2, "exclusiveMinimum": True},
            2,
            in_body("2: spec.a in body should be greater than 2"),
            id="exclusive minimum",
        ),
        pytest.param(
            {**WHOLE, "maximum": 2}, 3, in_body("3: spec.a in body should be less than or equal to 2"), id="maximum"
        ),
        pytest.param(
            {"type": "number", "maximum": 0.5},
            0.75,
            in_body("0.75: spec.a in body should be less than or equal to 0.5"),
            id="maximum of fractions",
        ),
        pytest.param(
            {**WHOLE, "multipleOf": 2}, 3, in_body("3: spec.a in body should be a multiple of 2"), id="multiple"
        ),
        pytest.param(
            {**TEXT, "minLength": 2},
            "x",
            in_body('"x": spec.a in body should be at least 2 chars long'),
            id="too short",
        ),
        pytest.param({**TEXT, "maxLength": 2}, "xyz", "spec.a: Too long: may not be more than 2 bytes", id="too long"),
        pytest.param(
            {**TEXT, "pattern": "^x+$"}, "y", in_body("\"y\": spec.a in body should match '^x+$'"), id="pattern"
        ),
        pytest.param(
            {**TEXT, "format": "date-time"},
            "now",
            in_body('"now": spec.a in body must be of type date-time: "now"'),
            id="format",
        ),
        pytest.param(
            {"type": "array", "items": WHOLE, "minItems": 2},
            [1],
            in_body("1: spec.a in body should have at least 2 items"),
            id="too few",
        ),
        pytest.param(
            {"type": "array", "items": WHOLE, "maxItems": 1},
            [1, 2],
            "spec.a: Too many: 2: must have at most 1 items",
            id="too many",
        ),
        pytest.param(
            {"type": "array", "items": WHOLE},
            [1, "x"],
            'spec.a[1]: Invalid value: "string": spec.a[1] in body must be of type integer: "string"',
            id="element",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
            ["x", "x"],
            'spec.a[1]: Duplicate value: "x"',
            id="twice in a set",
        ),
        pytest.param({**fields(b=WHOLE), "required": ["b"]}, {}, "spec.a.b: Required value", id="required"),
        pytest.param(
            {"type": "object", "additionalProperties": WHOLE, "maxProperties": 1},
            {"x": 1, "y": 2},
            "spec.a: Too many: 2: must have at most 1 items",
            id="too many fields",
        ),
        pytest.param(
            {**WHOLE, "not": {"enum": [1]}},
            1,
            '<nil>: Invalid value: "": "spec.a" must not validate the schema (not)',
            id="not",
        ),
        pytest.param(
            {**WHOLE, "oneOf": [{"minimum": 1}, {"minimum": 2}]},
            3,
            '<nil>: Invalid value: "": "spec.a" must validate one and only one schema (oneOf). '
            "Found 2 valid alternatives",
            id="one of",
        ),
        pytest.param(
            {**WHOLE, "anyOf": [{"minimum": 5}, {"maximum": 1}]},
            3,
            '<nil>: Invalid value: "": "spec.a" must validate at least one schema (anyOf)',
            id="any of",
        ),
        pytest.param(
            {**WHOLE, "format": "int32"},
            1 << 40,
            '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a',
            id="int32",
        ),
    ],
)
def test_a_value_against_its_schema_is_refused_in_the_words_of_a_real_server(
    ask: Asking, schema: Object, value: Any, told: str
) -> None:
    define_spec(ask, fields(a=schema))

    status, refused = ask("POST", WIDGETS, widget(spec={"a": value}))

    assert status == 422
    assert told in [f"{cause['field']}: {cause['message']}" for cause in refused["details"]["causes"]]


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        pytest.param("byte", "aGk=", "h", id="byte"),
        pytest.param("cidr", "10.0.0.0/8", "10.0.0.0/99", id="cidr"),
        pytest.param("date", "2026-01-31", "2026-02-31", id="date"),
        pytest.param("duration", "1h30m", "soon", id="duration"),
        pytest.param("email", "a@example.com", "a", id="email"),
        pytest.param("hostname", "a.example.com", "a b", id="hostname"),
        pytest.param("ipv4", "10.0.0.1", "::1", id="ipv4"),
        pytest.param("ipv6", "::1", "10.0.0.1", id="ipv6"),
        pytest.param("k8s-short-name", "a-b", "A_b", id="short name"),
        pytest.param("mac", "00:11:22:33:44:55", "00", id="mac"),
        pytest.param("uri", "https://example.com/a", "a b", id="uri"),
        pytest.param("uuid", "8c9f0d7c-51a6-4f2b-9d3d-0a1b2c3d4e5f", "8c9f", id="uuid"),
        pytest.param("password", "anything", None, id="password, which is any text"),
    ],
)
def test_formats_of_texts_are_checked(ask: Asking, format_: str, good: str, bad: str | None) -> None:
    define_spec(ask, fields(a={**TEXT, "format": format_}))

    assert ask("POST", WIDGETS, widget("good", spec={"a": good}))[0] == 201
    if bad is not None:
        assert ask("POST", WIDGETS, widget("bad", spec={"a": bad}))[0] == 422


def test_what_an_update_leaves_as_it_was_is_not_checked_again(ask: Asking) -> None:
    define_spec(ask, fields(a=WHOLE, b=TEXT))
    spec_of(ask, {"a": 9, "b": "x"})
    stricter = version(schema=structure(fields(a={**WHOLE, "maximum": 5}, b=TEXT)))
    ask.patch(DEFINITION, {"spec": {"versions": [stricter]}})

    assert ask.patch(ONE, {"spec": {"b": "y"}})[0] == 200
    assert ask.patch(ONE, {"spec": {"a": 8}})[0] == 422
    assert ask.patch(ONE, {"spec": {"a": 5}})[0] == 200


def test_what_has_another_type_than_its_schema_is_refused_or_replaced(ask: Asking) -> None:
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    items = {"type": "object", "required": ["k"], "properties": {"k": TEXT}}
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    scale = {"specReplicasPath": ".spec.b.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    define_spec(ask, fields(a={**keyed, "items": items}, b=anything), subresources={"scale": scale})
    spec_of(ask, {"b": {}})

    unreachable = ask("POST", WIDGETS, widget("x", spec={"b": 1}))
    wrong = widget(spec={"a": [1]})
    applied = ask("PATCH", ONE, wrong, headers=APPLY, fieldManager="a", force="true")
    scaleless = ask("GET", f"{ONE}/scale")
    replaced = ask("PATCH", ONE, widget(spec={"b": {"n": 2}}), headers=APPLY, fieldManager="a", force="true")[1]

    assert unreachable[0] == 422  # the path of the scale leads through a number
    assert applied[0] == 500  # a list with keys cannot be merged with an element that has none
    assert scaleless[0] == 500  # as on a real server, if an object lacks the field of the wanted replicas
    assert "selector" not in ask.ok("GET", f"{ONE}/scale")["status"]
    assert replaced["spec"]["b"] == {"n": 2}


def test_true_is_not_one(ask: Asking) -> None:
    define_spec(ask, fields(known=WHOLE, any={"x-kubernetes-preserve-unknown-fields": True}))
    spec_of(ask, {"known": 1, "any": {"a": 1}})

    refused, _ = ask.patch(ONE, {"spec": {"known": True}})
    changed = ask.patch(ONE, {"spec": {"any": {"a": True}}})[1]

    assert refused == 422
    assert changed["spec"]["any"]["a"] is True
    assert changed["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("factor", "multiple", "other"),
    [pytest.param(0.1, 0.3, 0.35, id="a fraction"), pytest.param(3, 9, 10, id="a whole number")],
)
def test_multiples_of_fractions_are_multiples(ask: Asking, factor: float, multiple: float, other: float) -> None:
    define_spec(ask, fields(a={"type": "number", "multipleOf": factor}))

    assert spec_of(ask, {"a": multiple}) == {"a": multiple}
    assert ask("POST", WIDGETS, widget("x", spec={"a": other}))[0] == 422


def test_an_embedded_object_in_a_list_says_what_it_is(ask: Asking) -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    define_spec(ask, fields(list={"type": "array", "items": embedded}))

    status, refused = ask("POST", WIDGETS, widget(spec={"list": [{"apiVersion": "v1", "kind": "A"}, {"kind": "B"}]}))

    assert status == 422
    assert [cause["field"] for cause in refused["details"]["causes"]] == ["spec.list[1].apiVersion"]


def test_a_number_or_text_may_say_so_again_with_a_format_of_nothing(ask: Asking) -> None:
    again = [{"type": "integer", "format": ""}, {"type": "string"}]

    define_spec(ask, fields(a={"x-kubernetes-int-or-string": True, "anyOf": again}))

    assert ask("POST", WIDGETS, widget(spec={"a": "1"}))[0] == 201
