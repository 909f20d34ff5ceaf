# SPDX-License-Identifier: Apache-2.0
"""Equality of JSON values."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.equality import same_json


@pytest.mark.parametrize(
    ("one", "other", "exact", "as_patched"),
    [
        pytest.param(1, 1, True, True, id="equal numbers"),
        pytest.param("a", "b", False, False, id="other texts"),
        pytest.param(1, True, False, False, id="True is not 1"),
        pytest.param(0, False, False, False, id="False is not 0"),
        pytest.param(1.0, True, False, False, id="True is not 1.0"),
        pytest.param(1, 1.0, False, True, id="1 and 1.0"),
        pytest.param(None, None, True, True, id="null"),
        pytest.param(None, 0, False, False, id="null and a number"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True, id="the order of fields does not matter"),
        pytest.param([1, 2], [2, 1], False, False, id="the order of elements matters"),
        pytest.param([1], [1, 1], False, False, id="a longer list"),
        pytest.param((1, 2), [1, 2], False, True, id="a tuple and a list"),
        pytest.param({"a": None}, {}, False, True, id="a null field and an absent one"),
        pytest.param([None], [], False, False, id="a null element is an element"),
        pytest.param({"a": {"b": [1]}}, {"a": {"b": [1]}}, True, True, id="nested, equal"),
        pytest.param({"a": {"b": [1]}}, {"a": {"b": [True]}}, False, False, id="nested, True is not 1"),
        pytest.param({"a": {"b": [1]}}, {"a": {"b": [1.0]}}, False, True, id="nested, 1 and 1.0"),
        pytest.param({"a": [{"b": None}]}, {"a": [{}]}, False, True, id="nested, null and absent"),
        pytest.param({"a": {}}, {"a": []}, False, False, id="an object and a list"),
    ],
)
def test_equality_of_json_values(one: Any, other: Any, exact: bool, as_patched: bool) -> None:
    assert same_json(one, other) is same_json(other, one) is exact
    assert same_json(one, other, exact=False) is same_json(other, one, exact=False) is as_patched
