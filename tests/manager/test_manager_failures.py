# SPDX-License-Identifier: Apache-2.0
"""A manager ends in order when something fails, with the first failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import attrs
import pytest

from apimachinery.host import Host
from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.api.resources import LEASES, NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.store import Delta
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer


class Bug(Exception):
    """An error that user code raises."""


@attrs.frozen
class Nothing(Reconciler):
    """Reconciles without doing anything."""

    def reconcile(self, request: Request) -> Result:
        return Result()


@attrs.frozen
class Running:
    """A runnable that calls a function."""

    name: str
    run: Callable[[Stop], object]


def raise_bug(*_: object) -> NoReturn:
    raise Bug("in the code of a user")


def with_an_index(host: Host, server: APIServer) -> Manager:
    manager = Manager(host, InProcessTransport(host, server))
    manager.informer(NODES).add_index("broken", raise_bug)
    return manager


def with_a_transform(host: Host, server: APIServer) -> Manager:
    manager = Manager(host, InProcessTransport(host, server), transforms={NODES: raise_bug})
    manager.informer(NODES)
    return manager


def with_a_handler(host: Host, server: APIServer) -> Manager:
    manager = Manager(host, InProcessTransport(host, server))
    manager.informer(NODES).add_handler(raise_bug)
    return manager


def with_a_subscription(host: Host, server: APIServer) -> Manager:
    manager = Manager(host, InProcessTransport(host, server))
    manager.informer(NODES).subscribe(raise_bug, name="broken")
    return manager


MAKERS = [with_an_index, with_a_transform, with_a_handler, with_a_subscription]


def fill(manager: Manager) -> None:
    """Put an object into the first list, and wait for another collection as well."""
    manager.client.create(NODES, {"metadata": {"name": "node"}})
    manager.lister(LEASES)
    manager.add(Controller("watching", Nothing()).watch(NODES))


def run(sim: Simulation, host: SimulatedHost, manager: Manager) -> BaseException | None:
    """Run a manager without a stop, and return the failure with which it ends."""
    outcome = Stop(host, "outcome")
    thread = spawn(host, outcome, "manager", manager.run)
    sim.advance(60.0)
    assert thread.join_until(host.monotonic())
    return outcome.failure


@pytest.mark.parametrize("make", MAKERS)
def test_what_raises_in_the_initial_list_is_what_the_run_raises(make: Callable[[Host, APIServer], Manager]) -> None:
    """This holds under every schedule: the run never ends with a CacheSyncTimeout instead."""
    for seed in range(40):
        with Simulation(seed) as sim:
            host = sim.host("r0")
            manager = make(host, APIServer(host))
            fill(manager)

            assert isinstance(run(sim, host, manager), Bug), f"seed {seed}"
            assert sim.threads() == []


@pytest.mark.parametrize("make", MAKERS)
def test_on_the_real_machine_too_it_is_the_bug_that_the_run_raises(make: Callable[[Host, APIServer], Manager]) -> None:
    host = SystemHost("real")
    for _ in range(10):
        manager = make(host, APIServer(host))
        fill(manager)

        with pytest.raises(Bug):
            manager.run()


def test_a_failure_keeps_its_place_before_one_of_the_thread_that_runs(sim: Simulation) -> None:
    host = sim.host("r0")
    manager = Manager(host, InProcessTransport(host, APIServer(host)))
    fill(manager)
    first = Bug("the first")

    class FailsAfterAnother(Controller):
        def prepare(self, informers: Informers) -> None:
            manager.stopping.fail(first)
            raise Bug("the second")

    manager.add(FailsAfterAnother("late", Nothing()).watch(NODES))

    assert run(sim, host, manager) is first


def test_what_does_not_end_is_named_though_the_thread_that_runs_failed(sim: Simulation) -> None:
    host = sim.host("r0")
    manager = Manager(host, InProcessTransport(host, APIServer(host)))
    fill(manager)
    forever = Stop(host, "forever")
    manager.add(Running("stuck", lambda stop: forever.wait_until(None)))

    class Failing(Controller):
        def start(self, *args: object, **options: object) -> None:
            raise Bug("in the start")

    manager.add(Failing("late", Nothing()).watch(NODES))

    failure = run(sim, host, manager)
    forever.set()

    assert isinstance(failure, Bug)
    assert "though cancelled: stuck" in failure.__notes__[0]


def test_a_subscription_that_fails_while_the_caches_end_fails_the_run(sim: Simulation) -> None:
    """It has missed a change, and would never learn of it otherwise."""
    host = sim.host("r0")
    manager = Manager(host, InProcessTransport(host, APIServer(host)))
    fill(manager)
    asleep = Stop(host, "asleep")
    stop = Stop(host)
    outcome = Stop(host, "outcome")

    def fail_late(delta: Delta) -> None:
        asleep.wait(5.0)
        raise Bug("late")

    manager.informer(NODES).subscribe(fail_late, name="slow")
    spawn(host, outcome, "manager", lambda: manager.run(stop))
    sim.advance(1.0)
    stop.set()
    sim.advance(60.0)

    assert isinstance(outcome.failure, Bug)
    assert sim.threads() == []
