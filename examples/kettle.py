# SPDX-License-Identifier: Apache-2.0
"""Boils each node's water: a hundred coroutines wait at a time, on three threads: `python examples/kettle.py`."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import attrs

from controller_runtime import AsyncClient, AsyncReconciler, Controller, Manager, Request, Result, SystemHost
from controller_runtime.errors import NotFound
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster, a_node


@attrs.frozen
class Kettle(AsyncReconciler):
    client: AsyncClient
    seconds: float

    async def reconcile(self, request: Request) -> Result:
        await asyncio.sleep(self.seconds)  # or any other coroutine: a request of aiohttp, a query of a database
        with suppress(NotFound):  # the node was deleted meanwhile
            await self.client.patch(NODES, request, {"metadata": {"labels": {"water": "hot"}}})
        return Result()


def kettle(manager: Manager, seconds: float = 1.0) -> Controller:
    reconciler = Kettle(manager.async_client, seconds)
    return Controller("kettle", reconciler, workers=100).watch(NODES, when=lambda delta: delta.old is None)


def setup(manager: Manager) -> None:
    manager.add(kettle(manager))


if __name__ == "__main__":
    with EmbeddedCluster(SystemHost()) as cluster:
        cluster.run(setup)
        began = cluster.host.monotonic()
        for number in range(100):
            cluster.user.create(NODES, a_node(f"node-{number}"))
        while len(hot := cluster.user.list(NODES, label_selector="water=hot")) < 100:
            cluster.manager.stopping.wait(0.1)
        print(f"{len(hot)} kettles boiled in {cluster.host.monotonic() - began:.1f} s")
