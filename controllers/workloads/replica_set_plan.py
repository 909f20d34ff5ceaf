# SPDX-License-Identifier: Apache-2.0
"""The plan for a ReplicaSet: how many pods more or fewer, which ones go first, and its status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import log2
from typing import Any

import attrs
import msgspec

from apimachinery.objects import ObjectMeta
from controllers.workloads.pods import Pod, Template
from controllers.workloads.status import Status, filled

BURST = 500
"""The most pods that one reconcile creates or deletes, as in Kubernetes."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


class ReplicaSetSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of the spec that the controllers read."""

    selector: dict[str, Any]
    template: Template = msgspec.field(default_factory=dict)
    replicas: int = 1
    min_ready_seconds: int = 0


class ReplicaSet(msgspec.Struct, gc=False):
    """The fields of a ReplicaSet that the controllers of workloads read."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec
    status: Status = msgspec.field(default_factory=dict)

    def counted(self, field: str) -> int:
        """Return the number in the status field `field`; 0 if it is missing."""
        return int(self.status.get(field, 0))


@attrs.frozen
class ReplicaSetPlan:
    """The next step of a ReplicaSet.

    Attributes:
        create: The number of pods to create.
        delete: The pods to delete.
    """

    create: int
    delete: Sequence[Pod]


def plan(replica_set: ReplicaSet, pods: Sequence[Pod], related: Iterable[Pod], now: datetime) -> ReplicaSetPlan:
    """Return the pods to create and to delete.

    Args:
        replica_set: The ReplicaSet.
        pods: The pods of the ReplicaSet.
        related: The pods of all ReplicaSets of the same owner. Of pods with the same phase, readiness and deletion
            cost, those whose node has more of them are deleted first.
        now: The current time.
    """
    active = [pod for pod in pods if pod.is_active]
    missing = replica_set.spec.replicas - len(active)
    if missing >= 0:
        return ReplicaSetPlan(min(missing, BURST), ())
    together = Counter(pod.spec.node_name for pod in related if pod.is_active)
    ranked = sorted(active, key=lambda pod: _rank(pod, together[pod.spec.node_name], now))
    return ReplicaSetPlan(0, ranked[: min(-missing, BURST)])


def _rank(pod: Pod, together: int, now: datetime) -> tuple[Any, ...]:
    """Return the place of a pod among those to delete: the pods that would be missed least come first."""
    return (
        bool(pod.spec.node_name),
        {"": 0, "Pending": 0, "Unknown": 1}.get(pod.status.phase, 2),
        pod.is_ready,
        _cost(pod),
        -together,
        _age(now, pod.ready_since) if pod.is_ready else 0,
        -pod.restarts,
        _age(now, pod.created),
        pod.metadata.uid,
    )


def _cost(pod: Pod) -> int:
    try:
        return int((pod.metadata.annotations or {}).get(DELETION_COST, "0"))
    except ValueError:
        return 0


def _age(now: datetime, since: datetime) -> int:
    """Return the age on a logarithmic scale: of pods that are about as old as each other, the uid decides."""
    seconds = (now - since).total_seconds()
    return int(log2(seconds)) if seconds >= 1 else 0


def status_of(
    replica_set: ReplicaSet,
    pods: Sequence[Pod],
    now: datetime,
    conditions: Sequence[Mapping[str, Any]],
) -> tuple[Status, float | None]:
    """Return the new status, and the seconds until the next ready pod counts as available (None if there is none).

    Args:
        replica_set: The ReplicaSet.
        pods: The pods of the ReplicaSet before the changes of this reconcile.
        now: The current time.
        conditions: The conditions.
    """
    active = [pod for pod in pods if pod.is_active]
    wanted = replica_set.spec.template.get("metadata", {}).get("labels") or {}
    waits = [pod.available_in(replica_set.spec.min_ready_seconds, now) for pod in active]
    status: Status = {"replicas": len(active)}
    status |= filled(
        fullyLabeledReplicas=sum(wanted.items() <= pod.labels.items() for pod in active),
        readyReplicas=sum(pod.is_ready for pod in active),
        availableReplicas=sum(wait == 0 for wait in waits),
        observedGeneration=replica_set.metadata.generation,
        conditions=[*conditions],
    )
    status["terminatingReplicas"] = sum(pod.is_terminating and not pod.has_ended for pod in pods)
    later = [wait for wait in waits if wait]
    return status, min(later, default=None)
