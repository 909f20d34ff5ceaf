# SPDX-License-Identifier: Apache-2.0
"""The plan for a StatefulSet: the pods to create and to delete, in the order of their ordinals, and its status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import attrs
import msgspec

from apimachinery.objects import ObjectMeta
from controllers.workloads.pods import Pod, Template
from controllers.workloads.revisions import REVISION_HASH
from controllers.workloads.status import Status, filled


class _StatefulSetRollingUpdate(msgspec.Struct, gc=False):
    partition: int = 0


class _StatefulSetUpdateStrategy(msgspec.Struct, gc=False, rename="camel"):
    type: str = "RollingUpdate"
    rolling_update: _StatefulSetRollingUpdate | None = None


class _Retention(msgspec.Struct, gc=False, rename="camel"):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class _Ordinals(msgspec.Struct, gc=False):
    start: int = 0


class StatefulSetSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of the spec that the controller reads."""

    selector: dict[str, Any]
    template: Template
    replicas: int = 1
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    update_strategy: _StatefulSetUpdateStrategy = msgspec.field(default_factory=_StatefulSetUpdateStrategy)
    volume_claim_templates: list[dict[str, Any]] | None = None
    persistent_volume_claim_retention_policy: _Retention = msgspec.field(default_factory=_Retention)
    revision_history_limit: int = 10
    min_ready_seconds: int = 0
    ordinals: _Ordinals = msgspec.field(default_factory=_Ordinals)


class StatefulSet(msgspec.Struct, gc=False):
    """A StatefulSet."""

    metadata: ObjectMeta
    spec: StatefulSetSpec
    status: Status = msgspec.field(default_factory=dict)

    @property
    def ordinals(self) -> range:
        """The ordinals of the pods."""
        start = self.spec.ordinals.start
        return range(start, start + self.spec.replicas)

    @property
    def is_ordered(self) -> bool:
        """Whether one pod is created or deleted at a time."""
        return self.spec.pod_management_policy == "OrderedReady"


@attrs.frozen
class StatefulSetPlan:
    """The next step of a StatefulSet.

    Attributes:
        create: Ordinals of pods to create, each with the name of its revision.
        delete: The pods to delete.
        wait: Seconds until the next ready pod counts as available; None if there is none.
    """

    create: Sequence[tuple[int, str]] = ()
    delete: Sequence[Pod] = ()
    wait: float | None = None


def ordinal_of(stateful_set: StatefulSet, pod: Pod) -> int | None:
    """Return the ordinal in the name of a pod; None if the name has another form."""
    number = pod.name.removeprefix(f"{stateful_set.metadata.name}-")
    return int(number) if number.isdecimal() and pod.name != number else None


def plan(stateful_set: StatefulSet, pods: Sequence[Pod], current: str, update: str, now: datetime) -> StatefulSetPlan:
    """Return the next step of a StatefulSet.

    Args:
        stateful_set: The StatefulSet.
        pods: The pods of the StatefulSet.
        current: The name of the current revision, which pods had before the update.
        update: The name of the revision of the new template.
        now: The current time.
    """
    by_ordinal = {number: pod for pod in pods if (number := ordinal_of(stateful_set, pod)) is not None}
    seconds = stateful_set.spec.min_ready_seconds
    waits = [wait for pod in pods if (wait := pod.available_in(seconds, now))]
    wait = min(waits, default=None)
    create: list[tuple[int, str]] = []
    delete: list[Pod] = []
    for step in _steps(stateful_set, by_ordinal, current, update, now):
        if isinstance(step, Pod):
            delete.append(step)
        elif step is not None:
            create.append(step)
        if stateful_set.is_ordered:
            return StatefulSetPlan(create, delete, wait)
    if create or delete:
        return StatefulSetPlan(create, delete, wait)
    return StatefulSetPlan((), [*_outdated(stateful_set, by_ordinal, update, now)][:1], wait)


def _steps(
    stateful_set: StatefulSet, pods: dict[int, Pod], current: str, update: str, now: datetime
) -> Iterator[Pod | tuple[int, str] | None]:
    """Yield each pod to create or delete, and None for each one that an ordered set has to wait for."""
    seconds = stateful_set.spec.min_ready_seconds
    for number in stateful_set.ordinals:
        pod = pods.get(number)
        if pod is None:
            yield number, _revision_for(stateful_set, number, current, update)
        elif pod.has_ended:
            yield None if pod.is_terminating else pod
        elif _is_broken(pod, seconds, now):
            yield None
    condemned = [pods[number] for number in sorted(pods, reverse=True) if number not in stateful_set.ordinals]
    kept = [pods[number] for number in stateful_set.ordinals if number in pods]
    first_broken = next((pod for pod in [*kept, *reversed(condemned)] if _is_broken(pod, seconds, now)), None)
    for pod in condemned:
        waits = stateful_set.is_ordered and _is_broken(pod, seconds, now) and pod is not first_broken
        if pod.is_terminating or waits:
            yield None
        else:
            yield pod


def _is_broken(pod: Pod, min_ready_seconds: int, now: datetime) -> bool:
    return pod.is_terminating or pod.available_in(min_ready_seconds, now) != 0


def _revision_for(stateful_set: StatefulSet, number: int, current: str, update: str) -> str:
    """Return the revision of a pod that is missing: below the partition, or not updated yet, the one from before."""
    strategy = stateful_set.spec.update_strategy
    if strategy.rolling_update is not None:
        kept = strategy.rolling_update.partition
    elif strategy.type == "RollingUpdate":
        kept = int(stateful_set.status.get("currentReplicas", 0))
    else:
        kept = 0
    return current if number < stateful_set.spec.ordinals.start + kept else update


def _outdated(stateful_set: StatefulSet, pods: dict[int, Pod], update: str, now: datetime) -> Iterator[Pod]:
    """Yield the pod to replace by the present revision: the last one, unless a later one is not available yet."""
    strategy = stateful_set.spec.update_strategy
    if strategy.type == "OnDelete":
        return
    least = strategy.rolling_update.partition if strategy.rolling_update is not None else 0
    for number in reversed(stateful_set.ordinals):
        # Kubernetes compares the place in the set with the partition here, not the ordinal.
        if number - stateful_set.spec.ordinals.start < least:
            return
        pod = pods[number]
        if pod.labels.get(REVISION_HASH) != update and not pod.is_terminating:
            yield pod
            return
        if _is_broken(pod, stateful_set.spec.min_ready_seconds, now):
            return


def status_of(
    stateful_set: StatefulSet, pods: Sequence[Pod], current: str, update: str, collisions: int, now: datetime
) -> Status:
    """Return the new status of a StatefulSet.

    With `RollingUpdate` the update revision becomes the current one once every pod has it and is ready.
    """
    alive = [pod for pod in pods if not pod.is_terminating]
    ready = [pod for pod in pods if pod.status.phase == "Running" and pod.is_ready]
    available = [pod for pod in ready if pod.available_in(stateful_set.spec.min_ready_seconds, now) == 0]
    on_current = sum(pod.labels.get(REVISION_HASH) == current for pod in alive)
    on_update = sum(pod.labels.get(REVISION_HASH) == update for pod in alive)
    wanted = stateful_set.spec.replicas
    is_complete = on_update == len(ready) == len(pods) == wanted
    if is_complete and stateful_set.spec.update_strategy.type == "RollingUpdate":
        on_current, current = on_update, update
    status: Status = {"replicas": len(pods), "availableReplicas": len(available), "collisionCount": collisions}
    return status | filled(
        observedGeneration=stateful_set.metadata.generation,
        readyReplicas=len(ready),
        currentReplicas=on_current,
        updatedReplicas=on_update,
        currentRevision=current,
        updateRevision=update,
    )
