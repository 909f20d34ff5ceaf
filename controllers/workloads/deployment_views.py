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
    """The bounds of a rolling update."""

    max_unavailable: IntOrPercent = 0
    max_surge: IntOrPercent = 0


class Strategy(msgspec.Struct, gc=False, rename="camel"):
    """How pods are replaced."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(msgspec.Struct, gc=False, rename="camel"):
    """The part of the spec that is read."""

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
        """Whether progress is to be made in time, which is what the condition Progressing tells."""
        return self.spec.progress_deadline_seconds != _NEVER

    @property
    def keeps_history(self) -> bool:
        """Whether all old ReplicaSets are kept."""
        return self.spec.revision_history_limit == _NEVER

    @property
    def max_surge(self) -> int:
        """The most pods above the replicas."""
        rolling = self.spec.strategy.rolling_update
        if not self.is_rolling or rolling is None:
            return 0
        return scaled(rolling.max_surge, self.spec.replicas, round_up=True)

    @property
    def max_unavailable(self) -> int:
        """The most pods below the replicas that may be unavailable; one if neither bound would let anything happen."""
        rolling = self.spec.strategy.rolling_update
        if not self.is_rolling or self.spec.replicas == 0 or rolling is None:
            return 0
        found = scaled(rolling.max_unavailable, self.spec.replicas, round_up=False)
        if found == 0 and self.max_surge == 0:
            found = 1
        return min(found, self.spec.replicas)


def revision_of(obj: Deployment | ReplicaSet) -> int:
    """Return the revision in the annotation; 0 if there is none that can be read."""
    try:
        return int((obj.metadata.annotations or {}).get(REVISION, "0"))
    except ValueError:
        return 0


def desired_of(replica_set: ReplicaSet) -> int | None:
    """Return the replicas that the Deployment had when it last scaled this ReplicaSet; None if it did not say."""
    found = (replica_set.metadata.annotations or {}).get(DESIRED, "")
    return int(found) if found.isdecimal() else None


def replicas_in(replica_sets: Iterable[ReplicaSet]) -> int:
    """Return the replicas that these ReplicaSets ask for."""
    return sum(each.spec.replicas for each in replica_sets)


def counted_in(replica_sets: Iterable[ReplicaSet], field: str) -> int:
    """Return the sum of a number in the statuses."""
    return sum(each.counted(field) for each in replica_sets)
