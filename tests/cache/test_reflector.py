# SPDX-License-Identifier: Apache-2.0
"""A reflector against a scripted server: whole cycles, failing lists, unreadable objects, errors and stopping."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from kit.cache.reflecting import Scene
from kit.cache.scripted import Answer, Refused, failure, page, watched
from kit.nodes import bookmark_line, error_line, line, node

from controller_runtime.testing.simulation import Simulation

SYNCED = bookmark_line(5, ends_initial="true")
EXPIRED = failure(410, "Expired")
Make = Callable[..., Scene]


@pytest.mark.scenario("RF-07")
def test_six_cycles_on_one_store(scene: Make) -> None:
    """At the end of each cycle the store is the server's, also after relists and errors of lists and watches."""
    s = scene(
        page(1),
        watched(line("ADDED", node("a", 2)), line("ADDED", node("b", 3)), error_line(410, "Expired")),
        streaming=False,
    )
    assert s.held == {"a": "2", "b": "3"}

    s.then(
        page(4, node("a", 2), node("b", 3)),
        watched(line("DELETED", node("a", 5)), line("ADDED", node("c", 6)), error_line(410, "Expired")),
        seconds=2.0,
    )
    assert s.held == {"b": "3", "c": "6"}

    s.then(failure(500, "InternalError", "list failed"), seconds=3.0)
    assert s.reflector.liveness.last_error == "list failed"

    s.then(page(7, node("c", 6)), failure(403, "Forbidden"), watched(line("ADDED", node("d", 8))))
    assert s.held == {"c": "6", "d": "8"}
    assert s.reflector.liveness.last_error == ""


def test_failing_list_is_repeated_with_growing_delays_and_its_error_is_kept(scene: Make) -> None:
    s = scene(*[failure(403, "Forbidden", "nodes is forbidden")] * 4, page(5), streaming=False)

    s.sim.advance(1.5)
    assert s.reflector.liveness.last_error == "nodes is forbidden"

    s.sim.advance(60.0)
    gaps = [later - earlier for earlier, later in pairwise(s.server.times[:5])]
    assert all(low <= gap <= 2 * low for gap, low in zip(gaps, [0.8, 1.6, 3.2, 6.4], strict=True))
    assert s.reflector.liveness.last_error == ""


def test_error_is_over_once_a_watch_is_open_however_quiet_it_is(scene: Make) -> None:
    s = scene(page(5), Refused(), Refused(), watched(), streaming=False)
    assert s.reflector.liveness.last_error == "connection refused"

    s.sim.advance(10.0)

    assert s.server.questions[-1] == "watch 5"
    assert s.reflector.liveness.last_error == ""


@pytest.mark.scenario("RF-26")
def test_table_in_answer_to_a_list_fails_it(scene: Make) -> None:
    """A Table is an error of the list, not an empty collection."""
    table = Answer(200, b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"rows":[]}')
    s = scene(table, page(5), streaming=False)

    assert not s.store.filled
    assert "Table" in s.reflector.liveness.last_error


def test_unreadable_objects_are_counted_and_skipped_wherever_they_come(scene: Make) -> None:
    nameless = {"metadata": {"uid": "nameless"}}
    s = scene(
        page(5, nameless, node("a", 4)),
        watched(line("ADDED", nameless), b"garbage", line("ADDED", node("b", 6))),
        streaming=False,
    )

    assert s.held == {"a": "4", "b": "6"}
    assert s.reflector.liveness.skipped == 3


def test_relist_keeps_the_objects_that_did_not_change(scene: Make) -> None:
    s = scene(page(5, node("a", 4)), EXPIRED, streaming=False)
    before = s.store.list()

    s.then(page(9, node("a", 4), node("b", 8)))

    assert s.store.list()[0] is before[0]
    assert len(s.store) == 2


@pytest.mark.scenario("RF-02")
def test_stop_ends_a_blocked_watch_at_once_and_closes_it(scene: Make, sim: Simulation) -> None:
    """When it is stopped in a live watch, the store has the earlier events, the stream is closed, and run returns."""
    s = scene(watched(SYNCED, line("ADDED", node("a", 6))))
    before = sim.time

    s.stop.set()
    sim.settle()

    assert s.thread.join_until(None)
    assert sim.time == before
    assert s.held == {"a": "6"}
    assert s.server.streams[0].closed
    assert s.reflector.liveness.last_error == ""


def test_stop_ends_a_wait_between_tries(scene: Make, sim: Simulation) -> None:
    s = scene(failure(403, "Forbidden", retry_after=3600), failure(403, "Forbidden", retry_after=3600))

    s.stop.set()
    sim.settle()

    assert s.thread.join_until(None)
