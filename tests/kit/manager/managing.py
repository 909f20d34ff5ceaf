# SPDX-License-Identifier: Apache-2.0
"""A manager on the embedded server in a simulation, with members that note their calls."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from apimachinery.host import Thread
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop, spawn
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@attrs.frozen
class Calling(Reconciler):
    """Calls a function."""

    function: Callable[[Request], object]

    def reconcile(self, request: Request) -> Result:
        self.function(request)
        return Result()


@attrs.frozen
class Running:
    """A runnable that calls a function."""

    name: str
    run: Callable[[Stop], object]


@attrs.define
class Bench:
    """A server, a manager on it, the thread that runs the manager, and the error with which it ended."""

    sim: Simulation
    host: SimulatedHost
    manager: Manager
    stop: Stop
    log: list[str] = attrs.field(factory=list)
    thread: Thread | None = None
    outcome: Stop = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.outcome = Stop(self.host, "outcome")

    @property
    def failure(self) -> BaseException | None:
        return self.outcome.failure

    @property
    def ended(self) -> bool:
        return self.thread is not None and self.thread.join_until(self.host.monotonic())

    def create(self, *names: str) -> None:
        for name in names:
            self.manager.client.create(NODES, {"metadata": {"name": name}})

    def start(self) -> None:
        self.thread = spawn(self.host, self.outcome, "manager", lambda: self.manager.run(self.stop))
        self.sim.advance(0.1)

    def finish(self) -> None:
        self.stop.set()
        self.sim.advance(60.0)
        assert self.ended

    def notes(self, name: str) -> Running:
        """Return a runnable that notes its start and its end."""

        def run(stop: Stop) -> None:
            self.log.append(f"{name} starts")
            stop.wait_until(None)
            self.log.append(f"{name} ends")

        return Running(name, run)

    def slow(self, seconds: float) -> Controller:
        """Return a controller whose reconciles take long, and end when they are cancelled."""

        def work(key: ObjectKey) -> None:
            self.log.append(f"{key} begins")
            deadline = self.host.monotonic() + seconds
            while self.host.monotonic() < deadline:
                self.manager.stopping.raise_if_cancelled()
                asleep.wait(0.5)
            self.log.append(f"{key} ends")

        asleep = Stop(self.host, "asleep")
        return Controller("slow", Calling(work)).watch(NODES)
