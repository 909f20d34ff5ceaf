# SPDX-License-Identifier: Apache-2.0
"""Feature gates are set by name, and a wrong one is refused in one line."""

from __future__ import annotations

import pytest

from apimachinery.errors import UsageError
from embedded_apiserver.gates import FeatureGates, parse_gates
from embedded_apiserver.kinds.release import NEWEST, Release


@pytest.mark.parametrize(
    ("text", "gates"),
    [
        ("", {}),
        ("ShardedListAndWatch=true", {"ShardedListAndWatch": True}),
        (" A=true, B=false ,", {"A": True, "B": False}),
    ],
    ids=["nothing", "one", "two"],
)
def test_a_text_sets_gates(text: str, gates: dict[str, bool]) -> None:
    assert parse_gates(text) == gates


@pytest.mark.parametrize("text", ["ShardedListAndWatch", "=", "A=yes"])
def test_a_gate_without_a_truth_value_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"must be a name and a value, such as \w+=true"):
        parse_gates(text)


def test_shards_are_off_until_switched_on() -> None:
    assert not FeatureGates.of({}, NEWEST).sharded_lists
    assert FeatureGates.of({"ShardedListAndWatch": True}, NEWEST).sharded_lists


@pytest.mark.parametrize(
    ("name", "release", "told"),
    [
        ("Shards", NEWEST, "no feature gate 'Shards': there is ShardedListAndWatch"),
        ("ShardedListAndWatch", Release(35), "1.35 has none that is known here"),
    ],
    ids=["unknown", "of a later release"],
)
def test_a_gate_that_the_release_does_not_have_is_refused(name: str, release: Release, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        FeatureGates.of({name: True}, release)
