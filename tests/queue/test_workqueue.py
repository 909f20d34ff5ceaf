# SPDX-License-Identifier: Apache-2.0
"""The queue handles each item once, never twice at a time, in order, in two bands, and counts it."""

from __future__ import annotations

import gc
import weakref

import pytest

from apimachinery.errors import ShutDown
from controller_runtime.queue.causes import MAX_CAUSES, Cause
from controller_runtime.queue.turns import LOW_SHARE, TurnState
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def queue(host: SimulatedHost) -> WorkQueue[str]:
    return WorkQueue(host, name="things")


def take(queue: WorkQueue[str]) -> str:
    """Get an item and call `done` with it."""
    item = queue.get()
    queue.done(item)
    return item


@pytest.mark.scenario("WQ-04")
def test_item_added_while_held_is_handed_out_again_after_done(queue: WorkQueue[str]) -> None:
    """An item that is added while it is being processed is handed out once more, after `done`."""
    queue.add("foo")
    assert queue.get() == "foo"
    queue.add("foo")
    assert len(queue) == 0

    queue.done("foo")

    assert len(queue) == 1
    assert take(queue) == "foo"
    assert len(queue) == 0


@pytest.mark.scenario("WQ-06")
def test_nobody_gets_an_item_that_is_held(sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]) -> None:
    """A second consumer waits until the item is done, and then gets it once."""
    got: list[str] = []
    queue.add("foo")
    queue.get()
    queue.add("foo")
    queue.add("foo")

    host.spawn("second", lambda: got.append(queue.get()))
    sim.advance(1.0)
    assert got == []

    queue.done("foo")
    sim.settle()

    assert got == ["foo"]
    assert len(queue) == 0


def test_done_without_get_is_refused(queue: WorkQueue[str]) -> None:
    queue.add("foo")

    with pytest.raises(ValueError, match="foo is not being processed"):
        queue.done("foo")


@pytest.mark.scenario("WQ-12")
def test_the_queue_keeps_nothing_of_what_is_done(sim: Simulation, host: SimulatedHost) -> None:
    """Once an item is done and forgotten, nothing in the queue refers to it, however it came."""

    class Item:
        pass

    queue: WorkQueue[Item] = WorkQueue(host)
    item = Item()
    queue.add(item, low=True, cause="listed")
    queue.add(item)
    queue.get()
    queue.add_rate_limited(item)
    queue.done(item)
    sim.advance(1.0)
    queue.done(queue.get())
    queue.forget(item)
    reference = weakref.ref(item)

    del item
    gc.collect()

    queue.add_after(other := Item(), 1.0)  # the next look at the queue sweeps what was raised or superseded
    assert reference() is None
    del other


@pytest.mark.scenario("WQ-13")
def test_counters_tell_how_long_items_waited_and_worked(sim: Simulation, queue: WorkQueue[str]) -> None:
    """Additions, depth, time in the queue, processing time and unfinished work count as in client-go."""
    queue.add("foo")
    assert (queue.counters().adds, queue.counters().depth) == (1, 1)
    sim.advance(50e-6)
    queue.get()
    for _ in range(5):
        queue.add("foo")
    assert (queue.counters().adds, queue.counters().depth) == (2, 1)
    sim.advance(25e-6)
    queue.done("foo")
    queue.get()
    sim.advance(1e-3)

    during = queue.counters()
    queue.done("foo")
    after = queue.counters()

    assert (during.unfinished_work, during.longest_running) == (pytest.approx(1e-3), pytest.approx(1e-3))
    assert (after.unfinished_work, after.longest_running, after.depth) == (0.0, 0.0, 0)
    assert (after.queue_duration.count, after.queue_duration.total) == (2, pytest.approx(75e-6))
    assert (after.work_duration.count, after.work_duration.total) == (2, pytest.approx(1025e-6))


def test_counters_are_a_value_that_does_not_change_afterwards(queue: WorkQueue[str]) -> None:
    before = queue.counters()

    queue.add("foo")
    take(queue)

    assert (before.adds, before.queue_duration.count) == (0, 0)


@pytest.mark.scenario("PQ-01")
def test_items_of_one_band_come_in_the_order_of_their_coming(queue: WorkQueue[str]) -> None:
    """Items are handed out first come, first served; both additions count, and the depth is zero afterwards."""
    queue.add("foo")
    queue.add("bar")

    assert [take(queue), take(queue)] == ["foo", "bar"]
    assert (queue.counters().adds, queue.counters().depth) == (2, 0)


@pytest.mark.scenario("PQ-02")
def test_an_item_added_again_while_held_does_not_overtake(queue: WorkQueue[str]) -> None:
    """The second addition counts, adds one to the depth, and the item is not handed out before it is done."""
    queue.add("foo")
    queue.get()
    queue.add("foo")
    queue.add("bar")

    assert queue.get() == "bar"
    assert (queue.counters().adds, queue.counters().depth) == (3, 1)


def test_an_item_added_again_while_held_keeps_its_place_before_later_ones(queue: WorkQueue[str]) -> None:
    """The order is that of the additions, not that in which items are done."""
    queue.add("foo")
    queue.add("earlier")
    queue.get()
    queue.add("foo")
    queue.add("later")

    queue.done("foo")

    assert [take(queue), take(queue), take(queue)] == ["earlier", "foo", "later"]


def test_items_passed_over_because_they_were_held_come_first_once_they_are_done(queue: WorkQueue[str]) -> None:
    """They come in the order of their additions, whichever is done first, and before items added later."""
    for item in ("a", "b", "c"):
        queue.add(item)
        queue.get()
    for item in ("b", "a", "c"):
        queue.add(item)
    for item in ("x", "y", "z"):
        queue.add(item)
    assert take(queue) == "x"

    queue.done("a")
    queue.done("b")

    assert [take(queue), take(queue), take(queue)] == ["b", "a", "y"]
    queue.done("c")
    assert [take(queue), take(queue)] == ["c", "z"]
    assert (len(queue), queue.counters().depth) == (0, 0)


def test_a_low_item_raised_while_it_was_passed_over_is_handed_out_once(queue: WorkQueue[str]) -> None:
    queue.add("foo", low=True)
    queue.get()
    queue.add("foo", low=True)
    queue.add("low", low=True)
    assert take(queue) == "low"
    queue.add("first")
    queue.add("foo")
    queue.add("last")

    queue.done("foo")

    assert [take(queue), take(queue), take(queue)] == ["first", "foo", "last"]
    assert (len(queue), queue.counters().depth, queue.counters().low_depth) == (0, 0, 0)


def test_the_low_band_does_not_count_hand_outs_while_all_it_has_is_held(queue: WorkQueue[str]) -> None:
    """The low band waits for its share only while one of its items could be handed out."""
    queue.add("foo", low=True)
    queue.get()
    queue.add("foo", low=True)
    for n in range(LOW_SHARE):
        queue.add(f"before {n}")
        take(queue)

    queue.done("foo")
    for n in range(LOW_SHARE):
        queue.add(f"after {n}")

    assert [take(queue) for _ in range(LOW_SHARE)] == [*(f"after {n}" for n in range(LOW_SHARE - 1)), "foo"]


def test_an_item_that_fell_due_keeps_its_place_before_later_ones(sim: Simulation, queue: WorkQueue[str]) -> None:
    """That holds even if no call looked at the queue in between."""
    queue.add_after("due", 1.0)
    sim.advance(2.0)
    queue.add("later")

    assert [take(queue), take(queue)] == ["due", "later"]


@pytest.mark.scenario("PQ-04")
def test_an_item_added_twice_is_one_item(queue: WorkQueue[str]) -> None:
    """A duplicate leaves the length, the additions and the depth as they are."""
    queue.add("foo")
    queue.add("foo")

    assert len(queue) == 1
    assert (queue.counters().adds, queue.counters().depth) == (1, 1)


@pytest.mark.scenario("PQ-06")
def test_the_better_band_wins_when_it_comes_later(queue: WorkQueue[str]) -> None:
    """A low item that is added as a normal one is one normal item."""
    queue.add("foo", low=True)
    queue.add("foo")
    queue.add("bar", low=True)
    counters = queue.counters()

    assert (counters.adds, counters.depth, counters.low_depth) == (2, 1, 1)
    assert [take(queue), take(queue)] == ["foo", "bar"]
    assert (len(queue), queue.counters().depth, queue.counters().low_depth) == (0, 0, 0)


@pytest.mark.scenario("PQ-07")
def test_the_better_band_wins_when_it_came_first(queue: WorkQueue[str]) -> None:
    """A normal item that is added as a low one stays normal."""
    queue.add("low", low=True)
    queue.add("foo")
    queue.add("foo", low=True)

    assert take(queue) == "foo"


@pytest.mark.scenario("PQ-08")
def test_a_raised_item_passes_the_low_ones(queue: WorkQueue[str]) -> None:
    """The last of three low items comes first once it is added as a normal one."""
    for item in ("foo", "bar", "baz"):
        queue.add(item, low=True)
    queue.add("baz")

    assert queue.get() == "baz"
    assert (queue.counters().depth, queue.counters().low_depth) == (0, 2)


@pytest.mark.scenario("PQ-09")
def test_a_raised_item_joins_the_end_of_its_new_band(queue: WorkQueue[str]) -> None:
    """An item that was normal before comes first."""
    queue.add("foo", low=True)
    queue.add("bar")
    queue.add("foo")

    assert [take(queue), take(queue)] == ["bar", "foo"]


def test_an_item_raised_while_held_is_normal_when_it_comes_again(queue: WorkQueue[str]) -> None:
    queue.add("foo", low=True)
    queue.get()
    queue.add("foo", low=True)
    queue.add("foo")
    assert (queue.counters().depth, queue.counters().low_depth) == (1, 0)

    queue.done("foo")
    queue.add("bar", low=True)

    assert take(queue) == "foo"


@pytest.mark.scenario("PQ-30")
@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#3496")
def test_the_low_band_gets_its_share_of_a_busy_queue(queue: WorkQueue[str]) -> None:
    """While normal items never end, a low one is handed out every eighth time."""
    queue.add("low 1", low=True)
    queue.add("low 2", low=True)
    order = []

    for n in range(2 * LOW_SHARE):
        queue.add(f"normal {n}")
        queue.add(f"also {n}")
        order.append(take(queue))

    assert [n for n, item in enumerate(order) if item.startswith("low")] == [LOW_SHARE - 1, 2 * LOW_SHARE - 1]


@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#3157")
def test_an_item_that_comes_back_keeps_its_band(sim: Simulation, queue: WorkQueue[str]) -> None:
    queue.add("low", low=True)
    queue.get()
    queue.add_rate_limited("low")
    queue.done("low")
    queue.add_after("normal", 0.005)

    sim.advance(0.01)

    assert (queue.counters().depth, queue.counters().low_depth) == (1, 1)


@pytest.mark.scenario("PQ-20")
def test_a_sleeping_consumer_wakes_for_a_new_item(sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]) -> None:
    """No time passes between the addition and the hand-out."""
    got: list[str] = []
    host.spawn("consumer", lambda: got.append(queue.get()))
    sim.advance(5.0)

    queue.add("foo")
    sim.settle()

    assert got == ["foo"]


def test_a_worker_gives_an_item_back_and_gets_the_next_in_one_call(queue: WorkQueue[str]) -> None:
    for item in ("a", "b"):
        queue.add(item)
    assert queue.get() == "a"
    queue.add("a")

    assert queue.done_and_get("a") == "b"
    assert queue.done_and_get("b") == "a"
    with pytest.raises(ValueError, match="b is not being processed"):
        queue.done_and_get("b")
    queue.shut_down()
    with pytest.raises(ShutDown):
        queue.done_and_get("a")
    assert queue.turns(9) == []


def causes_of(queue: WorkQueue[str], item: str) -> list[Cause]:
    return [Cause._make(each) for each in queue.causes(item)]


def test_causes_ride_along_until_the_item_is_done(queue: WorkQueue[str]) -> None:
    queue.add("foo", cause="nodes listed", key=("foo", ""), version="1")
    queue.add("foo", cause="nodes changed", key=("foo", ""), version="2")
    queue.add("foo", cause="nodes changed", key=("bar", "default"), version="3")
    queue.get()
    queue.add("foo", cause="retry")

    assert causes_of(queue, "foo") == [
        Cause("nodes listed", ("foo", ""), "1", 1),
        Cause("nodes changed", ("bar", "default"), "3", 2),
    ]
    assert str(queue.causes("foo")) == "nodes listed (foo at 1), nodes changed 2 times (default/bar at 3)"

    queue.done("foo")
    assert queue.causes("foo") == ()
    queue.get()

    assert str(queue.causes("foo")) == "retry"


def test_causes_are_bounded(queue: WorkQueue[str]) -> None:
    for n in range(10 * MAX_CAUSES):
        queue.add("foo", cause=f"cause {n}")
        queue.add("foo", cause="cause 0", version=str(n))

    queue.get()

    assert [cause.text for cause in causes_of(queue, "foo")] == [f"cause {n}" for n in range(MAX_CAUSES)]
    assert causes_of(queue, "foo")[0] == Cause("cause 0", None, str(10 * MAX_CAUSES - 1), 10 * MAX_CAUSES + 1)


def test_turns_show_what_is_held_ready_and_waiting_and_since_when(
    sim: Simulation, host: SimulatedHost, queue: WorkQueue[str]
) -> None:
    began = host.monotonic()
    queue.add("held", cause="news")
    assert queue.get() == "held"
    queue.add("held")
    sim.advance(1.0)
    queue.add("ready", low=True)
    queue.add_after("waiting", 5.0, cause="later")

    shown = {(turn.item, turn.state): (turn.at - began, turn.low, turn.causes) for turn in queue.turns(limit=9)}

    assert shown == {
        ("held", TurnState.PROCESSING): (0.0, False, (("news", None, "", 1),)),
        ("held", TurnState.BLOCKED): (0.0, False, ()),
        ("ready", TurnState.READY): (1.0, True, ()),
        ("waiting", TurnState.DELAYED): (6.0, False, (("later", None, "", 1),)),
    }


def test_turns_are_copies_and_no_more_than_asked_for_beside_those_held(queue: WorkQueue[str]) -> None:
    for number in range(5):
        queue.add(f"item-{number}")
    queue.get()

    shown = queue.turns(limit=2)

    assert [turn.item for turn in shown] == ["item-0", "item-1", "item-2"]
    for turn in shown:
        turn.item = "changed"
    assert queue.get() == "item-1"
