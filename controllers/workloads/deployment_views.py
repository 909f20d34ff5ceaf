# SPDX-License-Identifier: Apache-2.0
"""A Deployment as its controller reads it, and the numbers that follow from its spec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from apimachinery.objects import ObjectMeta
from controllers.workloads.int_or_percent import IntOrPercent, scaled
from controllers.workloads.pods import Template
from controllers.workloads.replica_set_plan import ReplicaSet
from controllers.workloads.status import Status

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
_NEVER = 2**31 - 1  # the progressDeadlineSeconds and the revisionHistoryLimit that stand for none


class RollingUpdate(msgspec.Struct, gc=False, rename="camel"):
    """The limits of a rolling update."""

    max_unavailable: IntOrPercent = 0
    max_surge: IntOrPercent = 0


class Strategy(msgspec.Struct, gc=False, rename="camel"):
    """How pods are replaced."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of the spec that the controller reads."""

    selector: dict[str, Any]
    template: Template
    replicas: int = 1
    strategy: Strategy = msgspec.field(default_factory=Strategy)
    min_ready_seconds: int = 0
    paused: bool = False
    revision_history_limit: int = _NEVER
    progress_deadline_seconds: int = _NEVER


class Deployment(msgspec.Struct, gc=False):
    """A Deployment."""

    metadata: ObjectMeta
    spec: DeploymentSpec
    status: Status = msgspec.field(default_factory=dict)

    @property
    def is_rolling(self) -> bool:
        """Whether pods are replaced a few at a time."""
        return self.spec.strategy.type == "RollingUpdate"

    @property
    def has_deadline(self) -> bool:
        """Whether there is a progress deadline, so that the condition Progressing is maintained."""
        return self.spec.progress_deadline_seconds != _NEVER

    @property
    def keeps_history(self) -> bool:
        """Whether all old ReplicaSets are kept."""
        return self.spec.revision_history_limit == _NEVER

    @property
    def max_surge(self) -> int:
        """The most pods in excess of the replicas."""
        rolling = self.spec.strategy.rolling_update
        if not self.is_rolling or rolling is None:
            return 0
        return scaled(rolling.max_surge, self.spec.replicas, round_up=True)

    @property
    def max_unavailable(self) -> int:
        """The most replicas that may be unavailable; one if both limits are zero, so that the rollout can progress."""
        rolling = self.spec.strategy.rolling_update
        if not self.is_rolling or self.spec.replicas == 0 or rolling is None:
            return 0
        found = scaled(rolling.max_unavailable, self.spec.replicas, round_up=False)
        if found == 0 and self.max_surge == 0:
            found = 1
        return min(found, self.spec.replicas)


def revision_of(obj: Deployment | ReplicaSet) -> int:
    """Return the revision in the annotation; 0 if it is missing or unreadable."""
    try:
        return int((obj.metadata.annotations or {}).get(REVISION, "0"))
    except ValueError:
        return 0


def desired_of(replica_set: ReplicaSet) -> int | None:
    """Return the Deployment's replicas when it last scaled this ReplicaSet; None if that was not recorded."""
    found = (replica_set.metadata.annotations or {}).get(DESIRED, "")
    return int(found) if found.isdecimal() else None


def replicas_in(replica_sets: Iterable[ReplicaSet]) -> int:
    """Return the sum of the desired replicas of these ReplicaSets."""
    return sum(each.spec.replicas for each in replica_sets)


def counted_in(replica_sets: Iterable[ReplicaSet], field: str) -> int:
    """Return the sum of a number, `field`, in the statuses of these ReplicaSets."""
    return sum(each.counted(field) for each in replica_sets)
