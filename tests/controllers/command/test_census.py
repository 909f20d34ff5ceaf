# SPDX-License-Identifier: Apache-2.0
"""Counting nodes change by change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.api.objects import Cached, cached_from_bytes
from controller_runtime.cache.store import Delta
from controller_runtime.core.system import SystemHost
from controllers.command.census import Census, PodCensus, PodCount


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


def tainted(zone: str, ready: str, effect: str = "") -> Cached:
    taints = f'[{{"key":"k","effect":"{effect}"}}]' if effect else "null"
    labels = f'{{"topology.kubernetes.io/zone":"{zone}"}}' if zone else "null"
    conditions = f'[{{"type":"Ready","status":"{ready}"}}]'
    return cached_from_bytes(
        f'{{"metadata":{{"name":"n","labels":{labels}}},"spec":{{"taints":{taints}}},'
        f'"status":{{"conditions":{conditions}}}}}'.encode()
    )


def test_nodes_are_counted_by_zone_and_by_whether_they_evict() -> None:
    census = Census(SystemHost())
    for node in (tainted("a", "True"), tainted("a", "Unknown", "NoExecute"), tainted("", "True", "NoSchedule")):
        census.observe(Delta(None, node))

    count = census.count()

    assert count.zones == {"": (1, 0), "a": (1, 1)}
    assert count.evicting == 1
    census.observe(Delta(tainted("a", "Unknown", "NoExecute"), tainted("a", "True")))
    assert (census.count().zones["a"], census.count().evicting) == ((2, 0), 0)


def test_pods_are_counted_by_what_becomes_of_them() -> None:
    census = PodCensus(SystemHost())
    ready, going, bad = (
        cached_from_bytes(b'{"metadata":{"name":"p"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}'),
        cached_from_bytes(b'{"metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"}}'),
        Cached(b'{"metadata":3}', "p", "d", "", "1"),
    )

    census.observe(Delta(None, ready))
    census.observe(Delta(None, ready))
    census.observe(Delta(ready, going))
    census.observe(Delta(None, bad))

    assert census.count() == PodCount(3, ready=1, going=1)
