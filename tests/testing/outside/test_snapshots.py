# SPDX-License-Identifier: Apache-2.0
"""States of outsides as plain values, and what has changed between two."""

from __future__ import annotations

import dataclasses
import enum
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.testing.outside.snapshots import Changed, changes, snapshot


@attrs.define
class User:
    name: str
    groups: set[str]


@dataclasses.dataclass
class Record:
    target: str


class Color(enum.Enum):
    RED = 1


class Plain:
    def __init__(self) -> None:
        self.size = 1


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ({"a": 1}, {"a": 1}),
        ({("zone", "a"): User("x", {"b", "a"})}, {"zone/a": {"name": "x", "groups": ["a", "b"]}}),
        ({1: Record("y")}, {"1": {"target": "y"}}),
        ([1, (2, 3)], {"": [1, [2, 3]]}),
        ({"a": Color.RED}, {"a": "RED"}),
        ({"a": Plain()}, {"a": {"size": 1}}),
        ({"a": b"x"}, {"a": "b'x'"}),
        ({"a": datetime(2026, 1, 1, tzinfo=UTC)}, {"a": "2026-01-01T00:00:00+00:00"}),
    ],
)
def test_a_state_is_plain(state: Any, found: Any) -> None:
    assert snapshot(state) == found


def test_a_snapshot_is_a_copy() -> None:
    state = {"a": {"size": [1]}}
    before = snapshot(state)
    state["a"]["size"].append(2)

    assert changes(before, snapshot(state)) == [Changed("a", ("size",))]


def test_changes_are_named_by_thing_and_path() -> None:
    before = snapshot({"a": {"x": 1, "y": {"z": 1}}, "b": 1, "d": 3})
    after = snapshot({"a": {"x": 1, "y": {"z": 2}}, "c": 1, "d": 4})

    assert changes(before, after) == [
        Changed("a", ("y.z",)),
        Changed("b", deletes=True),
        Changed("c", creates=True),
        Changed("d", ("",)),
    ]


STATES = st.dictionaries(st.text("ab", max_size=2), st.dictionaries(st.text("xy", max_size=2), st.integers(0, 2)))


@settings(max_examples=50)
@given(STATES, STATES)
def test_there_are_changes_if_and_only_if_states_differ(one: Any, other: Any) -> None:
    assert bool(changes(snapshot(one), snapshot(other))) == (one != other)
    assert {each.key for each in changes(snapshot(one), snapshot(other)) if each.creates} == {*other} - {*one}
