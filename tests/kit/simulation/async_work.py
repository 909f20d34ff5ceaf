# SPDX-License-Identifier: Apache-2.0
"""The work of the replicas under faults, done by coroutines: some are slow, and some ignore that they are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs

from apimachinery.host import Host
from apimachinery.objects import ObjectKey, annotations_of, meta
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.client.async_client import AsyncClient
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.predicates import changed
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.core.deadline import reconcile_deadline
from controller_runtime.manager.manager import Manager
from kit.fault_runs.work import BEGUN, DONE, TOKEN, WANTED

TIMEOUT = 8.0


@attrs.define
class Witness:
    """The observations of the coroutines of all replicas of a run.

    Attributes:
        overlaps: Keys that were reconciled twice at a time by one replica.
        late: Writes that were sent after the deadline of their reconcile.
        ended: How many reconciles returned.
        ignored: How many ignored that they were cancelled.
        cancelled: How many were cancelled.
    """

    overlaps: list[str] = attrs.field(factory=list)
    late: list[str] = attrs.field(factory=list)
    ended: int = 0
    ignored: int = 0
    cancelled: int = 0


@attrs.frozen
class AsyncWork(AsyncReconciler):
    """Does what `work.DoWhatIsWanted` does, with a wait between its two writes."""

    host: Host
    nodes: Lister[dict[str, Any]]
    client: AsyncClient
    token: Callable[[], int]
    witness: Witness
    inside: set[Request] = attrs.field(factory=set)

    async def reconcile(self, request: Request) -> Result:
        if request in self.inside:
            self.witness.overlaps.append(str(request))
        self.inside.add(request)
        try:
            await self._work(request)
        except asyncio.CancelledError:
            self.witness.cancelled += 1
            if self.host.random.random() < 0.5:
                raise
            self.witness.ignored += 1
            await asyncio.sleep(3.0)
            await self._write_late(request)
        finally:
            self.inside.discard(request)
        self.witness.ended += 1
        return Result()

    async def _work(self, request: Request) -> None:
        node = self.nodes.get(request)
        annotations = annotations_of(node) if node is not None else {}
        wanted = annotations.get(WANTED)
        if node is not None and wanted != annotations.get(DONE):
            begun = await self._sign(request, meta(node).resource_version, BEGUN, wanted)
            await asyncio.sleep(self.host.random.choice((0.0, 0.1, 1.0, TIMEOUT)))
            await self._sign(request, begun, DONE, wanted)

    async def _sign(self, key: ObjectKey, version: str, what: str, number: str | None) -> str:
        patch = {"metadata": {"resourceVersion": version, "annotations": {what: number, TOKEN: str(self.token())}}}
        return (await self.client.patch(NODES, key, patch)).resource_version

    async def _write_late(self, request: Request) -> None:
        """Write without looking, as a reconcile may that ignores its end; only the client can refuse this."""
        deadline = reconcile_deadline()
        is_late = deadline is not None and self.host.monotonic() >= deadline
        await self.client.patch(NODES, request, {"metadata": {"annotations": {"test/late": "yes"}}})
        if is_late:
            self.witness.late.append(str(request))


def async_work(witness: Witness) -> Callable[[Manager], Controller]:
    """Return what makes the controller of one replica, which has two workers and a timeout."""

    def make(manager: Manager) -> Controller:
        def token() -> int:
            held = manager.elector.held if manager.elector is not None else None
            return held.token if held is not None else -1

        nodes = manager.lister(NODES, dict[str, Any])
        reconciler = AsyncWork(manager.host, nodes, manager.async_client, token, witness)
        controller = Controller("work", reconciler, workers=2, reconcile_timeout=TIMEOUT)
        return controller.watch(NODES, when=changed(annotations_of))

    return make
