# SPDX-License-Identifier: Apache-2.0
"""The runtime for Kubernetes controllers in Python.

Everything public is here and is imported when first used, so that a program pays only
for what it needs. What is not in `__all__` may change without notice, but for the
packages `testing` and `apiserver`, which document their own.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller_runtime.api.objects import Cached, Request, annotations_of, labels_of, meta, microtime
    from controller_runtime.api.resources import LEASES, NAMESPACES, NODES, PODS, Resource
    from controller_runtime.cache.lister import Lister
    from controller_runtime.cache.store import Delta
    from controller_runtime.client.client import Client
    from controller_runtime.client.patches import PatchType
    from controller_runtime.controller.controller import Controller
    from controller_runtime.controller.handlers import enqueue_mapped, enqueue_object, enqueue_owner
    from controller_runtime.controller.predicates import all_of, any_of, changed, matches, negate
    from controller_runtime.controller.reconciler import Reconciler, Result
    from controller_runtime.core.errors import (
        AlreadyExists,
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
        ServerError,
        ShutDown,
        StreamIdle,
        TerminalError,
        TooManyRequests,
        Unauthorized,
        UsageError,
    )
    from controller_runtime.core.host import Clock, Host
    from controller_runtime.core.stop import Stop
    from controller_runtime.core.system import SystemHost
    from controller_runtime.manager.manager import Manager
    from controller_runtime.queue.rate_limiters import Bucket, ItemExponential, MaxOf
    from controller_runtime.queue.workqueue import WorkQueue

    __version__: str

__all__ = [
    "LEASES",
    "NAMESPACES",
    "NODES",
    "PODS",
    "APIError",
    "AlreadyExists",
    "BadRequest",
    "Bucket",
    "CacheSyncTimeout",
    "Cached",
    "Cancelled",
    "Client",
    "Clock",
    "Conflict",
    "ConnectionLost",
    "Controller",
    "ControllerRuntimeError",
    "DecodeError",
    "Delta",
    "Expired",
    "Forbidden",
    "Host",
    "Invalid",
    "ItemExponential",
    "LeadershipLost",
    "Lister",
    "Manager",
    "MaxOf",
    "NotFound",
    "PatchType",
    "Reconciler",
    "Request",
    "Resource",
    "Result",
    "ServerError",
    "ShutDown",
    "Stop",
    "StreamIdle",
    "SystemHost",
    "TerminalError",
    "TooManyRequests",
    "Unauthorized",
    "UsageError",
    "WorkQueue",
    "__version__",
    "all_of",
    "annotations_of",
    "any_of",
    "changed",
    "enqueue_mapped",
    "enqueue_object",
    "enqueue_owner",
    "labels_of",
    "matches",
    "meta",
    "microtime",
    "negate",
]

# Where each public name lives; those of `core.errors` are the rest.
_HOMES = {
    **dict.fromkeys(("Cached", "Request", "annotations_of", "labels_of", "meta", "microtime"), "api.objects"),
    **dict.fromkeys(("LEASES", "NAMESPACES", "NODES", "PODS", "Resource"), "api.resources"),
    "Lister": "cache.lister",
    "Delta": "cache.store",
    "Client": "client.client",
    "PatchType": "client.patches",
    "Controller": "controller.controller",
    **dict.fromkeys(("enqueue_mapped", "enqueue_object", "enqueue_owner"), "controller.handlers"),
    **dict.fromkeys(("all_of", "any_of", "changed", "matches", "negate"), "controller.predicates"),
    **dict.fromkeys(("Reconciler", "Result"), "controller.reconciler"),
    **dict.fromkeys(("Clock", "Host"), "core.host"),
    "Stop": "core.stop",
    "SystemHost": "core.system",
    "Manager": "manager.manager",
    **dict.fromkeys(("Bucket", "ItemExponential", "MaxOf"), "queue.rate_limiters"),
    "WorkQueue": "queue.workqueue",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object
    if name == "__version__":
        value = _version()
    else:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'core.errors')}"), name)
    globals()[name] = value
    return value


def _version() -> str:
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("controller-runtime"))
    except metadata.PackageNotFoundError:  # run from a clone
        return "unreleased"


def __dir__() -> list[str]:
    """The public names, whether imported yet or not."""
    return sorted(__all__)
