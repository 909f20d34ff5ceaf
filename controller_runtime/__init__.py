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
    from apimachinery.errors import (
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
        NoSuchKind,
        NotFound,
        ReconcileTimeout,
        ServerError,
        ShutDown,
        StaleCache,
        StreamIdle,
        TemporaryError,
        TerminalError,
        TooManyRequests,
        Unauthorized,
        UsageError,
        WaitTimeout,
    )
    from apimachinery.host import Clock, Host, Thread
    from apimachinery.http import HTTPRequest, HTTPResponse
    from apimachinery.log import LogContext, Logger, get_logger
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
    from controller_runtime.api.builtin_resources import (
        CLUSTER_ROLE_BINDINGS,
        CLUSTER_ROLES,
        CONFIG_MAPS,
        CRON_JOBS,
        CUSTOM_RESOURCE_DEFINITIONS,
        DAEMON_SETS,
        DEPLOYMENTS,
        ENDPOINT_SLICES,
        HORIZONTAL_POD_AUTOSCALERS,
        INGRESS_CLASSES,
        INGRESSES,
        JOBS,
        LIMIT_RANGES,
        MUTATING_WEBHOOK_CONFIGURATIONS,
        NETWORK_POLICIES,
        PERSISTENT_VOLUME_CLAIMS,
        PERSISTENT_VOLUMES,
        POD_DISRUPTION_BUDGETS,
        PRIORITY_CLASSES,
        REPLICA_SETS,
        RESOURCE_QUOTAS,
        ROLE_BINDINGS,
        ROLES,
        SECRETS,
        SERVICE_ACCOUNTS,
        SERVICES,
        STATEFUL_SETS,
        STORAGE_CLASSES,
        VALIDATING_WEBHOOK_CONFIGURATIONS,
    )
    from controller_runtime.api.collection import Collection
    from controller_runtime.api.conditions import (
        ObjectCondition,
        condition,
        condition_of,
        conditions_of,
        with_condition,
    )
    from controller_runtime.api.readiness import Readiness, ready
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
    from controller_runtime.api.unreadable import UnreadableObject
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
    from controller_runtime.client.http.rest_config import RESTConfig
    from controller_runtime.client.http.transport import HTTPTransport
    from controller_runtime.client.label_selectors import format_label_selector
    from controller_runtime.client.paging import ListBounds
    from controller_runtime.client.patches import PatchType
    from controller_runtime.client.retry import ConflictRetry, retry_on_conflict
    from controller_runtime.client.transport import Stream, Transport, TransportWrapper
    from controller_runtime.client.waiting import gone
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
    from controller_runtime.core.signals import stop_on_signals
    from controller_runtime.core.version import __version__
    from controller_runtime.crd.declaration import custom_resource
    from controller_runtime.crd.definitions import definition
    from controller_runtime.crd.merging import changes
    from controller_runtime.crd.rules import Rule
    from controller_runtime.crd.types import CustomResource, Struct
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
    from controller_runtime.queue.rate_limiters import (
        Bucket,
        ItemExponential,
        ItemFastSlow,
        MaxOf,
        MaxWait,
        RateLimiter,
    )
    from controller_runtime.queue.workqueue import WorkQueue
    from controller_runtime.ring.by import RingBy
    from controller_runtime.ring.ring import Ring
    from controller_runtime.ring.token import RingToken

__all__ = [
    "CLUSTER_ROLES",
    "CLUSTER_ROLE_BINDINGS",
    "CONFIG_MAPS",
    "CRON_JOBS",
    "CUSTOM_RESOURCE_DEFINITIONS",
    "DAEMON_SETS",
    "DEPLOYMENTS",
    "ENDPOINT_SLICES",
    "EVENTS",
    "HORIZONTAL_POD_AUTOSCALERS",
    "INGRESSES",
    "INGRESS_CLASSES",
    "JOBS",
    "LEASES",
    "LEASE_CANDIDATES",
    "LIMIT_RANGES",
    "MUTATING_WEBHOOK_CONFIGURATIONS",
    "NAMESPACES",
    "NETWORK_POLICIES",
    "NODES",
    "PERSISTENT_VOLUMES",
    "PERSISTENT_VOLUME_CLAIMS",
    "PODS",
    "POD_DISRUPTION_BUDGETS",
    "PRIORITY_CLASSES",
    "REPLICA_SETS",
    "RESOURCE_QUOTAS",
    "ROLES",
    "ROLE_BINDINGS",
    "SECRETS",
    "SERVICES",
    "SERVICE_ACCOUNTS",
    "STATEFUL_SETS",
    "STORAGE_CLASSES",
    "VALIDATING_WEBHOOK_CONFIGURATIONS",
    "APIError",
    "AlreadyExists",
    "AlreadyOwned",
    "Applied",
    "AsyncClient",
    "AsyncFinalizers",
    "AsyncReconciler",
    "Backoff",
    "BadRequest",
    "Bucket",
    "CacheScope",
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
    "DependentState",
    "Dependents",
    "Endpoints",
    "EventAPI",
    "EventRecorder",
    "Expired",
    "FieldValidation",
    "Finalizers",
    "Forbidden",
    "HTTPRequest",
    "HTTPResponse",
    "HTTPTransport",
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
    "LogContext",
    "Logger",
    "Manager",
    "MaxOf",
    "MaxWait",
    "NoSuchKind",
    "NotFound",
    "ObjectCondition",
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
    "RESTConfig",
    "RateLimiter",
    "Readiness",
    "ReconcileTimeout",
    "Reconciler",
    "Request",
    "Resource",
    "Result",
    "Right",
    "Ring",
    "RingBy",
    "RingToken",
    "Rule",
    "Runnable",
    "ServerError",
    "Setup",
    "ShutDown",
    "StaleCache",
    "StatusRow",
    "StatusTable",
    "Stop",
    "Stream",
    "StreamIdle",
    "Struct",
    "Subscription",
    "SystemHost",
    "TemporaryError",
    "TerminalError",
    "Thread",
    "Timeline",
    "TooManyRequests",
    "Transport",
    "TransportWrapper",
    "Unauthorized",
    "UnreadableObject",
    "UsageError",
    "WaitTimeout",
    "WorkQueue",
    "__version__",
    "add_finalizers",
    "all_of",
    "annotations_of",
    "any_of",
    "by_namespace",
    "changed",
    "changes",
    "condition",
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
    "format_label_selector",
    "get_logger",
    "gone",
    "labels_of",
    "matches",
    "meta",
    "microtime",
    "not_",
    "ready",
    "reconcile_deadline",
    "remove_finalizers",
    "retry_on_conflict",
    "run",
    "set_controller",
    "set_owner",
    "spawn",
    "stop_on_signals",
    "timestamp",
    "with_condition",
    "without",
]

# The module of each public name; names that are not listed are in `core.errors`.
_HOMES = {
    **dict.fromkeys(
        (
            "CLUSTER_ROLES",
            "CLUSTER_ROLE_BINDINGS",
            "CONFIG_MAPS",
            "CRON_JOBS",
            "CUSTOM_RESOURCE_DEFINITIONS",
            "DAEMON_SETS",
            "DEPLOYMENTS",
            "ENDPOINT_SLICES",
            "HORIZONTAL_POD_AUTOSCALERS",
            "INGRESSES",
            "INGRESS_CLASSES",
            "JOBS",
            "LIMIT_RANGES",
            "MUTATING_WEBHOOK_CONFIGURATIONS",
            "NETWORK_POLICIES",
            "PERSISTENT_VOLUMES",
            "PERSISTENT_VOLUME_CLAIMS",
            "POD_DISRUPTION_BUDGETS",
            "PRIORITY_CLASSES",
            "REPLICA_SETS",
            "RESOURCE_QUOTAS",
            "ROLES",
            "ROLE_BINDINGS",
            "SECRETS",
            "SERVICES",
            "SERVICE_ACCOUNTS",
            "STATEFUL_SETS",
            "STORAGE_CLASSES",
            "VALIDATING_WEBHOOK_CONFIGURATIONS",
        ),
        "controller_runtime.api.builtin_resources",
    ),
    "Collection": "controller_runtime.api.collection",
    **dict.fromkeys(
        ("ObjectCondition", "condition", "condition_of", "conditions_of", "with_condition"),
        "controller_runtime.api.conditions",
    ),
    **dict.fromkeys(("HTTPRequest", "HTTPResponse"), "apimachinery.http"),
    **dict.fromkeys(
        (
            "Cached",
            "ObjectKey",
            "ObjectMeta",
            "PartialObjectMetadata",
            "OwnerReference",
            "annotations_of",
            "labels_of",
            "meta",
            "microtime",
            "timestamp",
        ),
        "apimachinery.objects",
    ),
    **dict.fromkeys(("Readiness", "ready"), "controller_runtime.api.readiness"),
    **dict.fromkeys(("controller_of", "set_controller", "set_owner"), "controller_runtime.api.references"),
    "Dependents": "controller_runtime.dependents.dependents",
    "Owned": "controller_runtime.dependents.owned",
    **dict.fromkeys(("DependentState", "Progress"), "controller_runtime.dependents.plan"),
    "Applied": "controller_runtime.dependents.summary",
    **dict.fromkeys(
        ("EVENTS", "LEASES", "LEASE_CANDIDATES", "NAMESPACES", "NODES", "PODS", "Resource"),
        "controller_runtime.api.resources",
    ),
    "UnreadableObject": "controller_runtime.api.unreadable",
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
    "HTTPTransport": "controller_runtime.client.http.transport",
    "RESTConfig": "controller_runtime.client.http.rest_config",
    "ListBounds": "controller_runtime.client.paging",
    "PatchType": "controller_runtime.client.patches",
    **dict.fromkeys(("ConflictRetry", "retry_on_conflict"), "controller_runtime.client.retry"),
    **dict.fromkeys(("Stream", "Transport", "TransportWrapper"), "controller_runtime.client.transport"),
    "format_label_selector": "controller_runtime.client.label_selectors",
    "gone": "controller_runtime.client.waiting",
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
    "reconcile_deadline": "controller_runtime.core.deadline",
    **dict.fromkeys(("Clock", "Host", "Thread"), "apimachinery.host"),
    **dict.fromkeys(("LogContext", "Logger", "get_logger"), "apimachinery.log"),
    "stop_on_signals": "controller_runtime.core.signals",
    **dict.fromkeys(("Stop", "spawn"), "apimachinery.stop"),
    "SystemHost": "apimachinery.system",
    "__version__": "controller_runtime.core.version",
    "changes": "controller_runtime.crd.merging",
    "custom_resource": "controller_runtime.crd.declaration",
    "definition": "controller_runtime.crd.definitions",
    "Rule": "controller_runtime.crd.rules",
    **dict.fromkeys(("CustomResource", "Struct"), "controller_runtime.crd.types"),
    **dict.fromkeys(("Candidacy", "LeaderElectionConfig"), "controller_runtime.election.config"),
    "Ring": "controller_runtime.ring.ring",
    "RingBy": "controller_runtime.ring.by",
    "RingToken": "controller_runtime.ring.token",
    **dict.fromkeys(("EventAPI", "EventRecorder"), "controller_runtime.events.recorder"),
    "Endpoints": "controller_runtime.manager.endpoints",
    "Runnable": "controller_runtime.manager.lifecycle",
    **dict.fromkeys(("Manager", "Setup"), "controller_runtime.manager.manager"),
    **dict.fromkeys(("StatusRow", "StatusTable"), "controller_runtime.manager.page.tables"),
    "Right": "controller_runtime.manager.rights",
    "run": "controller_runtime.program.command",
    "Timeline": "controller_runtime.program.timeline",
    **dict.fromkeys(
        ("Bucket", "ItemExponential", "ItemFastSlow", "MaxOf", "MaxWait", "RateLimiter"),
        "controller_runtime.queue.rate_limiters",
    ),
    "WorkQueue": "controller_runtime.queue.workqueue",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_HOMES.get(name, "apimachinery.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted(__all__)
