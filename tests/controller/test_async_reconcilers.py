# SPDX-License-Identifier: Apache-2.0
"""A reconciler that is a coroutine has the outcomes of any other, and shares one event loop with its like."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from kit.coroutines import A, Awaiting, B, awaiting, counters_of

from apimachinery.errors import Cancelled, ConnectionLost, TerminalError, UsageError
from apimachinery.log import bound_fields, fields_of, text_of
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result
from controller_runtime.core.deadline import reconcile_deadline
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node

KEYS = [ObjectKey(f"key-{number}") for number in range(20)]


def failing(error: BaseException) -> Callable[[Request], Awaitable[Any]]:
    async def fail(request: Request) -> None:
        raise error

    return fail


def giving(result: object) -> Callable[[Request], Awaitable[Any]]:
    async def give(request: Request) -> object:
        return result

    return give


@pytest.mark.parametrize(
    ("function", "outcome"),
    [
        pytest.param(giving(Result()), Outcome.SUCCESS, id="success"),
        pytest.param(giving(Result(requeue_after=1e6)), Outcome.REQUEUE_AFTER, id="requeue"),
        pytest.param(giving("nonsense"), Outcome.PANIC, id="no result"),
        pytest.param(failing(ConnectionLost("cut")), Outcome.ERROR, id="error"),
        pytest.param(failing(TerminalError("hopeless")), Outcome.TERMINAL_ERROR, id="terminal"),
        pytest.param(failing(KeyError("bug")), Outcome.PANIC, id="bug"),
        pytest.param(failing(SystemExit(3)), Outcome.PANIC, id="exits"),
        pytest.param(failing(Cancelled("given up")), Outcome.CANCELLED, id="cancelled"),
        pytest.param(failing(asyncio.CancelledError()), Outcome.PANIC, id="a cancellation that nothing asked for"),
        pytest.param(failing(ExceptionGroup("two", [TerminalError("x")])), Outcome.TERMINAL_ERROR, id="group"),
    ],
)
@pytest.mark.embedded_cluster(allow_panics=True)
def test_the_end_of_a_coroutine_counts_as_that_of_a_thread(
    simulation: Simulation,
    cluster: EmbeddedCluster,
    function: Callable[[Request], Awaitable[Any]],
    outcome: Outcome,
    caplog: pytest.LogCaptureFixture,
) -> None:
    _, controller = awaiting(cluster, function)
    simulation.settle()

    counters = counters_of(controller)
    assert counters.outcomes == {**dict.fromkeys(Outcome, 0), outcome: 1}
    assert (counters.active_workers, counters.durations.count) == (0, 1)
    assert any(record.exc_info for record in caplog.records) is (outcome is Outcome.PANIC)


def test_a_failure_is_retried_until_it_succeeds(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    async def fail_twice(request: Request) -> None:
        if len(reconciler.began) <= 2:
            raise ConnectionLost("cut")

    reconciler, controller = awaiting(cluster, fail_twice)
    simulation.advance(1.0)

    assert (counters_of(controller).errors, counters_of(controller).success) == (2, 1)


@pytest.mark.parametrize("simulation_seed", range(10))
@pytest.mark.parametrize("workers", [1, 3, 50])
def test_workers_bound_how_many_coroutines_run_at_a_time(
    simulation: Simulation, cluster: EmbeddedCluster, workers: int
) -> None:
    reconciler, controller = awaiting(cluster, lambda request: asyncio.sleep(1.0), *KEYS, workers=workers)
    simulation.advance(20.5)

    assert reconciler.most == min(workers, len(KEYS))
    assert counters_of(controller).success == len(KEYS)


def test_hundreds_of_workers_cost_three_threads(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    awaiting(cluster, lambda request: asyncio.sleep(1.0), *KEYS, workers=500)
    simulation.advance(0.5)

    threads = [name for name in simulation.threads() if "kettle" in name]
    assert sorted(threads) == [f"cluster/kettle/{part}" for part in ("dispatch", "every", "loop", "watchdog")]
    simulation.advance(1.0)


@pytest.mark.parametrize("simulation_seed", range(20))
def test_one_key_is_never_reconciled_twice_at_a_time(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    """Though its object changes all the time; and the last change is seen."""
    seen: list[str] = []
    nodes = cluster.manager.lister(NODES, dict)

    async def look(request: Request) -> None:
        node = nodes.get(request)
        seen.append(node["metadata"]["labels"]["number"] if node else "")
        await asyncio.sleep(0.01)

    reconciler = Awaiting(cluster.manager, look)
    cluster.manager.add(Controller("kettle", reconciler, workers=4).watch(NODES))
    cluster.start()
    cluster.user.create(NODES, a_node("a", labels={"number": "0"}))
    for number in range(30):
        cluster.user.patch(NODES, A, {"metadata": {"labels": {"number": str(number)}}})
        simulation.advance(0.003)
    simulation.advance(1.0)

    assert reconciler.overlaps == []
    assert seen[-1] == "29"


def test_a_coroutine_sees_its_own_log_fields_and_deadline_and_so_do_its_tasks(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    """Two run at the same time, and neither sees what the other has bound or set."""
    variable = contextvars.ContextVar("variable", default="unset")
    seen: dict[ObjectKey, list[object]] = {A: [], B: []}

    async def look(request: Request) -> None:
        deadline = reconcile_deadline()
        assert deadline is not None
        began = cluster.host.monotonic()
        seen[request].append((variable.get(), bound_fields()["request"], deadline - began))
        variable.set(request.name)
        await asyncio.sleep(1.0)
        async with asyncio.TaskGroup() as group:
            group.create_task(look_again(request))

    async def look_again(request: Request) -> None:
        seen[request].append((variable.get(), bound_fields()["request"], bound_fields()["controller"]))

    awaiting(cluster, look, A, B, workers=2, reconcile_timeout=5.0)
    simulation.advance(2.0)

    for key in (A, B):
        assert seen[key] == [("unset", key, pytest.approx(5.0)), (key.name, key, "kettle")]


def test_lines_about_a_reconcile_name_controller_request_and_number(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        awaiting(cluster, lambda request: asyncio.sleep(1.0))
        simulation.advance(2.0)

    (record,) = [record for record in caplog.records if text_of(record) == "reconciled"]
    assert fields_of(record) == {
        "controller": "kettle",
        "request": A,
        "reconcile": 1,
        "causes": (("every 1e+06 s", None, "", 1),),
        "took": pytest.approx(1.0),
    }


class Async(Reconciler):
    """A mistake."""

    async def reconcile(self, request: Request) -> Result:
        return Result()


class Generator(Reconciler):
    """A worse one."""

    async def reconcile(self, request: Request) -> AsyncIterator[Result]:
        yield Result()


class Sync(AsyncReconciler):
    """The opposite mistake."""

    def reconcile(self, request: Request) -> Result:
        return Result()


@pytest.mark.parametrize(
    ("reconciler", "message"),
    [
        (Async(), "kettle: `reconcile` of Async is an `async def`: derive Async from AsyncReconciler"),
        (Generator(), "kettle: `reconcile` of Generator is an `async def`: derive Generator from AsyncReconciler"),
        (Sync(), "kettle: Sync is an AsyncReconciler, so its `reconcile` must be an `async def`"),
    ],
)
def test_the_wrong_kind_is_refused_when_the_controller_is_made(
    reconciler: Reconciler | AsyncReconciler, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Controller("kettle", reconciler)

    assert str(caught.value) == message


@pytest.mark.parametrize("simulation_seed", range(10))
def test_the_reconciler_is_closed_on_its_loop_after_the_last_reconcile(simulation: Simulation) -> None:
    story: list[str] = []
    loops: set[int] = set()

    class Closing(AsyncReconciler):
        async def reconcile(self, request: Request) -> Result:
            loops.add(id(asyncio.get_running_loop()))
            await asyncio.sleep(1.0)
            story.append("reconciled")
            return Result()

        async def close(self) -> None:
            loops.add(id(asyncio.get_running_loop()))
            await asyncio.sleep(1.0)
            story.append("closed")

    with EmbeddedCluster(simulation.host("r0")) as cluster:
        cluster.manager.add(Controller("kettle", Closing(), workers=2).every(1e6, lambda: [A, B]))
        cluster.start()
        simulation.advance(0.5)

    assert story == ["reconciled", "reconciled", "closed"]
    assert len(loops) == 1


@pytest.mark.parametrize("simulation_seed", range(10))
def test_tasks_that_a_reconcile_leaves_behind_are_cancelled_at_the_end(simulation: Simulation) -> None:
    ended: list[str] = []
    left: list[asyncio.Task[None]] = []

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def leave(request: Request) -> None:
        left.append(asyncio.create_task(wait()))
        await asyncio.sleep(0.1)

    with EmbeddedCluster(simulation.host("r0")) as cluster:
        awaiting(cluster, leave)
        simulation.advance(1.0)

    assert ended == ["cancelled"]


class BrokenLimiter:
    """A rate limiter with a bug."""

    def when(self, item: object, now: float) -> float:
        raise ZeroDivisionError

    def forget(self, item: object) -> None:
        """Do nothing."""

    def num_requeues(self, item: object) -> int:
        return 0


def test_a_reconcile_that_cannot_be_settled_stops_the_manager(simulation: Simulation) -> None:
    """As it does if the reconciler is no coroutine: nothing could retry the request."""
    cluster = EmbeddedCluster(simulation.host("r0"))
    awaiting(cluster, failing(ConnectionLost("cut")), limiter=BrokenLimiter())
    simulation.advance(1.0)

    with pytest.raises(ZeroDivisionError):
        cluster.stop()
