# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server that fits in a test: a synchronous core that speaks JSON, and a thin HTTP server around it.

All public names are here; those of perturbed clients are in `perturbation`, of programs in containers in `programs`,
of calls to webhooks in `webhooks`. Each is imported when it is first used, so that a program loads only the modules
that it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embedded_apiserver.__main__ import command, serve
    from embedded_apiserver.kinds.kind import Kind, Kinds
    from embedded_apiserver.kinds.release import NEWEST, Release
    from embedded_apiserver.routes import Route, find_route
    from embedded_apiserver.server import APIServer
    from embedded_apiserver.shell.kubeconfig import kubeconfig
    from embedded_apiserver.shell.thread import LoopbackServer
    from embedded_apiserver.shell.tls import Certificates, make_certificates
    from embedded_apiserver.storage.history import History
    from embedded_apiserver.storage.stored import Change, Draft, Stored, key_of
    from embedded_apiserver.testing.case import KubernetesServerMixin
    from embedded_apiserver.testing.requests import RecordedRequest
    from embedded_apiserver.testing.running import run
    from embedded_apiserver.testing.server import KubernetesServer, LeftoverWarning
    from embedded_apiserver.upkeep.upkeep import Upkeep

_HOMES = {
    **dict.fromkeys(("command", "serve"), "__main__"),
    **dict.fromkeys(("Kind", "Kinds"), "kinds.kind"),
    **dict.fromkeys(("NEWEST", "Release"), "kinds.release"),
    **dict.fromkeys(("Route", "find_route"), "routes"),
    "APIServer": "server",
    "kubeconfig": "shell.kubeconfig",
    "LoopbackServer": "shell.thread",
    **dict.fromkeys(("Certificates", "make_certificates"), "shell.tls"),
    "History": "storage.history",
    **dict.fromkeys(("Change", "Draft", "Stored", "key_of"), "storage.stored"),
    "Upkeep": "upkeep.upkeep",
    "KubernetesServerMixin": "testing.case",
    "RecordedRequest": "testing.requests",
    "run": "testing.running",
    **dict.fromkeys(("KubernetesServer", "LeftoverWarning"), "testing.server"),
}

__all__ = [
    "NEWEST",
    "APIServer",
    "Certificates",
    "Change",
    "Draft",
    "History",
    "Kind",
    "Kinds",
    "KubernetesServer",
    "KubernetesServerMixin",
    "LeftoverWarning",
    "LoopbackServer",
    "RecordedRequest",
    "Release",
    "Route",
    "Stored",
    "Upkeep",
    "command",
    "find_route",
    "key_of",
    "kubeconfig",
    "make_certificates",
    "run",
    "serve",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, whether they are imported yet or not."""
    return sorted(__all__)
