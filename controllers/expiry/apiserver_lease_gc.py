# SPDX-License-Identifier: Apache-2.0
"""Deletes the leases of API servers that ended without a word.

Every API server keeps a lease in kube-system (`apiserver/upkeep/identity_lease.py` is ours). One
that nobody has renewed for its whole duration, or that lacks what it takes to tell, is
deleted.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from controller_runtime.api.resources import LEASES
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.manager import Manager
from controllers.expiry.expiry import Expiry

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


def apiserver_lease_gc(manager: Manager, *, workers: int = 1) -> Controller:
    """The controller, ready to add to `manager`.

    Args:
        manager: Whose API servers' leases to look after.
        workers: Leases looked at at the same time.
    """
    reconciler = Expiry(
        manager.host,
        manager.client,
        manager.lister(LEASES, LeaseView, namespace=NAMESPACE, label_selector=SELECTOR),
        LEASES,
        LeaseView,
        seconds_left,
        LONGEST_LOOK,
    )
    return Controller(NAME, reconciler, workers=workers).watch(LEASES, namespace=NAMESPACE, label_selector=SELECTOR)
