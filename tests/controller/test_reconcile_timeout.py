# SPDX-License-Identifier: Apache-2.0
"""A reconcile is bounded by a deadline, and its outcome is defined when the deadline has passed."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from apimachinery.errors import ConnectionLost, ReconcileTimeout, TerminalError
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.counters import ReconcileCounters
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.deadline import reconcile_deadline
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.faults import LostRequest

TIMEOUT = 5.0


@attrs.frozen
class Calling(Reconciler):
    """Calls a function, and notes when it began and what it returned or raised."""

    manager: Manager
    function: Callable[[Manager], Result]
    began: list[float] = attrs.field(factory=list)
    raised: list[Exception] = attrs.field(factory=list)

    def reconcile(self, request: Request) -> Result:
        self.began.append(self.manager.host.monotonic())
        try:
            return self.function(self.manager)
        except Exception as error:
            self.raised.append(error)
            raise


def start(cluster: EmbeddedCluster, function: Callable[[Manager], Result]) -> tuple[Calling, Controller]:
    """Start a controller that reconciles one request at once."""
    calling = Calling(cluster.manager, function)
    controller = Controller("slow", calling, reconcile_timeout=TIMEOUT).every(1e6, lambda: [ObjectKey("a")])
    cluster.manager.add(controller)
    cluster.start()
    return calling, controller


def counters_of(controller: Controller) -> ReconcileCounters:
    counters = controller.counters()
    assert counters is not None
    return counters[0]


def wait(manager: Manager, seconds: float) -> None:
    Stop(manager.host, "never").wait(seconds)


@pytest.mark.scenario("CT-09")
def test_a_reconcile_that_waits_for_its_deadline_has_failed_and_is_retried(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    """It can see its deadline. Though it returned, it counts as an error and a timeout, and is retried with a delay."""

    def until_deadline(manager: Manager) -> Result:
        deadline = reconcile_deadline()
        assert deadline is not None
        wait(manager, deadline - manager.host.monotonic())
        return Result(requeue_after=3600.0)

    calling, controller = start(cluster, until_deadline)
    simulation.advance(TIMEOUT + 0.004)
    counters = counters_of(controller)

    assert (counters.timeouts, counters.errors, counters.requeue_after, counters.panics) == (1, 1, 0, 0)
    simulation.advance(0.002)
    assert len(calling.began) == 2
    simulation.advance(TIMEOUT)


def test_one_that_ends_in_time_is_no_timeout(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    def in_time(manager: Manager) -> Result:
        wait(manager, TIMEOUT - 0.5)
        return Result()

    _, controller = start(cluster, in_time)
    simulation.advance(TIMEOUT)

    assert (counters_of(controller).timeouts, counters_of(controller).success) == (0, 1)


def test_no_request_waits_longer_than_what_is_left(simulation: Simulation) -> None:
    """The server is silent. The client's timeout is 30 s; the reconcile has 5 s, of which 2 s have passed."""
    host = simulation.host("r0")
    with EmbeddedCluster(host, faults=lambda number, request: LostRequest()) as cluster:
        ended: list[float] = []

        def ask(manager: Manager) -> Result:
            wait(manager, 2.0)
            try:
                manager.client.get(NODES, ObjectKey("a"))
            finally:
                ended.append(manager.host.monotonic())
            return Result()

        calling, controller = start(cluster, ask)
        simulation.advance(TIMEOUT)

        assert ended[0] - calling.began[0] == pytest.approx(TIMEOUT)
        assert isinstance(calling.raised[0], ConnectionLost)
        assert (counters_of(controller).timeouts, counters_of(controller).errors) == (1, 1)
        simulation.advance(TIMEOUT)


def test_past_the_deadline_nothing_is_sent(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    def late(manager: Manager) -> Result:
        wait(manager, TIMEOUT + 1.0)
        manager.client.delete(NODES, ObjectKey("a"))
        return Result()

    calling, controller = start(cluster, late)
    simulation.advance(TIMEOUT + 1.0)

    assert [type(error) for error in calling.raised] == [ReconcileTimeout]
    assert "DELETE /api/v1/nodes/a was not sent" in str(calling.raised[0])
    assert not [request for request in cluster.transport.requests if request.method == "DELETE"]
    assert (counters_of(controller).timeouts, counters_of(controller).errors) == (1, 1)
    simulation.advance(TIMEOUT + 2.0)


def test_one_that_gave_up_for_good_is_not_retried_though_it_was_late(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    def give_up(manager: Manager) -> Result:
        wait(manager, TIMEOUT)
        raise TerminalError("hopeless")

    calling, controller = start(cluster, give_up)
    simulation.advance(1000.0)

    assert len(calling.began) == 1
    assert (counters_of(controller).timeouts, counters_of(controller).terminal_errors) == (1, 1)


def test_a_cache_that_a_reconcile_asks_for_first_outlives_its_deadline(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    """The deadline bounds the reconcile's own requests, not those of a cache's threads."""

    def ask(manager: Manager) -> Result:
        manager.lister(NODES)
        return Result()

    start(cluster, ask)
    simulation.advance(10 * TIMEOUT)
    cluster.user.create(NODES, {"metadata": {"name": "a"}})
    simulation.settle()

    assert len(cluster.manager.lister(NODES)) == 1


def test_outside_of_a_reconcile_there_is_no_deadline(cluster: EmbeddedCluster) -> None:
    assert reconcile_deadline() is None
