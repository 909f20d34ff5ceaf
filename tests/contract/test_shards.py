# SPDX-License-Identifier: Apache-2.0
"""Lists and watches of shards are answered as by a real server with `ShardedListAndWatch`, and not at all without."""

from __future__ import annotations

from kit.contract.shards import Play, recorded
from kit.contract.targets import embedded


def test_shards_are_answered_as_by_a_real_server() -> None:
    expected = recorded()

    with embedded(feature_gates={"ShardedListAndWatch": True}) as ask:
        actual = Play(ask).run()

    names = {*expected, *actual}
    assert {
        name: (expected.get(name), actual.get(name)) for name in names if expected.get(name) != actual.get(name)
    } == {}


def test_the_parameter_is_ignored_while_the_feature_is_off() -> None:
    with embedded() as ask:
        actual = Play(ask).run()

    assert actual["secrets x"] == actual["secrets "]
    assert "shardInfo" not in str(actual)
