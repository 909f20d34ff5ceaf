# SPDX-License-Identifier: Apache-2.0
"""A controller whose reconciler is a coroutine, on an embedded cluster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from apimachinery.objects import ObjectKey
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.counters import ReconcileCounters
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster

A, B = ObjectKey("a"), ObjectKey("b")
Function = Callable[[Request], Awaitable[Any]]


@attrs.define
class Awaiting(AsyncReconciler):
    """Awaits a function, and notes what begins and what is inside at the same time."""

    manager: Manager
    function: Function
    began: list[tuple[ObjectKey, float]] = attrs.field(factory=list)
    inside: list[ObjectKey] = attrs.field(factory=list)
    most: int = 0
    overlaps: list[ObjectKey] = attrs.field(factory=list)

    async def reconcile(self, request: Request) -> Result:
        self.began.append((request, self.manager.host.monotonic()))
        if request in self.inside:
            self.overlaps.append(request)
        self.inside.append(request)
        self.most = max(self.most, len(self.inside))
        try:
            result = await self.function(request)
        finally:
            self.inside.remove(request)
        return Result() if result is None else result


def awaiting(
    cluster: EmbeddedCluster, function: Function, *requests: ObjectKey, **options: Any
) -> tuple[Awaiting, Controller]:
    """Start a controller named `kettle` that reconciles these requests at once, or `A`."""
    reconciler = Awaiting(cluster.manager, function)
    controller = Controller("kettle", reconciler, **options).every(1e6, lambda: requests or [A])
    cluster.manager.add(controller)
    cluster.start()
    return reconciler, controller


def counters_of(controller: Controller) -> ReconcileCounters:
    """Return the counters of its reconciles."""
    counters = controller.counters()
    assert counters is not None
    return counters[0]
