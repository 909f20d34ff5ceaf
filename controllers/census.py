# SPDX-License-Identifier: Apache-2.0
"""What the live view counts: nodes by their advice and readiness, kept up change by change."""

from __future__ import annotations

from collections import Counter

import attrs
import msgspec

from controller_runtime.api.objects import Cached
from controller_runtime.cache.store import Delta
from controller_runtime.core.errors import UNREADABLE
from controller_runtime.core.host import Host
from controllers.node_ttl import ANNOTATION


class _Metadata(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: _Metadata
    status: _Status | None = None


_decoder = msgspec.json.Decoder(_Node)


@attrs.frozen
class Count:
    """One instant of the census.

    Attributes:
        nodes: How many there are.
        ready: Nodes by the status of their Ready condition; `Unknown` where there is none.
        ttl: Nodes by their TTL annotation, the raw text; empty for none.
    """

    nodes: int
    ready: dict[str, int]
    ttl: dict[str, int]


class Census:
    """Counts nodes as they change, so that looking costs nothing however many there are.

    Threads: `observe` from one at a time; `count` from any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the three fields below; entries that reach zero are dropped.
        self._lock = host.lock("census")
        self._nodes = 0
        self._ready: Counter[str] = Counter()
        self._ttl: Counter[str] = Counter()

    def observe(self, delta: Delta) -> None:
        """Take one change into account."""
        old = _features(delta.old) if delta.old is not None else None
        new = _features(delta.new) if delta.new is not None else None
        with self._lock:
            for features, sign in ((old, -1), (new, 1)):
                if features is not None:
                    ready, ttl = features
                    self._nodes += sign
                    self._ready[ready] += sign
                    self._ttl[ttl] += sign

    def count(self) -> Count:
        """The counts now."""
        with self._lock:
            self._ready, self._ttl = +self._ready, +self._ttl
            return Count(self._nodes, dict(self._ready), dict(self._ttl))


def _features(node: Cached) -> tuple[str, str]:
    try:
        view = _decoder.decode(node.raw)
    except UNREADABLE:
        return "Unknown", ""
    conditions = (view.status.conditions if view.status else None) or []
    ready = next((c.status for c in conditions if c.type == "Ready"), "Unknown")
    return ready, (view.metadata.annotations or {}).get(ANNOTATION, "")
