# SPDX-License-Identifier: Apache-2.0
"""The runtime for Kubernetes controllers in Python.

The names that most programs need are here; errors, resources, rate limiters, transports, conditions and loggers have
modules of those names, custom resources are in `crd`, and tests in `testing`. Each public name has one home. Those here
are imported when they are first used, so that a process loads only the modules that it needs. A name that is in no
`__all__` of these may change without notice.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apimachinery.host import Clock, Host, Thread
    from apimachinery.objects import (
        Cached,
        ObjectKey,
        ObjectMeta,
        OwnerReference,
        PartialObjectMetadata,
        annotations_of,
        labels_of,
        meta,
        microtime,
        timestamp,
    )
    from apimachinery.stop import Stop, spawn
    from apimachinery.system import SystemHost
    from controller_runtime.api.references import controller_of, set_controller, set_owner
    from controller_runtime.cache.informer import Informer
    from controller_runtime.cache.lister import Lister
    from controller_runtime.cache.own_writes import OwnWrites
    from controller_runtime.cache.patience import Patience
    from controller_runtime.cache.scope import CacheScope
    from controller_runtime.cache.store import Delta
    from controller_runtime.cache.subscription import Subscription
    from controller_runtime.cache.transforms import edited, without
    from controller_runtime.client.async_client import AsyncClient
    from controller_runtime.client.client import Client
    from controller_runtime.client.create_or_patch import Change, create_or_patch
    from controller_runtime.client.label_selectors import format_label_selector
    from controller_runtime.client.paging import ListBounds
    from controller_runtime.client.patches import PatchType
    from controller_runtime.client.retry import ConflictRetry, retry_on_conflict
    from controller_runtime.client.write_options import FieldValidation
    from controller_runtime.controller.async_finalizers import AsyncFinalizers
    from controller_runtime.controller.channel import Channel
    from controller_runtime.controller.controller import Controller
    from controller_runtime.controller.finalizers import Finalizers, add_finalizers, remove_finalizers
    from controller_runtime.controller.handlers import Callback, Handler, enqueue_mapped, enqueue_object, enqueue_owner
    from controller_runtime.controller.panics import Panic
    from controller_runtime.controller.predicates import Predicate, all_of, any_of, changed, matches, not_
    from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result, by_namespace
    from controller_runtime.core.backoff import Backoff
    from controller_runtime.core.deadline import reconcile_deadline
    from controller_runtime.core.planning import is_planning
    from controller_runtime.core.signals import stop_on_signals
    from controller_runtime.core.version import __version__
    from controller_runtime.dependents.dependents import Dependents
    from controller_runtime.dependents.owned import Owned
    from controller_runtime.dependents.plan import DependentState, Progress
    from controller_runtime.dependents.summary import Applied
    from controller_runtime.election.config import Candidacy, LeaderElectionConfig
    from controller_runtime.events.recorder import EventAPI, EventRecorder
    from controller_runtime.manager.endpoints import Endpoints
    from controller_runtime.manager.lifecycle import Runnable
    from controller_runtime.manager.manager import Manager, Setup
    from controller_runtime.manager.page.tables import StatusRow, StatusTable
    from controller_runtime.manager.rights import Right
    from controller_runtime.program.command import run
    from controller_runtime.program.timeline import Timeline
    from controller_runtime.queue.workqueue import WorkQueue
    from controller_runtime.ring.by import RingBy
    from controller_runtime.ring.ring import Ring
    from controller_runtime.ring.token import RingToken

__all__ = [
    "Applied",
    "AsyncClient",
    "AsyncFinalizers",
    "AsyncReconciler",
    "Backoff",
    "CacheScope",
    "Cached",
    "Callback",
    "Candidacy",
    "Change",
    "Channel",
    "Client",
    "Clock",
    "ConflictRetry",
    "Controller",
    "Delta",
    "DependentState",
    "Dependents",
    "Endpoints",
    "EventAPI",
    "EventRecorder",
    "FieldValidation",
    "Finalizers",
    "Handler",
    "Host",
    "Informer",
    "LeaderElectionConfig",
    "ListBounds",
    "Lister",
    "Manager",
    "ObjectKey",
    "ObjectMeta",
    "OwnWrites",
    "Owned",
    "OwnerReference",
    "Panic",
    "PartialObjectMetadata",
    "PatchType",
    "Patience",
    "Predicate",
    "Progress",
    "Reconciler",
    "Request",
    "Result",
    "Right",
    "Ring",
    "RingBy",
    "RingToken",
    "Runnable",
    "Setup",
    "StatusRow",
    "StatusTable",
    "Stop",
    "Subscription",
    "SystemHost",
    "Thread",
    "Timeline",
    "WorkQueue",
    "__version__",
    "add_finalizers",
    "all_of",
    "annotations_of",
    "any_of",
    "by_namespace",
    "changed",
    "controller_of",
    "create_or_patch",
    "edited",
    "enqueue_mapped",
    "enqueue_object",
    "enqueue_owner",
    "format_label_selector",
    "is_planning",
    "labels_of",
    "matches",
    "meta",
    "microtime",
    "not_",
    "reconcile_deadline",
    "remove_finalizers",
    "retry_on_conflict",
    "run",
    "set_controller",
    "set_owner",
    "spawn",
    "stop_on_signals",
    "timestamp",
    "without",
]

# The module of each public name.
_HOMES = {
    **dict.fromkeys(("Clock", "Host", "Thread"), "apimachinery.host"),
    **dict.fromkeys(
        (
            "Cached",
            "ObjectKey",
            "ObjectMeta",
            "OwnerReference",
            "PartialObjectMetadata",
            "annotations_of",
            "labels_of",
            "meta",
            "microtime",
            "timestamp",
        ),
        "apimachinery.objects",
    ),
    **dict.fromkeys(("Stop", "spawn"), "apimachinery.stop"),
    "SystemHost": "apimachinery.system",
    **dict.fromkeys(("controller_of", "set_controller", "set_owner"), "controller_runtime.api.references"),
    "Informer": "controller_runtime.cache.informer",
    "Lister": "controller_runtime.cache.lister",
    "OwnWrites": "controller_runtime.cache.own_writes",
    "Patience": "controller_runtime.cache.patience",
    "CacheScope": "controller_runtime.cache.scope",
    "Delta": "controller_runtime.cache.store",
    "Subscription": "controller_runtime.cache.subscription",
    **dict.fromkeys(("edited", "without"), "controller_runtime.cache.transforms"),
    "AsyncClient": "controller_runtime.client.async_client",
    "Client": "controller_runtime.client.client",
    **dict.fromkeys(("Change", "create_or_patch"), "controller_runtime.client.create_or_patch"),
    "format_label_selector": "controller_runtime.client.label_selectors",
    "ListBounds": "controller_runtime.client.paging",
    "PatchType": "controller_runtime.client.patches",
    **dict.fromkeys(("ConflictRetry", "retry_on_conflict"), "controller_runtime.client.retry"),
    "FieldValidation": "controller_runtime.client.write_options",
    "AsyncFinalizers": "controller_runtime.controller.async_finalizers",
    "Channel": "controller_runtime.controller.channel",
    "Controller": "controller_runtime.controller.controller",
    **dict.fromkeys(("Finalizers", "add_finalizers", "remove_finalizers"), "controller_runtime.controller.finalizers"),
    **dict.fromkeys(
        ("Callback", "Handler", "enqueue_mapped", "enqueue_object", "enqueue_owner"),
        "controller_runtime.controller.handlers",
    ),
    "Panic": "controller_runtime.controller.panics",
    **dict.fromkeys(
        ("Predicate", "all_of", "any_of", "changed", "matches", "not_"), "controller_runtime.controller.predicates"
    ),
    **dict.fromkeys(
        ("AsyncReconciler", "Reconciler", "Request", "Result", "by_namespace"),
        "controller_runtime.controller.reconciler",
    ),
    "Backoff": "controller_runtime.core.backoff",
    "is_planning": "controller_runtime.core.planning",
    "reconcile_deadline": "controller_runtime.core.deadline",
    "stop_on_signals": "controller_runtime.core.signals",
    "__version__": "controller_runtime.core.version",
    "Dependents": "controller_runtime.dependents.dependents",
    "Owned": "controller_runtime.dependents.owned",
    **dict.fromkeys(("DependentState", "Progress"), "controller_runtime.dependents.plan"),
    "Applied": "controller_runtime.dependents.summary",
    **dict.fromkeys(("Candidacy", "LeaderElectionConfig"), "controller_runtime.election.config"),
    **dict.fromkeys(("EventAPI", "EventRecorder"), "controller_runtime.events.recorder"),
    "Endpoints": "controller_runtime.manager.endpoints",
    "Runnable": "controller_runtime.manager.lifecycle",
    **dict.fromkeys(("Manager", "Setup"), "controller_runtime.manager.manager"),
    **dict.fromkeys(("StatusRow", "StatusTable"), "controller_runtime.manager.page.tables"),
    "Right": "controller_runtime.manager.rights",
    "run": "controller_runtime.program.command",
    "Timeline": "controller_runtime.program.timeline",
    "WorkQueue": "controller_runtime.queue.workqueue",
    "RingBy": "controller_runtime.ring.by",
    "Ring": "controller_runtime.ring.ring",
    "RingToken": "controller_runtime.ring.token",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted(__all__)
