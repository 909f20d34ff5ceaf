# SPDX-License-Identifier: Apache-2.0
"""Deletes the leases of API servers that ended without deleting them.

Every API server renews a lease of its own in kube-system (the embedded server in
`embedded_apiserver/upkeep/identity_lease.py`).
A lease is deleted if it has not been renewed for its whole duration, or has no renewal time or no duration.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from apimachinery.objects import ObjectMeta
from controller_runtime.api.resources import LEASES
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controllers.expiry.collector import ExpiredCollector

NAME = "apiserver-lease-gc"
NAMESPACE = "kube-system"
SELECTOR = "apiserver.kubernetes.io/identity=kube-apiserver"
LONGEST_LOOK = 3600.0
"""Maximum number of seconds between two looks at a lease that does not change: upstream looks once an hour."""


class _APIServerLeaseSpec(msgspec.Struct, gc=False, rename="camel"):
    renew_time: datetime | None = None
    lease_duration_seconds: int | None = None


class IdentityLeaseView(msgspec.Struct, gc=False):
    """The fields of an API server's lease by which it expires."""

    metadata: ObjectMeta
    spec: _APIServerLeaseSpec = msgspec.field(default_factory=_APIServerLeaseSpec)


def seconds_left(lease: IdentityLeaseView, now: datetime) -> float:
    """Return the seconds for which the lease is still valid; negative if it has expired or is incomplete."""
    spec = lease.spec
    if spec.renew_time is None or spec.lease_duration_seconds is None:
        return -1.0
    return (spec.renew_time - now).total_seconds() + spec.lease_duration_seconds


def apiserver_lease_gc(manager: Manager, *, workers: int = 1) -> Controller:
    """Return the controller that deletes expired leases of API servers, ready to be added to `manager`.

    Args:
        manager: The manager, whose client and caches are used.
        workers: The most leases that are processed at the same time.
    """
    reconciler = ExpiredCollector(
        manager.host,
        manager.client,
        manager.lister(LEASES, IdentityLeaseView, namespace=NAMESPACE, label_selector=SELECTOR),
        LEASES,
        IdentityLeaseView,
        seconds_left,
        LONGEST_LOOK,
    )
    return Controller(NAME, reconciler, workers=workers).watch(LEASES, namespace=NAMESPACE, label_selector=SELECTOR)
