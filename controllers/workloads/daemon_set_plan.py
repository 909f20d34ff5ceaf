# SPDX-License-Identifier: Apache-2.0
"""The nodes on which a DaemonSet's pods belong, which of them to create and to delete, and its status."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs
import msgspec

from apimachinery.decoding import converter_of
from apimachinery.objects import ObjectMeta
from controllers.taint_eviction.toleration import Taint, Toleration
from controllers.workloads.int_or_percent import IntOrPercent, scaled
from controllers.workloads.pods import Pod, Template
from controllers.workloads.revisions import REVISION_HASH
from controllers.workloads.scheduler_plan import Node, fits_selectors
from controllers.workloads.status import Status, filled

GENERATION, DEPRECATED_GENERATION = "pod-template-generation", "deprecated.daemonset.template.generation"
# The taints that every daemon pod tolerates, so that it stays on a node in trouble and comes to a cordoned one.
_TOLERATED = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)

_as_tolerations: Callable[[Any], list[Toleration]] = converter_of(list[Toleration])


class _DaemonSetRollingUpdate(msgspec.Struct, gc=False, rename="camel"):
    max_unavailable: IntOrPercent = 1
    max_surge: IntOrPercent = 0


class _DaemonSetUpdateStrategy(msgspec.Struct, gc=False, rename="camel"):
    type: str = "RollingUpdate"
    rolling_update: _DaemonSetRollingUpdate | None = None


class DaemonSetSpec(msgspec.Struct, gc=False, rename="camel"):
    """The fields of the spec that the controller reads."""

    selector: dict[str, Any]
    template: Template
    update_strategy: _DaemonSetUpdateStrategy = msgspec.field(default_factory=_DaemonSetUpdateStrategy)
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSet(msgspec.Struct, gc=False):
    """A DaemonSet."""

    metadata: ObjectMeta
    spec: DaemonSetSpec
    status: Status = msgspec.field(default_factory=dict)

    @property
    def generation(self) -> str:
        """The template generation, which is a label of the pods; empty if the server does not maintain it."""
        return (self.metadata.annotations or {}).get(DEPRECATED_GENERATION, "")

    def is_updated(self, pod: Pod, revision_hash: str) -> bool:
        """Return whether a pod was made from the current template."""
        by_generation = bool(self.generation) and pod.labels.get(GENERATION) == self.generation
        return pod.labels.get(REVISION_HASH) == revision_hash or by_generation


@attrs.frozen
class DaemonSetPlan:
    """The next step for a DaemonSet.

    Attributes:
        create: The nodes on which to create a pod.
        delete: The pods to delete.
        wait: Seconds until the next ready pod counts as available; None if there is none.
    """

    create: Sequence[str] = ()
    delete: Sequence[Pod] = ()
    wait: float | None = None


def belongs(daemon_set: DaemonSet, node: Node) -> tuple[bool, bool]:
    """Return whether the node should have a pod, and whether a pod that already runs there may stay."""
    spec = daemon_set.spec.template.get("spec") or {}
    if spec.get("nodeName") not in (None, "", node.name):
        return False, False
    if not fits_selectors(node, spec.get("nodeSelector"), spec.get("affinity")):
        return False, False
    tolerations = _as_tolerations(template_for(daemon_set, "")["spec"]["tolerations"])
    taints: Sequence[Taint] = node.spec.taints or ()
    against = [taint for taint in taints if not any(each.matches(taint) for each in tolerations)]
    if any(taint.effect == "NoExecute" for taint in against):
        return False, False
    return not any(taint.effect == "NoSchedule" for taint in against), True


def template_for(daemon_set: DaemonSet, revision_hash: str) -> Template:
    """Return the template of the pods, with the tolerations of daemons and the labels of the revision."""
    made = copy.deepcopy(daemon_set.spec.template)
    labels = made.setdefault("metadata", {}).setdefault("labels", {})
    if daemon_set.generation:
        labels[GENERATION] = daemon_set.generation
    labels[REVISION_HASH] = revision_hash
    spec = made.setdefault("spec", {})
    wanted = [("network-unavailable", "NoSchedule")] if spec.get("hostNetwork") else []
    tolerations = [*(spec.get("tolerations") or ())]
    for name, effect in (*_TOLERATED, *wanted):
        toleration = {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
        if toleration not in tolerations:
            tolerations.append(toleration)
    spec["tolerations"] = tolerations
    return made


def pod_for(daemon_set: DaemonSet, node: str, revision_hash: str) -> dict[str, Any]:
    """Return metadata and spec of the pod for a node, to which a node affinity ties it."""
    made = template_for(daemon_set, revision_hash)
    affinity = made["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
    return made


def node_of(pod: Pod, affinity: Mapping[str, Any] | None) -> str:
    """Return the node to which a pod is bound, or tied by its node affinity; empty if neither."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = ((affinity or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def plan(
    daemon_set: DaemonSet, nodes: Sequence[Node], pods: Mapping[str, Sequence[Pod]], revision_hash: str, now: datetime
) -> DaemonSetPlan:
    """Return the next step for a DaemonSet.

    Args:
        daemon_set: The DaemonSet.
        nodes: All nodes.
        pods: The DaemonSet's pods by node, oldest first.
        revision_hash: The hash of the current template.
        now: The current time.
    """
    create: list[str] = []
    delete: list[Pod] = []
    for node in nodes:
        runs, stays = belongs(daemon_set, node)
        here = pods.get(node.name, ())
        if runs and not here:
            create.append(node.name)
        elif not stays:
            delete += [pod for pod in here if not pod.is_terminating]
        else:
            delete += _superfluous(daemon_set, here, revision_hash, now)
    names = {node.name for node in nodes}
    delete += [pod for name, here in pods.items() if name not in names for pod in here if not pod.is_terminating]
    waits = [wait for here in pods.values() for pod in here if (wait := _wait(daemon_set, pod, now))]
    if not create and not delete and daemon_set.spec.update_strategy.type == "RollingUpdate":
        create, delete = _rolled(daemon_set, nodes, pods, revision_hash, now)
    return DaemonSetPlan(create, delete, min(waits, default=None))


def _wait(daemon_set: DaemonSet, pod: Pod, now: datetime) -> float | None:
    return pod.available_in(daemon_set.spec.min_ready_seconds, now)


def _superfluous(daemon_set: DaemonSet, here: Sequence[Pod], revision_hash: str, now: datetime) -> list[Pod]:
    """Return the pods of one node that ended, and those beyond one; a surge may add one of the present template."""
    ended = [pod for pod in here if pod.has_ended and not pod.is_terminating]
    running = [pod for pod in here if pod.is_active]
    if _surge(daemon_set, 1) == 0:
        return [*ended, *running[1:]]
    new = [pod for pod in running if daemon_set.is_updated(pod, revision_hash)]
    old = [pod for pod in running if not daemon_set.is_updated(pod, revision_hash)]
    if new and old and _wait(daemon_set, new[0], now) == 0:
        return [*ended, *old, *new[1:]]
    return [*ended, *old[1:], *new[1:]]


def _surge(daemon_set: DaemonSet, wanted: int) -> int:
    rolling = daemon_set.spec.update_strategy.rolling_update
    return scaled(rolling.max_surge, wanted, round_up=True) if rolling is not None else 0


def _rolled(
    daemon_set: DaemonSet, nodes: Sequence[Node], pods: Mapping[str, Sequence[Pod]], revision_hash: str, now: datetime
) -> tuple[list[str], list[Pod]]:
    """Return the nodes that get a second pod and the pods to replace, as far as the bounds of the update allow."""
    wanted = [node.name for node in nodes if belongs(daemon_set, node)[0]]
    rolling = daemon_set.spec.update_strategy.rolling_update or _DaemonSetRollingUpdate()
    surge, most = _surge(daemon_set, len(wanted)), scaled(rolling.max_unavailable, len(wanted), round_up=True)
    if surge == 0 and most == 0:
        most = 1
    old: list[tuple[str, Pod]] = []
    unavailable = surging = 0
    broken: list[Pod] = []
    for name in wanted:
        new = [pod for pod in pods.get(name, ()) if daemon_set.is_updated(pod, revision_hash)]
        outdated = [pod for pod in pods.get(name, ()) if not daemon_set.is_updated(pod, revision_hash)]
        available = [pod for pod in pods.get(name, ()) if pod.is_active and _wait(daemon_set, pod, now) == 0]
        going = [pod for pod in outdated if pod.is_active]
        if new and outdated:
            surging += 1
        elif going and not available:
            broken += going
        elif going:
            old.append((name, going[0]))
        unavailable += not available
    if surge:
        return [name for name, _ in old[: max(0, surge - surging)]], broken
    return [], [*broken, *(pod for _, pod in old[: max(0, most - unavailable)])]


def status_of(
    daemon_set: DaemonSet, nodes: Sequence[Node], pods: Mapping[str, Sequence[Pod]], revision_hash: str, now: datetime
) -> Status:
    """Return the new status of a DaemonSet. Of several pods on a node only the oldest counts."""
    wanted = [node.name for node in nodes if belongs(daemon_set, node)[0]]
    elsewhere = [node.name for node in nodes if node.name not in set(wanted) and pods.get(node.name)]
    first = [pods[name][0] for name in wanted if pods.get(name)]
    ready = [pod for pod in first if pod.is_ready]
    available = [pod for pod in ready if _wait(daemon_set, pod, now) == 0]
    status: Status = {
        "currentNumberScheduled": len(first),
        "numberMisscheduled": len(elsewhere),
        "desiredNumberScheduled": len(wanted),
        "numberReady": len(ready),
    }
    return status | filled(
        observedGeneration=daemon_set.metadata.generation,
        updatedNumberScheduled=sum(daemon_set.is_updated(pod, revision_hash) for pod in first),
        numberAvailable=len(available),
        numberUnavailable=len(wanted) - len(available),
        collisionCount=daemon_set.status.get("collisionCount"),
    )
