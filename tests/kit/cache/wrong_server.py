# SPDX-License-Identifier: Apache-2.0
"""A server that always does the same wrong thing, and an informer at work on it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from apimachinery.host import Host
from apimachinery.http import HTTPRequest
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.patience import Patience
from controller_runtime.manager.problems import problem_of
from controller_runtime.testing.simulation import Simulation
from kit.cache.scripted import Act, Answer, ScriptedServer, Watched

Behaviour = Callable[[str, int], Act]
"""Returns the act for a request (`list`, `stream` or `watch`); the number is the version to use."""


class WrongServer(ScriptedServer):
    """Answers every request by one rule."""

    def __init__(self, host: Host, behaviour: Behaviour) -> None:
        super().__init__(host)
        self._behaviour = behaviour

    def _next(self, request: HTTPRequest, over: Act) -> Answer | Watched:
        query = dict(request.query)
        kind = "stream" if "sendInitialEvents" in query else "watch" if "watch" in query else "list"
        self.then(self._behaviour(kind, 10 + len(self.asked)))
        return super()._next(request, over)


def most_in_a_minute(times: Sequence[float]) -> int:
    return max(bisect_left(times, start + 60.0) - index for index, start in enumerate(times))


class Program:
    """An informer at work on such a server."""

    def __init__(self, sim: Simulation, behaviour: Behaviour, patience: Patience | None = None) -> None:
        self.host = sim.host("r0")
        self.server = WrongServer(self.host, behaviour)
        informers, stop = (
            Informers(self.host, self.server, CacheOptions(patience=patience or Patience())),
            Stop(self.host),
        )
        self.informer = informers.of(Collection(NODES))
        informers.start(stop)
        sim.check_end(lambda: stop.set() or sim.settle())  # type: ignore[arg-type]

    @property
    def problem(self) -> str:
        return problem_of(self.informer, self.host)
