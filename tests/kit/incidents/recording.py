# SPDX-License-Identifier: Apache-2.0
"""A manager that records, on an embedded server in the same simulation, and reconcilers made of functions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import attrs

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport, TransportWrapper
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result
from controller_runtime.incidents.finished import Kept
from controller_runtime.incidents.options import Incidents
from controller_runtime.incidents.recorder import Recorder
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controller_runtime.testing.webhooks import install_declared
from embedded_apiserver import APIServer

A = ObjectKey("a", "default")

Act = Callable[[Manager, Request], Result | None]


@attrs.frozen
class Acting(Reconciler):
    """Calls a function."""

    manager: Manager
    act: Act

    def reconcile(self, request: Request) -> Result:
        return self.act(self.manager, request) or Result()


@attrs.frozen
class ActingLater(AsyncReconciler):
    """Awaits a function."""

    manager: Manager
    act: Callable[[Manager, Request], Awaitable[Result | None]]

    async def reconcile(self, request: Request) -> Result:
        return await self.act(self.manager, request) or Result()


def acting(act: Act, **options: Any) -> Setup:
    """Return a setup with one controller, `maps`, that calls a function for each config map of `default`."""

    def setup(manager: Manager) -> None:
        controller = Controller("maps", Acting(manager, act), may_wake_itself=True, **options)
        manager.add(controller.watch(CONFIG_MAPS, namespace="default"))

    return setup


def acting_later(act: Callable[[Manager, Request], Awaitable[Result | None]], **options: Any) -> Setup:
    """Return the same with a coroutine."""

    def setup(manager: Manager) -> None:
        controller = Controller("maps", ActingLater(manager, act), may_wake_itself=True, **options)
        manager.add(controller.watch(CONFIG_MAPS, namespace="default"))

    return setup


class Failing(TransportWrapper):
    """A transport of which a test decides which requests fail, by an answer or an error."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.fail: Callable[[HTTPRequest], HTTPResponse | Exception | None] = lambda request: None

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        failure = self.fail(request)
        if isinstance(failure, Exception):
            raise failure
        return failure or self.inner.request(request, deadline)


@attrs.define
class Recording:
    """A manager that records, and the server that it runs on."""

    simulation: Simulation
    host: SimulatedHost
    server: APIServer
    user: Client
    transport: Failing
    manager: Manager
    stop: Stop

    @classmethod
    def of(cls, simulation: Simulation, setup: Setup, incidents: Incidents | None = None) -> Self:
        host = simulation.host("program")
        server = APIServer(host)
        transport = Failing(InProcessTransport(host, server))
        manager = Manager(host, transport, incidents=incidents or Incidents())
        setup(manager)
        user = Client(host, InProcessTransport(host, server))
        install_declared(manager, user)
        return cls(simulation, host, server, user, transport, manager, Stop(host, "stop of a recording"))

    @property
    def recorder(self) -> Recorder:
        assert self.manager.incident_recorder is not None
        return self.manager.incident_recorder

    def start(self) -> None:
        spawn(self.host, self.stop, "manager", lambda: self.manager.run(self.stop))
        self.simulation.settle()

    def create(self, name: str = "a", data: Mapping[str, str] | None = None) -> None:
        self.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}, "data": data or {}})
        self.simulation.settle()

    def first(self) -> Kept:
        """Return the first reconcile that was recorded; its writes cause others."""
        return self.recorder.all()[-1]


@contextmanager
def recorded(setup: Setup, incidents: Incidents | None = None, *, seed: int = 0) -> Iterator[Recording]:
    """Run a manager that records, in a simulation of its own."""
    with Simulation(seed) as simulation:
        recording = Recording.of(simulation, setup, incidents)
        recording.start()
        yield recording
        recording.stop.set()
        simulation.settle()
