# SPDX-License-Identifier: Apache-2.0
"""From the reflector to the handlers: store first, everything once, in order."""

from __future__ import annotations

import pytest
from kit.nodes import added, bookmark, cached, deleted, listed, modified

from apimachinery.host import Host
from apimachinery.objects import Cached, ObjectKey
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.cache.delivery import Delivery
from controller_runtime.cache.store import Delta, Store
from controller_runtime.cache.subscription import Subscription
from controller_runtime.testing.simulation import Simulation


class Told:
    """A handler that keeps the changes it gets, and a copy of the collection, under a lock like a queue's."""

    def __init__(self, host: Host | None = None) -> None:
        self._lock = (host or SystemHost("test")).lock("told")
        self.deltas: list[Delta] = []
        self.copy: dict[ObjectKey, Cached] = {}
        self.synced = 0

    def __call__(self, delta: Delta) -> None:
        with self._lock:
            assert self.copy.get(delta.key) is delta.old, "a gap or a repetition"
            self.deltas.append(delta)
            if delta.new is None:
                del self.copy[delta.key]
            else:
                self.copy[delta.key] = delta.new

    def sync(self) -> None:
        self.synced += 1


def made() -> tuple[Delivery, Store]:
    host = SystemHost("test")
    store = Store(host)
    return Delivery(host, store, "nodes"), store


def test_handler_finds_the_change_in_the_store() -> None:
    delivery, store = made()
    found = []
    delivery.add(lambda delta: found.append(store.get(delta.key) is delta.new), lambda: None)

    delivery.replace(listed(cached("a", 1), cached("b", 2)), "2")
    delivery.apply(modified(cached("a", 3)))
    delivery.apply(deleted(cached("b", 4)))

    assert found == [True] * 4


@pytest.mark.scenario("FF-16")
def test_handler_hears_exactly_what_changed() -> None:
    """A creation, a mixed change and a deletion of all come as adds, updates with the old object, and deletions."""
    delivery, _ = made()
    delivery.add(told := Told(), told.sync)
    a1, b2, a3, c4 = cached("a", 1), cached("b", 2), cached("a", 3), cached("c", 4)

    delivery.replace(listed(a1, b2), "2")
    delivery.replace(listed(a3, c4), "4")
    delivery.apply(bookmark(9))
    delivery.replace({}, "10")

    assert told.deltas == [
        Delta(None, a1, True),
        Delta(None, b2, True),
        Delta(b2, None),
        Delta(a1, a3),
        Delta(None, c4),
        Delta(a3, None),
        Delta(c4, None),
    ]
    assert told.synced == 1


@pytest.mark.scenario("SI-05")
@pytest.mark.elsewhere("ManageIQ/kubeclient#599")
def test_relist_tells_what_was_missed_and_nothing_of_what_did_not_change() -> None:
    """A missed add is an add, a missed change an update; unchanged objects come as no event."""
    delivery, _ = made()
    delivery.replace(listed(cached("same", 1), cached("changed", 2)), "2")
    told = Told()
    remove = delivery.add(told, told.sync)
    told.deltas.clear()

    delivery.replace(listed(cached("same", 1), cached("changed", 5), cached("new", 6)), "6")
    remove()

    assert [(delta.key.name, delta.old is None) for delta in told.deltas] == [("changed", False), ("new", True)]


@pytest.mark.scenario("SI-15")
@pytest.mark.elsewhere("kubernetes/client-go#675")
def test_late_handler_hears_of_what_is_there_as_initial_and_the_others_hear_nothing() -> None:
    """A handler added during activity gets existing objects as initial adds; an old one is unaffected."""
    delivery, _ = made()
    delivery.add(early := Told(), early.sync)
    delivery.replace(listed(cached("a", 1)), "1")
    delivery.apply(added(cached("b", 2)))

    delivery.add(late := Told(), late.sync)
    delivery.apply(added(cached("c", 3)))

    assert [(delta.key.name, delta.initial) for delta in late.deltas] == [("a", True), ("b", True), ("c", False)]
    assert (late.synced, len(early.deltas)) == (1, 3)


def test_handler_of_an_empty_store_is_in_sync_with_the_first_list() -> None:
    delivery, _ = made()
    delivery.add(told := Told(), told.sync)
    assert told.synced == 0

    delivery.replace({}, "1")
    assert told.synced == 1


@pytest.mark.scenario("SI-09")
@pytest.mark.scenario("SI-11")
@pytest.mark.scenario("SI-14")
def test_removed_handler_hears_nothing_more_and_its_twin_goes_on() -> None:
    """The same handler registered twice is two registrations; removing one twice is fine; the other goes on."""
    delivery, _ = made()
    heard: list[Delta] = []
    first = delivery.add(heard.append, lambda: None)
    delivery.add(heard.append, lambda: None)
    delivery.apply(added(cached("a", 1)))

    first()
    first()
    delivery.apply(added(cached("b", 2)))

    assert [delta.key.name for delta in heard] == ["a", "a", "b"]


def test_subscription_that_has_ended_gathers_nothing(sim: Simulation) -> None:
    delivery, _ = made()
    subscription = Subscription(sim.host("r0"), print, "follow")
    subscription.attach(delivery.add)
    delivery.apply(added(cached("a", 1)))

    subscription.end()
    delivery.apply(added(cached("b", 2)))

    assert subscription.backlog == 0


def test_index_added_between_two_changes_holds_all() -> None:
    delivery, store = made()
    delivery.apply(added(cached("a", 1)))
    delivery.add_index("name", lambda obj: [obj.name])
    delivery.apply(added(cached("b", 2)))

    assert store.index_values("name") == ("a", "b")


@pytest.mark.scenario("SI-12")
@pytest.mark.parametrize("seed", range(20))
def test_handlers_that_come_and_go_while_events_flow_miss_nothing(seed: int) -> None:
    """Threads add and remove handlers while events flow: each ends with the store's own content."""
    with Simulation(seed=seed) as sim:
        host = sim.host("r0")
        store = Store(host)
        delivery = Delivery(host, store, "nodes")
        lived: list[Told] = []

        def write() -> None:
            delivery.replace(listed(*(cached(f"n{i}", i + 1) for i in range(5))), "5")
            for version in range(6, 60):
                name = f"n{version % 7}"
                delivery.apply(deleted(cached(name, version)) if version % 3 == 0 else modified(cached(name, version)))

        def come_and_go() -> None:
            for _ in range(5):
                delivery.add(Told(host), lambda: None)()
            delivery.add(told := Told(host), told.sync)
            lived.append(told)

        host.spawn("writer", write)
        for i in range(4):
            host.spawn(f"handler-{i}", come_and_go)
        sim.settle()

        assert len(lived) == 4
        for told in lived:
            assert told.copy == {obj.key: obj for obj in store.list()}
            assert told.synced == 1


def test_wait_for_sync_ends_with_the_stop(sim: Simulation) -> None:
    host = sim.host("r0")
    delivery, stop, ended = Delivery(host, Store(host), "nodes"), Stop(host), []
    host.spawn("waiter", lambda: ended.append(delivery.synced.wait(stop, None)))
    sim.settle()
    assert ended == []

    stop.set()
    sim.settle()
    assert ended == [False]
