# SPDX-License-Identifier: Apache-2.0
"""Counters of nodes and pods for `snapshot`: they are updated with each change, so that a reading costs no scan."""

from __future__ import annotations

from collections import Counter

import attrs
import msgspec

from apimachinery.errors import UNREADABLE
from apimachinery.host import Host
from apimachinery.objects import Cached
from controller_runtime.cache.store import Delta
from controllers.node_ttl import ANNOTATION
from controllers.shared.views import ConditionsView

ZONE = "topology.kubernetes.io/zone"


class _CountedMetadata(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _Taint(msgspec.Struct, gc=False):
    effect: str = ""


class _CountedSpec(msgspec.Struct, gc=False):
    taints: list[_Taint] | None = None


class _CountedNode(msgspec.Struct, gc=False):
    metadata: _CountedMetadata
    spec: _CountedSpec | None = None
    status: ConditionsView | None = None


class _CountedPodMetadata(msgspec.Struct, gc=False, rename="camel"):
    deletion_timestamp: str | None = None


class _CountedPod(msgspec.Struct, gc=False):
    metadata: _CountedPodMetadata
    status: ConditionsView | None = None


_decoder = msgspec.json.Decoder(_CountedNode)
_pod_decoder = msgspec.json.Decoder(_CountedPod)


@attrs.frozen
class _Features:
    """The properties by which a node is counted."""

    ready: str = "Unknown"
    ttl: str = ""
    zone: str = ""
    evicts: bool = False


@attrs.frozen
class NodeCounts:
    """The counts of nodes at one moment.

    Attributes:
        nodes: The number of nodes.
        ready: The number of nodes by the status of their Ready condition; a node without one counts as `Unknown`.
        ttl: The number of nodes by the raw text of their TTL annotation; the key is empty for nodes without one.
        evicting: The number of nodes with a NoExecute taint, from which pods are evicted.
        zones: The numbers of ready and of other nodes, by zone; the key is empty for nodes without a zone.
    """

    nodes: int
    ready: dict[str, int]
    ttl: dict[str, int]
    evicting: int = 0
    zones: dict[str, tuple[int, int]] = attrs.field(factory=dict)


class NodeCounter:
    """Counts nodes as they change, so that the cost of `count` does not grow with the number of nodes.

    Threads: `observe` from one at a time; `count` from any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the fields below, because `count` runs on other threads than `observe`.
        self._lock = host.lock("node counter")
        self._nodes = 0
        self._evicting = 0
        self._ready: Counter[str] = Counter()
        self._ttl: Counter[str] = Counter()
        self._zones: Counter[tuple[str, bool]] = Counter()

    def observe(self, delta: Delta) -> None:
        """Count one change. A node that cannot be decoded counts as `Unknown`."""
        old = _features(delta.old) if delta.old is not None else None
        new = _features(delta.new) if delta.new is not None else None
        with self._lock:
            for features, sign in ((old, -1), (new, 1)):
                if features is not None:
                    self._nodes += sign
                    self._evicting += sign * features.evicts
                    self._ready[features.ready] += sign
                    self._ttl[features.ttl] += sign
                    self._zones[features.zone, features.ready == "True"] += sign

    def count(self) -> NodeCounts:
        """Return the current counts."""
        with self._lock:
            # Unary plus drops the entries that are zero, such as TTLs that no node has any more.
            self._ready, self._ttl, self._zones = +self._ready, +self._ttl, +self._zones
            zones = {
                zone: (self._zones[zone, True], self._zones[zone, False])
                for zone in sorted({z for z, _ in self._zones})
            }
            return NodeCounts(self._nodes, dict(self._ready), dict(self._ttl), self._evicting, zones)


def _features(node: Cached) -> _Features:
    try:
        view = _decoder.decode(node.raw)
    except UNREADABLE:
        return _Features()
    taints = (view.spec.taints if view.spec else None) or []
    return _Features(
        _ready(view.status) or "Unknown",
        (view.metadata.annotations or {}).get(ANNOTATION, ""),
        (view.metadata.labels or {}).get(ZONE, ""),
        any(taint.effect == "NoExecute" for taint in taints),
    )


def _ready(status: ConditionsView | None) -> str | None:
    return next((c.status for c in (status.conditions if status else None) or [] if c.type == "Ready"), None)


@attrs.frozen
class PodCounts:
    """The counts of pods at one moment.

    Attributes:
        pods: The number of pods.
        ready: The number of pods that are ready and not being deleted.
        going: The number of pods that are being deleted.
    """

    pods: int = 0
    ready: int = 0
    going: int = 0


class PodCounter:
    """Counts pods as they change.

    Threads: `observe` from one at a time; `count` from any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the counts, because `count` runs on other threads than `observe`.
        self._lock = host.lock("pod counter")
        self._counts: Counter[tuple[bool, bool]] = Counter()  # by (is being deleted, is ready)

    def observe(self, delta: Delta) -> None:
        """Count one change. A pod that cannot be decoded counts as not ready."""
        sides = [(_of_pod(side), sign) for side, sign in ((delta.old, -1), (delta.new, 1)) if side is not None]
        with self._lock:
            for features, sign in sides:
                self._counts[features] += sign

    def count(self) -> PodCounts:
        """Return the current counts."""
        with self._lock:
            going = self._counts[True, True] + self._counts[True, False]
            ready = self._counts[False, True]
            return PodCounts(going + ready + self._counts[False, False], ready, going)


def _of_pod(pod: Cached) -> tuple[bool, bool]:
    """Return whether the pod is being deleted, and whether it is ready."""
    try:
        view = _pod_decoder.decode(pod.raw)
    except UNREADABLE:
        return False, False
    return view.metadata.deletion_timestamp is not None, _ready(view.status) == "True"
