# SPDX-License-Identifier: Apache-2.0
"""The stored form of custom objects: pruning and defaults."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking, Object
from kit.apiserver.defining import (
    ANYTHING,
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

from embedded_apiserver.typed.structural_shape import structural_shape

DEFINITION = f"{DEFINITIONS}/widgets.{GROUP}"
ONE = f"{WIDGETS}/w"


@pytest.mark.parametrize(
    ("schema", "sent", "stored"),
    [
        pytest.param(fields(a=WHOLE), {"a": 1, "b": 2}, {"a": 1}, id="unknown fields go"),
        pytest.param(fields(), {"a": 1}, {}, id="an object without fields has none"),
        pytest.param(ANYTHING, {"a": {"b": None}}, {"a": {"b": None}}, id="unknown fields stay where it is said"),
        pytest.param(
            {**ANYTHING, **fields(a=fields(b=WHOLE))},
            {"a": {"b": 1, "c": 1}, "d": 1},
            {"a": {"b": 1}, "d": 1},
            id="known fields are pruned among unknown ones",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": fields(b=WHOLE)},
            {"a": {"b": 1, "c": 1}},
            {"a": {"b": 1}},
            id="the values of a map",
        ),
        pytest.param(
            fields(a={"type": "array", "items": fields(b=WHOLE)}),
            {"a": [{"b": 1, "c": 1}]},
            {"a": [{"b": 1}]},
            id="the elements of a list",
        ),
        pytest.param(
            fields(a={"type": "object", "x-kubernetes-embedded-resource": True, **fields(spec=WHOLE)}),
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": 1, "b": 1}},
            {"a": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "spec": 1}},
            id="an object in an object",
        ),
        pytest.param(fields(a={**WHOLE, "default": 3}), {}, {"a": 3}, id="a default"),
        pytest.param(
            fields(a={**fields(b={**WHOLE, "default": 3}), "default": {}}), {}, {"a": {"b": 3}}, id="a default in one"
        ),
        pytest.param(fields(a={**WHOLE, "default": 3}), {"a": None}, {"a": 3}, id="null says nothing"),
        pytest.param(fields(a=WHOLE), {"a": None}, {}, id="null goes"),
        pytest.param(fields(a={**WHOLE, "nullable": True}), {"a": None}, {"a": None}, id="null stays where it may"),
        pytest.param(fields(a={"x-kubernetes-int-or-string": True}), {"a": "80%"}, {"a": "80%"}, id="a text of two"),
        pytest.param(fields(a={"x-kubernetes-int-or-string": True}), {"a": 80}, {"a": 80}, id="a number of two"),
        pytest.param(fields(a={"type": "number"}), {"a": 80}, {"a": 80}, id="an integer is a number"),
        pytest.param(fields(a=WHOLE), {"a": 2.0}, {"a": 2.0}, id="a number without a fraction is an integer"),
        pytest.param(fields(a=WHOLE), {"a": 1 << 40}, {"a": 1 << 40}, id="an integer may be large"),
    ],
)
def test_an_object_is_stored_in_the_shape_of_its_schema(ask: Asking, schema: Object, sent: Any, stored: Any) -> None:
    define_spec(ask, schema)

    assert spec_of(ask, sent) == stored


@pytest.mark.parametrize(
    "spec",
    [pytest.param("a", id="a text"), pytest.param([1], id="a list"), pytest.param({"finalizers": ["a"]}, id="its own")],
)
def test_whatever_a_spec_is_it_does_not_hold_its_object(ask: Asking, spec: Any) -> None:
    define_spec(ask, {"x-kubernetes-preserve-unknown-fields": True})
    spec_of(ask, spec)

    ask.ok("DELETE", ONE)

    assert ask("GET", ONE)[0] == 404


def test_strict_validation_refuses_what_would_be_pruned(ask: Asking) -> None:
    define_spec(ask, fields(a=WHOLE))

    status, refused = ask("POST", WIDGETS, widget(spec={"b": 1}), fieldValidation="Strict")

    assert status == 400
    assert refused["message"].endswith('strict decoding error: unknown field "spec.b"')


def test_what_a_change_leaves_alone_is_not_copied(ask: Asking) -> None:
    define_spec(ask, ANYTHING)
    kind = ask.server.kinds.find(GROUP, "v1", "widgets")
    assert kind is not None
    assert kind.definition is not None
    old = {"metadata": {"name": "w"}, "spec": {"a": {"b": [1]}}}

    new = structural_shape(kind.definition)({**old, "spec": {**old["spec"], "c": 1}}, old, None, [])

    assert new["spec"]["a"] is old["spec"]["a"]  # type: ignore[index]


def test_stored_objects_are_shown_by_the_present_schema(ask: Asking) -> None:
    define_spec(ask, fields(a=TEXT, gone=TEXT))
    spec_of(ask, {"a": "x", "gone": "y"})
    changed = version(schema=structure(fields(a=TEXT, b={**TEXT, "default": "new"})))
    ask.patch(DEFINITION, {"spec": {"versions": [changed]}})

    shown = ask.ok("GET", ONE)
    listed = ask.ok("GET", WIDGETS)["items"][0]
    unchanged = ask.patch(ONE, {"metadata": {"labels": {"x": "y"}}})[1]

    assert shown["spec"] == listed["spec"] == unchanged["spec"] == {"a": "x", "b": "new"}
    assert unchanged["metadata"]["generation"] == 1
