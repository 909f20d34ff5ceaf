# SPDX-License-Identifier: Apache-2.0
"""The parts of nodes, leases and pods that the node lifecycle controller reads; nothing else of them is decoded.

Their metadata is a part of `ObjectMeta`: these views are decoded at each change of a node and each look at a pod, and
decoding all of it would take 5 to 10 % longer.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from apimachinery.objects import ObjectKey
from controllers.shared.views import ConditionsView, PlaceView

READY = "Ready"
NEVER_UPDATED = "NodeStatusNeverUpdated"
STOPPED_POSTING = "NodeStatusUnknown"
"""The reasons of conditions that only this controller writes."""

EXCLUDED = "node.kubernetes.io/exclude-disruption"
"""Label, with any value, of a node that does not count for its zone."""

_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


class NodeCondition(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A condition of a node. Its timestamps are kept as text: they are only compared, never computed with."""

    type: str
    status: str = ""
    reason: str = ""
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None

    @property
    def is_ours(self) -> bool:
        """Whether this controller wrote the condition."""
        return self.status == "Unknown" and self.reason in (NEVER_UPDATED, STOPPED_POSTING)


class _NodeMetadata(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    name: str
    uid: str = ""
    namespace: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    labels: dict[str, str] | None = None


class _NodeSpec(msgspec.Struct, gc=False, frozen=True):
    # The list is written back whole, so unknown fields of taints must not be lost by decoding.
    taints: list[dict[str, Any]] | None = None
    unschedulable: bool | None = None


class _NodeStatus(msgspec.Struct, gc=False, frozen=True):
    conditions: list[NodeCondition] | None = None


class MonitoredNodeView(msgspec.Struct, gc=False, frozen=True):
    """The fields of a node on which its health, its taints and its zone depend."""

    metadata: _NodeMetadata
    spec: _NodeSpec | None = None
    status: _NodeStatus | None = None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels."""
        return self.metadata.labels or {}

    @property
    def taints(self) -> list[dict[str, Any]]:
        """The node's taints, in their order."""
        return (self.spec.taints if self.spec else None) or []

    @property
    def unschedulable(self) -> bool:
        """Whether the node is cordoned."""
        return bool(self.spec and self.spec.unschedulable)

    @property
    def conditions(self) -> list[NodeCondition]:
        """The conditions of the node's status."""
        return (self.status.conditions if self.status else None) or []

    @property
    def ready(self) -> NodeCondition | None:
        """The node's Ready condition; None if it has none."""
        return condition(self.conditions, READY)

    @property
    def zone(self) -> str:
        """The key of the node's zone, from its region and zone labels; empty if it has neither."""
        region, zone = (next((self.labels[k] for k in keys if self.labels.get(k)), "") for keys in (_REGION, _ZONE))
        return f"{region}:\0:{zone}" if region or zone else ""


class _LeaseSpec(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    renew_time: datetime | None = None


class NodeLeaseView(msgspec.Struct, gc=False, frozen=True):
    """The fields of a node's lease that are a sign of life. The lease has the node's name; its holder is ignored."""

    spec: _LeaseSpec | None = None

    @property
    def renew_time(self) -> datetime | None:
        """The time of the last renewal; None if there is none."""
        return self.spec.renew_time if self.spec else None


class MonitoredPodView(msgspec.Struct, gc=False, frozen=True):
    """The fields of a pod that show its node and its readiness."""

    metadata: _NodeMetadata
    spec: PlaceView | None = None
    status: ConditionsView | None = None

    @property
    def key(self) -> ObjectKey:
        """The pod's name and namespace."""
        return ObjectKey(self.metadata.name, self.metadata.namespace)

    @property
    def node_name(self) -> str:
        """The node to which the pod is bound; empty if it is not bound."""
        return (self.spec.node_name if self.spec else None) or ""

    @property
    def ready(self) -> str | None:
        """The status of the pod's Ready condition; None if it has none."""
        conditions = (self.status.conditions if self.status else None) or []
        return next((each.status for each in conditions if each.type == READY), None)


def condition(conditions: list[NodeCondition], kind: str) -> NodeCondition | None:
    """Return the condition of the type `kind`; None if there is none."""
    return next((each for each in conditions if each.type == kind), None)
