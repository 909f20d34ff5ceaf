# SPDX-License-Identifier: Apache-2.0
"""Breaking changes of a definition are found, named, and judged for each stored object; others are none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.crd.cabins import Cabin, CabinV1Alpha1

from controller_runtime.crd import definition
from controller_runtime.crd.breaking import breaking_changes

OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def defined(spec: dict[str, Any], *, version: str = "v1", served: bool = True) -> dict[str, Any]:
    """Return the part of a definition that counts, with this schema of its field `spec`."""
    schema = {"type": "object", "properties": {"metadata": {"type": "object"}, "spec": spec}}
    return {"spec": {"versions": [{"name": version, "served": served, "schema": {"openAPIV3Schema": schema}}]}}


def fields(*required: str, **properties: Any) -> dict[str, Any]:
    found = {"type": "object", "properties": properties}
    return {**found, "required": [*required]} if required else found


def entries(values: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("before", "after", "told", "concerned", "not_concerned"),
    [
        pytest.param(
            fields(label=TEXT),
            fields(title=TEXT),
            "v1.spec.label: is gone or has another name, and its stored values are dropped",
            {"label": "a"},
            {"title": "a"},
            id="renamed",
        ),
        pytest.param(
            fields(rows={"type": "array", "items": fields(a=TEXT)}),
            fields(rows={"type": "array", "items": fields()}),
            "v1.spec.rows[].a: is gone or has another name, and its stored values are dropped",
            {"rows": [{}, {"a": "x"}]},
            {"rows": [{}]},
            id="in a list",
        ),
        pytest.param(
            fields(rows=entries(fields(a=TEXT))),
            fields(rows=entries(fields())),
            "v1.spec.rows[…].a: is gone or has another name, and its stored values are dropped",
            {"rows": {"x": {"a": "x"}}},
            {"rows": {"a": {}}},
            id="in a map",
        ),
        pytest.param(
            fields(rows=entries(TEXT)),
            fields(rows={"type": "object"}),
            "v1.spec.rows[…]: has no entries any more, and those that are stored are dropped",
            {"rows": {"x": "y"}},
            {"rows": {}},
            id="a map's entries",
        ),
        pytest.param(
            {**fields(), **OPEN},
            fields(),
            "v1.spec: keeps unknown fields no longer, and those that are stored are dropped",
            {"x": 1},
            None,
            id="unknown fields",
        ),
        pytest.param(
            fields(a=TEXT),
            fields("a", a=TEXT),
            "v1.spec.a: is required from now on, and has no default",
            {"b": ""},
            {"a": ""},
            id="required",
        ),
        pytest.param(
            fields(a=TEXT),
            fields(a=NUMBER),
            "v1.spec.a: is of type integer and was of type string",
            {"a": "1"},
            {},
            id="type",
        ),
        pytest.param(
            fields(a={**TEXT, "nullable": True}),
            fields(a=TEXT),
            "v1.spec.a: can no longer be null",
            {"a": None},
            {"a": ""},
            id="null",
        ),
        pytest.param(
            fields(a={**TEXT, "enum": ["x", "y"]}),
            fields(a={**TEXT, "enum": ["y", "z"]}),
            "v1.spec.a: can no longer be 'x'",
            {"a": "x"},
            {"a": "y"},
            id="value",
        ),
        pytest.param(
            fields(a=TEXT),
            fields(a={**TEXT, "enum": ["y"]}),
            "v1.spec.a: can only be 'y' from now on",
            {"a": "x"},
            {"a": "y"},
            id="values",
        ),
        pytest.param(
            fields(a={**NUMBER, "minimum": 1}),
            fields(a={**NUMBER, "minimum": 2}),
            "v1.spec.a: has the minimum 2, and was 1",
            {"a": 1},
            {"a": 2},
            id="minimum",
        ),
        pytest.param(
            fields(a=TEXT),
            fields(a={**TEXT, "maxLength": 2}),
            "v1.spec.a: has the maxLength 2, and had none",
            {"a": "xyz"},
            {"a": "xy"},
            id="length",
        ),
        pytest.param(
            fields(a={**TEXT, "pattern": "a+"}),
            fields(a={**TEXT, "pattern": "b+"}),
            "v1.spec.a: has the pattern 'b+' from now on",
            {"a": "bb"},
            {},
            id="pattern: each value may be concerned",
        ),
        pytest.param(
            fields(a=TEXT),
            fields(a={**TEXT, "x-kubernetes-validations": [{"rule": "self != ''"}]}),
            "v1.spec.a: has a new rule: self != ''",
            {"a": "x"},
            {},
            id="rule",
        ),
        pytest.param(
            fields(a={"type": "array", "items": TEXT}),
            fields(a={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}),
            "v1.spec.a: can have no two equal elements from now on",
            {"a": []},
            {},
            id="set",
        ),
    ],
)
def test_a_breaking_change_is_named_with_its_path_and_judged_for_each_object(
    before: Any, after: Any, told: str, concerned: Any, not_concerned: Any
) -> None:
    [change] = breaking_changes(defined(before), defined(after))

    assert str(change) == told
    assert change.concerns({"spec": concerned})
    assert not change.concerns({} if not_concerned is None else {"spec": not_concerned})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(fields(), fields(a=TEXT), id="a new field"),
        pytest.param(
            fields(), fields("a", a={**TEXT, "default": ""}), id="a new field that is required and has a default"
        ),
        pytest.param(fields("a", a=TEXT), fields(a=TEXT), id="optional from now on"),
        pytest.param(fields(a=NUMBER), fields(a={"type": "number"}), id="a wider type"),
        pytest.param(fields(a=TEXT), fields(a={"x-kubernetes-int-or-string": True}), id="either"),
        pytest.param(fields(a=TEXT), fields(a=OPEN), id="any value"),
        pytest.param(fields(a=TEXT), {**fields(), **OPEN}, id="a field among unknown ones, which are kept"),
        pytest.param(
            fields(a={**NUMBER, "minimum": 2, "maximum": 3}), fields(a={**NUMBER, "minimum": 1}), id="wider bounds"
        ),
        pytest.param(fields(a={**TEXT, "enum": ["x"]}), fields(a={**TEXT, "enum": ["x", "y"]}), id="a further value"),
        pytest.param(fields(a={**TEXT, "default": "x"}), fields(a={**TEXT, "default": "y"}), id="another default"),
        pytest.param(fields(a={**TEXT, "description": "x"}), fields(a={**TEXT, "description": "y"}), id="a text"),
        pytest.param(fields(a={**TEXT, "pattern": "x"}), fields(a=TEXT), id="no pattern any more"),
    ],
)
def test_other_changes_break_nothing(before: Any, after: Any) -> None:
    assert breaking_changes(defined(before), defined(after)) == []


def test_a_version_that_is_gone_or_no_longer_served_concerns_all_objects() -> None:
    both, one = definition(Cabin, CabinV1Alpha1), definition(Cabin)

    [gone] = breaking_changes(both, one)

    assert str(gone) == "v1alpha1: is no longer served, so clients that use it fail"
    assert gone.concerns({})
    assert breaking_changes(one, both) == []
    [unserved] = breaking_changes(defined(fields()), defined(fields(), served=False))
    assert unserved.version == "v1"
    assert breaking_changes(defined(fields(), served=False), defined(fields(), version="v2")) == []


SCHEMAS = st.recursive(
    st.sampled_from(
        [TEXT, NUMBER, {**TEXT, "enum": ["a"]}, {**NUMBER, "minimum": 1}, {**TEXT, "nullable": True}, OPEN]
    ),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2).map(lambda found: fields(**found)),
        st.dictionaries(st.sampled_from("ab"), inner, min_size=1).map(lambda found: fields(*found, **found)),
        inner.map(lambda items: {"type": "array", "items": items}),
        inner.map(entries),
    ),
    max_leaves=6,
)
JSON = st.recursive(
    st.none() | st.integers(0, 2) | st.sampled_from(["", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=6,
)


@given(SCHEMAS)
def test_a_definition_does_not_break_itself(schema: Any) -> None:
    assert breaking_changes(defined(schema), defined(schema)) == []


@given(SCHEMAS, SCHEMAS, JSON)
def test_each_change_can_be_judged_for_each_object(before: Any, after: Any, spec: Any) -> None:
    for change in breaking_changes(defined(before), defined(after)):
        assert change.concerns({"spec": spec}) in (True, False)
        assert str(change).startswith(("v1.spec", "v1: "))
