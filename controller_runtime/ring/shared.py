# SPDX-License-Identifier: Apache-2.0
"""The reconciler that a ring makes of another one: it skips the requests of slots that this replica does not own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from apimachinery.log import get_logger
from controller_runtime.cache.held import holding
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.planning import is_planning
from controller_runtime.ring.kind import RingKind
from controller_runtime.ring.ownership import Ownership

if TYPE_CHECKING:  # a program that serves no metrics need not import it
    from prometheus_client.metrics_core import Metric

log = get_logger(__name__)


class Slots(Protocol):
    """The part of a ring that the reconciler in this module uses: the slots of requests, and those that are owned."""

    @property
    def ownership(self) -> Ownership:
        """The slots that this replica owns."""

    def slot_of(self, request: Request, kind: RingKind | None = None) -> int | None:
        """Return the slot of a request; None if it is unknown."""


class SharedReconciler(Reconciler):
    """Reconciles only the requests of slots that this replica owns.

    Args:
        ring: The ring.
        inner: Does the work.
        kind: The kind of the requests, if the ring divides its caches, or needs an object to find a slot; else None.
        asks: Whether an absent object is requested from the server before its absence is reconciled.

    Threads: those of its controller.
    """

    def __init__(self, ring: Slots, inner: Reconciler, kind: RingKind | None, *, asks: bool) -> None:
        self._ring, self._inner, self._kind, self._asks = ring, inner, kind, asks

    @property
    def is_shared(self) -> bool:
        """True, since this reconciler works only for this replica's slots; see `Reconciler.is_shared`."""
        return True

    def metrics(self) -> Iterable[Metric]:
        """Return the metrics of the inner reconciler."""
        return self._inner.metrics()

    def reconcile(self, request: Request) -> Result:
        """Reconcile the request if this replica owns its slot; otherwise return an empty result at once.

        If the ring divides the caches of the kind, or is by uid or owner, an object that exists at the beginning stays
        visible until the end, even if it is deleted meanwhile. The request is then skipped, too, if another object has
        taken the name, or the object now belongs to another slot. A plan (`--plan`) shows the work of all replicas, so
        it reconciles all requests.
        """
        if is_planning():
            return self._inner.reconcile(request)
        kind = self._kind
        uid = "" if kind is None else kind.uid_of(request)
        slot = self._ring.slot_of(request, kind)
        turn = None if slot is None else self._ring.ownership.turn(slot)
        if turn is None:  # its owner has the same change in its own cache
            if kind is not None:
                kind.forget(request, uid)
            return Result()
        with turn, contextlib.ExitStack() as stack:
            if kind is None:
                return self._inner.reconcile(request)
            held = kind.held(request, turn.slot)
            cached = held.present
            taken = cached is None and self._asks and kind.exists(request)
            if taken or (cached is not None and not held.is_own(cached)) or self._ring.slot_of(request, kind) != slot:
                # Another object has the name, or another controller the object. If that is ours, it comes by the cache.
                log.debug("not reconciled: the slot of the request has changed", request=request)
                kind.forget(request, uid)
                return Result()
            stack.enter_context(holding(held))
            if cached is not None:
                return self._inner.reconcile(request)
            result = self._inner.reconcile(request)
            if result == Result():
                kind.forget(request, uid)
            return result
