# SPDX-License-Identifier: Apache-2.0
"""A fair queue: groups take turns, and nothing waits longer than its two bounds, whatever is added meanwhile."""

from __future__ import annotations

import math
import random
from collections import Counter

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller_runtime.queue.fairness import OLDEST_SHARE
from controller_runtime.queue.turns import LOW_SHARE
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import SimulatedHost, Simulation

pytestmark = pytest.mark.ends

Item = tuple[str, int]


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


def fair(host: SimulatedHost) -> WorkQueue[Item]:
    return WorkQueue(host, name="fair", fair_by=lambda item: item[0])


def take(queue: WorkQueue[Item]) -> Item:
    item = queue.get()
    queue.done(item)
    return item


def test_a_group_with_one_item_does_not_wait_for_a_thousand_of_another(host: SimulatedHost) -> None:
    queue = fair(host)
    for number in range(1000):
        queue.add(("busy", number))
    queue.add(("quiet", 0))

    assert ("quiet", 0) in [take(queue) for _ in range(2)]


def test_a_group_keeps_the_order_in_which_its_items_were_added(host: SimulatedHost) -> None:
    queue = fair(host)
    for number in range(30):
        queue.add(("ab"[number % 2], number))

    taken = [take(queue) for _ in range(30)]

    for group in "ab":
        assert [item for item in taken if item[0] == group] == [(group, n) for n in range(30) if "ab"[n % 2] == group]


def test_an_item_that_is_added_while_it_is_held_holds_up_no_other_of_its_group(host: SimulatedHost) -> None:
    queue = fair(host)
    queue.add(("a", 0))
    assert queue.get() == ("a", 0)
    queue.add(("a", 0))
    queue.add(("a", 1))
    queue.add(("b", 0))

    assert [take(queue), take(queue)] == [("a", 1), ("b", 0)]
    queue.done(("a", 0))
    assert take(queue) == ("a", 0)
    assert len(queue) == 0


def test_each_band_is_fair_and_the_low_one_keeps_its_share(host: SimulatedHost) -> None:
    queue = fair(host)
    for number in range(100):
        queue.add(("busy", number))
        queue.add(("busy", 1000 + number), low=True)
    queue.add(("quiet", 1000), low=True)

    taken = [take(queue) for _ in range(2 * LOW_SHARE)]

    assert ("quiet", 1000) in taken
    assert sum(number >= 1000 for _, number in taken) == 2


def test_an_item_that_is_raised_leaves_its_low_band_once(host: SimulatedHost) -> None:
    queue = fair(host)
    for number in range(3):
        queue.add(("a", number), low=True)
    queue.add(("a", 1))

    assert [take(queue) for _ in range(3)] == [("a", 1), ("a", 0), ("a", 2)]
    assert (queue.counters().depth, queue.counters().low_depth, len(queue)) == (0, 0, 0)


@pytest.mark.parametrize("fair_by", [lambda item: item["namespace"], lambda item: [item]], ids=["raises", "unhashable"])
def test_an_item_without_a_group_is_not_added(host: SimulatedHost, fair_by: object) -> None:
    queue: WorkQueue[Item] = WorkQueue(host, fair_by=fair_by)  # type: ignore[arg-type]

    with pytest.raises(TypeError):
        queue.add(("a", 0))

    assert queue.turns(9) == []


@attrs.define
class Waiting:
    """An item that waits: what was before it, the most groups since, and the hand-outs it has waited for."""

    before_in_group: int
    before: int
    groups: int
    waited: int = 0

    @property
    def bound(self) -> int:
        by_groups = math.ceil((self.before_in_group + 1) * self.groups * OLDEST_SHARE / (OLDEST_SHARE - 1))
        return min(by_groups, OLDEST_SHARE * (self.before + 1))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), groups=st.integers(1, 12), pressure=st.floats(0.0, 3.0))
def test_no_item_waits_longer_than_its_bounds(seed: int, groups: int, pressure: float) -> None:
    """Items come at random, many of them in one group and some in groups that are new, and each wait is counted."""
    chance = random.Random(seed)
    with Simulation(0, switch_chance=0.0) as sim:
        queue, waiting = fair(sim.host("r0")), dict[Item, Waiting]()
        for number in range(300):
            for extra in range(int(pressure + chance.random())):
                name = chance.choice(["busy", f"g{chance.randrange(groups)}", f"new-{number}"])
                item = (name, 1000 * number + extra)
                waiting[item] = Waiting(sum(other[0] == name for other in waiting), len(waiting), 0)
                queue.add(item)
            if waiting:
                sizes = Counter(name for name, _ in waiting)
                for wait in waiting.values():
                    wait.groups, wait.waited = max(wait.groups, len(sizes)), wait.waited + 1
                taken = waiting.pop(take(queue))
                assert taken.waited <= taken.bound
        for item, wait in waiting.items():
            assert wait.waited <= wait.bound, item
