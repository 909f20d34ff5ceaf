# SPDX-License-Identifier: Apache-2.0
"""Objects as trees of fields: which values have parts, comparison, and merging."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from kit.apiserver.configurations import CONFIGURATIONS, said

from embedded_apiserver.groups.core.kinds import NODE, SERVICE_ACCOUNT
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.typed.fieldset import encode
from embedded_apiserver.typed.fieldtree import Changes, ambiguities, compare, fields_of, merged, with_parents, without

Config = dict[str, Any]


def fields(kind: Kind, obj: Config) -> dict[str, Any]:
    return encode(fields_of(kind.schema, obj))


def changes(old: Config, new: Config) -> Changes:
    found = Changes(set(), set(), set())
    compare(POD.schema, old, new, (), found)
    return found


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        pytest.param(NODE, {"spec": {"unschedulable": True}}, {"f:spec": {"f:unschedulable": {}}}, id="a value"),
        pytest.param(
            NODE,
            {"metadata": {"labels": {"a": "1", "b": "2"}}},
            {"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}}},
            id="a map has parts",
        ),
        pytest.param(
            NODE,
            {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
            {"f:spec": {"f:taints": {}}},
            id="an atomic list is owned whole",
        ),
        pytest.param(
            NODE,
            {"spec": {"podCIDRs": ["10.0.0.0/8"]}},
            {"f:spec": {"f:podCIDRs": {'v:"10.0.0.0/8"': {}}}},
            id="a set has its values",
        ),
        pytest.param(
            NODE,
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            {"f:status": {"f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}}}}},
            id="a list with keys has elements with fields",
        ),
        pytest.param(
            POD,
            {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}},
            {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:name": {},
                            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
                        }
                    }
                }
            },
            id="a key left out is its default",
        ),
        pytest.param(
            POD,
            {"spec": {"nodeSelector": {"a": "b"}, "securityContext": {}}},
            {"f:spec": {"f:nodeSelector": {}, "f:securityContext": {}}},
            id="an atomic map and an empty object are owned whole",
        ),
    ],
)
def test_what_a_configuration_owns_follows_from_the_schema(kind: Kind, obj: Config, expected: Config) -> None:
    assert fields(kind, obj) == expected


@pytest.mark.parametrize(
    ("live", "applied", "expected"),
    [
        pytest.param("ab", "x", "abx", id="new ones at the end"),
        pytest.param("abc", "cxa", "bcxa", id="the applied order counts"),
        pytest.param("asb", "xs", "axsb", id="others stay where they stood"),
        pytest.param("acd", "cae", "cdae", id="what stood before a moved one stays"),
        pytest.param("aby", "axb", "axby", id="what stands behind all of them stays there"),
        pytest.param("", "ab", "ab", id="from nothing"),
        pytest.param("ab", "", "ab", id="nothing applied"),
    ],
)
def test_elements_merge_in_the_order_in_which_they_are_applied(live: str, applied: str, expected: str) -> None:
    def listed(names: str) -> Config:
        return {"spec": {"containers": [{"name": name} for name in names]}}

    assert merged(POD.schema, listed(live), listed(applied)) == listed(expected)


def test_elements_with_equal_keys_become_one() -> None:
    live = {"spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "e", "value": "1"}]}]}}

    whole = merged(POD.schema, live, {"spec": {"containers": [{"name": "c", "env": [{"name": "f"}]}]}})

    assert whole["spec"]["containers"] == [
        {"name": "c", "image": "i", "env": [{"name": "e", "value": "1"}, {"name": "f"}]}
    ]


def test_an_atomic_list_is_replaced_and_may_become_empty() -> None:
    live = {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}

    assert merged(NODE.schema, live, {"spec": {"taints": []}}) == {"spec": {"taints": []}}


@pytest.mark.parametrize(
    ("containers", "problem"),
    [
        pytest.param(
            [{"name": "c"}, {"name": "c"}], '.spec.containers: duplicate entries for key [name="c"]', id="twice"
        ),
        pytest.param([{"name": "c"}, {"name": "d"}], None, id="apart"),
    ],
)
def test_elements_that_nothing_tells_apart_are_found(containers: list[Config], problem: str | None) -> None:
    found = list(ambiguities(POD.schema, {"spec": {"containers": containers}}))

    assert found == ([problem] if problem else [])


def test_an_element_without_any_key_is_found() -> None:
    (found,) = ambiguities(SERVICE_ACCOUNT.schema, {"secrets": [{"kind": "Secret"}]})

    assert found.startswith(".secrets: element 0: ")


def test_null_is_a_key() -> None:
    assert list(ambiguities(NODE.schema, {"metadata": {"ownerReferences": [{"uid": None}]}})) == []


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_what_one_direction_adds_the_other_removes(old: Config, new: Config) -> None:
    there, back = changes(old, new), changes(new, old)

    assert (there.added, there.modified, there.removed) == (back.removed, back.modified, back.added)


@given(CONFIGURATIONS)
def test_an_object_does_not_differ_from_itself(obj: Config) -> None:
    assert changes(obj, obj) == Changes(set(), set(), set())


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_merging_keeps_all_fields_of_both(live: Config, applied: Config) -> None:
    whole = with_parents(POD.schema, said(merged(POD.schema, live, applied)))

    assert whole >= said(live) | said(applied)


@given(CONFIGURATIONS)
def test_merging_again_changes_nothing(applied: Config) -> None:
    assert merged(POD.schema, applied, applied) == applied


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_what_is_taken_away_is_gone_and_nothing_else_is(obj: Config, other: Config) -> None:
    taken = said(other)
    rest = without(POD.schema, obj, encode(taken))

    below = {path for path in said(obj) if any(path[: len(one)] == one for one in taken)}
    assert said(rest) & below == set()
    assert said(rest) >= said(obj) - below
