# SPDX-License-Identifier: Apache-2.0
"""A manager that stops while its server is silent does not wait for running requests."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from apimachinery.host import Thread
from apimachinery.http import HTTPRequest
from apimachinery.stop import Stage, Stop, spawn
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.lifecycle import GIVE_UP_PERIOD
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.faults import Fault, FaultyTransport, LostRequest
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

GRACE = 2.0
REQUEST_TIMEOUT = 30.0


@attrs.frozen
class Patching(Reconciler):
    client: Client

    def reconcile(self, request: Request) -> Result:
        self.client.patch(NODES, request, {"metadata": {"labels": {"seen": "true"}}})
        return Result()


@attrs.frozen
class Registering:
    """A runnable that sends a write."""

    client: Client
    name: str = "registering"

    def run(self, stop: Stop) -> None:
        self.client.create(NODES, {"metadata": {"name": "late"}})


@attrs.frozen
class Late:
    """A runnable that does not get to run when it is cancelled, and sends a write a moment later."""

    host: SimulatedHost
    client: Client
    name: str = "late"

    def run(self, stop: Stop) -> None:
        stop.wait_until(None, Stage.CANCELLED)
        Stop(self.host, "starved").wait(0.2)
        self.client.create(NODES, {"metadata": {"name": "late"}})


@attrs.frozen
class Lifecycle:
    """A manager that runs, its stop, and the failure with which it ended in `outcome`."""

    stop: Stop
    outcome: Stop
    thread: Thread


def unanswered(is_lost: Callable[[HTTPRequest], bool]) -> Callable[[int, HTTPRequest], Fault | None]:
    return lambda number, request: LostRequest() if is_lost(request) else None


def is_watch(request: HTTPRequest) -> bool:
    return ("watch", "1") in request.query


def started(
    sim: Simulation,
    is_lost: Callable[[HTTPRequest], bool],
    *,
    writes: str = "",
    election: LeaderElectionConfig | None = None,
) -> Lifecycle:
    host: SimulatedHost = sim.host("r0")
    server = InProcessTransport(host, APIServer(host))
    Client(host, server).create(NODES, {"metadata": {"name": "node"}})
    manager = Manager(host, FaultyTransport(host, server, unanswered(is_lost)), grace=GRACE, leader_election=election)
    if writes == "runnable":
        manager.add(Registering(manager.client))
    elif writes == "late":
        manager.add(Late(host, manager.client))
    else:
        manager.add(Controller("seen", Patching(manager.client)).watch(NODES))
    stop, outcome = Stop(host), Stop(host, "outcome")
    thread = spawn(host, outcome, "manager", lambda: manager.run(stop))
    sim.advance(1.0)
    return Lifecycle(stop, outcome, thread)


@pytest.mark.parametrize(
    "is_lost",
    [
        pytest.param(lambda request: request.method == "GET" and not is_watch(request), id="list"),
        pytest.param(is_watch, id="opening of a stream"),
    ],
)
def test_a_cache_that_waits_for_an_answer_ends_at_once(sim: Simulation, is_lost: Callable[[HTTPRequest], bool]) -> None:
    program = started(sim, is_lost)

    program.stop.set()
    sim.settle()

    assert program.thread.join_until(sim.time)
    assert program.outcome.failure is None


@pytest.mark.parametrize("writes", ["controller", "runnable"])
def test_a_write_that_waits_for_an_answer_is_given_up_when_the_grace_ends(sim: Simulation, writes: str) -> None:
    program = started(sim, lambda request: request.method != "GET", writes=writes)

    program.stop.set()
    sim.advance(GRACE - 0.1)
    assert not program.thread.join_until(sim.time)
    sim.advance(0.2)

    assert program.thread.join_until(sim.time)
    assert program.outcome.failure is None


def test_a_write_that_begins_a_moment_after_the_others_were_given_up_is_given_up_too(sim: Simulation) -> None:
    program = started(sim, lambda request: request.method != "GET", writes="late")

    program.stop.set()
    sim.advance(GRACE + 2 * GIVE_UP_PERIOD)

    assert program.thread.join_until(sim.time)
    assert program.outcome.failure is None


@pytest.mark.parametrize("in_flight", [True, False], ids=["renewal in flight", "between two renewals"])
def test_a_leader_does_not_wait_long_to_give_its_lease_back(sim: Simulation, in_flight: bool) -> None:
    election = LeaderElectionConfig(name="seen", namespace="kube-system", retry_period=2.0)
    silent: list[str] = []
    program = started(sim, lambda request: bool(silent), election=election)

    silent.append("from now on")
    if in_flight:
        sim.advance(2.5)
    program.stop.set()
    sim.advance(2 * election.retry_period)

    assert program.thread.join_until(sim.time)
    assert program.outcome.failure is None
