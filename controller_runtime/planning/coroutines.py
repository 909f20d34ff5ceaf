# SPDX-License-Identifier: Apache-2.0
"""The reconciles of a plan that are coroutines: on one event loop, as many at a time as the controller has workers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from apimachinery.host import Host
from apimachinery.log import bound
from apimachinery.stop import Stop
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.isolation.guard import OutsideRefused, permitted
from controller_runtime.planning.overlay import Work
from controller_runtime.planning.refusals import Refusals

End = tuple[Work, Result | BaseException]


def reconcile_coroutines(
    host: Host, stop: Stop, refusals: Refusals, controller: Controller, requests: Sequence[Request]
) -> list[End]:
    """Reconcile each request once with a coroutine reconciler, and return how each ended.

    When `stop` is set, the reconciles that have not ended are cancelled, and are not in the result.
    """
    with permitted():  # on some systems a loop wakes itself by a connection
        loop = host.new_event_loop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_all(loop, stop, refusals, controller, requests))


async def _all(
    loop: asyncio.AbstractEventLoop,
    stop: Stop,
    refusals: Refusals,
    controller: Controller,
    requests: Sequence[Request],
) -> list[End]:
    reconciler, places = controller.reconciler, asyncio.Semaphore(controller.workers)
    assert isinstance(reconciler, AsyncReconciler), "the other kind has no loop"

    async def one(request: Request) -> End:
        work = Work(controller.name, request)
        async with places:
            with refusals.running(work), bound(controller=controller.name, request=request):
                try:
                    async with asyncio.timeout(controller.reconcile_timeout):
                        return work, await reconciler.reconcile(request)
                except (Exception, SystemExit, OutsideRefused) as error:  # noqa: BLE001  a reconcile ends here
                    return work, error

    tasks = [loop.create_task(one(request)) for request in requests]

    forget = stop.on_set(lambda: _cancel(loop, tasks))
    try:
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        forget()
        await reconciler.close()
    return [end for end in ended if isinstance(end, tuple)]


def _cancel(loop: asyncio.AbstractEventLoop, tasks: Sequence[asyncio.Task[End]]) -> None:
    """Cancel tasks, from any thread."""
    for task in tasks:
        loop.call_soon_threadsafe(task.cancel)
