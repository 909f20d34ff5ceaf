# SPDX-License-Identifier: Apache-2.0
"""A cache of config maps that keeps the metadata of all and the bodies of some, on an embedded server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NAMESPACES
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.body_cache import BodyCache
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import TransportWrapper
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

A = ObjectKey("a", "x")


class Asked(TransportWrapper):
    """Notes the requests for bodies; the watch of the collection is not among them."""

    def __init__(self, inner: InProcessTransport) -> None:
        super().__init__(inner)
        self.gets: list[str] = []
        self.pages: list[dict[str, str]] = []
        self.lists: list[str] = []
        self.before_answer: Callable[[], object] = lambda: None
        self.answer: Callable[[HTTPResponse], HTTPResponse] = lambda answer: answer

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.path.endswith("/configmaps"):
            if "PartialObjectMetadata" not in request.headers["accept"]:
                self.lists.append(request.path)
                self.pages.append(dict(request.query))
            return super().request(request, deadline)
        self.gets.append(request.path.rpartition("/")[2])
        self.before_answer()
        return self.answer(super().request(request, deadline))


class Scene:
    """Config maps at a server, and a program that caches them with the bodies of some."""

    def __init__(self, sim: Simulation, bodies: Bodies, **options: Any) -> None:
        self.sim, self.host = sim, sim.host("r0")
        self.stop = Stop(self.host)
        self.server = APIServer(sim.host("server"), history=History(changes=1000))
        self.user = Client(self.host, InProcessTransport(self.host, self.server))
        self.asked = Asked(InProcessTransport(self.host, self.server))
        self.informers = Informers(self.host, self.asked, CacheOptions(bodies=bodies, **options))
        self.cache = self.informer()
        self.lister: Lister[dict[str, Any]] = Lister(self.cache.reads, CONFIG_MAPS, dict)

    @property
    def kept(self) -> BodyCache:
        assert self.cache.bodies is not None
        return self.cache.bodies.kept

    def informer(self, namespace: str = "", label_selector: str = "") -> Informer:
        return self.informers.of(Collection(CONFIG_MAPS, namespace, label_selector))

    def create(self, *names: str, namespace: str = "x", **labels: str) -> None:
        for name in names:
            body = {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": {"is": "new"}}
            self.user.create(CONFIG_MAPS, body)

    def patch(self, name: str, data: str) -> None:
        self.user.patch(CONFIG_MAPS, ObjectKey(name, "x"), {"data": {"is": data}})

    def start(self) -> None:
        self.informers.start(self.stop)
        self.settle()
        assert all(informer.has_synced() for informer in self.informers)

    def settle(self) -> None:
        self.sim.advance(2.0)

    def read(self, key: ObjectKey = A) -> str | None:
        found = self.lister.get(key)
        return None if found is None else found["data"]["is"]


MakeScene = Callable[..., Scene]


@contextmanager
def scenes(sim: Simulation) -> Iterator[MakeScene]:
    """Return what makes scenes, from bodies and further options of a cache; all are ended at the end of the context."""
    made: list[Scene] = []

    def make(bodies: Bodies | None = None, **options: Any) -> Scene:
        made.append(Scene(sim, bodies or Bodies(), **options))
        for namespace in ("x", "y"):
            made[-1].user.create(NAMESPACES, {"metadata": {"name": namespace}})
        return made[-1]

    yield make
    for each in made:
        assert not each.stop.is_set(), "a thread of the program failed"
        each.stop.set()
        sim.settle()
        assert each.informers.join_until(each.host.monotonic() + 1.0) == []
        each.server.close()
