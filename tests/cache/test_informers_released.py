# SPDX-License-Identifier: Apache-2.0
"""Informers that are given back: the last release ends them, in any state."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.cache.scripted import Act, Pause, ScriptedServer, watched
from kit.nodes import bookmark_line, line, node

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.testing.simulation import Simulation

SYNCED = bookmark_line(5, ends_initial="true")
A_NODE = watched(line("ADDED", node("a", 1)), SYNCED)


class Program:
    """Informers of one program against a script."""

    def __init__(self, sim: Simulation, *script: Act) -> None:
        self.sim = sim
        self.host = sim.host("r0")
        self.server = ScriptedServer(self.host, *script)
        self.informers = Informers(self.host, self.server)
        self.stop = Stop(self.host)

    def start(self) -> None:
        self.informers.start(self.stop)
        self.sim.settle()

    def end(self) -> None:
        self.stop.set()
        self.sim.settle()
        assert self.informers.join_until(self.host.monotonic()) == []
        assert self.sim.threads() == []


@pytest.fixture
def p(sim: Simulation) -> Iterator[Program]:
    """Return a program whose server streams a node, as often as it is asked."""
    program = Program(sim, *[A_NODE] * 200)

    yield program

    program.end()


@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#935")
def test_released_by_the_last_user_it_ends_and_asks_nothing_more(p: Program) -> None:
    first, second = p.informers.of(Collection(NODES)), p.informers.of(Collection(NODES))
    p.start()

    p.informers.release(first)
    p.sim.settle()
    assert p.sim.threads() == ["r0/reflector/nodes"]

    p.informers.release(second)
    p.sim.advance(3600.0)
    assert p.sim.threads() == []
    assert [*p.informers] == []
    assert (len(p.server.asked), p.server.streams[0].closed > 0) == (1, True)


def test_released_too_often_is_refused_and_harms_no_other(p: Program) -> None:
    old = p.informers.of(Collection(NODES))
    p.start()
    p.informers.release(old)
    new = p.informers.of(Collection(NODES))

    with pytest.raises(UsageError, match="the informer of nodes was released more often than it was asked for"):
        p.informers.release(old)

    assert [*p.informers] == [new]


@pytest.mark.scenario("CC-07")
def test_asked_for_again_at_once_it_is_a_new_one_that_fills(p: Program) -> None:
    """A removed informer stops and keeps its last state, and the next request starts a new one."""
    old = p.informers.of(Collection(NODES))
    p.start()
    p.informers.release(old)

    new = p.informers.of(Collection(NODES))
    assert p.informers.wait_for_sync(p.stop, timeout=1.0)

    assert new is not old
    assert (len(old.store), len(new.store)) == (1, 1)
    assert p.sim.threads() == ["r0/reflector/nodes"]


def test_released_before_the_start_it_never_runs(p: Program) -> None:
    informer = p.informers.of(Collection(NODES))
    informer.subscribe(print, name="never")

    p.informers.release(informer)
    p.start()

    assert (p.sim.threads(), p.server.asked) == ([], [])


@pytest.mark.parametrize("seed", range(20))
def test_released_while_it_starts_it_ends_and_its_successor_runs(seed: int) -> None:
    with Simulation(seed=seed, switch_chance=1.0) as sim:
        p = Program(sim, *[A_NODE] * 20)

        def come_and_go() -> None:
            for _ in range(3):
                p.informers.release(p.informers.of(Collection(NODES)))

        threads = [p.host.spawn("starter", lambda: p.informers.start(p.stop))]
        threads += [p.host.spawn(f"user-{i}", come_and_go) for i in range(3)]
        last = p.informers.of(Collection(NODES))
        sim.settle()

        assert all(thread.join_until(None) for thread in threads)
        assert [*p.informers] == [last]
        assert (sim.threads(), len(last.store)) == (["r0/reflector/nodes"], 1)
        p.end()


def test_released_while_a_handler_runs_the_release_returns_at_once(p: Program) -> None:
    informer = p.informers.of(Collection(NODES))
    told: list[str] = []

    def slow(delta: Delta) -> None:
        Stop(p.host).wait(10.0)
        told.append(delta.key.name)

    registration = informer.subscribe(slow, name="slow")
    p.start()
    before = p.sim.time

    p.informers.release(informer)
    p.sim.settle()

    assert (p.sim.time, p.sim.threads(), told) == (before, ["r0/slow"], [])
    assert [thread.name for thread in p.informers.join_until(p.host.monotonic())] == ["slow"]
    p.sim.advance(10.0)
    assert (told, registration.ended, p.sim.threads()) == (["a"], True, [])


@pytest.mark.parametrize("how", ["handler", "subscription"])
def test_who_hears_of_a_change_may_release_it(p: Program, how: str) -> None:
    informer = p.informers.of(Collection(NODES))
    told: list[str] = []

    def once(delta: Delta) -> None:
        told.append(delta.key.name)
        p.informers.release(informer)

    if how == "handler":
        informer.add_handler(once)
    else:
        informer.subscribe(once, name="once")
    p.start()

    assert (told, p.sim.threads()) == (["a"], [])


def test_waiting_for_sync_does_not_wait_for_one_that_is_released(sim: Simulation) -> None:
    p = Program(sim, watched(Pause(1000.0)), A_NODE)
    slow = p.informers.of(Collection(NODES))
    p.start()
    p.informers.of(Collection(LEASES))
    waited: list[bool] = []
    waiter = p.host.spawn("waiter", lambda: waited.append(p.informers.wait_for_sync(p.stop, timeout=60.0)))
    sim.advance(5.0)
    assert waited == []

    p.informers.release(slow)

    assert waiter.join_until(p.host.monotonic() + 1.0)
    assert waited == [True]
    p.end()


def test_failure_of_a_subscription_of_one_collection_stops_the_program(p: Program) -> None:
    def broken(delta: Delta) -> None:
        raise ZeroDivisionError(delta.key)

    p.informers.of(Collection(NODES)).subscribe(broken, name="broken")
    p.start()

    assert isinstance(p.stop.failure, ZeroDivisionError)


@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#935")
def test_those_that_come_and_go_leave_nothing_behind(p: Program) -> None:
    p.start()

    for _ in range(100):
        informer = p.informers.of(Collection(NODES))
        p.sim.settle()
        assert informer.store.get(ObjectKey("a")) is not None
        p.informers.release(informer)
        p.sim.settle()

    p.informers.release(p.informers.of(Collection(NODES)))
    p.sim.settle()
    assert len(p.informers._released) <= 1
    assert len(p.stop._callbacks[min(p.stop._callbacks)]) == 0
