# SPDX-License-Identifier: Apache-2.0
"""The part of a pod that the controllers of workloads read, and the questions that they all ask about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from apimachinery.objects import ObjectKey, ObjectMeta

Template = dict[str, Any]
"""A pod template: the metadata and spec of the pods to create, copied as it is."""
ENDED = ("Succeeded", "Failed")
"""Phases that a pod never leaves."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class PodCondition(msgspec.Struct, gc=False, rename="camel"):
    """One condition of a pod."""

    type: str
    status: str = "Unknown"
    last_transition_time: datetime | None = None


class Terminated(msgspec.Struct, gc=False, rename="camel"):
    """The end of a container."""

    exit_code: int = 0
    finished_at: datetime | None = None


class ContainerState(msgspec.Struct, gc=False):
    """The state of a container; `terminated` is None while it has not ended."""

    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, gc=False, rename="camel"):
    """The status of one container."""

    name: str = ""
    restart_count: int = 0
    state: ContainerState = msgspec.field(default_factory=ContainerState)


class PodSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of a pod's spec that are read."""

    node_name: str = ""
    restart_policy: str = "Always"
    affinity: dict[str, Any] | None = None


class PodStatus(msgspec.Struct, gc=False, rename="camel"):
    """The fields of a pod's status that are read."""

    phase: str = ""
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None


class Pod(msgspec.Struct, gc=False):
    """The fields of a pod that the controllers of workloads read."""

    metadata: ObjectMeta
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def name(self) -> str:
        """The name of the pod."""
        return self.metadata.name

    @property
    def key(self) -> ObjectKey:
        """The name and namespace of the pod."""
        return ObjectKey(self.metadata.name, self.metadata.namespace)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pod; empty if it has none."""
        return self.metadata.labels or {}

    @property
    def is_terminating(self) -> bool:
        """Whether the pod is marked for deletion."""
        return self.metadata.deletion_timestamp is not None

    @property
    def has_ended(self) -> bool:
        """Whether all containers have ended for good."""
        return self.status.phase in ENDED

    @property
    def is_active(self) -> bool:
        """Whether the pod runs or will run: it has not ended, and is not marked for deletion."""
        return not self.has_ended and not self.is_terminating

    @property
    def is_ready(self) -> bool:
        """Whether the condition Ready is true."""
        ready = self._ready_condition()
        return ready is not None and ready.status == "True"

    @property
    def ready_since(self) -> datetime:
        """The time since which the pod is ready; long ago if the pod does not show it."""
        ready = self._ready_condition()
        return (ready.last_transition_time if ready else None) or _LONG_AGO

    def available_in(self, min_ready_seconds: int, now: datetime) -> float | None:
        """Return the seconds until the pod counts as available: 0 if it is available now, None if it is not ready."""
        if not self.is_ready:
            return None
        if not min_ready_seconds:
            return 0.0
        return max(0.0, min_ready_seconds - (now - self.ready_since).total_seconds())

    @property
    def restarts(self) -> int:
        """The sum of the restarts of all containers."""
        return sum(each.restart_count for each in self.status.container_statuses or ())

    @property
    def created(self) -> datetime:
        """The creation time of the pod; long ago if it is missing."""
        return self.metadata.creation_timestamp or _LONG_AGO

    def _ready_condition(self) -> PodCondition | None:
        return next((each for each in self.status.conditions or () if each.type == "Ready"), None)
