# SPDX-License-Identifier: Apache-2.0
"""Deletes the leases of API servers that ended without a word.

Every API server keeps a lease in kube-system (`apiserver/upkeep/identity_lease.py` is ours). One
that nobody has renewed for its whole duration, or that lacks what it takes to tell, is
deleted: when the cache says so, and the server says so too.
"""

from __future__ import annotations

from datetime import datetime

import attrs
import msgspec

from controller_runtime.api.objects import Request
from controller_runtime.api.resources import LEASES
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Result
from controller_runtime.core.errors import Conflict, NotFound
from controller_runtime.core.host import Clock
from controller_runtime.core.log import get_logger
from controller_runtime.manager.manager import Manager

log = get_logger(__name__)

NAME = "apiserver-lease-gc"
NAMESPACE = "kube-system"
SELECTOR = "apiserver.kubernetes.io/identity=kube-apiserver"
LONGEST_LOOK = 3600.0
"""Seconds between two looks at a lease that does not change, at most."""


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    renew_time: datetime | None = None
    lease_duration_seconds: int | None = None


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    uid: str
    resource_version: str


class LeaseView(msgspec.Struct, gc=False):
    """The part of a lease that this controller reads."""

    metadata: _Metadata
    spec: _Spec = msgspec.field(default_factory=_Spec)


def seconds_left(lease: LeaseView, now: datetime) -> float:
    """For how long the lease counts: negative if it has expired, or does not say when it does."""
    spec = lease.spec
    if spec.renew_time is None or spec.lease_duration_seconds is None:
        return -1.0
    return (spec.renew_time - now).total_seconds() + spec.lease_duration_seconds


@attrs.frozen
class APIServerLeaseGC(Reconciler):
    """Deletes a lease that has expired; else looks again when it would have."""

    clock: Clock
    leases: Lister[LeaseView]
    client: Client

    def reconcile(self, request: Request) -> Result:
        """Look at one lease."""
        cached = self.leases.get(request)
        if cached is None:
            return Result()
        left = seconds_left(cached, self.clock.now())
        if left < 0:
            try:
                live = self.client.get(LEASES, request, LeaseView)
                left = seconds_left(live, self.clock.now())
                if left < 0:
                    self._delete(request, live)
                    return Result()
            except (NotFound, Conflict):  # deleted or renewed meanwhile, of which the cache will tell
                return Result()
        # Expired is what lies behind its time, so the instant itself is too early.
        return Result(requeue_after=min(left + 0.001, LONGEST_LOOK))

    def _delete(self, request: Request, lease: LeaseView) -> None:
        metadata = lease.metadata
        self.client.delete(LEASES, request, uid=metadata.uid, resource_version=metadata.resource_version)
        log.info("lease of an API server that is gone deleted", lease=request)


def apiserver_lease_gc(manager: Manager, *, workers: int = 1) -> Controller:
    """The controller, ready to add to `manager`.

    Args:
        manager: Whose API servers' leases to look after.
        workers: Leases looked at at the same time.
    """
    leases = manager.lister(LEASES, LeaseView, namespace=NAMESPACE, label_selector=SELECTOR)
    reconciler = APIServerLeaseGC(manager.host, leases, manager.client)
    return Controller(NAME, reconciler, workers=workers).watch(LEASES, namespace=NAMESPACE, label_selector=SELECTOR)
