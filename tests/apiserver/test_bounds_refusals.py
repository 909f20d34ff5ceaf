# SPDX-License-Identifier: Apache-2.0
"""Limits to the size of a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kit.apiserver.asking import LEASES, NODES, PODS, Asking, lease, node, pod
from kit.apiserver.config_maps import CONFIGS, config

from embedded_apiserver.custom.schema_causes import schema_causes

APPLY = "application/apply-patch+yaml"
SHORT = 256 * 1024  # bytes of a refusal

Object = dict[str, Any]


def test_of_very_many_faults_the_first_are_told_and_the_others_counted(ask: Asking) -> None:
    owners = [{"blockOwnerDeletion": False, "name": f"{n}"} for n in range(1_000)]

    answer = ask.response("POST", CONFIGS, {"metadata": {"name": "a", "ownerReferences": owners}})
    refused = json.loads(answer.body)

    assert (answer.status, len(refused["details"]["causes"])) == (422, 100)
    assert refused["message"].endswith(": must not be empty, and 2,900 more]")


def test_the_search_for_faults_ends(ask: Asking) -> None:
    containers = [{} for _ in range(6_000)]

    answer = ask.response("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": containers}})

    assert json.loads(answer.body)["message"].endswith(", and at least 9,900 more]")
    assert len(answer.body) < SHORT


@pytest.mark.parametrize(
    ("path", "obj"),
    [
        pytest.param(CONFIGS, {"metadata": {"name": "n" * 1_000_000}}, id="name"),
        pytest.param(CONFIGS, {"metadata": {"name": "a", "labels": {"!" * 500_000: "!" * 500_000}}}, id="label"),
        pytest.param(CONFIGS, {"metadata": {"name": "a", "finalizers": ["!" * 100] * 5_000}}, id="finalizers"),
        pytest.param(CONFIGS, {"metadata": {"name": "a"}, "data": {f"!{n}": "" for n in range(9_000)}}, id="keys"),
        pytest.param(LEASES, {**lease("a"), "spec": {"renewTime": "9" * 1_000_000}}, id="time"),
        pytest.param(CONFIGS, {"kind": "x" * 1_000_000, **config()}, id="kind"),
        pytest.param(NODES, node("n", spec={"taints": [{"key": "!" * 99, "effect": "e" * 99}] * 5_000}), id="taints"),
    ],
)
def test_a_refusal_is_short_whatever_was_sent(path: str, obj: Object, ask: Asking) -> None:
    answer = ask.response("POST", path, obj)

    assert 400 <= answer.status < 500
    assert len(answer.body) < SHORT
    assert " more" in json.loads(answer.body)["message"]


def test_a_wrong_word_does_not_quote_all_words_of_a_long_enum() -> None:
    schema = {"type": "array", "items": {"type": "string", "enum": [f"word{index}" for index in range(9_000)]}}
    first, *others = schema_causes(schema, ["x"] * 50)

    assert first.message.startswith('Unsupported value: "x": supported values: "word0", "word1", ')
    assert first.message.endswith(" more")
    assert len(first.message) < 20_000
    assert len(others) == 49


def test_of_very_many_unknown_fields_a_hundred_are_told(ask: Asking) -> None:
    """A real server lists as many."""
    body = {**config(), **{f"x{index}": 1 for index in range(500)}}

    status, refused = ask("POST", CONFIGS, body, fieldValidation="Strict")

    assert (status, refused["message"].count("unknown field")) == (400, 100)
    assert refused["message"].endswith('unknown field "x99"')


def test_of_very_many_repeated_fields_a_hundred_are_told(ask: Asking) -> None:
    """A real server lists as many."""
    body = b'{"metadata":{"name":"a"},"data":{' + b",".join(b'"a%d":"","a%d":""' % (n, n) for n in range(500)) + b"}}"

    status, refused = ask("POST", CONFIGS, body, fieldValidation="Strict")

    assert (status, refused["message"].count("duplicate field")) == (400, 100)


def test_of_very_many_conflicts_the_first_are_told_and_the_others_counted(ask: Asking) -> None:
    def applied(manager: str, value: str) -> tuple[int, Any]:
        data = {f"k{index:04}": value for index in range(500)}
        body = {"apiVersion": "v1", "kind": "ConfigMap", **config(data=data)}
        return ask.patch(f"{CONFIGS}/a", body, APPLY, fieldManager=manager)

    applied("one", "x")
    status, refused = applied("two", "y")

    assert (status, len(refused["details"]["causes"])) == (409, 100)
    assert refused["message"].startswith('Apply failed with 500 conflicts: conflicts with "one":\n- .data.k0000\n- ')
    assert refused["message"].endswith("\n- .data.k0099\nand 400 more")


def test_of_very_many_undeclared_fields_the_first_are_told_and_the_others_counted(ask: Asking) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", **config(), **{f"x{index}": 1 for index in range(500)}}

    status, refused = ask.patch(f"{CONFIGS}/a", body, APPLY, fieldManager="m")

    assert (status, refused["message"].count("field not declared in schema")) == (500, 100)
    assert refused["message"].endswith("\n  and 400 more")


def test_ordinary_refusals_tell_everything(ask: Asking) -> None:
    broken = pod("p", containers=[{"name": f"C{index}", "image": "i"} for index in range(30)])

    status, refused = ask("POST", PODS, broken)

    assert (status, len(refused["details"]["causes"])) == (422, 30)
    assert all(f"spec.containers[{index}].name: " in refused["message"] for index in range(30))
