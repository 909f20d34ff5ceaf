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
    """The state of a container, as far as it has ended."""

    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, gc=False, rename="camel"):
    """The status of one container."""

    name: str = ""
    restart_count: int = 0
    state: ContainerState = msgspec.field(default_factory=ContainerState)


class PodSpec(msgspec.Struct, gc=False, rename="camel"):
    """The part of a pod's spec that is read."""

    node_name: str = ""
    restart_policy: str = "Always"
    affinity: dict[str, Any] | None = None


class PodStatus(msgspec.Struct, gc=False, rename="camel"):
    """The part of a pod's status that is read."""

    phase: str = ""
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None


class Pod(msgspec.Struct, gc=False):
    """A pod, as the controllers of workloads read it."""

    metadata: ObjectMeta
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def name(self) -> str:
        """The name."""
        return self.metadata.name

    @property
    def key(self) -> ObjectKey:
        """The name and the namespace."""
        return ObjectKey(self.metadata.name, self.metadata.namespace)

    @property
    def labels(self) -> dict[str, str]:
        """The labels; empty if absent."""
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
        """Whether the pod runs or is to run: it has not ended and is not marked for deletion."""
        return not self.has_ended and not self.is_terminating

    @property
    def is_ready(self) -> bool:
        """Whether the condition Ready is true."""
        ready = self._ready_condition()
        return ready is not None and ready.status == "True"

    @property
    def ready_since(self) -> datetime:
        """The time since when the pod is ready; long ago if the pod does not say."""
        ready = self._ready_condition()
        return (ready.last_transition_time if ready else None) or _LONG_AGO

    def available_in(self, min_ready_seconds: int, now: datetime) -> float | None:
        """Return the seconds until the pod counts as available: 0 if it does, None if it is not ready."""
        if not self.is_ready:
            return None
        if not min_ready_seconds:
            return 0.0
        return max(0.0, min_ready_seconds - (now - self.ready_since).total_seconds())

    @property
    def restarts(self) -> int:
        """The restarts of all containers together."""
        return sum(each.restart_count for each in self.status.container_statuses or ())

    @property
    def created(self) -> datetime:
        """The time of the creation."""
        return self.metadata.creation_timestamp or _LONG_AGO

    def _ready_condition(self) -> PodCondition | None:
        return next((each for each in self.status.conditions or () if each.type == "Ready"), None)
