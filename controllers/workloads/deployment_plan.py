# SPDX-License-Identifier: Apache-2.0
"""The number of replicas that each ReplicaSet of a Deployment gets: rolling, recreating, scaling in proportion.

Each function returns the ReplicaSets to change with their new number of replicas. Nothing else follows from a spec
and a state, so a step that was lost or made twice does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence

from controllers.workloads.deployment_views import MAXIMUM, Deployment, counted_in, desired_of, replicas_in, revision_of
from controllers.workloads.pods import Pod
from controllers.workloads.replica_set_plan import ReplicaSet
from controllers.workloads.templates import without_hash

Scaling = list[tuple[ReplicaSet, int]]
"""ReplicaSets, each with the replicas that it is to have."""


def new_of(deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """Return the ReplicaSet with the current template; if several have it, the oldest. None if there is none."""
    wanted = without_hash(deployment.spec.template)
    found = [each for each in replica_sets if without_hash(each.spec.template) == wanted]
    return min(found, key=_by_age, default=None)


def _by_age(replica_set: ReplicaSet) -> tuple[str, str]:
    return str(replica_set.metadata.creation_timestamp), replica_set.metadata.name


def replicas_of_new(deployment: Deployment, replica_sets: Sequence[ReplicaSet], present: int) -> int:
    """Return the next number of replicas of the new ReplicaSet, now `present`: it grows as far as `maxSurge` allows."""
    if not deployment.is_rolling:
        return deployment.spec.replicas
    room = deployment.spec.replicas + deployment.max_surge - replicas_in(replica_sets)
    if room <= 0:
        return present
    return present + min(room, deployment.spec.replicas - present)


def roll(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Scaling:
    """Return the next step of a rolling update: scale the new ReplicaSet, or else the old ones."""
    everything = [*old, new]
    if new.spec.replicas > deployment.spec.replicas:
        return [(new, deployment.spec.replicas)]
    wanted = replicas_of_new(deployment, everything, new.spec.replicas)
    if wanted != new.spec.replicas:
        return [(new, wanted)]
    return _shrink(deployment, new, old)


def _shrink(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> Scaling:
    """Return the old ReplicaSets to scale down: pods that are not available first, then as many as can be missed."""
    if replicas_in(old) == 0:
        return []
    least = deployment.spec.replicas - deployment.max_unavailable
    not_yet = new.spec.replicas - new.counted("availableReplicas")
    most = replicas_in([*old, new]) - least - not_yet
    if most <= 0:
        return []
    left = {each.metadata.name: each.spec.replicas for each in old}
    done = 0
    for each in sorted(old, key=_by_age):
        broken = left[each.metadata.name] - each.counted("availableReplicas")
        if (step := min(most - done, broken)) > 0:
            left[each.metadata.name] -= step
            done += step
    spare = counted_in([*old, new], "availableReplicas") - least
    for each in sorted(old, key=_by_age):
        if spare <= 0:
            break
        step = min(left[each.metadata.name], spare)
        left[each.metadata.name] -= step
        spare -= step
    return [(each, left[each.metadata.name]) for each in old if left[each.metadata.name] != each.spec.replicas]


def recreate(old: Sequence[ReplicaSet], pods: Sequence[Pod]) -> tuple[Scaling, bool]:
    """Return the old ReplicaSets to scale to zero, and whether their pods still run, so that the new one must wait.

    Args:
        old: The old ReplicaSets.
        pods: The pods of the old ReplicaSets.
    """
    return [(each, 0) for each in old if each.spec.replicas], any(not pod.has_ended for pod in pods)


def is_scaled(deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> bool:
    """Return whether the Deployment's replicas have changed since it last scaled its ReplicaSets."""
    return any(
        desired_of(each) not in (None, deployment.spec.replicas) for each in replica_sets if each.spec.replicas > 0
    )


def in_proportion(deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> Scaling:
    """Return how a change of the replicas is divided among ReplicaSets during a rollout or while it is paused."""
    everything = [*old, *([new] if new is not None else [])]
    active = [each for each in everything if each.spec.replicas > 0]
    only = active[0] if len(active) == 1 else None
    if not active:
        only = new or max(old, key=_by_age, default=None)
    if only is not None:
        return [(only, deployment.spec.replicas)] if only.spec.replicas != deployment.spec.replicas else []
    if new is not None and _is_saturated(deployment, new):
        return [(each, 0) for each in old if each.spec.replicas]
    if not deployment.is_rolling:
        return []
    return _spread(deployment, active)


def _is_saturated(deployment: Deployment, new: ReplicaSet) -> bool:
    wanted = deployment.spec.replicas
    return new.spec.replicas == desired_of(new) == wanted == new.counted("availableReplicas")


def _spread(deployment: Deployment, active: Sequence[ReplicaSet]) -> Scaling:
    total = replicas_in(active)
    allowed = deployment.spec.replicas + deployment.max_surge if deployment.spec.replicas else 0
    change = allowed - total
    if change == 0:
        return []
    # The largest take the first share; of equals the newer one when growing, the older one when shrinking.
    newest_first = sorted(active, key=_by_age, reverse=change > 0)
    ordered = sorted(newest_first, key=lambda each: -each.spec.replicas)
    found: dict[str, int] = {}
    left = change
    for each in ordered:
        share = _share(each, deployment, left) if total else 0
        found[each.metadata.name] = max(0, each.spec.replicas + share)
        left -= share
    first = ordered[0].metadata.name
    found[first] = max(0, found[first] + left)
    return [(each, found[each.metadata.name]) for each in ordered]


def _share(replica_set: ReplicaSet, deployment: Deployment, left: int) -> int:
    """Return the part of a change that falls to one ReplicaSet, never more than what is left of it."""
    if left == 0 or replica_set.spec.replicas == 0:
        return 0
    before = _maximum_of(replica_set) or deployment.status.get("replicas", 0) or 1
    allowed = deployment.spec.replicas + deployment.max_surge if deployment.spec.replicas else 0
    exact = replica_set.spec.replicas * allowed / before
    share = int(exact + 0.5) - replica_set.spec.replicas
    return min(share, left) if left > 0 else max(share, left)


def _maximum_of(replica_set: ReplicaSet) -> int:
    found = (replica_set.metadata.annotations or {}).get(MAXIMUM, "")
    return int(found) if found.isdecimal() else 0


def surplus(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Return the old ReplicaSets without pods that are beyond the history limit, the oldest revision first."""
    if deployment.keeps_history:
        return []
    alive = sorted((each for each in old if each.metadata.deletion_timestamp is None), key=revision_of)
    beyond = alive[: max(0, len(alive) - deployment.spec.revision_history_limit)]
    return [
        each
        for each in beyond
        if not each.spec.replicas
        and not each.counted("replicas")
        and each.metadata.generation <= each.counted("observedGeneration")
    ]
