# SPDX-License-Identifier: Apache-2.0
"""Patches of objects that the server has never seen are applied on this side."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apimachinery.equality import same_json
from controller_runtime.api.differ import merge_patch, merge_patched
from controller_runtime.planning.patching import PatchFailed, json_patched, merged_by_keys
from controller_runtime.webhooks.json_patch import json_patch

VALUES = st.recursive(
    st.integers(0, 3) | st.text("ab/~", max_size=2) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc/~", max_size=2), VALUES, max_size=4)


@settings(max_examples=40)
@given(before=OBJECTS, after=OBJECTS)
def test_a_merge_patch_leads_where_it_was_made_for(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert same_json(merge_patched(before, merge_patch(before, after)), after, exact=False)


@settings(max_examples=40)
@given(before=OBJECTS, after=OBJECTS)
def test_a_json_patch_leads_where_it_was_made_for(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert same_json(json_patched(before, json_patch(before, after)), after, exact=True)


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        pytest.param(
            {"c": [{"name": "a", "v": 1}, {"name": "b"}]},
            {"c": [{"name": "a", "w": 2}, {"name": "d"}]},
            {"c": [{"name": "a", "v": 1, "w": 2}, {"name": "b"}, {"name": "d"}]},
            id="lists by name",
        ),
        pytest.param(
            {"c": [{"type": "Ready", "status": "False"}]},
            {"c": [{"type": "Ready", "status": "True"}]},
            {"c": [{"type": "Ready", "status": "True"}]},
            id="conditions by type",
        ),
        pytest.param({"c": [1, 2]}, {"c": [3]}, {"c": [3]}, id="other lists are replaced"),
        pytest.param({"finalizers": ["a"]}, {"finalizers": ["b", "a"]}, {"finalizers": ["a", "b"]}, id="finalizers"),
        pytest.param(
            {"c": [{"name": "a"}, {"name": "b"}]},
            {"c": [{"name": "a", "$patch": "delete"}]},
            {"c": [{"name": "b"}]},
            id="an item is deleted",
        ),
        pytest.param({"m": {"a": 1, "b": 2}}, {"m": {"$patch": "replace", "c": 3}}, {"m": {"c": 3}}, id="replaced"),
        pytest.param(
            {"l": ["a", "b"]}, {"$deleteFromPrimitiveList/l": ["a"]}, {"l": ["b"]}, id="an item of a plain list"
        ),
        pytest.param({"a": 1}, {"a": None, "$setElementOrder/c": ["x"]}, {}, id="nulls remove, directives go"),
    ],
)
def test_a_strategic_patch_merges_lists_by_their_keys(
    target: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]
) -> None:
    assert merged_by_keys(target, patch) == result


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "test", "path": "/a", "value": 2}, id="a test that fails"),
        pytest.param({"op": "remove", "path": "/b"}, id="nothing to remove"),
        pytest.param({"op": "replace", "path": "/b", "value": 1}, id="nothing to replace"),
        pytest.param({"op": "add", "path": "/l/5", "value": 1}, id="beyond the list"),
        pytest.param({"op": "grow", "path": "/a"}, id="no operation"),
    ],
)
def test_a_json_patch_that_cannot_be_applied_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchFailed, match=operation["op"]):
        json_patched({"a": 1, "l": [0]}, [operation])
