# SPDX-License-Identifier: Apache-2.0
"""JSON merge patch, RFC 7386, by a table of examples and by properties."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.status import StatusError
from embedded_apiserver.typed import mergepatch
from embedded_apiserver.typed.patch import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, apply_patch

names = st.sampled_from("abcd")
leaves = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.sampled_from(["", "x"]))
documents = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=12,
)
objects = st.dictionaries(names, documents, max_size=4)


@pytest.mark.parametrize(
    ("current", "patch", "result"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replace"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="add"),
        pytest.param({"a": "b", "b": 1}, {"a": None}, {"b": 1}, id="delete"),
        pytest.param({"a": 1}, {"x": None}, {"a": 1}, id="delete what is not there"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="a text over a list"),
        pytest.param({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}, id="a list over a text"),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="lists are replaced"),
        pytest.param({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="objects merge"),
        pytest.param({"a": "text"}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}, id="an object over a text"),
        pytest.param({}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}, id="nulls do not survive"),
        pytest.param({}, {"a": [None, {"b": None}]}, {"a": [None, {"b": None}]}, id="in lists they do"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="a null that was there stays"),
    ],
)
def test_merge_patches_by_table(current: dict[str, Any], patch: dict[str, Any], result: dict[str, Any]) -> None:
    assert mergepatch.apply(current, patch) == result


@given(objects, objects)
def test_a_merge_patch_applied_twice_is_applied_once_and_modifies_nothing(
    current: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = copy.deepcopy((current, patch))

    once = mergepatch.apply(current, patch)

    assert mergepatch.apply(once, patch) == once
    assert (current, patch) == before


@given(objects)
def test_the_empty_patch_answers_the_object_itself(current: dict[str, Any]) -> None:
    assert mergepatch.apply(current, {}) is current


@given(objects, objects)
def test_what_a_patch_does_not_name_is_shared(current: dict[str, Any], patch: dict[str, Any]) -> None:
    result = mergepatch.apply(current, patch)

    assert all(result[name] is current[name] for name in current if name not in patch)


@pytest.mark.scenario("H-26")
def test_a_null_removes_an_annotation() -> None:
    """A merge patch with null for an annotation removes it; the other annotations stay."""
    lease = {"metadata": {"name": "a", "annotations": {"a": "1", "b": "2"}}, "spec": {}}

    patched = apply_patch(LEASE, MERGE_PATCH, lease, b'{"metadata":{"annotations":{"a":null}}}')

    assert patched["metadata"]["annotations"] == {"b": "2"}
    assert patched["spec"] is lease["spec"]


@pytest.mark.scenario("H-32")
def test_patches_of_an_unknown_form_are_refused() -> None:
    """A patch of content type text/plain is answered 415."""
    with pytest.raises(StatusError) as error:
        apply_patch(LEASE, "text/plain", {}, b"{}")

    assert (error.value.code, error.value.message) == (415, "415: Unsupported Media Type")


@pytest.mark.parametrize("form", [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH])
@pytest.mark.parametrize("body", [b"", b'{"a"', b"5", b'"x"', b'{"a":"\xff"}'])
def test_patches_that_cannot_be_read_are_bad_requests(form: str, body: bytes) -> None:
    with pytest.raises(StatusError) as error:
        apply_patch(LEASE, form, {"metadata": {"name": "a"}}, body)

    assert error.value.code == 400


def test_a_patch_may_test_and_state_the_kind() -> None:
    patch = b'[{"op":"test","path":"/kind","value":"Lease"}]'

    assert apply_patch(LEASE, f"{JSON_PATCH}; charset=utf-8", {"metadata": {}}, patch) == {
        "kind": "Lease",
        "apiVersion": "coordination.k8s.io/v1",
        "metadata": {},
    }
