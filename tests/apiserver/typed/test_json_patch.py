# SPDX-License-Identifier: Apache-2.0
"""JSON patch: the operations of RFC 6902 as a real server reads them, and the parts that are shared."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from embedded_apiserver.status import StatusError
from embedded_apiserver.typed import jsonpatch


def op(name: str, path: str, *value: Any, source: str | None = None) -> dict[str, Any]:
    operation: dict[str, Any] = {"op": name, "path": path}
    if value:
        operation["value"] = value[0]
    if source is not None:
        operation["from"] = source
    return operation


@pytest.mark.parametrize(
    ("document", "operations", "result"),
    [
        pytest.param({"a": 1}, [op("add", "/b", 2)], {"a": 1, "b": 2}, id="add a field"),
        pytest.param({"a": 1}, [op("add", "/a", 2)], {"a": 2}, id="add over a field"),
        pytest.param({"a": [1, 3]}, [op("add", "/a/1", 2)], {"a": [1, 2, 3]}, id="add between"),
        pytest.param({"a": [1]}, [op("add", "/a/1", 2)], {"a": [1, 2]}, id="add at the length"),
        pytest.param({"a": [1]}, [op("add", "/a/-", [2])], {"a": [1, [2]]}, id="add at the end"),
        pytest.param(
            {"a": {"b": [{}]}}, [op("add", "/a/b/0/c", None)], {"a": {"b": [{"c": None}]}}, id="add null, deep"
        ),
        pytest.param({"a": 1}, [op("replace", "", {"b": 2})], {"b": 2}, id="replace everything"),
        pytest.param({"a": 1}, [op("replace", "/b", 2)], {"a": 1, "b": 2}, id="replace what is not there"),
        pytest.param({"a": 1}, [op("replace", "/a")], {"a": None}, id="replace without a value"),
        pytest.param({"a": 1}, [op("copy", "/c", source="/b")], {"a": 1, "c": None}, id="copy what is not there"),
        pytest.param({"a": 1}, [op("test", "/b", None)], {"a": 1}, id="what is not there is null"),
        pytest.param({"a": 1}, [op("add", "x/b", 2)], {"a": 1, "b": 2}, id="a path begins at its first slash"),
        pytest.param({"a": [1, 2]}, [op("remove", "/a/-1")], {"a": [1]}, id="remove from the end"),
        pytest.param({"a": [1, 2]}, [op("add", "/a/-1", 3)], {"a": [1, 2, 3]}, id="add counts from behind the end"),
        pytest.param({"a": [1, 2]}, [op("replace", "/a/-2", 3)], {"a": [3, 2]}, id="replace from the end"),
        pytest.param({"a": [[1], 2]}, [op("add", "/a/-2/-", 3)], {"a": [[1, 3], 2]}, id="a step from the end"),
        pytest.param({"a": [1, 2]}, [op("remove", "/a/01")], {"a": [1]}, id="an index with a leading zero"),
        pytest.param(
            {"a": [{}, {"b": 1}]},
            [op("move", "/a/0/in", source="/a/0")],
            {"a": [{"b": 1, "in": {}}]},
            id="to what follows",
        ),
        pytest.param({"a": 1, "b": 2}, [op("remove", "/a")], {"b": 2}, id="remove a field"),
        pytest.param({"a": [1, 2, 3]}, [op("remove", "/a/1")], {"a": [1, 3]}, id="remove an element"),
        pytest.param({"a": [1, 2]}, [op("replace", "/a/0", 9)], {"a": [9, 2]}, id="replace an element"),
        pytest.param({"a": {"b": 1}}, [op("replace", "/a/b", 2)], {"a": {"b": 2}}, id="replace a field"),
        pytest.param({"a": {"b": 1}}, [op("move", "/c", source="/a/b")], {"a": {}, "c": 1}, id="move"),
        pytest.param({"a": [1, 2, 3]}, [op("move", "/a/2", source="/a/0")], {"a": [2, 3, 1]}, id="move in a list"),
        pytest.param({"a": [1]}, [op("copy", "/b", source="/a")], {"a": [1], "b": [1]}, id="copy"),
        pytest.param({"a/b": {"~c": 1}}, [op("replace", "/a~1b/~0c", 2)], {"a/b": {"~c": 2}}, id="escaped names"),
        pytest.param({"": 1}, [op("remove", "/")], {}, id="the empty name"),
        pytest.param({"a": [{"b": 1.0}]}, [op("test", "/a", [{"b": 1.0}])], {"a": [{"b": 1.0}]}, id="numbers by text"),
        pytest.param({"a": 1}, [op("add", "/b", 2), op("test", "/b", 2), op("remove", "/a")], {"b": 2}, id="in order"),
        pytest.param(
            {"a": [1]},
            [op("copy", "/b", source="/a"), op("add", "/b/-", 2)],
            {"a": [1], "b": [1, 2]},
            id="a copy is one",
        ),
    ],
)
def test_operations_are_applied_and_the_document_is_left_alone(
    document: dict[str, Any], operations: list[dict[str, Any]], result: dict[str, Any]
) -> None:
    before = copy.deepcopy(document)

    assert jsonpatch.apply(document, operations) == result
    assert document == before


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(op("remove", "/x"), id="remove what is not there"),
        pytest.param(op("replace", "/x/y", 1), id="replace below what is not there"),
        pytest.param(op("replace", "/list/2", 1), id="replace beyond the end"),
        pytest.param(op("add", "/x/y", 1), id="add below what is not there"),
        pytest.param(op("add", "/list/3", 1), id="add beyond the end"),
        pytest.param(op("add", "/text/0", 1), id="add below a text"),
        pytest.param(op("replace", "/list/-", 1), id="replace after the end"),
        pytest.param(op("remove", "/list/-3"), id="an index before the first"),
        pytest.param(op("test", "/list/2", None), id="no null beyond the end"),
        pytest.param(op("test", "/one", 1.0), id="another text of the number"),
        pytest.param({"path": "/one"}, id="no operation"),
        pytest.param({"op": "remove"}, id="no path"),
        pytest.param(op("remove", "/list/²"), id="a digit that is none"),
        pytest.param(op("test", "/one", True), id="a number is not true"),
        pytest.param(op("test", "/list", [1]), id="another list"),
        pytest.param(op("test", "/one"), id="no value"),
        pytest.param(op("copy", "/y"), id="no source"),
        pytest.param(op("copy", "/y", source=""), id="copy everything"),
        pytest.param(op("move", "/y", source="/x"), id="move what is not there"),
        pytest.param(op("move", "/text/in", source="/text"), id="move into itself"),
        pytest.param(op("add", "", {}), id="add everything"),
        pytest.param(op("add", "one", 1), id="no pointer"),
        pytest.param(op("remove", ""), id="remove everything"),
        pytest.param(op("replace", "", 5), id="leave no object"),
        pytest.param(op("turn", "/one"), id="unknown operation"),
    ],
)
def test_an_operation_that_does_not_fit_refuses_the_whole_patch(operation: dict[str, Any]) -> None:
    document = {"one": 1, "text": "t", "list": [1, 2], "pairs": [{}, {}]}

    with pytest.raises(StatusError) as error:
        jsonpatch.apply(document, [op("add", "/new", 1), operation])

    assert (error.value.code, error.value.reason) == (422, "Invalid")
    assert document == {"one": 1, "text": "t", "list": [1, 2], "pairs": [{}, {}]}


def test_untouched_parts_are_shared() -> None:
    document = {"a": {"b": {"c": 1}}, "d": {"e": [1]}}

    result = jsonpatch.apply(document, [op("add", "/a/x", 1)])

    assert result["d"] is document["d"]
    assert result["a"]["b"] is document["a"]["b"]


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"op": "x"}, id="no list"),
        pytest.param([{"op": 1, "path": "/a"}], id="an operation that is a number"),
        pytest.param(["x"], id="a text"),
    ],
)
def test_what_is_no_list_of_operations_is_a_bad_request(patch: Any) -> None:
    with pytest.raises(StatusError) as error:
        jsonpatch.apply({}, patch)

    assert error.value.code == 400


def test_there_is_a_limit_to_operations() -> None:
    patch = [op("test", "", {})] * (jsonpatch.MAX_OPERATIONS + 1)

    with pytest.raises(StatusError) as error:
        jsonpatch.apply({}, patch)

    assert error.value.code == 413
    assert jsonpatch.apply({}, patch[1:]) == {}


def test_copies_cannot_grow_without_end() -> None:
    patch = [op("copy", "/a/-", source="/a")] * 40

    with pytest.raises(StatusError) as error:
        jsonpatch.apply({"a": ["x"]}, patch)

    assert error.value.code == 422
