# SPDX-License-Identifier: Apache-2.0
"""Status conditions: reading them from an object in any form, and setting one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from kubernetes.client import V1Node

from apimachinery.errors import DecodeError
from apimachinery.models import model_of
from apimachinery.objects import AnyObject, cached_from_bytes
from controller_runtime.api.conditions import condition_of, conditions_of, with_condition

THEN, NOW = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Fine",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
FULL = {
    "type": "Full",
    "status": "False",
    "reason": "Room",
    "message": "",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
NODE: dict[str, Any] = {"metadata": {"name": "n"}, "status": {"conditions": [READY, FULL]}}


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    conditions: list[_Condition]


class _View(msgspec.Struct):
    metadata: dict[str, Any]
    status: _Status


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(NODE, id="dict"),
        pytest.param(cached_from_bytes(json.dumps(NODE).encode()), id="cached"),
        pytest.param(model_of(V1Node, NODE), id="model"),
        pytest.param(msgspec.convert(NODE, _View), id="view"),
    ],
)
def test_a_condition_is_found_in_any_form_of_an_object(obj: AnyObject) -> None:
    ready = condition_of(obj, "Ready")

    assert ready is not None
    assert (ready["type"], ready["status"]) == ("Ready", "True")
    assert condition_of(obj, "Missing") is None
    assert [condition["type"] for condition in conditions_of(obj)] == ["Ready", "Full"]


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({"metadata": {"name": "n"}}, id="dict"),
        pytest.param(cached_from_bytes(b'{"metadata":{"name":"n"}}'), id="cached"),
        pytest.param(cached_from_bytes(b'{"metadata":{"name":"n"},"status":{}}'), id="cached with a status"),
        pytest.param(model_of(V1Node, {"metadata": {"name": "n"}}), id="model"),
    ],
)
def test_an_object_without_conditions_has_none(obj: AnyObject) -> None:
    assert conditions_of(obj) == []


def test_malformed_conditions_are_refused_with_the_name_of_their_object() -> None:
    with pytest.raises(DecodeError, match=r"^n: "):
        conditions_of(cached_from_bytes(b'{"metadata":{"name":"n"},"status":{"conditions":7}}'))


def test_a_new_condition_is_last_and_has_its_transition_now() -> None:
    found = with_condition([READY], "Full", "Unknown", reason="Starting", message="who knows", now=NOW)

    assert found[0] == READY
    assert found[1] == {
        "type": "Full",
        "status": "Unknown",
        "reason": "Starting",
        "message": "who knows",
        "lastTransitionTime": "2026-01-02T00:00:00Z",
    }


def test_a_change_of_status_moves_the_transition_and_keeps_the_place() -> None:
    found = with_condition([READY, FULL], "Ready", "False", reason="Broken", now=NOW)

    assert [condition["type"] for condition in found] == ["Ready", "Full"]
    assert (found[0]["status"], found[0]["lastTransitionTime"]) == ("False", "2026-01-02T00:00:00Z")
    assert found[1] == FULL


def test_a_condition_that_never_told_its_transition_does_so_now() -> None:
    found = with_condition([{"type": "Ready", "status": "True"}], "Ready", "True", reason="Fine", now=NOW)

    assert found[0]["lastTransitionTime"] == "2026-01-02T00:00:00Z"


def test_another_reason_for_the_same_status_leaves_the_transition() -> None:
    found = with_condition([READY], "Ready", "True", reason="Better", message="still", now=NOW)

    assert found == [{**READY, "reason": "Better", "message": "still"}]


def test_saying_the_same_again_changes_nothing() -> None:
    given = [{**READY, "observedGeneration": 3, "extra": "kept"}, FULL]

    found = with_condition(given, "Ready", "True", reason="Fine", now=NOW, observed_generation=3)

    assert found == given


def test_the_observed_generation_is_set_or_left_as_it_is() -> None:
    seen = with_condition([READY], "Ready", "True", reason="Fine", now=NOW, observed_generation=4)
    later = with_condition(seen, "Ready", "True", reason="Fine", now=NOW)

    assert seen == [{**READY, "observedGeneration": 4}]
    assert later == seen


def test_what_is_given_is_not_modified() -> None:
    given = [dict(READY)]

    with_condition(given, "Ready", "False", reason="Broken", now=NOW)

    assert given == [READY]


def test_a_status_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="condition Ready: the status \\('true'\\) must be True, False or Unknown"):
        with_condition([], "Ready", "true", reason="Fine", now=THEN)
