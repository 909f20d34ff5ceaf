# SPDX-License-Identifier: Apache-2.0
"""A class and the definition that a server has: the differences by path, and which of them are errors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from kit.crd.cabins import Cabin, CabinV1Alpha1, Lodge
from kit.crd.other_projects import Certificate, CronJob

from controller_runtime.crd import compare, definition

Edit = Callable[[dict[str, Any], dict[str, Any]], object]
"""Edits the version and its schema of the spec."""


@pytest.mark.parametrize("cls", [Cabin, CabinV1Alpha1, Lodge, Certificate, CronJob])
def test_a_class_does_not_differ_from_its_own_definition(cls: Any) -> None:
    assert compare(cls, definition(cls)) == []


def edited(edit: Edit) -> dict[str, Any]:
    made = copy.deepcopy(definition(Cabin))
    version = made["spec"]["versions"][0]
    edit(version, version["schema"]["openAPIV3Schema"]["properties"]["spec"])
    return made


@pytest.mark.parametrize(
    ("edit", "path", "text", "is_error"),
    [
        (lambda v, s: s["properties"].pop("beds"), ".spec.beds", "no object can be read", True),
        (lambda v, s: s["properties"].pop("heating"), ".spec.heating", "the server drops it", False),
        (
            lambda v, s: s["properties"]["beds"].update(type="string"),
            ".spec.beds",
            "is of type string in the definition, and integer in the class",
            True,
        ),
        (
            lambda v, s: s["properties"]["doors"]["items"]["properties"]["width"].update(type="number"),
            ".spec.doors[].width",
            "is of type number in the definition, and integer in the class",
            True,
        ),
        (
            lambda v, s: s["properties"]["tags"].update(additionalProperties={"type": "boolean"}),
            ".spec.tags[…]",
            "is of type boolean",
            True,
        ),
        (lambda v, s: s.pop("required"), ".spec.beds", "is required by the class alone", False),
        (
            lambda v, s: s.update(required=["beds", "heating", "floor"]),
            ".spec.floor",
            "is required by the definition: create objects by a dict",
            False,
        ),
        (
            lambda v, s: s.update(required=["beds", "tags"]),
            ".spec.tags",
            "is required by the definition, and optional in the class",
            False,
        ),
        (
            lambda v, s: s["properties"]["heating"]["enum"].append("oil"),
            ".spec.heating",
            "can be 'oil' in the definition",
            False,
        ),
        (
            lambda v, s: s["properties"]["heating"]["enum"].remove("gas"),
            ".spec.heating",
            "cannot be 'gas' in the definition",
            False,
        ),
        (lambda v, s: s["properties"]["heating"].pop("enum"), ".spec.heating", "can have any value", False),
        (
            lambda v, s: s["properties"]["heating"].update(default="gas"),
            ".spec.heating",
            "has the default 'gas' in the definition and 'wood' in the class",
            False,
        ),
        (
            lambda v, s: s["properties"]["beds"].update(maximum=12),
            ".spec.beds",
            "has maximum 9 in the class and 12 in the definition",
            False,
        ),
        (
            lambda v, s: s["properties"]["beds"].pop("minimum"),
            ".spec.beds",
            "has minimum 1 in the class and no bound in the definition",
            False,
        ),
        (lambda v, s: s["properties"]["beds"].update(nullable=True), ".spec.beds", "can be null", False),
        (lambda v, s: v.pop("subresources"), ".status", "is not a subresource in the definition", False),
        (lambda v, s: v.update(served=False), "spec.versions", "version v1 is not served", True),
        (lambda v, s: v.update(name="v2"), "spec.versions", "has no version v1, only v2", True),
    ],
)
def test_a_difference_is_told_by_its_path(edit: Edit, path: str, text: str, is_error: bool) -> None:
    found = compare(Cabin, edited(edit))

    [one] = [difference for difference in found if difference.path == path and text in difference.text]
    assert one.is_error is is_error
    assert str(one) == f"{path}: {one.text}"


@pytest.mark.parametrize(
    "edit",
    [
        lambda v, s: s["properties"].update(floor={"type": "string"}),
        lambda v, s: s["properties"]["beds"].update(minimum=2, maximum=8),
        lambda v, s: s["properties"]["beds"].update(format="int32"),
        lambda v, s: s.update({"x-kubernetes-preserve-unknown-fields": True, "properties": {}, "required": ["beds"]}),
        lambda v, s: v.update(schema={"openAPIV3Schema": {"x-kubernetes-preserve-unknown-fields": True}}),
    ],
)
def test_a_definition_that_says_more_or_allows_less_does_not_differ(edit: Edit) -> None:
    assert compare(Cabin, edited(edit)) == []


def test_names_and_scope_are_compared() -> None:
    made = copy.deepcopy(definition(Cabin))
    made["spec"]["names"]["plural"], made["spec"]["scope"] = "huts", "Cluster"

    assert [difference.path for difference in compare(Cabin, made)] == ["spec.names.plural", "spec.scope"]
    with pytest.raises(ValueError, match=r"the definition is of Lodge in example\.com, not of Cabin"):
        compare(Cabin, definition(Lodge))
