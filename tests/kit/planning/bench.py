# SPDX-License-Identifier: Apache-2.0
"""A cluster on which programs are planned, and the requests that reach its server meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from apimachinery.http import HTTPRequest
from apimachinery.stop import Stop
from controller_runtime import Client, Manager
from controller_runtime.planning.plan_pass import PlanPass
from controller_runtime.planning.report import PlanReport, report_of
from controller_runtime.testing import InProcessTransport, RecordingTransport, Simulation
from embedded_apiserver import APIServer


@attrs.define
class PlanBench:
    """Plans programs on one server. Threads: one."""

    sim: Simulation
    server: APIServer
    user: Client
    requests: list[HTTPRequest] = attrs.field(factory=list)
    _numbers: Iterator[int] = attrs.field(factory=itertools.count, init=False)

    @classmethod
    def of(cls, sim: Simulation) -> PlanBench:
        """Return a bench on an empty server."""
        host = sim.host("server")
        server = APIServer(host)
        return cls(sim, server, Client(host, InProcessTransport(host, server)))

    def plan(
        self, setup: Callable[[Manager], None], allowed: Iterable[str] = (), stop_after: int | None = None
    ) -> PlanReport:
        """Return the plan of a program, and raise what it raised; `requests` are those of the program.

        Args:
            setup: Fills its manager.
            allowed: The hosts, paths of sockets and programs outside that it may call.
            stop_after: The seconds after which it is stopped; None lets it end.
        """
        host = self.sim.host(f"plan-{next(self._numbers)}")
        self.requests, stop = [], Stop(host)
        transport = RecordingTransport(InProcessTransport(host, self.server), self.requests)
        found: list[PlanReport | BaseException] = []

        def run() -> None:
            try:
                found.append(self._run(host, stop, transport, setup, allowed))
            except Exception as error:  # noqa: BLE001  raised where the test waits
                found.append(error)

        host.spawn("plan", run)
        seconds = 0
        while not found:
            if seconds == stop_after:
                stop.set()
            self.sim.advance(1.0)
            seconds += 1
        [end] = found
        if isinstance(end, BaseException):
            raise end
        return end

    def _run(
        self,
        host: Any,
        stop: Stop,
        transport: RecordingTransport,
        setup: Callable[[Manager], None],
        allowed: Iterable[str],
    ) -> PlanReport:
        one = PlanPass(host, transport, stop, allowed)
        with one.isolated():
            manager = Manager(host, one.transport)
            with one.filling(manager):
                setup(manager)
            return report_of(one.run(manager))
