# SPDX-License-Identifier: Apache-2.0
"""The runtime for Kubernetes controllers in Python.

All public names are here. Each is imported when it is first used, so that a process loads only the modules that it
needs. Names that are not in `__all__` may change without notice, except in the packages `testing` and `apiserver`,
which document their own public names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller_runtime.api.collection import Collection
    from controller_runtime.api.conditions import condition_of, conditions_of, with_condition
    from controller_runtime.api.objects import (
        Cached,
        ObjectKey,
        ObjectMeta,
        OwnerReference,
        annotations_of,
        labels_of,
        meta,
        microtime,
        timestamp,
    )
    from controller_runtime.api.references import controller_of, set_controller, set_owner
    from controller_runtime.api.resources import (
        EVENTS,
        LEASE_CANDIDATES,
        LEASES,
        NAMESPACES,
        NODES,
        PODS,
        Resource,
    )
    from controller_runtime.cache.informer import Informer
    from controller_runtime.cache.lister import Lister
    from controller_runtime.cache.own_writes import OwnWrites
    from controller_runtime.cache.patience import Patience
    from controller_runtime.cache.store import Delta
    from controller_runtime.cache.subscription import Subscription
    from controller_runtime.cache.transforms import edited, without
    from controller_runtime.client.client import Client
    from controller_runtime.client.create_or_patch import Change, create_or_patch
    from controller_runtime.client.paging import ListBounds
    from controller_runtime.client.patches import PatchType
    from controller_runtime.client.retry import ConflictRetry, retry_on_conflict
    from controller_runtime.client.write_options import FieldValidation
    from controller_runtime.controller.channel import Channel
    from controller_runtime.controller.controller import Controller
    from controller_runtime.controller.finalizers import Finalizers, add_finalizers, remove_finalizers
    from controller_runtime.controller.handlers import Callback, Handler, enqueue_mapped, enqueue_object, enqueue_owner
    from controller_runtime.controller.predicates import Predicate, all_of, any_of, changed, matches, not_
    from controller_runtime.controller.reconciler import Reconciler, Request, Result
    from controller_runtime.core.backoff import Backoff
    from controller_runtime.core.deadline import reconcile_deadline
    from controller_runtime.core.errors import (
        AlreadyExists,
        AlreadyOwned,
        APIError,
        BadRequest,
        CacheSyncTimeout,
        Cancelled,
        Conflict,
        ConnectionLost,
        ControllerRuntimeError,
        DecodeError,
        Expired,
        Forbidden,
        Invalid,
        LeadershipLost,
        NotFound,
        ReconcileTimeout,
        ServerError,
        ShutDown,
        StaleCache,
        StreamIdle,
        TerminalError,
        TooManyRequests,
        Unauthorized,
        UsageError,
    )
    from controller_runtime.core.host import Clock, Host
    from controller_runtime.core.signals import stop_on_signals
    from controller_runtime.core.stop import Stop
    from controller_runtime.core.system import SystemHost
    from controller_runtime.core.version import __version__
    from controller_runtime.crd.declaration import custom_resource
    from controller_runtime.crd.definitions import definition
    from controller_runtime.crd.merging import changes
    from controller_runtime.crd.rules import Rule
    from controller_runtime.crd.types import CustomResource, Struct
    from controller_runtime.election.config import Candidacy, LeaderElectionConfig
    from controller_runtime.events.recorder import EventAPI, EventRecorder
    from controller_runtime.manager.endpoints import Endpoints
    from controller_runtime.manager.lifecycle import Runnable
    from controller_runtime.manager.manager import Manager
    from controller_runtime.queue.rate_limiters import (
        Bucket,
        ItemExponential,
        ItemFastSlow,
        MaxOf,
        MaxWait,
        RateLimiter,
    )
    from controller_runtime.queue.workqueue import WorkQueue

__all__ = [
    "EVENTS",
    "LEASES",
    "LEASE_CANDIDATES",
    "NAMESPACES",
    "NODES",
    "PODS",
    "APIError",
    "AlreadyExists",
    "AlreadyOwned",
    "Backoff",
    "BadRequest",
    "Bucket",
    "CacheSyncTimeout",
    "Cached",
    "Callback",
    "Cancelled",
    "Candidacy",
    "Change",
    "Channel",
    "Client",
    "Clock",
    "Collection",
    "Conflict",
    "ConflictRetry",
    "ConnectionLost",
    "Controller",
    "ControllerRuntimeError",
    "CustomResource",
    "DecodeError",
    "Delta",
    "Endpoints",
    "EventAPI",
    "EventRecorder",
    "Expired",
    "FieldValidation",
    "Finalizers",
    "Forbidden",
    "Handler",
    "Host",
    "Informer",
    "Invalid",
    "ItemExponential",
    "ItemFastSlow",
    "LeaderElectionConfig",
    "LeadershipLost",
    "ListBounds",
    "Lister",
    "Manager",
    "MaxOf",
    "MaxWait",
    "NotFound",
    "ObjectKey",
    "ObjectMeta",
    "OwnWrites",
    "OwnerReference",
    "PatchType",
    "Patience",
    "Predicate",
    "RateLimiter",
    "ReconcileTimeout",
    "Reconciler",
    "Request",
    "Resource",
    "Result",
    "Rule",
    "Runnable",
    "ServerError",
    "ShutDown",
    "StaleCache",
    "Stop",
    "StreamIdle",
    "Struct",
    "Subscription",
    "SystemHost",
    "TerminalError",
    "TooManyRequests",
    "Unauthorized",
    "UsageError",
    "WorkQueue",
    "__version__",
    "add_finalizers",
    "all_of",
    "annotations_of",
    "any_of",
    "changed",
    "changes",
    "condition_of",
    "conditions_of",
    "controller_of",
    "create_or_patch",
    "custom_resource",
    "definition",
    "edited",
    "enqueue_mapped",
    "enqueue_object",
    "enqueue_owner",
    "labels_of",
    "matches",
    "meta",
    "microtime",
    "not_",
    "reconcile_deadline",
    "remove_finalizers",
    "retry_on_conflict",
    "set_controller",
    "set_owner",
    "stop_on_signals",
    "timestamp",
    "with_condition",
    "without",
]

# The module of each public name; names that are not listed are in `core.errors`.
_HOMES = {
    "Collection": "api.collection",
    **dict.fromkeys(("condition_of", "conditions_of", "with_condition"), "api.conditions"),
    **dict.fromkeys(("Cached", "ObjectKey", "ObjectMeta", "OwnerReference", "meta"), "api.objects"),
    **dict.fromkeys(("annotations_of", "labels_of", "microtime", "timestamp"), "api.objects"),
    **dict.fromkeys(("controller_of", "set_controller", "set_owner"), "api.references"),
    **dict.fromkeys(
        ("EVENTS", "LEASES", "LEASE_CANDIDATES", "NAMESPACES", "NODES", "PODS", "Resource"), "api.resources"
    ),
    "Informer": "cache.informer",
    "Lister": "cache.lister",
    "OwnWrites": "cache.own_writes",
    "Patience": "cache.patience",
    "Delta": "cache.store",
    "Subscription": "cache.subscription",
    **dict.fromkeys(("edited", "without"), "cache.transforms"),
    "Client": "client.client",
    **dict.fromkeys(("Change", "create_or_patch"), "client.create_or_patch"),
    "ListBounds": "client.paging",
    "PatchType": "client.patches",
    **dict.fromkeys(("ConflictRetry", "retry_on_conflict"), "client.retry"),
    "FieldValidation": "client.write_options",
    "Channel": "controller.channel",
    "Controller": "controller.controller",
    **dict.fromkeys(("Finalizers", "add_finalizers", "remove_finalizers"), "controller.finalizers"),
    **dict.fromkeys(
        ("Callback", "Handler", "enqueue_mapped", "enqueue_object", "enqueue_owner"), "controller.handlers"
    ),
    **dict.fromkeys(("Predicate", "all_of", "any_of", "changed", "matches", "not_"), "controller.predicates"),
    **dict.fromkeys(("Reconciler", "Request", "Result"), "controller.reconciler"),
    "Backoff": "core.backoff",
    "reconcile_deadline": "core.deadline",
    **dict.fromkeys(("Clock", "Host"), "core.host"),
    "stop_on_signals": "core.signals",
    "Stop": "core.stop",
    "SystemHost": "core.system",
    "__version__": "core.version",
    "changes": "crd.merging",
    "custom_resource": "crd.declaration",
    "definition": "crd.definitions",
    "Rule": "crd.rules",
    **dict.fromkeys(("CustomResource", "Struct"), "crd.types"),
    **dict.fromkeys(("Candidacy", "LeaderElectionConfig"), "election.config"),
    **dict.fromkeys(("EventAPI", "EventRecorder"), "events.recorder"),
    "Endpoints": "manager.endpoints",
    "Runnable": "manager.lifecycle",
    "Manager": "manager.manager",
    **dict.fromkeys(
        ("Bucket", "ItemExponential", "ItemFastSlow", "MaxOf", "MaxWait", "RateLimiter"), "queue.rate_limiters"
    ),
    "WorkQueue": "queue.workqueue",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'core.errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted(__all__)
