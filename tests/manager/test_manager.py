# SPDX-License-Identifier: Apache-2.0
"""A manager: the order of starting, the reverse order of stopping, and failures in between."""

from __future__ import annotations

import pytest
from kit.manager.managing import Bench, Calling, Running

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stage, Stop
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer


@pytest.mark.scenario("MG-01")
def test_caches_are_filled_before_anything_else_starts(bench: Bench) -> None:
    """Runnables and reconcilers find every object in the lister when they first look."""
    bench.create("a", "b")
    nodes, pods = bench.manager.lister(NODES, dict), bench.manager.lister(PODS, dict)
    counts: list[tuple[int, str]] = []
    bench.manager.add(
        Controller("count", Calling(lambda request: counts.append((len(nodes), pods.version)))).watch(NODES)
    )
    bench.manager.add(Running("look", lambda stop: counts.append((len(nodes), pods.version))))

    bench.start()

    assert len(counts) == 3
    assert all(count == 2 and version for count, version in counts)
    bench.finish()


def test_listers_of_one_collection_share_its_cache(bench: Bench) -> None:
    assert bench.manager.informer(NODES) is bench.manager.informer(NODES)
    assert bench.manager.informer(NODES) is not bench.manager.informer(NODES, label_selector="a=b")


@pytest.mark.elsewhere("kubernetes-sigs/controller-runtime#3024")
def test_two_selectors_of_one_kind_are_two_caches(bench: Bench) -> None:
    """Each lister has the objects that match its own selector, and follows their changes."""
    bench.create("none")
    red = bench.manager.lister(NODES, dict, label_selector="color=red")
    blue = bench.manager.lister(NODES, dict, label_selector="color=blue")
    bench.manager.client.create(NODES, {"metadata": {"name": "r", "labels": {"color": "red"}}})
    bench.start()

    bench.manager.client.create(NODES, {"metadata": {"name": "b", "labels": {"color": "blue"}}})
    bench.sim.settle()

    assert ([*red.keys()], [*blue.keys()]) == ([ObjectKey("r")], [ObjectKey("b")])
    bench.finish()


def test_everything_stops_in_the_mirror_of_its_start(bench: Bench) -> None:
    """The running reconcile ends first, then the runnables, and the caches last."""

    def linger(stop: Stop) -> None:
        bench.log.append("runnable starts")
        stop.wait_until(None)
        Stop(bench.host, "asleep").wait(5.0)
        bench.log.append("runnable ends")

    bench.create("node")
    bench.manager.add(Running("runnable", linger))
    bench.manager.add(bench.slow(5.0))
    bench.start()

    bench.stop.set()
    bench.sim.advance(9.0)
    assert bench.log == ["runnable starts", "node begins", "node ends"]
    assert bench.sim.threads() == ["r0/manager", "r0/reflector/nodes", "r0/runnable"]
    bench.finish()

    assert bench.log[-1] == "runnable ends"
    assert (bench.failure, bench.sim.threads()) == (None, [])


@pytest.mark.scenario("MG-02")
def test_the_failure_of_a_runnable_stops_the_rest_and_is_raised(bench: Bench) -> None:
    """`run` raises the same error object, after the other threads have ended."""
    error = RuntimeError("broken")

    def fail(stop: Stop) -> None:
        raise error

    bench.manager.add(bench.notes("other"))
    bench.manager.add(Running("failing", fail))
    bench.start()
    bench.sim.advance(1.0)

    assert bench.failure is error
    assert bench.log == ["other starts", "other ends"]
    assert bench.sim.threads() == []


def test_a_predicate_that_raises_does_not_stop_the_run(bench: Bench) -> None:
    seen: list[ObjectKey] = []

    def broken(delta: Delta) -> bool:
        if delta.key.name == "poison":
            raise ZeroDivisionError("in a predicate")
        return True

    bench.manager.add(Controller("zones", Calling(seen.append)).watch(NODES, when=broken))
    bench.start()

    bench.create("poison", "node")
    bench.sim.advance(1.0)
    bench.finish()

    assert seen == [ObjectKey("node")]
    assert bench.failure is None
    assert bench.sim.threads() == []


@pytest.mark.scenario("MG-02")
def test_a_failure_keeps_its_place_when_the_stop_fails_too(bench: Bench) -> None:
    """The first failure is raised, and its notes name the threads that did not end."""

    def fail(stop: Stop) -> None:
        stop.wait(1.0)
        raise RuntimeError("broken")

    forever = Stop(bench.host, "forever")
    bench.manager.add(Running("failing", fail))
    bench.manager.add(Running("stuck", lambda stop: forever.wait_until(None)))
    bench.start()
    bench.sim.advance(60.0)

    assert str(bench.failure) == "broken"
    assert "still running after a grace of 20 s, though cancelled: stuck" in bench.failure.__notes__[0]
    forever.set()


@pytest.mark.scenario("MG-04")
def test_what_is_added_while_it_runs_starts_at_once_and_what_comes_too_late_is_refused(bench: Bench) -> None:
    """A member that is added during the run starts at once; after the stop it is refused, as is a second run."""
    bench.create("a")
    seen: list[str] = []
    bench.manager.add(bench.notes("first"))
    bench.start()

    bench.manager.add(bench.notes("second"))
    bench.manager.add(Controller("third", Calling(lambda request: seen.append(str(request)))).watch(NODES))
    bench.sim.advance(1.0)
    assert (bench.log, seen) == (["first starts", "second starts"], ["a"])
    bench.finish()

    with pytest.raises(UsageError, match="fourth cannot be added: the manager stops or has stopped"):
        bench.manager.add(bench.notes("fourth"))
    with pytest.raises(UsageError, match="runs once"):
        bench.manager.run(bench.stop)


@pytest.mark.scenario("MG-06")
@pytest.mark.parametrize("seed", range(10))
def test_adding_during_the_stop_neither_hangs_nor_starts_what_nobody_stops(seed: int) -> None:
    """A member that is added while the manager stops is refused, or ends with the others."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        bench = Bench(sim, host, Manager(host, InProcessTransport(host, APIServer(host))), Stop(host))

        def add() -> None:
            for n in range(20):
                try:
                    bench.manager.add(bench.notes(f"late-{n}"))
                except UsageError:
                    bench.log.append("refused")

        bench.start()
        host.spawn("adder", add)
        bench.finish()

        started = [line for line in bench.log if line.endswith("starts")]
        assert len(started) == len([line for line in bench.log if line.endswith("ends")])
        assert sim.threads() == []


def test_work_in_hand_is_cancelled_when_the_grace_ends(bench: Bench) -> None:
    bench.create("node")
    bench.manager.add(bench.slow(3600.0))
    bench.start()
    stopped_at = bench.sim.time

    bench.stop.set()
    while not bench.ended:
        bench.sim.advance(0.5)

    assert 20.0 <= bench.sim.time - stopped_at <= 21.5
    assert (bench.failure, bench.log) == (None, ["node begins"])


@pytest.mark.scenario("MG-02")
def test_a_runnable_that_gives_up_when_cancelled_has_not_failed(bench: Bench) -> None:
    """It ignores the stop and is cancelled after the grace; the `Cancelled` that it raises is not a failure."""

    def stubborn(stop: Stop) -> None:
        stop.wait_until(None, Stage.CANCELLED)
        stop.raise_if_cancelled()

    bench.manager.add(Running("stubborn", stubborn))
    bench.start()

    bench.finish()

    assert bench.failure is None


def test_the_callers_cancellation_does_not_wait_for_the_grace(bench: Bench) -> None:
    bench.create("node")
    bench.manager.add(bench.slow(3600.0))
    bench.start()

    bench.stop.cancel()
    bench.sim.advance(1.0)

    assert (bench.ended, bench.failure) == (True, None)


def test_what_is_still_stuck_is_named_with_its_stack(bench: Bench) -> None:
    bench.create("node")
    forever = Stop(bench.host, "forever")

    def block_here(key: ObjectKey) -> None:
        forever.wait_until(None)

    bench.manager.add(Controller("zones", Calling(block_here)).watch(NODES))
    bench.start()
    bench.finish()

    assert isinstance(bench.failure, ControllerRuntimeError)
    assert str(bench.failure) == "still running after a grace of 20 s, though cancelled: zones/worker-0"
    assert "block_here" in "".join(bench.failure.__notes__)
    forever.set()


def test_a_negative_grace_is_refused(sim: Simulation) -> None:
    host = sim.host("r0")

    with pytest.raises(ValueError, match=r"grace \(-1\) must be zero or more"):
        Manager(host, InProcessTransport(host, APIServer(host)), grace=-1)


def test_a_crash_leaves_nothing_behind_that_waits(bench: Bench) -> None:
    bench.create("node")
    bench.manager.add(bench.notes("runnable"))
    bench.manager.add(bench.slow(60.0))
    bench.start()

    bench.sim.crash(bench.host)
    bench.sim.settle()

    assert bench.sim.threads() == []


def test_names_are_taken_once(bench: Bench) -> None:
    bench.manager.add(bench.notes("zones"))

    with pytest.raises(UsageError, match="zones cannot be added: the name is taken"):
        bench.manager.add(Controller("zones", Calling(print)).watch(NODES))


def test_a_controller_without_a_source_is_refused(bench: Bench) -> None:
    controller = Controller("zones", Calling(print))

    with pytest.raises(UsageError, match="controller zones would never reconcile anything: call its `watch`"):
        bench.manager.add(controller)
    bench.manager.add(controller.receive(Channel(bench.host)))

    assert bench.manager.controllers == [controller]


@pytest.mark.scenario("MG-14")
@pytest.mark.parametrize("seed", range(20))
def test_starting_and_stopping_leaves_no_thread(seed: int) -> None:
    """Under many schedules, stopped at any moment while slow work runs, every thread ends and nothing fails."""
    with Simulation(seed) as sim:
        host = sim.host("r0")
        bench = Bench(sim, host, Manager(host, InProcessTransport(host, APIServer(host))), Stop(host))
        bench.create("a", "b")
        bench.manager.add(bench.notes("runnable"))
        bench.manager.add(bench.slow(2.0))
        host.spawn("manager", lambda: bench.manager.run(bench.stop))
        sim.advance(host.random.random() * 3.0 if seed % 4 else 0.0)

        bench.stop.set()
        sim.advance(60.0)

        assert sim.threads() == []


def test_on_the_real_machine_a_node_is_reconciled_and_everything_ends() -> None:
    host = SystemHost("real")
    manager, stop = Manager(host, InProcessTransport(host, APIServer(host))), Stop(host)
    manager.client.create(NODES, {"metadata": {"name": "a"}})
    manager.add(Controller("once", Calling(lambda request: stop.set())).watch(NODES))

    manager.run(stop)

    assert stop.is_set()
