# SPDX-License-Identifier: Apache-2.0
"""Limits to the work for one request, which grows no faster than the request's size."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.config_maps import CONFIGS, config
from kit.apiserver.costs import Compared, calls, seconds

from apimachinery.names import qualified_name_errors
from apimachinery.quantities import QUANTITY
from apimachinery.selectors import LabelSelector
from embedded_apiserver.checks.metadata import updated_metadata_causes
from embedded_apiserver.custom.schema_causes import schema_causes
from embedded_apiserver.groups.core.kinds import CONFIG_MAP
from embedded_apiserver.typed import jsonpatch

Object = dict[str, Any]


@pytest.fixture(autouse=True)
def nothing_is_compared_yet() -> None:
    Compared.times = 0


def test_an_operation_of_a_json_patch_costs_as_much_on_a_large_object_as_on_a_small_one() -> None:
    operations = [{"op": "add", "path": f"/data/x{index}", "value": 1} for index in range(2_000)]

    def patch(size: int) -> Callable[[], object]:
        document = {"data": {f"k{index}": "" for index in range(size)}}
        return lambda: jsonpatch.apply(document, operations)

    assert seconds(patch(40_000)) < 20 * seconds(patch(10))


def test_what_an_operation_copies_is_changed_by_later_ones_alone() -> None:
    document = {"a": {"b": [1]}}
    operations = [
        {"op": "add", "path": "/a/b/-", "value": 2},
        {"op": "copy", "from": "/a", "path": "/c"},
        {"op": "add", "path": "/a/b/-", "value": 3},
        {"op": "add", "path": "/c/b/0", "value": 0},
        {"op": "move", "from": "/a", "path": "/d"},
        {"op": "remove", "path": "/d/b/0"},
    ]

    assert jsonpatch.apply(document, operations) == {"c": {"b": [0, 1, 2]}, "d": {"b": [2, 3]}}
    assert document == {"a": {"b": [1]}}


def test_a_value_that_a_patch_adds_twice_is_two_values() -> None:
    value: Object = {}
    operations = [
        {"op": "add", "path": "/a", "value": value},
        {"op": "add", "path": "/b", "value": value},
        {"op": "add", "path": "/a/x", "value": 1},
    ]

    assert jsonpatch.apply({}, operations) == {"a": {"x": 1}, "b": {}}
    assert value == {}


def test_owners_without_end_are_merged_in_time_by_their_number(ask: Asking) -> None:
    ask.ok("POST", CONFIGS, config())

    def update(count: int) -> Callable[[], object]:
        entries = [
            {
                "manager": f"m{index}",
                "operation": "Update",
                "apiVersion": "v1",
                "time": "2020-01-01T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {f"f:k{index}": {}}},
            }
            for index in range(count)
        ]
        body = {"metadata": {"name": "a", "managedFields": entries}, "data": {"k": str(count)}}
        return lambda: ask.ok("PUT", f"{CONFIGS}/a", body)

    assert calls(update(800)) < 6 * calls(update(200))


def test_finalizers_are_compared_with_those_before_once_each() -> None:
    def finalizers(letter: str) -> list[str]:
        return [Compared(f"a.b/{letter}{index}") for index in range(2_000)]

    before = {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": finalizers("x")}
    causes = list(updated_metadata_causes(CONFIG_MAP, before, {**before, "finalizers": finalizers("y")}, {}, ""))

    assert [cause.reason for cause in causes] == 2 * ["FieldValueForbidden"]
    assert Compared.times < 20_000


def test_a_label_is_not_compared_with_each_value_of_a_selector() -> None:
    selector = LabelSelector.parse(f"a in ({','.join(f'v{index}' for index in range(5_000))})")

    assert selector.matches({"a": Compared("v4999")})
    assert not selector.matches({"a": Compared("w")})
    assert Compared.times < 100


def test_a_label_is_not_compared_with_each_requirement_of_a_selector() -> None:
    text = ",".join([*(f"a!=v{index}" for index in range(2_000)), *(f"!k{index}" for index in range(2_000))])
    labels = {"a": Compared("w"), "b": "x"}
    selector = LabelSelector.parse(text)

    assert calls(lambda: selector.matches(labels)) < 100
    assert selector.matches(labels)
    assert not selector.matches({"a": "v1999"})
    assert not selector.matches({"k1999": ""})


def test_a_value_is_not_compared_with_each_word_of_a_long_enum() -> None:
    schema = {"type": "array", "items": {"type": "string", "enum": [Compared(f"w{index}") for index in range(5_000)]}}

    assert not list(schema_causes(schema, ["w4999"] * 500))
    assert Compared.times < 10_000


@pytest.mark.parametrize("value", ["w9", 3, 2.0, None, [1], {"a": 1}])
def test_a_long_enum_holds_values_of_all_types(value: Any) -> None:
    schema = {"enum": [*(f"w{index}" for index in range(50)), 3, 2, None, [1], {"a": 1}]}

    assert not list(schema_causes(schema, value))
    assert [cause.reason for cause in schema_causes(schema, [value, 0])] == ["FieldValueNotSupported"]


def test_a_quantity_that_is_none_is_found_out_in_one_way_through_it() -> None:
    def refused(length: int) -> Callable[[], object]:
        return lambda: QUANTITY.fullmatch("1" * length + "x")

    assert seconds(refused(40_000)) < 40 * seconds(refused(4_000))


def test_long_names_are_not_remembered() -> None:
    class Name(str):
        """A string that can be waited for."""

    name = Name("x" * 400)
    gone = weakref.ref(name)
    qualified_name_errors(name)
    del name

    assert gone() is None


def test_a_path_of_long_names_is_told_only_with_a_fault() -> None:
    """Otherwise each field below a long name would cost time in proportion to the length of the name."""
    schema = {"additionalProperties": {"additionalProperties": {"type": "integer"}}}
    value = {"x" * 1_000_000: {f"{index}": index for index in range(2_000)}}
    short = {"x": value["x" * 1_000_000]}

    assert seconds(lambda: list(schema_causes(schema, value))) < 10 * seconds(
        lambda: list(schema_causes(schema, short))
    )


def test_a_quantity_that_no_number_can_hold_is_none(ask: Asking) -> None:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1" * 1_500_000 + "Ei"}}}

    status, refused = ask(
        "POST", "/api/v1/namespaces/default/persistentvolumeclaims", {"metadata": {"name": "c"}, "spec": claim}
    )

    assert (status, refused["reason"]) == (400, "BadRequest")
