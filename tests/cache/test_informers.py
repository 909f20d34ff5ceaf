# SPDX-License-Identifier: Apache-2.0
"""Informers: shared, started, waited for; their handlers, subscriptions and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest
from kit.cache.scripted import Act, Pause, ScriptedServer, failure, page, watched
from kit.nodes import bookmark_line, line, node

from apimachinery.errors import CacheSyncTimeout, UsageError
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta, Store
from controller_runtime.cache.subscription import Subscription
from controller_runtime.testing.simulation import SimulatedHost, Simulation

SYNCED = bookmark_line(5, ends_initial="true")
TWO_NODES = watched(
    line("ADDED", node("a", 1)), line("ADDED", node("b", 2)), SYNCED, Pause(60.0), line("MODIFIED", node("a", 6))
)
FORBIDDEN = failure(403, "Forbidden", "nodes is forbidden: cannot list", retry_after=1000)


class Program:
    """Informers of one program, with what they need."""

    def __init__(self, host: SimulatedHost, script: tuple[Act, ...]) -> None:
        self.host = host
        self.server = ScriptedServer(host, *script)
        self.informers = Informers(host, self.server)
        self.stop = Stop(host)


@pytest.fixture
def program(sim: Simulation) -> Iterator[Callable[..., Program]]:
    """Make a program, and check that it stops within the instant."""
    made: list[Program] = []

    def make(*script: Act) -> Program:
        made.append(Program(sim.host("r0"), script))
        return made[-1]

    yield make

    for each in made:
        each.stop.set()
        sim.settle()
        assert each.informers.join_until(each.host.monotonic()) == []


def test_same_question_shares_one_informer(program: Callable[..., Program]) -> None:
    informers = program().informers

    one, same = Collection(NODES, label_selector="a=b,c"), Collection(NODES, label_selector=" c, a==b")
    leases = Collection(LEASES)

    assert informers.of(one) is informers.of(same)
    assert informers.of(Collection(NODES)) is not informers.of(Collection(NODES, label_selector="a=b"))
    assert informers.of(Collection(LEASES, namespace="x")) is not informers.of(leases)
    assert informers.of(leases, linger=0.1) is informers.of(leases, linger=0.1) is not informers.of(leases)
    assert len([*informers]) == 6


def test_malformed_question_is_refused_when_it_is_asked(program: Callable[..., Program]) -> None:
    informers = program().informers

    with pytest.raises(ValueError, match="cluster-scoped"):
        informers.of(Collection(NODES, namespace="x"))
    with pytest.raises(UsageError, match="nodes with in in in: a selector cannot be read"):
        informers.of(Collection(NODES, label_selector="in in in"))
    assert [*informers] == []


def test_nothing_is_asked_before_the_start_and_late_ones_start_at_once(
    program: Callable[..., Program], sim: Simulation
) -> None:
    p = program(TWO_NODES, TWO_NODES)
    nodes = p.informers.of(Collection(NODES))
    sim.settle()
    assert p.server.asked == []

    p.informers.start(p.stop)
    sim.settle()
    assert nodes.has_synced()

    p.informers.of(Collection(LEASES))
    sim.settle()
    assert len(p.server.asked) == 2
    assert sim.threads() == ["r0/reflector/nodes", "r0/reflector/leases"]


def test_the_first_call_decides_whether_a_collection_begins_at_any_version(
    program: Callable[..., Program], sim: Simulation
) -> None:
    p = program(TWO_NODES, TWO_NODES)
    nodes = p.informers.of(Collection(NODES), any_version=True)
    assert p.informers.of(Collection(NODES)) is nodes
    p.informers.of(Collection(LEASES))
    p.informers.start(p.stop)
    sim.settle()

    assert p.server.questions == ["stream 0", "stream -"]
    with pytest.raises(UsageError, match="is cached already: ask for any version before the first use"):
        p.informers.of(Collection(LEASES), any_version=True)


def test_stores_are_made_in_another_way_before_the_first_cache_only(program: Callable[..., Program]) -> None:
    informers = program().informers
    informers.of(Collection(NODES))

    with pytest.raises(UsageError, match="before the first one"):
        informers.make_stores(lambda host, label, form, collection, transform: Store(host, label, form))


def test_informers_start_once(program: Callable[..., Program]) -> None:
    p = program()
    p.informers.start(p.stop)

    with pytest.raises(UsageError, match="more than once"):
        p.informers.start(p.stop)


def test_waiting_for_sync_ends_when_all_are_filled(program: Callable[..., Program], sim: Simulation) -> None:
    p = program(watched(Pause(20.0), SYNCED))
    p.informers.of(Collection(NODES))
    p.informers.start(p.stop)

    assert p.informers.wait_for_sync(p.stop, timeout=60.0)
    assert sim.time == pytest.approx(20.0)


@pytest.mark.scenario("CC-09")
def test_sync_that_takes_too_long_names_each_collection_and_its_last_error(
    program: Callable[..., Program], sim: Simulation
) -> None:
    """A forbidden list fails the wait within its time, and the message names what is not permitted."""
    p = program(FORBIDDEN, FORBIDDEN)
    p.informers.of(Collection(NODES))
    p.informers.start(p.stop)
    sim.settle()
    p.informers.of(Collection(LEASES, namespace="x"))

    with pytest.raises(CacheSyncTimeout) as error:
        p.informers.wait_for_sync(p.stop, timeout=10.0)

    assert str(error.value) == (
        "caches not in sync after 10 s: nodes (nodes is forbidden: cannot list);"
        " leases.coordination.k8s.io in x (no answer yet)"
    )
    assert sim.time == pytest.approx(10.0)


def test_waiting_for_sync_ends_with_the_stop(program: Callable[..., Program], sim: Simulation) -> None:
    p = program(watched())
    p.informers.of(Collection(NODES))
    p.informers.start(p.stop)
    ended: list[bool] = []
    p.host.spawn("waiter", lambda: ended.append(p.informers.wait_for_sync(p.stop, timeout=60.0)))
    sim.settle()

    p.stop.set()
    sim.settle()

    assert ended == [False]


def test_handler_is_in_sync_with_the_first_list_and_hears_of_changes(
    program: Callable[..., Program], sim: Simulation
) -> None:
    p = program(TWO_NODES)
    heard: list[Delta] = []
    registration = p.informers.of(Collection(NODES)).add_handler(heard.append)
    assert not registration.has_synced()

    p.informers.start(p.stop)
    assert registration.wait_for_sync(p.stop, p.host.monotonic() + 1.0)
    assert [(delta.key.name, delta.initial) for delta in heard] == [("a", True), ("b", True)]

    sim.advance(60.0)
    registration.remove()
    assert heard[2].old is heard[0].new


def test_handler_that_raises_stops_the_program(program: Callable[..., Program], sim: Simulation) -> None:
    p = program(TWO_NODES)

    def broken(delta: Delta) -> None:
        raise ZeroDivisionError("a bug")

    p.informers.of(Collection(NODES)).add_handler(broken)
    p.informers.start(p.stop)
    sim.settle()

    assert isinstance(p.stop.failure, ZeroDivisionError)


class Broken:
    """A transport with a bug."""

    def request(self, request: HTTPRequest, deadline: float) -> NoReturn:
        raise ZeroDivisionError

    stream = request

    def close(self) -> None:
        return


@pytest.mark.scenario("SI-20")
@pytest.mark.elsewhere("nolar/kopf#1276")
def test_bug_inside_a_list_stops_the_program_and_the_threads_end(sim: Simulation) -> None:
    """The error becomes the failure of the stop, and no thread is left running."""
    host = sim.host("r0")
    stop, informers = Stop(host), Informers(host, Broken())
    informers.of(Collection(NODES)).subscribe(print, name="follow")
    informers.start(stop)
    sim.settle()

    assert isinstance(stop.failure, ZeroDivisionError)
    assert informers.join_until(host.monotonic()) == []


class Slow:
    """A callback that takes its time, and may fail."""

    def __init__(self, host: SimulatedHost, seconds: float = 0.0, fails_for: str = "") -> None:
        self.names: list[str] = []
        self._stop = Stop(host)
        self._seconds = seconds
        self._fails_for = fails_for

    def __call__(self, delta: Delta) -> None:
        self._stop.wait(self._seconds)
        self.names.append(delta.key.name)
        if delta.key == ObjectKey(self._fails_for):
            raise ZeroDivisionError(self._fails_for)


@pytest.mark.parametrize("before", [True, False], ids=["before the start", "after the start"])
def test_subscription_sees_everything_once_in_order(
    program: Callable[..., Program], sim: Simulation, before: bool
) -> None:
    p = program(TWO_NODES)
    nodes, slow = p.informers.of(Collection(NODES)), Slow(p.host)
    if not before:
        p.informers.start(p.stop)
        sim.settle()
    subscription = nodes.subscribe(slow, name="follow")
    if before:
        p.informers.start(p.stop)

    assert subscription.wait_for_sync(p.stop, p.host.monotonic() + 1.0)
    assert slow.names == ["a", "b"]
    sim.advance(60.0)
    assert slow.names == ["a", "b", "a"]


def test_slow_subscription_delays_nobody_and_its_backlog_is_counted(
    program: Callable[..., Program], sim: Simulation
) -> None:
    p = program(TWO_NODES)
    nodes = p.informers.of(Collection(NODES))
    slow, quick = Slow(p.host, seconds=100.0), Slow(p.host)
    behind, ahead = nodes.subscribe(slow, name="slow"), nodes.subscribe(quick, name="quick")
    p.informers.start(p.stop)
    sim.advance(60.0)

    assert quick.names == ["a", "b", "a"]
    assert (ahead.backlog, behind.backlog) == (0, 3)
    assert (ahead.has_synced(), behind.has_synced()) == (True, False)
    assert nodes.has_synced()

    sim.advance(240.0)
    assert slow.names == ["a", "b", "a"]


def test_callback_that_raises_hears_no_more_and_stops_the_program(
    program: Callable[..., Program], sim: Simulation
) -> None:
    p = program(TWO_NODES)
    failing = Slow(p.host, fails_for="a")
    subscription = p.informers.of(Collection(NODES)).subscribe(failing, name="failing")
    p.informers.start(p.stop)
    sim.settle()

    assert (failing.names, subscription.ended) == (["a"], True)
    assert isinstance(p.stop.failure, ZeroDivisionError)
    assert p.informers.join_until(p.host.monotonic()) == []


@pytest.mark.scenario("SI-18")
def test_closing_a_subscription_returns_at_once_and_its_callback_ends_by_itself(
    program: Callable[..., Program], sim: Simulation
) -> None:
    """When it is closed while its callback runs, close returns, the callback finishes, and no other call follows."""
    p = program(TWO_NODES)
    slow = Slow(p.host, seconds=10.0)
    subscription = p.informers.of(Collection(NODES)).subscribe(slow, name="slow")
    p.informers.start(p.stop)
    sim.settle()
    before = sim.time

    subscription.close()
    subscription.close()
    assert (sim.time, slow.names, p.informers.of(Collection(NODES)).handlers) == (before, [], 0)

    sim.advance(100.0)
    assert slow.names == ["a"]
    assert subscription.ended


def test_callback_may_close_its_own_subscription(program: Callable[..., Program], sim: Simulation) -> None:
    p = program(TWO_NODES)
    seen: list[str] = []
    mine: list[Subscription] = []

    def once(delta: Delta) -> None:
        seen.append(delta.key.name)
        mine[0].close()

    mine.append(p.informers.of(Collection(NODES)).subscribe(once, name="once"))
    p.informers.start(p.stop)
    sim.advance(60.0)

    assert seen == ["a"]


def test_stop_names_the_subscription_that_is_stuck(program: Callable[..., Program], sim: Simulation) -> None:
    p = program(TWO_NODES)
    p.informers.of(Collection(NODES)).subscribe(Slow(p.host, seconds=50.0), name="stuck")
    p.informers.start(p.stop)
    sim.settle()

    p.stop.set()

    assert [thread.name for thread in p.informers.join_until(p.host.monotonic() + 10.0)] == ["stuck"]
    sim.advance(40.0)


@pytest.mark.scenario("SI-16")
def test_informers_stopped_before_they_start_end_at_once(program: Callable[..., Program], sim: Simulation) -> None:
    """All threads end and no request is made when the stop comes before the start."""
    p = program(page(5))
    p.informers.of(Collection(NODES)).subscribe(Slow(p.host), name="never")
    p.stop.set()

    p.informers.start(p.stop)
    sim.settle()

    assert sim.threads() == []
    assert p.server.asked == []
