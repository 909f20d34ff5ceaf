# SPDX-License-Identifier: Apache-2.0
"""Counting nodes change by change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.api.objects import Cached, cached_from_bytes
from controller_runtime.cache.store import Delta
from controller_runtime.core.system import SystemHost
from controllers.census import Census


def node(ready: str | None = None, ttl: str | None = None) -> Cached:
    conditions = f'[{{"type":"Ready","status":"{ready}"}}]' if ready else "null"
    annotations = f'{{"node.alpha.kubernetes.io/ttl":"{ttl}"}}' if ttl else "null"
    return cached_from_bytes(
        f'{{"metadata":{{"name":"n","annotations":{annotations}}},"status":{{"conditions":{conditions}}}}}'.encode()
    )


def test_a_node_is_counted_by_readiness_and_by_annotation() -> None:
    census = Census(SystemHost())

    census.observe(Delta(None, node("True", "15")))
    census.observe(Delta(None, node()))

    assert census.count().nodes == 2
    assert census.count().ready == {"True": 1, "Unknown": 1}
    assert census.count().ttl == {"15": 1, "": 1}


def test_a_changed_node_moves_from_one_count_to_the_other() -> None:
    census = Census(SystemHost())
    census.observe(Delta(None, node("True", "0")))

    census.observe(Delta(node("True", "0"), node("False", "15")))

    assert census.count().ready == {"False": 1}
    assert census.count().ttl == {"15": 1}


def test_a_node_that_does_not_decode_is_counted_all_the_same() -> None:
    census = Census(SystemHost())

    census.observe(Delta(None, Cached(b'{"metadata":{"annotations":3}}', "n", "", "", "1")))

    assert census.count().nodes == 1


STATES = st.tuples(st.sampled_from([None, "True", "False"]), st.sampled_from([None, "0", "15"]))


@given(st.lists(st.tuples(st.integers(0, 3), STATES | st.none())))
def test_the_counts_are_those_of_the_nodes_that_are_there(changes: list[tuple[int, tuple[str, str] | None]]) -> None:
    census, there = Census(SystemHost()), dict[int, Cached]()

    for key, state in changes:
        old, new = there.pop(key, None), node(*state) if state else None
        if new is not None:
            there[key] = new
        if old is not None or new is not None:
            census.observe(Delta(old, new))

    assert census.count().nodes == sum(census.count().ready.values()) == sum(census.count().ttl.values()) == len(there)
