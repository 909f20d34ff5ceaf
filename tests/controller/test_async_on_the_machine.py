# SPDX-License-Identifier: Apache-2.0
"""A coroutine on the real machine: sockets, other libraries of asyncio, and an event loop of the user's own."""

from __future__ import annotations

import asyncio

import aiohttp
from aiohttp import web

from apimachinery.objects import ObjectKey, labels_of
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.client.async_client import AsyncClient
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.testing import EmbeddedCluster, a_node

NAMES = [f"node-{number}" for number in range(20)]


class Asking(AsyncReconciler):
    """Asks a server on a loopback socket about each node, and writes its answer into a label."""

    def __init__(self, client: AsyncClient, expected: int, done: Stop) -> None:
        self.client = client
        self.expected = expected
        self.done = done
        self.answered: set[Request] = set()

    async def answer(self, request: Request) -> str:
        """Start a server that answers in upper case, ask it, and stop it."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write((await reader.readline()).upper())
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(f"{request.name}\n".encode())
            line = await reader.readline()
            writer.close()
            await writer.wait_closed()
        return line.decode().strip()

    async def reconcile(self, request: Request) -> Result:
        answer = await self.answer(request)
        await self.client.patch(NODES, request, {"metadata": {"labels": {"answer": answer}}})
        self.answered.add(request)
        if len(self.answered) == self.expected:
            self.done.set()
        return Result()


class AskingByHTTP(Asking):
    """The same with aiohttp: one session, which is made in the first reconcile and closed after the last."""

    session: aiohttp.ClientSession | None = None
    closed = False

    def __init__(self, client: AsyncClient, expected: int, done: Stop, url: str) -> None:
        super().__init__(client, expected, done)
        self.url = url

    async def answer(self, request: Request) -> str:
        if self.session is None:
            self.session = aiohttp.ClientSession()
        async with self.session.get(self.url, params={"name": request.name}) as response:
            return await response.text()

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
            self.closed = self.session.closed


def answers(cluster: EmbeddedCluster) -> dict[str, str]:
    return {node.metadata.name: labels_of(node).get("answer", "") for node in cluster.user.list(NODES)}


def test_a_reconciler_may_use_sockets_on_the_real_machine(real_cluster: EmbeddedCluster) -> None:
    done = Stop(real_cluster.host)
    reconciler = Asking(real_cluster.manager.async_client, len(NAMES), done)
    real_cluster.manager.add(Controller("asking", reconciler, workers=10).watch(NODES))
    real_cluster.start()

    for name in NAMES:
        real_cluster.user.create(NODES, a_node(name))

    assert done.wait(60.0)
    assert answers(real_cluster) == {name: name.upper() for name in NAMES}


def test_a_session_of_another_library_lives_as_long_as_the_loop(real_cluster: EmbeddedCluster) -> None:
    """Its server runs in an event loop of its own, beside that of the controller."""
    done, ready, finished = (Stop(real_cluster.host, label) for label in ("done", "ready", "finished"))
    urls: list[str] = []

    async def shout(request: web.Request) -> web.Response:
        return web.Response(text=request.query["name"].upper())

    async def serve() -> None:
        app = web.Application()
        app.router.add_get("/", shout)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        urls.append("http://{}:{}/".format(*runner.addresses[0][:2]))
        ready.set()
        await asyncio.to_thread(finished.wait_until, None)
        await runner.cleanup()

    thread = real_cluster.host.spawn("server", lambda: asyncio.run(serve()))
    try:
        assert ready.wait(60.0)
        reconciler = AskingByHTTP(real_cluster.manager.async_client, len(NAMES), done, urls[0])
        real_cluster.manager.add(Controller("asking", reconciler, workers=10).watch(NODES))
        real_cluster.start()
        for name in NAMES:
            real_cluster.user.create(NODES, a_node(name))
        assert done.wait(60.0)
        real_cluster.stop()
    finally:
        finished.set()
        thread.join_until(None)

    assert answers(real_cluster) == {name: name.upper() for name in NAMES}
    assert reconciler.closed


def test_a_manager_runs_beside_the_coroutines_of_a_loop_of_the_users_own(real_cluster: EmbeddedCluster) -> None:
    manager = real_cluster.manager
    done, stop = Stop(manager.host), Stop(manager.host)
    manager.add(Controller("asking", Asking(manager.async_client, 1, done)).watch(NODES))

    async def main() -> str:
        running = asyncio.create_task(asyncio.to_thread(manager.run, stop))
        await manager.async_client.create(NODES, a_node("a"))
        await asyncio.to_thread(done.wait_until, None)
        stop.set()
        await running
        return labels_of(await manager.async_client.get(NODES, ObjectKey("a")))["answer"]

    assert asyncio.run(main()) == "A"
    assert manager.host.monotonic() > 0
    assert manager._request_threads.join_until(None) == []
