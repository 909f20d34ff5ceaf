# SPDX-License-Identifier: Apache-2.0
"""A controller from its sources to its reconciler, on the embedded API server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import pytest
from kit.noting import Bench, Noting

from apimachinery.errors import CacheSyncTimeout, DecodeError, UsageError
from apimachinery.objects import ObjectKey, annotations_of
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.cache.store import Delta
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.predicates import changed
from controller_runtime.controller.reconciler import Request, Result


@pytest.mark.scenario("SR-01")
def test_creation_change_and_deletion_reach_the_reconciler(bench: Bench) -> None:
    """Each change of an object causes a reconcile, and so does its deletion."""
    noting = Noting()
    bench.start(Controller("notes", noting).watch(NODES))

    bench.create("a")
    bench.sim.settle()
    bench.annotate("a", "x")
    bench.sim.settle()
    bench.client.delete(NODES, ObjectKey("a"))
    bench.sim.settle()

    assert noting.seen == ["a", "a", "a"]


def test_changes_that_the_predicate_stops_cause_nothing(bench: Bench) -> None:
    noting = Noting()
    bench.start(Controller("notes", noting).watch(NODES, when=changed(annotations_of)))
    bench.create("a")
    bench.sim.settle()

    bench.client.patch(NODES, ObjectKey("a"), {"metadata": {"labels": {"l": "x"}}})
    bench.sim.settle()
    assert noting.seen == ["a"]
    bench.annotate("a", "x")
    bench.sim.settle()

    assert noting.seen == ["a", "a"]


def unreadable(*_: object) -> NoReturn:
    raise DecodeError("labels are no texts")


def test_a_change_that_cannot_be_judged_counts(bench: Bench) -> None:
    """The old state may be malformed and the new one repaired; the reconciler reads the present one."""
    noting = Noting()
    bench.start(Controller("notes", noting).watch(NODES, when=unreadable))

    bench.create("mended")
    bench.sim.settle()

    assert noting.seen == ["mended"]


def test_a_change_that_cannot_be_mapped_is_left_out_and_nothing_stops(bench: Bench) -> None:
    noting = Noting()
    bench.start(Controller("notes", noting).watch(NODES, map=unreadable).watch(NODES))

    bench.create("a")
    bench.sim.settle()

    assert noting.seen == ["a"]
    assert not bench.stop.is_set()


def test_a_followed_callback_that_raises_stops_the_program(bench: Bench) -> None:
    """It has missed a change, so what it remembers could be wrong from then on."""
    bench.start(Controller("notes", Noting()).follow(NODES, unreadable))

    bench.create("a")
    bench.sim.settle()

    assert isinstance(bench.informers_stop.failure, DecodeError)


def test_a_mapping_decides_what_is_requested(bench: Bench) -> None:
    noting = Noting()
    bench.start(Controller("notes", noting).watch(NODES, map=lambda delta: [ObjectKey("everything", "in one")]))

    bench.create("a")
    bench.sim.settle()

    assert noting.seen == ["in one/everything"]


@pytest.mark.scenario("HN-05")
def test_what_was_there_from_the_beginning_comes_behind_what_happens(bench: Bench) -> None:
    """The objects of the initial list go to the low band, so a later change comes first."""
    bench.create("old-1", "old-2")
    stopped, noting = Stop(bench.host, "gate"), Noting()

    def wait_at_first() -> Result:
        if len(noting.seen) == 1:
            stopped.wait_until(None)
        return Result()

    noting = Noting(extra=wait_at_first)
    bench.start(Controller("notes", noting).watch(NODES))
    bench.create("new")
    bench.sim.settle()

    stopped.set()
    bench.sim.settle()

    assert noting.seen == ["old-1", "new", "old-2"]


@pytest.mark.scenario("CT-13")
def test_no_worker_starts_before_a_followed_list_has_been_seen(bench: Bench) -> None:
    """The caches are filled, but nothing is reconciled before the slow callback has seen the whole list."""
    bench.create("a", "b", "c")
    noting, never, reconciled_during = Noting(), Stop(bench.host, "never"), []

    def slow(delta: Delta) -> Iterable[Request]:
        never.wait(1.0)
        reconciled_during.append(len(noting.seen))
        return [delta.key]

    bench.start(Controller("notes", noting).follow(NODES, slow))

    assert reconciled_during == [0, 0, 0]
    assert sorted(noting.seen) == ["a", "b", "c"]


def test_a_followed_callback_sees_each_change_once_in_order_and_may_request_others(bench: Bench) -> None:
    bench.create("a")
    changes, noting = [], Noting()

    def count(delta: Delta) -> Iterable[Request]:
        changes.append((delta.old is not None, delta.new is not None, delta.initial))
        return [] if delta.initial else [ObjectKey("everybody")]

    bench.start(Controller("notes", noting).follow(NODES, count))
    bench.create("b")
    bench.sim.settle()
    bench.client.delete(NODES, ObjectKey("a"))
    bench.sim.settle()

    assert changes == [(False, True, True), (False, True, False), (True, False, False)]
    assert noting.seen == ["everybody", "everybody"]


@pytest.mark.scenario("CT-11")
def test_a_source_that_is_never_handled_fails_the_start(bench: Bench) -> None:
    """If a callback never returns, the start fails at its deadline, and the error names the collection."""
    bench.create("a")
    never = Stop(bench.host, "never")

    def block(delta: Delta) -> Iterable[Request]:
        never.wait_until(None)
        return []

    with pytest.raises(CacheSyncTimeout, match="notes: the initial list of nodes"):
        bench.start(Controller("notes", Noting()).follow(NODES, block))
    never.set()


@pytest.mark.scenario("CT-11")
def test_a_start_that_is_overtaken_by_the_stop_is_no_failure(bench: Bench) -> None:
    """If the stop is set while a start waits for its sources, the start returns and nothing is reconciled."""
    bench.create("a")
    never = Stop(bench.host, "never")

    def block(delta: Delta) -> Iterable[Request]:
        bench.stop.set()
        never.wait_until(None)
        return []

    bench.start(Controller("notes", Noting()).follow(NODES, block))

    assert [name for name in bench.sim.threads() if "worker" in name] == []
    never.set()


@pytest.mark.scenario("CT-14")
def test_a_controller_starts_once(bench: Bench) -> None:
    """A controller that was started cannot be started a second time."""
    controller = Controller("notes", Noting()).watch(NODES)
    bench.start(controller)

    with pytest.raises(UsageError, match="controller notes was started more than once"):
        controller.start(bench.host, bench.informers, bench.stop, bench.host.monotonic())


def test_counts_can_be_read_before_and_after_the_start(bench: Bench) -> None:
    controller = Controller("notes", Noting()).watch(NODES)
    assert (controller.reconciles, controller.errors, controller.queued, controller.counters()) == (0, 0, 0, None)
    bench.start(controller)

    bench.create("a")
    bench.sim.settle()

    assert (controller.reconciles, controller.errors, controller.queued) == (1, 0, 0)
    counters = controller.counters()
    assert counters is not None
    assert (counters[0].success, counters[1].adds) == (1, 1)


@pytest.mark.parametrize(
    ("reconciler", "text"),
    [
        pytest.param(lambda request: Result(), r"notes: .*<lambda> is not a Reconciler: derive a class", id="lambda"),
        pytest.param(unreadable, "notes: unreadable is not a Reconciler", id="function"),
        pytest.param(Noting, "notes: the reconciler is the class Noting: pass an instance of it", id="class"),
        pytest.param(None, "notes: NoneType is not a Reconciler", id="nothing"),
    ],
)
def test_anything_but_a_reconciler_is_refused_when_the_controller_is_made(reconciler: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Controller("notes", reconciler)


@pytest.mark.parametrize(
    ("name", "workers", "timeout", "text"),
    [
        pytest.param("", 1, None, "needs a name", id="no name"),
        pytest.param("notes", 0, None, "at least 1", id="no workers"),
        pytest.param("notes", 1, 0.0, "must be positive", id="no time"),
    ],
)
def test_a_controller_that_makes_no_sense_is_refused(name: str, workers: int, timeout: float | None, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Controller(name, Noting(), workers=workers, reconcile_timeout=timeout)
