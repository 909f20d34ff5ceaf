# SPDX-License-Identifier: Apache-2.0
"""Sources other than collections, and sources that are added late."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable
from functools import partial

import pytest
from kit.noting import Bench, Noting

from apimachinery.errors import UsageError
from apimachinery.log import fields_of, text_of
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.failing import Failing
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.queue.causes import Cause
from controller_runtime.testing.simulation import Simulation


def everything() -> Iterable[Request]:
    return [ObjectKey("everything")]


def test_time_causes_requests_at_the_start_and_after_each_period(bench: Bench) -> None:
    noting = Noting()
    bench.start(Controller("notes", noting).every(10.0, everything, jitter=0.0))

    counts = [len(noting.seen)]
    for seconds in (9.0, 2.0, 8.0, 2.0):
        bench.sim.advance(seconds)
        counts.append(len(noting.seen))

    assert counts == [1, 1, 2, 2, 3]


def test_periods_are_stretched_by_a_random_part_of_the_jitter(bench: Bench) -> None:
    ticks: list[float] = []

    def note() -> Iterable[Request]:
        ticks.append(bench.host.monotonic())
        return []

    bench.start(Controller("notes", Noting()).every(10.0, note, jitter=0.5))
    bench.sim.advance(1000.0)

    periods = [later - sooner for sooner, later in itertools.pairwise(ticks)]
    assert 1000.0 / 15.0 - 1 <= len(periods) <= 100
    assert all(10.0 <= period <= 15.0 for period in periods)
    assert max(periods) - min(periods) > 3.0


def test_a_period_begins_when_the_last_one_is_queued(sim: Simulation, bench: Bench) -> None:
    """The period begins when the requests have been queued, so a slow function is not called twice in a row."""
    ticks, never = list[float](), Stop(bench.host, "never")

    def slowly() -> Iterable[Request]:
        ticks.append(bench.host.monotonic())
        never.wait(25.0)
        return everything()

    bench.start(Controller("notes", Noting()).every(10.0, slowly, jitter=0.0))
    sim.advance(110.0)

    assert [tick - ticks[0] for tick in ticks] == [0.0, 35.0, 70.0, 105.0]
    bench.stop.set()
    sim.advance(25.0)


def test_what_time_causes_stands_behind_what_changes(bench: Bench) -> None:
    """The request of a change comes first to the only worker, though it was added last."""
    gate, noting = Stop(bench.host, "gate"), Noting()

    def wait_at_first() -> Result:
        if len(noting.seen) == 1:
            gate.wait_until(None)
        return Result()

    noting = Noting(extra=wait_at_first)
    bench.start(Controller("notes", noting).every(3600.0, lambda: [ObjectKey("t1"), ObjectKey("t2")]).watch(NODES))
    bench.create("new")
    bench.sim.settle()
    gate.set()
    bench.sim.settle()

    assert noting.seen == ["t1", "new", "t2"]


def test_time_stops_with_the_program(bench: Bench) -> None:
    controller = Controller("notes", Noting()).every(10.0, everything)
    bench.start(controller)
    assert "r0/notes/every" in bench.sim.threads()

    bench.stop.set()

    assert controller.join_until(None) == []
    assert "r0/notes/every" not in bench.sim.threads()


def test_a_periodic_function_that_raises_is_called_again_sooner_and_then_in_its_period(bench: Bench) -> None:
    calls, noting = list[float](), Noting()

    def fail_three_times() -> Iterable[Request]:
        calls.append(bench.host.monotonic())
        if len(calls) <= 3:
            raise LookupError("no such table")
        return everything()

    controller = Controller("notes", noting).every(100.0, fail_three_times, jitter=0.0)
    bench.start(controller)
    trouble = controller.trouble()
    assert trouble is not None
    assert trouble.sources[0].failing(9) == (1, [Failing("", None, 1, "LookupError: no such table")])
    bench.sim.advance(120.0)

    assert [call - calls[0] for call in calls] == [0.0, 1.0, 3.0, 7.0, 107.0]
    assert noting.seen == ["everything", "everything"]
    assert (trouble.sources[0].errors, trouble.sources[0].failing(9)) == (3, (0, []))
    assert not bench.stop.is_set()


def test_a_periodic_function_that_fails_is_never_called_more_seldom_than_its_period(bench: Bench) -> None:
    calls = list[float]()

    def fail() -> Iterable[Request]:
        calls.append(bench.host.monotonic())
        raise LookupError("no such table")

    bench.start(Controller("notes", Noting()).every(5.0, fail, jitter=0.0))
    bench.sim.advance(27.0)

    assert [call - calls[0] for call in calls] == [0.0, 1.0, 3.0, 7.0, 12.0, 17.0, 22.0, 27.0]


@pytest.mark.parametrize(("seconds", "jitter"), [(0.0, 0.0), (-1.0, 0.0), (float("inf"), 0.0), (1.0, -0.1)])
def test_a_period_that_makes_no_sense_is_refused(seconds: float, jitter: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        Controller("notes", Noting()).every(seconds, everything, jitter=jitter)


def push(channel: Channel, *names: str) -> None:
    for name in names:
        channel.push(ObjectKey(name))


@pytest.mark.scenario("HN-01")
def test_what_is_pushed_is_reconciled_each_once_while_it_waits(bench: Bench) -> None:
    """A generic event is one request, before the start and after it, from any thread."""
    channel, noting = Channel(bench.host), Noting()
    push(channel, "a", "b", "a")

    bench.start(Controller("notes", noting).receive(channel))
    bench.host.spawn("user", partial(push, channel, "c"))
    bench.sim.settle()

    assert noting.seen == ["a", "b", "c"]
    assert (channel.pushed, channel.refused) == (4, 0)


def test_before_the_start_a_channel_keeps_so_many_and_counts_what_it_refuses(bench: Bench) -> None:
    channel, noting = Channel(bench.host, capacity=2), Noting()

    kept = [channel.push(ObjectKey(name)) for name in ("a", "b", "c", "a")]
    bench.start(Controller("notes", noting).receive(channel))

    assert kept == [True, True, False, True]
    assert (channel.pushed, channel.refused) == (4, 1)
    assert noting.seen == ["a", "b"]
    assert channel.push(ObjectKey("c"))


def test_a_request_that_is_pushed_twice_before_the_start_has_its_first_cause(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    channel = Channel(bench.host)
    for cause in ("webhook called", "message read"):
        channel.push(ObjectKey("a"), cause=cause)

    with caplog.at_level(logging.DEBUG):
        bench.start(Controller("notes", Noting()).receive(channel))

    [ended] = [record for record in caplog.records if text_of(record) == "reconciled"]
    assert [Cause._make(each).text for each in fields_of(ended)["causes"]] == ["webhook called"]


def test_after_the_end_pushing_comes_to_nothing(bench: Bench) -> None:
    channel, noting = Channel(bench.host), Noting()
    bench.start(Controller("notes", noting).receive(channel))
    bench.stop.set()

    channel.push(ObjectKey("late"))
    bench.sim.settle()

    assert noting.seen == []


def test_a_channel_has_one_controller(bench: Bench) -> None:
    channel = Channel(bench.host)
    Controller("one", Noting()).receive(channel)

    with pytest.raises(UsageError, match="one controller"):
        Controller("two", Noting()).receive(channel)
    with pytest.raises(ValueError, match="at least 1"):
        Channel(bench.host, capacity=0)


def test_a_channel_of_one_keeps_one(bench: Bench) -> None:
    channel = Channel(bench.host, capacity=1)

    assert [channel.push(ObjectKey(name)) for name in ("a", "b")] == [True, False]


def test_a_period_may_be_a_part_of_a_second(bench: Bench) -> None:
    noting = Noting()
    bench.start(Controller("notes", noting).every(0.5, everything, jitter=0.0))

    bench.sim.advance(1.75)

    assert len(noting.seen) == 4


def test_a_reconcile_is_told_what_has_become_of_its_object(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.create("a")
    with caplog.at_level(logging.DEBUG):
        bench.start(Controller("notes", Noting()).watch(NODES))
        for act in (lambda: bench.create("b"), lambda: bench.annotate("b", "x")):
            act()
            bench.sim.settle()
        bench.client.delete(NODES, ObjectKey("b"))
        bench.sim.settle()

    ended = [record for record in caplog.records if text_of(record) == "reconciled"]
    causes = [Cause._make(*fields_of(record)["causes"]).text for record in ended]
    assert causes == ["nodes listed", "nodes added", "nodes changed", "nodes deleted"]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_pushed_while_the_controller_starts_is_lost(seed: int) -> None:
    """Four threads push during the start, in any interleaving."""
    with Simulation(seed) as sim:
        bench = Bench.on(sim)
        host, channel, noting = bench.host, Channel(bench.host), Noting()

        def push_all(user: int) -> None:
            for number in range(5):
                host.leaving("between two pushes")
                channel.push(ObjectKey(f"{user}-{number}"))

        for user in range(4):
            host.spawn(f"user-{user}", partial(push_all, user))
        bench.start(Controller("notes", noting).receive(channel))
        bench.end()

        assert sorted(noting.seen) == sorted(f"{user}-{number}" for user in range(4) for number in range(5))


@pytest.mark.scenario("CT-16")
def test_a_watch_added_after_the_start_starts_at_once(bench: Bench) -> None:
    """Its objects are listed, later changes are seen, and the other sources continue."""
    bench.create("a")
    noting = Noting()
    controller = Controller("notes", noting).watch(LEASES, map=lambda delta: [])
    bench.start(controller)
    assert noting.seen == []

    controller.watch(NODES)
    bench.sim.settle()
    bench.create("b")
    bench.sim.settle()

    assert noting.seen == ["a", "b"]
    assert [str(collection) for collection in controller.collections] == ["leases.coordination.k8s.io", "nodes"]


@pytest.mark.scenario("CT-15")
@pytest.mark.parametrize("seed", range(10))
def test_sources_added_by_many_while_it_starts_are_each_attached_once(seed: int) -> None:
    """Each source makes its requests once, whether the start or another thread attaches it."""
    with Simulation(seed) as sim:
        bench, noting, asked = Bench.on(sim), Noting(), list[int]()
        controller = Controller("notes", noting).watch(NODES)

        def add(number: int) -> None:
            def ask() -> Iterable[Request]:
                asked.append(number)
                return []

            bench.host.leaving("before the source is added")
            controller.every(3600.0, ask)

        for number in range(4):
            bench.host.spawn(f"user-{number}", partial(add, number))
        bench.start(controller)
        bench.end()

        assert sorted(asked) == [0, 1, 2, 3]


def test_a_controller_that_stops_takes_no_more_sources(bench: Bench) -> None:
    controller = Controller("notes", Noting()).watch(NODES)
    bench.start(controller)
    bench.stop.set()

    with pytest.raises(UsageError, match="takes no more sources"):
        controller.watch(LEASES)
