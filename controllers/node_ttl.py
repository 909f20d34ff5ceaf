# SPDX-License-Identifier: Apache-2.0
"""Tells each kubelet for how many seconds it may cache secrets and config maps, by the size of the cluster.

The annotation `node.alpha.kubernetes.io/ttl` holds this number, the TTL. It grows with the number of
nodes, so that the kubelets of a large cluster do not overload the API server. The TTL follows the
number of nodes in steps with hysteresis; the rest is one patch of one annotation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import attrs

from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import PartialObjectMetadata
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.queue.rate_limiters import Bucket, ItemExponential, MaxOf

log = get_logger(__name__)

NAME = "node-ttl"
ANNOTATION = "node.alpha.kubernetes.io/ttl"
WORKERS = 5
"""Number of workers; kube-controller-manager runs as many for this controller."""


@attrs.frozen
class TTLStep:
    """A range of cluster sizes (numbers of nodes, both ends included), and its TTL in seconds."""

    at_least: int
    at_most: int
    ttl: int


# The table of Kubernetes (pkg/controller/ttl). Neighbours overlap, and within an overlap the step does
# not change, so that a cluster whose size moves around a boundary is not patched again and again.
STEPS: Sequence[TTLStep] = (
    TTLStep(0, 100, 0),
    TTLStep(90, 500, 15),
    TTLStep(450, 1000, 30),
    TTLStep(900, 2000, 60),
    TTLStep(1800, 2**31 - 1, 300),
)


def advance(step: int, nodes: int) -> int:
    """Return the index in `STEPS` for a cluster with `nodes` nodes whose previous index was `step`."""
    while nodes > STEPS[step].at_most:
        step += 1
    while nodes < STEPS[step].at_least:
        step -= 1
    return step


_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MOST_DIGITS = 19  # of a 64-bit integer; longer texts are not converted, which could take long


def parse_ttl(text: str | None) -> int | None:
    """Return the TTL in an annotation; None if it is missing or is not a decimal 64-bit integer."""
    if text is None or not _INTEGER.fullmatch(text) or len(text.lstrip("+-0")) > _MOST_DIGITS:
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


class ClusterSize:
    """Counts the nodes with each change, in order, and gives the TTL.

    The order matters: after 95, 105 and 95 nodes the step is a higher one than after 95 nodes only. A restart counts
    from zero, so the step may be a lower one after it, as in kube-controller-manager.

    Args:
        host: Creates the lock.
        all_nodes: Returns the keys of all nodes.
        lazy: Whether a change of step is applied only to the node that changed; see `node_ttl`.

    Threads: `observe` from one at a time; `ttl` from any.
    """

    def __init__(self, host: Host, all_nodes: Callable[[], Iterable[Request]], *, lazy: bool = False) -> None:
        self._all_nodes = all_nodes
        self._lazy = lazy
        # Guards the two fields below.
        self._lock = host.lock("cluster size")
        self._nodes = 0
        self._step = 0

    @property
    def nodes(self) -> int:
        """The number of nodes counted so far."""
        return self._nodes  # one number

    def ttl(self) -> int:
        """Return the TTL for the current number of nodes, in seconds."""
        with self._lock:
            return STEPS[self._step].ttl

    def observe(self, delta: Delta) -> Iterable[Request]:
        """Count one change, and return the nodes to reconcile: the changed one, unless it was deleted.

        When the step changes, they are all nodes, except if `lazy` is True or the change is of the initial list.
        """
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
        # The initial list delivers every node anyway. The keys of all nodes are read outside the lock.
        return concerned if delta.initial or self._lazy else [*self._all_nodes(), *concerned]


@attrs.frozen
class NodeTTL(Reconciler):
    """Patches a node whose annotation is missing, unreadable or different from the current TTL."""

    nodes: Lister[PartialObjectMetadata]
    client: Client
    size: ClusterSize

    def reconcile(self, request: Request) -> Result:
        """Patch the annotation of one node unless it has the current TTL."""
        node = self.nodes.get(request)
        if node is None:
            return Result()
        ttl = self.size.ttl()
        if parse_ttl((node.metadata.annotations or {}).get(ANNOTATION)) != ttl:
            patch = {"metadata": {"annotations": {ANNOTATION: str(ttl)}}}
            self.client.patch(NODES, request, patch, type=PatchType.STRATEGIC)
        return Result()


def node_ttl(manager: Manager, *, workers: int = WORKERS, lazy: bool = False) -> Controller:
    """Return the controller that annotates nodes with their TTL, ready to be added to `manager`.

    Args:
        manager: The manager, whose client and cache of nodes are used.
        workers: The most nodes that are patched at the same time.
        lazy: If True, a node keeps its old TTL after a change of step until the node itself changes, as in
            kube-controller-manager. If False, all nodes are patched at once.
    """
    nodes = manager.lister(NODES, PartialObjectMetadata)
    size = ClusterSize(manager.host, nodes.keys, lazy=lazy)
    reconciler = NodeTTL(nodes, manager.client, size)
    # The retries of kube-controller-manager: 5 ms to 1000 s for each node, and for all nodes together
    # 10 a second after a burst of 100.
    limiter = MaxOf(ItemExponential(), Bucket())
    return Controller(NAME, reconciler, workers=workers, limiter=limiter).follow(NODES, size.observe).shareable(nodes)
