# SPDX-License-Identifier: Apache-2.0
"""Tells each kubelet how long it may cache secrets and config maps, by the size of the cluster.

The larger the cluster, the longer the advice in `node.alpha.kubernetes.io/ttl`, so
that kubelets do not overload the API server. The decision is a step that follows the
number of nodes with hysteresis; everything else is one patch of one annotation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import attrs
import msgspec

from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.rate_limiters import Bucket, ItemExponential, MaxOf

log = get_logger(__name__)

NAME = "node-ttl"
ANNOTATION = "node.alpha.kubernetes.io/ttl"
WORKERS = 5
"""As many as kube-controller-manager runs for this controller."""


@attrs.frozen
class Step:
    """A range of cluster sizes, both ends included, and its advice in seconds."""

    at_least: int
    at_most: int
    ttl: int


# Kubernetes' own table (pkg/controller/ttl). Neighbours overlap: within an overlap the
# step last left stays, so that a cluster at a boundary does not flap.
STEPS: Sequence[Step] = (
    Step(0, 100, 0),
    Step(90, 500, 15),
    Step(450, 1000, 30),
    Step(900, 2000, 60),
    Step(1800, 2**31 - 1, 300),
)


def advance(step: int, nodes: int) -> int:
    """The index of the step for a cluster of `nodes` that was in `step`."""
    while nodes > STEPS[step].at_most:
        step += 1
    while nodes < STEPS[step].at_least:
        step -= 1
    return step


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def parse_ttl(text: str | None) -> int | None:
    """The advice in an annotation, or None where it is missing or not a 64-bit integer in plain digits."""
    if text is None or not _INTEGER.fullmatch(text) or len(text.lstrip("+-0")) > 19:
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


class ClusterSize:
    """Follows the number of nodes, one add and one delete at a time, in their order.

    Order matters: 95, 105, 95 nodes is another step than 95 throughout. A restart
    counts from zero, so inside an overlap it may lower the step, as upstream's does.

    Threads: `observe` from one at a time; `ttl` from any.
    """

    def __init__(self, host: Host, everybody: Callable[[], Iterable[Request]], *, lazy: bool = False) -> None:
        self._everybody = everybody
        self._lazy = lazy
        # Guards the two fields below.
        self._lock = host.lock("cluster size")
        self._nodes = 0
        self._step = 0

    @property
    def nodes(self) -> int:
        """How many nodes there are, as far as they have been counted."""
        return self._nodes

    def ttl(self) -> int:
        """The advice in force, in seconds."""
        with self._lock:
            return STEPS[self._step].ttl

    def observe(self, delta: Delta) -> Iterable[Request]:
        """Count one change; returns whom to look at: its node, and everybody when the step changes."""
        change = (delta.new is not None) - (delta.old is not None)
        with self._lock:
            before = self._step
            self._nodes += change
            self._step = advance(before, self._nodes)
            nodes, step = self._nodes, self._step
        concerned = [delta.key] if delta.new is not None else []
        if step == before:
            return concerned
        log.info("cluster crossed a size boundary", nodes=nodes, ttl=STEPS[step].ttl, was=STEPS[before].ttl)
        # In the initial list everybody is on the way anyhow; in upstream's mode nodes wait for their next change.
        return concerned if delta.initial or self._lazy else [*self._everybody(), *concerned]


class _Metadata(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None


class NodeView(msgspec.Struct, gc=False):
    """The part of a node that this controller reads."""

    metadata: _Metadata


@attrs.frozen
class NodeTTL(Reconciler):
    """Patches a node whose annotation is missing, unreadable or not the advice in force."""

    nodes: Lister[NodeView]
    client: Client
    size: ClusterSize

    def reconcile(self, request: Request) -> Result:
        """Bring one node's annotation to the advice in force."""
        node = self.nodes.get(request)
        if node is None:
            return Result()
        ttl = self.size.ttl()
        if parse_ttl((node.metadata.annotations or {}).get(ANNOTATION)) != ttl:
            patch = {"metadata": {"annotations": {ANNOTATION: str(ttl)}}}
            self.client.patch(NODES, request, patch, type=PatchType.STRATEGIC)
        return Result()


def node_ttl(manager: Manager, *, workers: int = WORKERS, lazy: bool = False) -> Controller:
    """The controller, ready to add to `manager`.

    Args:
        manager: Whose nodes to advise.
        workers: Nodes patched at the same time.
        lazy: Upstream's mode: after a change of step a node keeps its old advice until
            its own next change. Otherwise every node is brought up to date at once.
    """
    size = ClusterSize(manager.host, manager.lister(NODES, NodeView).keys, lazy=lazy)
    reconciler = NodeTTL(manager.lister(NODES, NodeView), manager.client, size)
    # Upstream's limits for retries: each node 5 ms to 1000 s, all of them 10 a second after a burst of 100.
    limiter = MaxOf(ItemExponential(), Bucket())
    return Controller(NAME, reconciler, workers=workers, limiter=limiter).follow(NODES, size.observe)
