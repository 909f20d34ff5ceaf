# SPDX-License-Identifier: Apache-2.0
"""States that are one change away from another one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from controller_runtime.testing.perturbation.sequence_states import examples, neighbours
from controller_runtime.testing.perturbation.sequence_story import merged


def a_field(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"type": "object", "properties": {"f": schema}, **({"required": ["f"]} if required else {})}


def values(schema: dict[str, Any], present: Any) -> list[Any]:
    return [each.get("f") for each in neighbours(a_field(schema), {"f": present})]


WHOLE = {"type": "integer", "minimum": 1, "maximum": 9}
TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("schema", "present", "near"),
    [
        ({"type": "boolean"}, True, [False]),
        ({"enum": ["gas", "wood"]}, "gas", ["wood"]),
        (WHOLE, 5, [6, 4, 1, 2, 9, 8]),
        (WHOLE, 9, [8, 1, 2]),
        ({"type": "integer", "multipleOf": 5}, 10, [15, 5, 0]),
        ({"type": "string", "pattern": "^[0-9]+Gi$"}, "1Gi", ["2Gi", "0Gi"]),
        ({"type": "string", "maxLength": 1, "minLength": 1}, "a", ["b"]),
        ({"type": "string", "format": "date"}, "2026-01-01", ["2026-01-02"]),
        ({"type": "array", "items": WHOLE, "minItems": 1, "maxItems": 2}, [3, 4], [[4], [3], [4, 3]]),
        ({"type": "object", "additionalProperties": TEXT, "x": 0}, {"a": "1"}, [{}, {"a": "2"}, {"a": "1", "b": "a"}]),
    ],
)
def test_a_value_goes_one_step(schema: dict[str, Any], present: Any, near: list[Any]) -> None:
    found = values(schema, present)

    assert found[: len(near)] == near or [each for each in near if each not in found] == []
    assert present not in found


def test_an_optional_field_is_unset_and_set_and_a_required_one_stays() -> None:
    assert {} in neighbours(a_field(TEXT, required=False), {"f": "a"})
    assert {} not in neighbours(a_field(TEXT), {"f": "a"})
    assert {"f": "a"} in neighbours(a_field(TEXT, required=False), {})


def test_only_one_thing_changes_at_a_time() -> None:
    schema = {"type": "object", "properties": {"one": WHOLE, "inner": a_field(WHOLE)}}

    for each in neighbours(schema, {"one": 2, "inner": {"f": 5}}):
        assert (each.get("one") == 2) != (each.get("inner") == {"f": 5})


def test_what_no_schema_tells_follows_from_the_values_that_are_there() -> None:
    found = neighbours({}, {"data": {"size": "3"}, "immutable": True})

    assert {"data": {"size": "4"}, "immutable": True} in found
    assert {"data": {"size": "3"}, "immutable": False} in found
    assert {"data": {"size": "3", "a": "a"}, "immutable": True} in found


def test_a_made_up_object_has_its_required_fields_or_all_plain_ones() -> None:
    schema = {"type": "object", "properties": {"key": TEXT, "value": TEXT}, "required": ["key"]}

    assert examples(schema) == [{"key": "a"}, {"key": "a", "value": "a"}]


def test_no_example_is_given_where_there_is_no_telling_what_is_valid() -> None:
    assert examples({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}) == []
    assert examples({"type": "object", "properties": {"f": {"x": 0}}, "required": ["f"]}) == []


PLAIN = st.integers(0, 9) | st.sampled_from(["", "a", "1Gi"]) | st.booleans()
STATES = st.dictionaries(st.sampled_from("abc"), PLAIN | st.lists(PLAIN, max_size=2), max_size=3)


@settings(max_examples=30)
@given(STATES)
def test_neighbours_of_any_state_differ_from_it_and_from_each_other(state: dict[str, Any]) -> None:
    found = [json.encode(each) for each in neighbours({}, state)]

    assert json.encode(state) not in found
    assert len({*found}) == len(found)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        ({"a": 1, "b": {"c": 2}}, {"b": {"c": None, "d": 3}}, {"a": 1, "b": {"d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_a_merge_patch_is_applied(target: Any, patch: Any, result: Any) -> None:
    assert merged(target, patch) == result
