# SPDX-License-Identifier: Apache-2.0
"""The facts that follow from a program's code: its definitions and watches, taken from a manager that sends nothing."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NoReturn

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.client.transport import Stream
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.webhooks.hooks import Hook


@attrs.frozen(order=True)
class WatchedCollection:
    """A collection that a program lists and watches.

    Attributes:
        group: The API group; empty for the core.
        plural: The plural of the resource.
        namespace: The namespace; empty for all of them, and for cluster-scoped resources.
    """

    group: str
    plural: str
    namespace: str

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.plural}.{self.group}{where}" if self.group else f"{self.plural}{where}"


@attrs.frozen
class Facts:
    """The facts that are derived from the code of a program.

    Attributes:
        definitions: The custom resource definitions that the program installs, sorted by name.
        watched: The collections of its caches, sorted.
        hooks: The admission webhooks.
        converted: The names of the definitions whose versions it converts.
        shared: The collections whose objects the shareable controllers reconcile, sorted.
        unshared: The names of the controllers that are not shareable.
        limits_deletions: Whether the program has deletion budgets.
        record: The ConfigMap of the deletion budgets, if the program names one.
    """

    definitions: Sequence[dict[str, Any]]
    watched: Sequence[WatchedCollection]
    hooks: Sequence[Hook[Any]] = ()
    converted: frozenset[str] = frozenset()
    shared: Sequence[WatchedCollection] = ()
    unshared: Sequence[str] = ()
    limits_deletions: bool = False
    record: ObjectKey | None = None

    @property
    def has_webhooks(self) -> bool:
        """Whether the program serves admission or conversion webhooks."""
        return bool(self.hooks or self.converted)


def unconnected_manager(host: Host, *, namespace: str = "", lease: LeaderElectionConfig | None = None) -> Manager:
    """Return a manager without a server, for a setup function to fill; each of its requests raises `UsageError`.

    Args:
        host: The manager's host; nothing runs on it.
        namespace: The namespace that the program watches; empty for all.
        lease: The leader election of the deployed program, since a setup function may read the elector.
    """
    return Manager(host, _Unconnected(), namespace=namespace, leader_election=lease)


def facts_of(manager: Manager, *, namespace: str = "") -> Facts:
    """Return the facts about a program from a manager that its setup function has filled; the manager does not run.

    Args:
        manager: The manager.
        namespace: The namespace that the program watches; empty for all.
    """
    collections = [informer.collection for informer in manager.informers]
    collections += [collection for controller in manager.controllers for collection in controller.collections]
    watched = {_watched(one.resource, one.namespace or namespace) for one in collections}
    shared = {
        _watched(one.shared_objects.resource, namespace)
        for one in manager.controllers
        if one.shared_objects is not None
    }
    unshared = [one.name for one in manager.controllers if one.shared_objects is None]
    definitions = [copy.deepcopy(dict(body)) for body in manager.definitions.wanted]
    ordered = sorted(definitions, key=lambda body: str(body["metadata"]["name"]))
    hooks, deletions = manager.webhooks, manager.deletions
    return Facts(
        *(ordered, sorted(watched), hooks.hooks, hooks.converted, sorted(shared), unshared),
        limits_deletions=bool(deletions.budgets),
        record=deletions.given,
    )


def require_shared(facts: Facts) -> None:
    """Check that a program has a controller whose work a ring can divide.

    Raises:
        UsageError: It has none; the message has the remedy.
    """
    if not facts.shared:
        others = ", ".join(facts.unshared) or "a controller"
        raise UsageError(
            f"--ring has nothing to share: call `shareable` of {others} if each of its reconciles decides about one "
            "object alone"
        )


def _watched(resource: Resource[Any], namespace: str) -> WatchedCollection:
    return WatchedCollection(resource.group, resource.plural, namespace if resource.namespaced else "")


class _Unconnected:
    """A transport that reaches no server. Threads: any."""

    def __str__(self) -> str:
        return "no server"

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self._refuse(request)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self._refuse(request)

    def close(self) -> None:
        """Do nothing."""

    def _refuse(self, request: HTTPRequest) -> NoReturn:
        raise UsageError(
            f"setup asks the server ({request.method} {request.path}), and manifests are made without one: "
            "move the request into a runnable or a reconciler"
        )
