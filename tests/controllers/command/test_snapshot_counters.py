# SPDX-License-Identifier: Apache-2.0
"""Nodes and pods are counted change by change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from apimachinery.objects import Cached, Received, cached_from_bytes
from apimachinery.system import SystemHost
from controller_runtime.cache.store import Delta
from controllers.command.snapshot_counters import NodeCounter, PodCounter, PodCounts


def node(ready: str | None = None, ttl: str | None = None) -> Cached:
    conditions = f'[{{"type":"Ready","status":"{ready}"}}]' if ready else "null"
    annotations = f'{{"node.alpha.kubernetes.io/ttl":"{ttl}"}}' if ttl else "null"
    return cached_from_bytes(
        f'{{"metadata":{{"name":"n","annotations":{annotations}}},"status":{{"conditions":{conditions}}}}}'.encode()
    )


def test_a_node_is_counted_by_readiness_and_by_annotation() -> None:
    counter = NodeCounter(SystemHost())

    counter.observe(Delta(None, node("True", "15")))
    counter.observe(Delta(None, node()))

    assert counter.count().nodes == 2
    assert counter.count().ready == {"True": 1, "Unknown": 1}
    assert counter.count().ttl == {"15": 1, "": 1}


def test_a_changed_node_moves_from_one_count_to_the_other() -> None:
    counter = NodeCounter(SystemHost())
    counter.observe(Delta(None, node("True", "0")))

    counter.observe(Delta(node("True", "0"), node("False", "15")))

    assert counter.count().ready == {"False": 1}
    assert counter.count().ttl == {"15": 1}


def test_a_node_that_does_not_decode_is_counted_all_the_same() -> None:
    counter = NodeCounter(SystemHost())

    counter.observe(Delta(None, Received(b'{"metadata":{"annotations":3}}', "n", "", "", "1")))

    assert counter.count().nodes == 1


STATES = st.tuples(st.sampled_from([None, "True", "False"]), st.sampled_from([None, "0", "15"]))


@given(st.lists(st.tuples(st.integers(0, 3), STATES | st.none())))
def test_the_counts_are_those_of_the_nodes_that_are_there(changes: list[tuple[int, tuple[str, str] | None]]) -> None:
    counter, there = NodeCounter(SystemHost()), dict[int, Cached]()

    for key, state in changes:
        old, new = there.pop(key, None), node(*state) if state else None
        if new is not None:
            there[key] = new
        if old is not None or new is not None:
            counter.observe(Delta(old, new))

    assert (
        counter.count().nodes == sum(counter.count().ready.values()) == sum(counter.count().ttl.values()) == len(there)
    )


def tainted(zone: str, ready: str, effect: str = "") -> Cached:
    taints = f'[{{"key":"k","effect":"{effect}"}}]' if effect else "null"
    labels = f'{{"topology.kubernetes.io/zone":"{zone}"}}' if zone else "null"
    conditions = f'[{{"type":"Ready","status":"{ready}"}}]'
    return cached_from_bytes(
        f'{{"metadata":{{"name":"n","labels":{labels}}},"spec":{{"taints":{taints}}},'
        f'"status":{{"conditions":{conditions}}}}}'.encode()
    )


def test_nodes_are_counted_by_zone_and_by_whether_they_evict() -> None:
    counter = NodeCounter(SystemHost())
    for node in (tainted("a", "True"), tainted("a", "Unknown", "NoExecute"), tainted("", "True", "NoSchedule")):
        counter.observe(Delta(None, node))

    count = counter.count()

    assert count.zones == {"": (1, 0), "a": (1, 1)}
    assert count.evicting == 1
    counter.observe(Delta(tainted("a", "Unknown", "NoExecute"), tainted("a", "True")))
    assert (counter.count().zones["a"], counter.count().evicting) == ((2, 0), 0)


def test_pods_are_counted_by_what_becomes_of_them() -> None:
    counter = PodCounter(SystemHost())
    ready, going, bad = (
        cached_from_bytes(b'{"metadata":{"name":"p"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}'),
        cached_from_bytes(b'{"metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"}}'),
        Received(b'{"metadata":3}', "p", "d", "", "1"),
    )

    counter.observe(Delta(None, ready))
    counter.observe(Delta(None, ready))
    counter.observe(Delta(ready, going))
    counter.observe(Delta(None, bad))

    assert counter.count() == PodCounts(3, ready=1, going=1)
