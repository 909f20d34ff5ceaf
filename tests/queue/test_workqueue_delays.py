# SPDX-License-Identifier: Apache-2.0
"""Delays, retries, and how long consumers sleep."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def queue(host: SimulatedHost) -> WorkQueue[str]:
    return WorkQueue(host)


def take(queue: WorkQueue[str]) -> str:
    """Get an item and call `done` with it."""
    item = queue.get()
    queue.done(item)
    return item


def consume(sim: Simulation, host: SimulatedHost, queue: WorkQueue[str], seen: list[tuple[float, str]]) -> None:
    """Start a consumer that notes one item and when it got it."""
    host.spawn("consumer", lambda: seen.append((queue.get(), sim.time)[::-1]))
    sim.settle()


@pytest.mark.scenario("WD-01")
def test_a_delayed_item_comes_once_when_it_is_due(sim: Simulation, queue: WorkQueue[str]) -> None:
    """The item is not handed out before its time, once at its time, and not again."""
    queue.add_after("foo", 0.05)
    assert len(queue) == 0

    sim.advance(0.06)
    assert len(queue) == 1
    assert take(queue) == "foo"

    sim.advance(10.0)
    assert len(queue) == 0


@pytest.mark.scenario("WD-02")
@pytest.mark.parametrize(
    "delays", [pytest.param((0.05, 0.07), id="sooner first"), pytest.param((0.07, 0.05), id="later first")]
)
def test_the_sooner_of_two_delays_wins(sim: Simulation, queue: WorkQueue[str], delays: tuple[float, float]) -> None:
    """An item that is delayed twice is handed out once, at the sooner time."""
    for delay in delays:
        queue.add_after("foo", delay)

    sim.advance(0.06)
    assert len(queue) == 1
    take(queue)
    sim.advance(0.02)

    assert len(queue) == 0


@pytest.mark.scenario("WD-04")
def test_items_come_in_the_order_of_their_times(sim: Simulation, queue: WorkQueue[str]) -> None:
    """B is due before A, and C, which came later, after both."""
    queue.add_after("a", 1.0)
    queue.add_after("b", 0.05)
    sim.advance(0.06)
    order = [take(queue)]
    queue.add_after("c", 2.0)

    for seconds in (1.0, 2.0):
        sim.advance(seconds)
        assert len(queue) == 1
        order.append(take(queue))

    assert order == ["b", "a", "c"]


@pytest.mark.scenario("WD-05")
def test_items_that_fell_due_together_come_by_due_time(sim: Simulation, queue: WorkQueue[str]) -> None:
    """Items of three due times keep their order when one step of time passes all three."""
    for item, delay in (("a", 1.0), ("b", 0.5), ("c", 0.25)):
        queue.add_after(item, delay)

    sim.advance(2.0)

    assert [take(queue) for _ in range(3)] == ["c", "b", "a"]


@pytest.mark.scenario("WD-06")
@pytest.mark.parametrize("delay", [0.0, -1.0])
def test_no_delay_is_an_ordinary_addition(queue: WorkQueue[str], delay: float) -> None:
    """Zero or a negative delay adds the item at once, and does not count as a retry."""
    queue.add_after("foo", delay)

    assert len(queue) == 1
    assert queue.counters().retries == 0


@pytest.mark.scenario("WD-08")
def test_each_failed_retry_is_counted_and_waited_for_until_forgotten(sim: Simulation, queue: WorkQueue[str]) -> None:
    """Each failure adds one to the count and doubles the delay; `forget` resets both."""
    for failures, delay in enumerate((0.005, 0.010, 0.020), start=1):
        queue.add_rate_limited("foo")
        assert queue.num_requeues("foo") == failures
        sim.advance(delay - 0.001)
        assert len(queue) == 0
        sim.advance(0.001)
        assert take(queue) == "foo"

    queue.forget("foo")

    assert queue.num_requeues("foo") == 0


@pytest.mark.scenario("RL-08")
def test_a_failure_before_the_scheduled_retry_does_not_burn_the_exponent(sim: Simulation, host: SimulatedHost) -> None:
    """An event triggers a failed item early; when it fails again, it is retried when it would have been."""
    queue: WorkQueue[str] = WorkQueue(host, limiter=ItemExponential(5.0, 1000.0))
    queue.add_rate_limited("foo")
    sim.advance(1.0)
    queue.add("foo")
    queue.get()

    queue.add_rate_limited("foo")
    queue.done("foo")

    assert queue.num_requeues("foo") == 1
    sim.advance(3.9)
    assert len(queue) == 0
    sim.advance(0.1)
    assert len(queue) == 1


def test_the_server_may_ask_for_more_than_the_limiter(sim: Simulation, queue: WorkQueue[str]) -> None:
    queue.add_rate_limited("foo", at_least=3.0)

    sim.advance(2.9)
    assert len(queue) == 0
    sim.advance(0.1)

    assert len(queue) == 1


def test_a_failure_before_the_time_that_the_server_asked_for_does_not_burn_the_exponent(
    sim: Simulation, queue: WorkQueue[str]
) -> None:
    """A retry is due at the server's time, so an event before it causes no retry that counts."""
    queue.add_rate_limited("foo", at_least=10.0)
    sim.advance(1.0)
    queue.add("foo")
    queue.get()

    queue.add_rate_limited("foo")
    queue.done("foo")

    assert queue.num_requeues("foo") == 1
    sim.advance(8.9)
    assert len(queue) == 0
    sim.advance(0.1)
    assert len(queue) == 1


@pytest.mark.scenario("PQ-11")
def test_length_counts_what_is_ready(queue: WorkQueue[str]) -> None:
    """A delayed item counts neither for the length nor for the depth."""
    for item in ("a", "b"):
        queue.add_after(item, 60.0)
        queue.add(f"{item} now")

    assert (len(queue), queue.counters().depth) == (2, 2)


@pytest.mark.scenario("PQ-14")
def test_an_addition_brings_a_waiting_item_forward(sim: Simulation, queue: WorkQueue[str]) -> None:
    """An item that is delayed by an hour and then added is ready now, counts once, and does not come again later."""
    queue.add_after("foo", 3600.0)
    assert (queue.counters().depth, queue.counters().adds) == (0, 0)

    queue.add("foo")
    assert (queue.counters().depth, queue.counters().adds) == (1, 1)
    take(queue)
    sim.advance(3600.0)

    assert (len(queue), queue.counters().depth, queue.counters().adds) == (0, 0, 1)


@pytest.mark.scenario("PQ-15")
def test_a_waiting_low_item_is_raised_by_an_ordinary_addition(queue: WorkQueue[str]) -> None:
    """An item that is delayed in the low band and then added in the normal one is normal, and ready now."""
    queue.add("foo", low=True)
    queue.get()
    queue.add_after("foo", 3600.0)
    queue.done("foo")

    queue.add("foo")

    assert (queue.counters().depth, queue.counters().low_depth) == (1, 0)
    assert take(queue) == "foo"
    assert (queue.counters().depth, queue.counters().low_depth) == (0, 0)


@pytest.mark.scenario("PQ-16")
def test_an_item_that_fell_due_and_is_added_is_one_item(sim: Simulation, queue: WorkQueue[str]) -> None:
    """The length and the depth stay one, and are zero after the hand-out."""
    queue.add_after("foo", 0.05)
    sim.advance(0.05)
    queue.add("foo")

    assert (len(queue), queue.counters().depth) == (1, 1)
    take(queue)
    assert (len(queue), queue.counters().depth) == (0, 0)


@pytest.mark.scenario("PQ-18")
def test_a_sleeping_consumer_wakes_exactly_when_an_item_is_due(
    sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]
) -> None:
    """The consumer of an item that is delayed by a second wakes after one second; one retry is counted."""
    seen: list[tuple[float, str]] = []
    consume(sim, host, queue, seen)

    queue.add_after("foo", 1.0)
    sim.advance(5.0)

    assert seen == [(pytest.approx(1.0), "foo")]
    assert queue.counters().retries == 1


@pytest.mark.scenario("PQ-19")
@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#3330")
def test_what_falls_due_in_the_normal_band_passes_what_is_ready_in_the_low_one(
    sim: Simulation, queue: WorkQueue[str]
) -> None:
    """A normal item that is due now comes before a low one that was ready all along."""
    queue.add("low", low=True)
    queue.add_after("high", 1.0)
    sim.advance(1.0)

    assert take(queue) == "high"
    assert (queue.counters().low_depth, queue.counters().depth) == (1, 0)


@pytest.mark.scenario("PQ-21")
def test_an_addition_wakes_the_consumer_of_a_delayed_item(
    sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]
) -> None:
    """The consumer that waits for a minute gets the item at once when it is added."""
    seen: list[tuple[float, str]] = []
    consume(sim, host, queue, seen)
    queue.add_after("foo", 60.0)
    sim.advance(1.0)

    queue.add("foo")
    sim.settle()

    assert seen == [(pytest.approx(1.0), "foo")]


@pytest.mark.scenario("PQ-22")
def test_a_shorter_delay_added_later_comes_first(sim: Simulation, queue: WorkQueue[str]) -> None:
    """An item that is due after 200 ms comes before one that was added earlier and is due after a second."""
    queue.add_after("foo", 1.0)
    queue.add_after("bar", 0.2)

    sim.advance(1.0)

    assert [take(queue), take(queue)] == ["bar", "foo"]


@pytest.mark.scenario("PQ-25")
def test_the_limiter_tells_items_apart(sim: Simulation, host: SimulatedHost) -> None:
    """The first failure waits for 5 ms and the eighth for 640 ms; both count as retries."""
    limiter = ItemExponential(0.005, 1000.0)
    for _ in range(7):
        limiter.when("bar", 0.0)
    queue: WorkQueue[str] = WorkQueue(host, limiter=limiter)
    queue.add_rate_limited("foo")
    queue.add_rate_limited("bar")

    sim.advance(0.005)
    assert (take(queue), len(queue)) == ("foo", 0)
    sim.advance(0.634)
    assert len(queue) == 0
    sim.advance(0.001)

    assert take(queue) == "bar"
    assert queue.counters().retries == 2


@pytest.mark.parametrize("seed", range(20))
def test_no_consumer_sleeps_past_a_due_time_because_another_went_to_work(seed: int) -> None:
    with Simulation(seed) as sim:
        host, held = sim.host("r0"), []
        queue: WorkQueue[str] = WorkQueue(host)
        for n in range(2):
            host.spawn(f"worker-{n}", lambda: held.append(queue.get()))
        sim.settle()

        queue.add_after("in ten", 10.0)
        queue.add_after("in five", 5.0)
        queue.add("now")
        sim.advance(5.0)

        assert sorted(held) == ["in five", "now"]


@pytest.mark.parametrize("seed", range(20))
def test_every_sleeper_knows_of_a_sooner_time_when_the_one_that_was_told_goes_to_work(seed: int) -> None:
    """A condition may wake any waiter, so the one that gets the added item may be the one that knew the due time."""
    with Simulation(seed) as sim:
        host, held = sim.host("r0"), []
        queue: WorkQueue[str] = WorkQueue(host)
        for n in range(2):
            host.spawn(f"worker-{n}", lambda: held.append(queue.get()))
        sim.settle()

        queue.add_after("in five", 5.0)
        sim.settle()
        queue.add("now")
        sim.settle()
        sim.advance(5.0)

        assert sorted(held) == ["in five", "now"]


def test_a_failure_after_success_starts_anew(sim: Simulation, host: SimulatedHost) -> None:
    queue: WorkQueue[str] = WorkQueue(host, limiter=ItemExponential(5.0, 1000.0))
    queue.add_rate_limited("foo")
    sim.advance(5.0)
    queue.get()
    queue.add_rate_limited("foo")
    queue.forget("foo")
    queue.add("foo")
    queue.done("foo")
    take(queue)

    queue.add_rate_limited("foo")

    assert queue.num_requeues("foo") == 1
    sim.advance(5.0)
    assert len(queue) == 1


@pytest.mark.parametrize("swept_by", ["brought forward", "added in between"])
def test_what_still_waits_survives_the_sweep_of_superseded_times(
    sim: Simulation, queue: WorkQueue[str], swept_by: str
) -> None:
    """Forty items wait at forty times while another's times are superseded often enough for three sweeps."""
    names = [f"item {n:02}" for n in range(40)]
    for n, name in enumerate(names):
        queue.add_after(name, 4000.0 + (n * 7 % 40))
    for n in range(400):
        queue.add_after("busy", 3600.0 - n)
        if swept_by == "added in between":
            queue.add("busy")
            take(queue)
    assert len(queue._delayed) < 200

    sim.advance(3999.0)
    early = [take(queue) for _ in range(len(queue))]
    sim.advance(41.0)
    late = [take(queue) for _ in range(len(queue))]

    assert early == (["busy"] if swept_by == "brought forward" else [])
    assert late == [names[n] for n in sorted(range(40), key=lambda n: n * 7 % 40)]


def _added_in_between(queue: WorkQueue[str], n: int) -> None:
    queue.add_after("foo", 3600.0)
    queue.add("foo")
    take(queue)


def _brought_forward(queue: WorkQueue[str], n: int) -> None:
    queue.add_after("foo", 3600.0 - n / 10)


@pytest.mark.parametrize("plan", [_added_in_between, _brought_forward])
def test_superseded_times_do_not_pile_up(queue: WorkQueue[str], plan: Callable[[WorkQueue[str], int], None]) -> None:
    for n in range(5000):
        plan(queue, n)

    # The only test that reads a private field: the memory of the heap shows nowhere else.
    assert len(queue._delayed) < 200
