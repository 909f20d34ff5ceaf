# SPDX-License-Identifier: Apache-2.0
"""Marks the pods of a node that fell silent as not ready, so that nobody sends them work."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from controller_runtime.api.objects import ObjectKey, timestamp
from controller_runtime.api.resources import PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Request
from controller_runtime.core.errors import ControllerRuntimeError, DecodeError, NotFound
from controller_runtime.core.host import Clock, Host
from controller_runtime.core.log import get_logger
from controller_runtime.events.recorder import EventRecorder
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.views import PodView, node_of

log = get_logger(__name__)


@attrs.define
class Round:
    """One pass over the pods of a node, in as many turns as it takes.

    Attributes:
        tried: Those that were marked, or could not be.
        failures: Why some could not.

    Threads: the one that holds the node's key.
    """

    tried: set[ObjectKey] = attrs.field(factory=set)
    failures: list[str] = attrs.field(factory=list)


class Debts:
    """The nodes whose pods are still to be marked. Threads: any."""

    def __init__(self, host: Host) -> None:
        # Guards the rounds, by the name of the node.
        self._lock = host.lock("pods to mark")
        self._rounds: dict[str, Round] = {}

    def owe(self, name: str) -> None:
        """The pods of that node are to be marked, all of them."""
        with self._lock:
            self._rounds[name] = Round()

    def forgive(self, name: str) -> None:
        """They are, or need not be any more."""
        with self._lock:
            self._rounds.pop(name, None)

    def round(self, name: str) -> Round | None:
        """How far the marking of that node's pods has come; None if they need not be marked."""
        with self._lock:
            return self._rounds.get(name)


@attrs.frozen
class PodMarker:
    """Writes Ready=False of pods. Threads: any."""

    clock: Clock
    client: Client
    pods: Lister[PodView]
    pods_of: Callable[[str], Iterable[ObjectKey]]
    recorder: EventRecorder
    monitor: Monitor

    def placed(self, delta: Delta) -> Iterable[Request]:
        """Pods that come to a node which is not ready."""
        name = node_of(delta.new)
        if delta.initial or not name or name == node_of(delta.old) or not self.monitor.is_not_ready(name):
            return ()
        return (delta.key,)

    def mark_late(self, key: ObjectKey) -> None:
        """Mark one pod that came to a node which is not ready.

        Raises:
            ControllerRuntimeError: It could not be written.
        """
        pod = self.pods.get(key)
        if pod is not None and self.monitor.is_not_ready(pod.node_name):
            self._mark(pod)

    def mark_some(self, name: str, so_far: Round, until: float) -> bool:
        """Go on marking the pods of a node that can be read; whether all of them were tried.

        It begins with no other pod after `until` (monotonic seconds), so that this node, if it returns meanwhile,
        and other nodes do not wait for all pods whose writes hang.
        """
        for request in self.pods_of(name):
            if request in so_far.tried:
                continue
            if self.clock.monotonic() >= until:
                return False
            so_far.tried.add(request)
            try:
                pod = self.pods.get(request)
                if pod is not None:
                    self._mark(pod)
            except DecodeError as error:
                log.warning("pod left alone: it cannot be read", node=name, pod=request, error=error)
            except ControllerRuntimeError as error:
                so_far.failures.append(f"{request}: {error}")
        if so_far.failures:
            log.warning("pods are not marked yet", node=name, pods=len(so_far.failures), first=so_far.failures[0])
        return True

    def _mark(self, pod: PodView) -> None:
        if pod.ready in (None, "False"):
            return
        condition = {"type": "Ready", "status": "False", "lastTransitionTime": timestamp(self.clock.now())}
        patch = {
            "metadata": {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version},
            "status": {"conditions": [condition]},
        }
        try:
            self.client.patch(PODS, pod.key, patch, type=PatchType.STRATEGIC, subresource="status")
        except NotFound:
            return
        self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready", resource=PODS)
