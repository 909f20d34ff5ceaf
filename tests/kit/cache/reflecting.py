# SPDX-License-Identifier: Apache-2.0
"""A reflector at work against a scripted server."""

from __future__ import annotations

from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.reflector import Reflector
from controller_runtime.cache.store import Store
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.core.backoff import Backoff
from controller_runtime.testing.simulation import Simulation
from kit.cache.scripted import Act, ScriptedServer


class Scene:
    """A reflector at work against a script. It begins at any version, which tells first lists from others."""

    def __init__(
        self,
        sim: Simulation,
        *script: Act,
        streaming: bool = True,
        any_version: bool = True,
        page_size: int = 500,
        **backoff: float,
    ) -> None:
        self.sim = sim
        self.host = sim.host("r0")
        self.server = ScriptedServer(self.host, *script)
        self.store = Store(self.host)
        source = ListWatch(self.host, self.server, Collection(NODES), page_size=page_size)
        patience = Patience(backoff=Backoff(**backoff))
        self.reachable = ServerReachable(self.host)
        options = CacheOptions(
            streaming=streaming, any_version=any_version, patience=patience, reachable=self.reachable
        )
        self.reflector = Reflector(self.host, source, self.store, options)
        self.stop = Stop(self.host)
        self.thread = self.host.spawn("reflector", lambda: self.reflector.run(self.stop))
        sim.settle()

    def then(self, *script: Act, seconds: float = 60.0) -> None:
        """Append acts to the script, and let some time pass."""
        self.server.then(*script)
        self.sim.advance(seconds)

    @property
    def held(self) -> dict[str, str]:
        """Return the versions of the objects in the store, by name."""
        return {obj.name: obj.resource_version for obj in self.store.list()}
