# SPDX-License-Identifier: Apache-2.0
"""What the node lifecycle controller reads of nodes, leases and pods, and nothing else of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from controller_runtime.api.objects import Cached, ObjectKey
from controller_runtime.core.errors import UNREADABLE

READY = "Ready"
NEVER_UPDATED = "NodeStatusNeverUpdated"
STOPPED_POSTING = "NodeStatusUnknown"
"""The reasons that this controller, and nobody else, gives for a condition."""

EXCLUDED = "node.kubernetes.io/exclude-disruption"
"""Label of a node that its zone does not count; any value."""

_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


class Condition(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A condition of a node or a pod; the times as they are written, to be compared and never reckoned with."""

    type: str
    status: str = ""
    reason: str = ""
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether it was this controller that wrote it."""
        return self.status == "Unknown" and self.reason in (NEVER_UPDATED, STOPPED_POSTING)


class _Metadata(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    labels: dict[str, str] | None = None


class _Spec(msgspec.Struct, gc=False, frozen=True):
    # The list is written back whole, so what others put on a taint must survive the reading.
    taints: list[dict[str, Any]] | None = None
    unschedulable: bool | None = None


class _Status(msgspec.Struct, gc=False, frozen=True):
    conditions: list[Condition] | None = None


class NodeView(msgspec.Struct, gc=False, frozen=True):
    """The part of a node that this controller reads."""

    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @property
    def taints(self) -> list[dict[str, Any]]:
        """Its taints, in their order."""
        return (self.spec.taints if self.spec else None) or []

    @property
    def unschedulable(self) -> bool:
        """Whether somebody has cordoned it."""
        return bool(self.spec and self.spec.unschedulable)

    @property
    def conditions(self) -> list[Condition]:
        """What its status says."""
        return (self.status.conditions if self.status else None) or []

    @property
    def ready(self) -> Condition | None:
        """Its Ready condition, if it has one."""
        return condition(self.conditions, READY)

    @property
    def zone(self) -> str:
        """The key of its zone: region and zone by its labels; empty for a node without either."""
        region, zone = (next((self.labels[k] for k in keys if self.labels.get(k)), "") for keys in (_REGION, _ZONE))
        return f"{region}:\0:{zone}" if region or zone else ""


class _LeaseSpec(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    renew_time: datetime | None = None


class LeaseView(msgspec.Struct, gc=False, frozen=True):
    """The part of a lease that this controller reads: whose name it bears counts, not who holds it."""

    spec: _LeaseSpec | None = None

    @property
    def renew_time(self) -> datetime | None:
        """What it says of its last renewal."""
        return self.spec.renew_time if self.spec else None


class _PodCondition(msgspec.Struct, gc=False, frozen=True):
    type: str
    status: str = ""


class _PodStatus(msgspec.Struct, gc=False, frozen=True):
    conditions: list[_PodCondition] | None = None


class _PodSpec(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    node_name: str | None = None


class PodView(msgspec.Struct, gc=False, frozen=True):
    """The part of a pod that this controller reads."""

    metadata: _Metadata
    spec: _PodSpec | None = None
    status: _PodStatus | None = None

    @property
    def key(self) -> ObjectKey:
        """The pod's own name."""
        return ObjectKey(self.metadata.name, self.metadata.namespace)

    @property
    def node_name(self) -> str:
        """The node it runs on; empty while it has none."""
        return (self.spec.node_name if self.spec else None) or ""

    @property
    def ready(self) -> str | None:
        """What its Ready condition says, if it has one."""
        conditions = (self.status.conditions if self.status else None) or []
        return next((each.status for each in conditions if each.type == READY), None)


class _Placed(msgspec.Struct, gc=False, frozen=True):
    spec: _PodSpec | None = None


_placed = msgspec.json.Decoder(_Placed)


def condition(conditions: list[Condition], kind: str) -> Condition | None:
    """The condition of that type, if there is one."""
    return next((each for each in conditions if each.type == kind), None)


def node_of(pod: Cached | None) -> str:
    """The node a pod runs on; empty if it has none, or cannot be read."""
    try:
        spec = _placed.decode(pod.raw).spec if pod is not None else None
    except UNREADABLE:
        return ""
    return (spec.node_name if spec else None) or ""
