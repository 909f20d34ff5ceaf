# SPDX-License-Identifier: Apache-2.0
"""The difference of two objects as a merge patch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.api.differ import merge_patch
from embedded_apiserver.typed import mergepatch

SCALARS = st.booleans() | st.integers(0, 2) | st.sampled_from(["", "a", "b"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="equal"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="changed"),
        pytest.param({"a": 1}, {"a": 1, "b": 2}, {"b": 2}, id="added"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {"b": None}, id="removed"),
        pytest.param({"m": {"a": 1, "b": 2}}, {"m": {"a": 1, "b": 3}}, {"m": {"b": 3}}, id="deep"),
        pytest.param({"m": {"a": 1}}, {"m": {}}, {"m": {"a": None}}, id="emptied"),
        pytest.param({"l": [1, 2]}, {"l": [1]}, {"l": [1]}, id="a list is whole"),
        pytest.param({"l": [{"a": 1}]}, {"l": [{"a": 1}]}, {}, id="an equal list"),
        pytest.param({"a": {"b": 1}}, {"a": 1}, {"a": 1}, id="an object becomes a number"),
        pytest.param({"a": 1}, {"a": {}}, {"a": {}}, id="a number becomes an object"),
        pytest.param({"a": 1}, {"a": True}, {"a": True}, id="True is not 1"),
        pytest.param({"l": [0]}, {"l": [False]}, {"l": [False]}, id="nor in a list"),
        pytest.param({}, {"a": None}, {}, id="None is absent"),
        pytest.param({"l": [{"a": None}]}, {"l": [{}]}, {}, id="None is absent in a list"),
    ],
)
def test_a_patch_holds_what_differs(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    found = merge_patch(before, after)

    assert repr(found) == repr(patch)  # True == 1


@given(OBJECTS, OBJECTS)
def test_the_patch_makes_one_of_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = mergepatch.apply(before, merge_patch(before, after))

    assert merge_patch(made, after) == {}
    assert made == after


@given(OBJECTS)
def test_an_object_does_not_differ_from_itself(obj: dict[str, Any]) -> None:
    assert merge_patch(obj, obj) == {}
