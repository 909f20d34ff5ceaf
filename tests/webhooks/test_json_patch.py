# SPDX-License-Identifier: Apache-2.0
"""The JSON patch between two values has operations only where they differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apimachinery.equality import same_json
from controller_runtime.webhooks.json_patch import json_patch
from embedded_apiserver.typed.jsonpatch import apply

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("a/~", max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text("ab/~", min_size=1, max_size=2), VALUES, max_size=4)


@settings(max_examples=150)
@given(OBJECTS, OBJECTS)
def test_a_patch_turns_one_object_into_the_other_and_is_empty_for_the_same(before: Any, after: Any) -> None:
    patch = json_patch(before, after)

    assert same_json(apply(before, patch), after)
    assert bool(patch) is not same_json(before, after)


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        pytest.param({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}], id="one is not true"),
        pytest.param({"a/b": {"c~": 1}}, {"a/b": {}}, [{"op": "remove", "path": "/a~1b/c~0"}], id="escaped"),
        pytest.param(
            {"l": [1, 2, 3]},
            {"l": [1, 9, 2, 3]},
            [{"op": "add", "path": "/l/1", "value": 9}],
            id="an element in between",
        ),
        pytest.param({"l": [1, 2, 3]}, {"l": [1, 3]}, [{"op": "remove", "path": "/l/1"}], id="an element less"),
        pytest.param(
            {"l": [{"n": 1, "x": 1}, 2]},
            {"l": [{"n": 1, "x": 2}, 2]},
            [{"op": "replace", "path": "/l/0/x", "value": 2}],
            id="inside an element",
        ),
    ],
)
def test_a_patch_is_as_small_as_the_difference(before: Any, after: Any, patch: Any) -> None:
    assert json_patch(before, after) == patch
