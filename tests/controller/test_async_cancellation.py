# SPDX-License-Identifier: Apache-2.0
"""Coroutines are cancelled at their timeout and at the end of the grace, and those that ignore it are found."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest
from kit.coroutines import A, B, awaiting, counters_of

from apimachinery.errors import ControllerRuntimeError, LeadershipLost, ReconcileTimeout, TerminalError
from apimachinery.http import HTTPRequest
from apimachinery.log import fields_of, text_of
from apimachinery.stop import Stage, Stop
from controller_runtime.api.resources import NODES
from controller_runtime.client.async_client import AsyncClient
from controller_runtime.client.client import Client
from controller_runtime.controller.async_workers import CANCELLATION_IGNORED_AFTER
from controller_runtime.controller.loop_watchdog import LOOP_ASKED_EVERY, LOOP_BLOCKED_AFTER
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.manager.lifecycle import CANCEL_GRACE
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from controller_runtime.testing.faults import Delayed, Fault
from controller_runtime.testing.simulation import SimulatedHost

TIMEOUT = 5.0
SEEDS = pytest.mark.parametrize("simulation_seed", range(10))


async def forever(request: Request) -> None:
    await asyncio.Event().wait()


@SEEDS
def test_at_its_timeout_a_coroutine_is_cancelled_and_retried(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    reconciler, controller = awaiting(cluster, forever, reconcile_timeout=TIMEOUT)
    simulation.advance(TIMEOUT + 0.004)
    counters = counters_of(controller)

    assert (counters.timeouts, counters.errors, counters.panics, counters.active_workers) == (1, 1, 0, 0)
    assert "cancelled after 5 s, its timeout" in caplog.text
    simulation.advance(0.1)
    assert [began - reconciler.began[0][1] for _, began in reconciler.began] == [0.0, pytest.approx(TIMEOUT + 0.005)]
    simulation.advance(TIMEOUT)


def test_one_that_returns_when_it_is_cancelled_has_failed_all_the_same(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    async def give_up(request: Request) -> Result:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return Result(requeue_after=3600.0)

    _, controller = awaiting(cluster, give_up, reconcile_timeout=TIMEOUT)
    simulation.advance(TIMEOUT + 0.004)
    counters = counters_of(controller)

    assert (counters.timeouts, counters.errors, counters.requeue_after) == (1, 1, 0)
    assert counters.cancellations_ignored == 0
    simulation.advance(TIMEOUT)


def test_one_that_gives_up_for_good_when_it_is_cancelled_is_not_retried(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    async def give_up(request: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise TerminalError("hopeless")

    reconciler, controller = awaiting(cluster, give_up, reconcile_timeout=TIMEOUT)
    simulation.advance(1000.0)

    assert len(reconciler.began) == 1
    assert (counters_of(controller).timeouts, counters_of(controller).terminal_errors) == (1, 1)


def test_a_timeout_of_its_own_inside_is_no_timeout_of_the_reconcile(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    async def bounded(request: Request) -> None:
        try:
            async with asyncio.timeout(1.0):
                await asyncio.Event().wait()
        except TimeoutError:
            return

    _, controller = awaiting(cluster, bounded, reconcile_timeout=TIMEOUT)
    simulation.advance(2.0)

    assert (counters_of(controller).timeouts, counters_of(controller).success) == (0, 1)


@SEEDS
def test_one_that_goes_on_is_named_keeps_its_key_and_cannot_write(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The key is requested again meanwhile, and reconciled once the coroutine has ended, not before."""
    refused: list[str] = []

    async def stubborn_work(request: Request) -> None:
        if refused:
            return
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(60.0)
        try:
            await cluster.manager.async_client.create(NODES, a_node("late"))
        except ReconcileTimeout as error:
            refused.append(str(error))

    reconciler, controller = awaiting(cluster, stubborn_work, workers=2, reconcile_timeout=TIMEOUT)
    simulation.advance(TIMEOUT + CANCELLATION_IGNORED_AFTER - 0.1)
    assert "goes on" not in caplog.text
    simulation.advance(0.2)

    (record,) = [record for record in caplog.records if "goes on though it was cancelled" in text_of(record)]
    fields = fields_of(record)
    assert (record.levelno, fields["controller"], fields["request"]) == (logging.WARNING, "kettle", A)
    assert "in stubborn_work" in fields["stack"]
    assert "await asyncio.sleep(60.0)" in fields["stack"]
    assert counters_of(controller).cancellations_ignored == 1

    controller.every(10.0, lambda: [A])
    simulation.advance(40.0)
    assert len(reconciler.began) == 1
    assert counters_of(controller).active_workers == 1

    simulation.advance(20.0)
    assert reconciler.overlaps == []
    assert len(reconciler.began) > 1
    assert len(refused) == 1
    assert "was not sent" in refused[0]
    assert cluster.user.list(NODES) == []


@SEEDS
def test_a_stop_lets_coroutines_finish_and_begins_no_other(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("r0"))
    ended: list[Request] = []

    async def work(request: Request) -> None:
        await asyncio.sleep(10.0)
        ended.append(request)

    reconciler, controller = awaiting(cluster, work, A, B)
    simulation.advance(1.0)
    cluster.stop()

    assert len(reconciler.began) == 1
    assert ended == [reconciler.began[0][0]]
    assert counters_of(controller).success == 1
    assert [name for name in simulation.threads() if name.startswith("r0/")] == []


def end_of(simulation: Simulation, cluster: EmbeddedCluster) -> float:
    """Stop the cluster, and return how many virtual seconds that took."""
    began = simulation.time
    cluster.stop()
    return simulation.time - began


@SEEDS
def test_after_the_grace_coroutines_are_cancelled(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("r0"))
    _, controller = awaiting(cluster, forever, A, B, workers=2)
    simulation.advance(1.0)

    assert end_of(simulation, cluster) == pytest.approx(20.0)
    assert {outcome.name: n for outcome, n in counters_of(controller).outcomes.items() if n} == {"CANCELLED": 2}
    assert [name for name in simulation.threads() if name.startswith("r0/")] == []


@SEEDS
def test_a_write_in_flight_does_not_delay_the_cancellation(simulation: Simulation) -> None:
    """It is waited for, but the manager gives up its requests when it cancels."""

    def never(number: int, request: HTTPRequest) -> Fault | None:
        return Delayed(1e5) if request.method == "POST" else None

    cluster = EmbeddedCluster(simulation.host("r0"), faults=never)
    # A timeout of its own does not end it.
    client = AsyncClient(Client(cluster.host, cluster.manager.transport, request_timeout=1e6))

    async def write(request: Request) -> None:
        await client.create(NODES, a_node("a"))

    awaiting(cluster, write)
    simulation.advance(1.0)

    assert end_of(simulation, cluster) <= 20.0 + CANCEL_GRACE


@SEEDS
def test_one_that_ignores_the_end_is_reported_as_stuck_with_its_stack(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("r0"))

    async def stubborn_work(request: Request) -> None:
        while True:
            try:
                await asyncio.sleep(3600.0)
            except asyncio.CancelledError:
                continue

    awaiting(cluster, stubborn_work)
    simulation.advance(1.0)

    with pytest.raises(ControllerRuntimeError, match="still running after a grace of 20 s, though cancelled") as caught:
        cluster.stop()
    assert "kettle/loop" in str(caught.value)
    (note,) = (note for note in caught.value.__notes__ if "stands at" in note)
    assert "coroutine kettle/a\n" in note
    assert "in stubborn_work" in note


@SEEDS
def test_when_the_leadership_is_lost_coroutines_are_cancelled_at_once(simulation: Simulation) -> None:
    """And nothing that they try to write then is sent."""
    cluster = EmbeddedCluster(simulation.host("r0"))
    errors: list[str] = []

    async def work(request: Request) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            errors.append(f"{simulation.time:.0f}")

    awaiting(cluster, work)
    simulation.advance(3.0)
    cluster.host.spawn("loses", lambda: cluster.manager.stopping.fail(LeadershipLost("lost"), Stage.CANCELLED))
    simulation.advance(0.5)

    assert errors == ["3"]
    with pytest.raises(LeadershipLost):
        cluster.stop()


def block(host: SimulatedHost, seconds: float) -> None:
    """Wait as `time.sleep` does: on the thread, so that the event loop stands still."""
    Stop(host, "blocks the loop").wait(seconds)


@SEEDS
def test_a_coroutine_that_blocks_the_loop_is_found(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def compute(request: Request) -> None:
        block(cluster.host, 20.0)

    awaiting(cluster, compute)
    simulation.advance(LOOP_BLOCKED_AFTER - 0.1)
    assert "blocked" not in caplog.text
    simulation.advance(LOOP_ASKED_EVERY + 0.2)

    (record,) = [record for record in caplog.records if text_of(record).startswith("event loop blocked")]
    fields = fields_of(record)
    assert (record.levelno, fields["controller"], fields["coroutine"]) == (logging.WARNING, "kettle", "kettle/a")
    assert "in compute" in fields["stack"]
    assert "block(cluster.host, 20.0)" in fields["stack"]
    simulation.advance(20.0)
    assert [text_of(record) for record in caplog.records].count("event loop goes on") == 1
    assert sum(text_of(record).startswith("event loop blocked") for record in caplog.records) == 1


def test_a_loop_that_only_waits_is_not_taken_for_blocked(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    awaiting(cluster, lambda request: asyncio.sleep(600.0))
    simulation.advance(700.0)

    assert "blocked" not in caplog.text


def test_an_idle_controller_is_not_asked_for_answers(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    awaiting(cluster, lambda request: asyncio.sleep(0.0))
    simulation.advance(5.0)
    before = simulation.steps
    simulation.advance(100.0)

    assert simulation.steps - before < 50
