# SPDX-License-Identifier: Apache-2.0
"""Strategic merge patch: lists that are maps and sets, and the directives."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_apiserver.groups.core.kinds import NODE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.status import StatusError
from embedded_apiserver.typed.patch import STRATEGIC_MERGE_PATCH, apply_patch


def patched(kind: Kind, current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    before = copy.deepcopy(current)
    result = apply_patch(kind, STRATEGIC_MERGE_PATCH, current, json.dumps(patch).encode())
    assert current == before
    return {name: value for name, value in result.items() if name not in ("kind", "apiVersion")}


def refused(kind: Kind, current: dict[str, Any], patch: dict[str, Any]) -> StatusError:
    with pytest.raises(StatusError) as error:
        patched(kind, current, patch)
    return error.value


def containers(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


@pytest.mark.scenario("H-27")
def test_conditions_merge_by_type_and_the_others_survive() -> None:
    """A strategic patch with one condition of type Ready leaves the other conditions as they are."""
    memory = {"type": "MemoryPressure", "status": "False"}
    node = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}, memory]}}

    result = patched(NODE, node, {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})

    assert result["status"]["conditions"] == [{"type": "Ready", "status": "Unknown", "reason": "r"}, memory]
    assert result["status"]["conditions"][1] is memory


@pytest.mark.scenario("H-28")
def test_taints_are_replaced_as_a_whole() -> None:
    """A strategic patch of spec.taints with one taint leaves none of the previous ones."""
    node = {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}, {"key": "l", "effect": "NoExecute"}]}}

    result = patched(NODE, node, {"spec": {"taints": [{"key": "j", "effect": "NoExecute"}]}})

    assert result == {"spec": {"taints": [{"key": "j", "effect": "NoExecute"}]}}


@pytest.mark.scenario("H-29")
def test_an_element_is_deleted_by_its_merge_key() -> None:
    """A strategic patch that deletes one type of address removes only this entry."""
    host = {"type": "Hostname", "address": "n"}
    node = {"status": {"addresses": [{"type": "InternalIP", "address": "1"}, host]}}

    result = patched(NODE, node, {"status": {"addresses": [{"type": "InternalIP", "$patch": "delete"}]}})

    assert result == {"status": {"addresses": [host]}}


@pytest.mark.scenario("H-30")
def test_owners_merge_by_uid() -> None:
    """A strategic patch of ownerReferences adds one with a new uid and merges one with a known uid."""
    old = {"uid": "1", "name": "a", "kind": "Node", "apiVersion": "v1"}
    node = {"metadata": {"name": "n", "ownerReferences": [old]}}

    added = patched(NODE, node, {"metadata": {"ownerReferences": [{"uid": "2", "name": "b"}]}})
    merged = patched(NODE, node, {"metadata": {"ownerReferences": [{"uid": "1", "controller": True}]}})

    assert sorted(one["uid"] for one in added["metadata"]["ownerReferences"]) == ["1", "2"]
    assert merged["metadata"]["ownerReferences"] == [{**old, "controller": True}]


@pytest.mark.parametrize(
    ("current", "patch", "result"),
    [
        pytest.param(["a", "b"], {"finalizers": ["b"]}, ["a", "b"], id="what is there stays in its place"),
        pytest.param(["a"], {"finalizers": ["b"]}, ["b", "a"], id="new ones come before what follows: recorded"),
        pytest.param(["a", "b"], {"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"], id="deleted"),
        pytest.param(["a"], {"$deleteFromPrimitiveList/finalizers": ["x"]}, ["a"], id="deleted though not there"),
        pytest.param(
            ["a", "b"],
            {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"]},
            ["c", "b"],
            id="added and deleted",
        ),
        pytest.param(["a", "b", "c"], {"$setElementOrder/finalizers": ["c", "a"]}, ["b", "c", "a"], id="ordered"),
        pytest.param(None, {"finalizers": ["a", "a"]}, ["a"], id="a set"),
        pytest.param(["a"], {"finalizers": None}, None, id="all deleted"),
    ],
)
def test_sets_of_single_values(current: list[str] | None, patch: dict[str, Any], result: list[str] | None) -> None:
    metadata = {} if current is None else {"finalizers": current}

    merged = patched(NODE, {"metadata": metadata}, {"metadata": patch})

    assert merged["metadata"].get("finalizers") == result


@pytest.mark.parametrize(
    ("patch", "names"),
    [
        pytest.param(containers("b", "c"), "abc", id="known ones keep their order"),
        pytest.param(containers("x"), "xabc", id="a new one comes first"),
        pytest.param(containers("b", "x"), "abxc", id="a new one follows its predecessor"),
        pytest.param(containers("c", "a"), "bca", id="the order of the patch is the order"),
        pytest.param([{"$patch": "replace"}, *containers("x")], "x", id="the whole list is replaced"),
        pytest.param([{"$patch": "replace"}], "", id="by nothing"),
        pytest.param([{"name": "b", "$patch": "delete"}, *containers("x")], "xac", id="one deleted, one new"),
        pytest.param([{"name": "z", "$patch": "delete"}], "abc", id="deleted though not there"),
    ],
)
def test_where_elements_stand_after_a_merge(patch: list[dict[str, Any]], names: str) -> None:
    pod = {"spec": {"containers": containers("a", "b", "c", image="i")}}

    result = patched(POD, pod, {"spec": {"containers": patch}})

    assert "".join(container["name"] for container in result["spec"]["containers"]) == names


@pytest.mark.parametrize(
    ("order", "patch", "names"),
    [
        pytest.param("cba", [], "cba", id="all turned round"),
        pytest.param("ca", [], "bca", id="one that is not spoken of keeps its place before its successor"),
        pytest.param("axbc", containers("x"), "axbc", id="a new one in its place"),
        pytest.param("bxzy", containers("x"), "abxc", id="names of nobody are nobody"),
    ],
)
def test_the_order_of_elements_can_be_set(order: str, patch: list[dict[str, Any]], names: str) -> None:
    pod = {"spec": {"containers": containers("a", "b", "c")}}
    directive = {"$setElementOrder/containers": containers(*order)}

    result = patched(POD, pod, {"spec": {**directive, **({"containers": patch} if patch else {})}})

    assert "".join(container["name"] for container in result["spec"]["containers"]) == names


def test_maps_merge_by_key_and_directives_replace_or_empty_them() -> None:
    node = {"metadata": {"labels": {"a": "1", "b": "2"}}, "status": {"capacity": {"cpu": "1"}}}

    merged = patched(NODE, node, {"metadata": {"labels": {"a": None, "c": "3"}}})
    replaced = patched(NODE, node, {"metadata": {"labels": {"c": "3", "$patch": "replace"}}})
    emptied = patched(NODE, node, {"metadata": {"labels": {"$patch": "delete"}}})

    assert merged["metadata"]["labels"] == {"b": "2", "c": "3"}
    assert replaced["metadata"]["labels"] == {"c": "3"}
    assert emptied["metadata"]["labels"] == {}
    assert merged["status"] is node["status"]


def test_only_the_keys_to_retain_are_left_of_a_volume() -> None:
    pod = {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}
    volume = {"name": "v", "emptyDir": {}, "$retainKeys": ["name", "emptyDir"]}

    result = patched(POD, pod, {"spec": {"volumes": [volume]}})

    assert result["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


def test_what_is_new_is_merged_with_nothing_so_that_no_directive_or_null_is_stored() -> None:
    element = {"name": "a", "image": None, "resources": {"limits": {"cpu": "1", "memory": None}, "$patch": "merge"}}

    result = patched(POD, {"spec": {}}, {"spec": {"containers": [element, {"name": "b", "$patch": "delete"}]}})

    assert result == {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}}


@pytest.mark.parametrize(
    ("patch", "code"),
    [
        pytest.param({"spec": {"$patch": "turn"}}, 500, id="unknown directive for a map"),
        pytest.param({"spec": {"$patch": "merge"}}, 500, id="the directive of elements for a map"),
        pytest.param({"spec": {"$turn": 1}}, 400, id="unknown directive"),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "$patch": "merge"}]}}, 400, id="unknown one for an element"
        ),
        pytest.param({"spec": {"containers": [{"image": "i"}]}}, 400, id="an element without its merge key"),
        pytest.param({"spec": {"containers": ["a"]}}, 400, id="an element that is no object"),
        pytest.param({"spec": {"containers": [{"name": {}}]}}, 400, id="a merge key that is no value"),
        pytest.param({"spec": {"containers": "a"}}, 400, id="a text for a list"),
        pytest.param({"metadata": {"finalizers": [["a"]]}}, 400, id="a list in a set"),
        pytest.param({"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}}, 400, id="no list to delete"),
        pytest.param(
            {"spec": {"containers": containers("b"), "$setElementOrder/containers": containers("a")}},
            400,
            id="an order without an element of the patch",
        ),
        pytest.param({"spec": {"hostname": "h", "$retainKeys": ["x"]}}, 422, id="sets what it does not retain"),
    ],
)
def test_malformed_directives_are_refused(patch: dict[str, Any], code: int) -> None:
    pod = {"metadata": {"finalizers": ["a"]}, "spec": {"containers": containers("a")}}

    assert refused(POD, pod, patch).code == code


images = st.sampled_from(["i", "j"])
elements = st.dictionaries(st.sampled_from("abcd"), images, max_size=4).map(
    lambda named: [{"name": name, "image": image} for name, image in named.items()]
)
sets = st.lists(st.sampled_from("abcd"), unique=True, max_size=4)
labels = st.dictionaries(st.sampled_from("abcd"), st.one_of(st.none(), st.sampled_from("xy")), max_size=4)
deletions = st.lists(st.sampled_from("efgh").map(lambda name: {"name": name, "$patch": "delete"}), max_size=2)


@given(elements, elements, deletions, sets, sets, labels)
def test_a_strategic_patch_applied_twice_is_applied_once(
    before: list[Any],
    wanted: list[Any],
    deleted: list[Any],
    finalizers: list[str],
    more: list[str],
    texts: dict[str, Any],
) -> None:
    pod = {"metadata": {"finalizers": finalizers, "labels": {"a": "1"}}, "spec": {"containers": before}}
    patch = {"metadata": {"finalizers": more, "labels": texts}, "spec": {"containers": wanted + deleted}}

    once = patched(POD, pod, patch)

    assert patched(POD, once, patch) == once
    assert set(finalizers) | set(more) == set(once["metadata"]["finalizers"])
    assert {one["name"] for one in before + wanted} == {one["name"] for one in once["spec"]["containers"]}


@given(elements)
def test_a_patch_that_says_what_is_already_so_answers_the_very_list(before: list[dict[str, Any]]) -> None:
    pod = {"spec": {"containers": before}}

    result = apply_patch(POD, STRATEGIC_MERGE_PATCH, pod, b'{"spec":{"containers":[]}}')

    assert result["spec"] is pod["spec"]
