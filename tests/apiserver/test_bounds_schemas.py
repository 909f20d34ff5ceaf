# SPDX-License-Identifier: Apache-2.0
"""Limits to schemas of custom kinds, and to the work of checking objects by them."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.defining import (
    ANYTHING,
    DEFINITIONS,
    WIDGETS,
    conditions,
    define,
    definition,
    structure,
    version,
    widget,
)
from kit.contract.engines import WITH_RE2

from embedded_apiserver.bounds import MOST_VALUES

pytestmark = pytest.mark.ends

Object = dict[str, Any]


@pytest.mark.parametrize(
    "items",
    [
        pytest.param({**ANYTHING, "anyOf": [{"required": [f"x{index}"]} for index in range(2_000)]}, id="alternatives"),
        pytest.param({"type": "string", "pattern": "(x+x+)+y|(.*a){20}"}, id="a pattern", marks=WITH_RE2),
    ],
)
def test_an_object_that_takes_too_many_checks_is_refused(items: Object, ask: Asking) -> None:
    define(ask, version(schema=structure({"type": "object", "properties": {"a": {"type": "array", "items": items}}})))
    value: Any = "xa" * 1_000 if items["type"] == "string" else {}

    status, refused = ask("POST", WIDGETS, widget(spec={"a": [value] * 1_000}))

    assert (status, refused["reason"]) == (413, "RequestEntityTooLarge")
    assert ask("POST", WIDGETS, widget(spec={"a": ["xxy"] if items["type"] == "string" else [{"x7": 1}]}))[0] == 201


@pytest.mark.parametrize(
    "default", [pytest.param(["x" * 10_000], id="long"), pytest.param([str(n) for n in range(500)], id="many")]
)
def test_defaults_cannot_multiply_without_end(default: list[str], ask: Asking) -> None:
    fields = {f"d{index}": {"type": "string", "default": one} for index, one in enumerate(default)}
    items = {"type": "object", "properties": fields}
    define(ask, version(schema=structure({"type": "object", "properties": {"a": {"type": "array", "items": items}}})))

    assert ask("POST", WIDGETS, widget(spec={"a": [{}] * 10_000}))[0] == 413
    assert ask.ok("POST", WIDGETS, widget(spec={"a": [{}]}))["spec"]["a"] == [
        {f"d{index}": one for index, one in enumerate(default)}
    ]


@pytest.mark.parametrize(
    ("whole", "field"),
    [
        pytest.param(
            definition(
                version(
                    additionalPrinterColumns=[
                        {"name": f"c{index}", "type": "string", "jsonPath": ".spec.a"} for index in range(65)
                    ]
                )
            ),
            "spec.additionalPrinterColumns",
            id="columns",
        ),
        pytest.param(
            definition(names={"shortNames": [f"n{n}" for n in range(33)]}), "spec.names.shortNames", id="names"
        ),
        pytest.param(
            definition(
                version(
                    schema=structure(
                        {
                            "type": "array",
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": [f"k{n}" for n in range(17)],
                            "items": {
                                "type": "object",
                                "required": [f"k{n}" for n in range(17)],
                                "properties": {f"k{n}": {"type": "string"} for n in range(17)},
                            },
                        }
                    )
                )
            ),
            "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-list-map-keys",
            id="keys",
        ),
    ],
)
def test_what_each_object_would_pay_for_is_limited_in_a_definition(whole: Object, field: str, ask: Asking) -> None:
    status, refused = ask("POST", DEFINITIONS, whole)

    causes = [(cause["reason"], cause["field"]) for cause in refused["details"]["causes"]]
    assert (status, causes) == (422, [("FieldValueTooMany", field)])


def test_a_definition_leaves_room_for_its_status(ask: Asking) -> None:
    """Otherwise it could be stored, but its status could not say that it is established."""
    fields = {f"f{index}": {"type": "string"} for index in range(MOST_VALUES // 2 - 10)}
    status = ask("POST", DEFINITIONS, definition(version(schema=structure({"type": "object", "properties": fields}))))[
        0
    ]
    few = dict(list(fields.items())[:25_000])
    made = define(ask, version(schema=structure({"type": "object", "properties": few})))

    assert status == 413
    assert conditions(made)["Established"][0] == "True"
