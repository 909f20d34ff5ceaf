# SPDX-License-Identifier: Apache-2.0
"""The node on which a pod fits, by the hard constraints: readiness, taints, selectors, affinity, requests.

Preferences and topology spread constraints are not considered. Of the nodes that fit, the one with the fewest pods is
taken, then the first by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from apimachinery.objects import ObjectMeta
from apimachinery.quantities import parse_quantity
from apimachinery.selectors import LabelSelector
from controllers.taint_eviction.toleration import Taint, Toleration
from controllers.workloads.pods import ENDED

Requests = dict[str, Decimal]
"""Amounts by resource, such as 0.5 for `cpu`."""
SCHEDULER = "default-scheduler"


class _Resources(msgspec.Struct, gc=False):
    requests: dict[str, str | int | float] = msgspec.field(default_factory=dict)


class _ScheduledContainer(msgspec.Struct, gc=False):
    resources: _Resources = msgspec.field(default_factory=_Resources)


class _ScheduledPodSpec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    scheduler_name: str = SCHEDULER
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    tolerations: list[Toleration] | None = None
    containers: list[_ScheduledContainer] = msgspec.field(default_factory=list)
    init_containers: list[_ScheduledContainer] | None = None
    scheduling_gates: list[dict[str, str]] | None = None


class _ScheduledPodStatus(msgspec.Struct, gc=False):
    phase: str = ""
    conditions: list[dict[str, Any]] | None = None


class WaitingPod(msgspec.Struct, gc=False):
    """The fields of a pod that the scheduler reads."""

    metadata: ObjectMeta
    spec: _ScheduledPodSpec = msgspec.field(default_factory=_ScheduledPodSpec)
    status: _ScheduledPodStatus = msgspec.field(default_factory=_ScheduledPodStatus)

    @property
    def takes_room(self) -> bool:
        """Whether the pod uses capacity of its node: it has not ended."""
        return self.status.phase not in ENDED

    @property
    def requests(self) -> Requests:
        """The resources that the pod requests: the sum of its containers, or the largest init container if that is
        more.
        """
        total: Requests = {"pods": Decimal(1)}
        for container in self.spec.containers:
            for name, amount in container.resources.requests.items():
                total[name] = total.get(name, Decimal(0)) + parse_quantity(str(amount))
        for container in self.spec.init_containers or ():
            for name, amount in container.resources.requests.items():
                total[name] = max(total.get(name, Decimal(0)), parse_quantity(str(amount)))
        return total


class _ScheduledNodeSpec(msgspec.Struct, gc=False):
    unschedulable: bool = False
    taints: list[Taint] | None = None


class _ScheduledNodeStatus(msgspec.Struct, gc=False):
    allocatable: dict[str, str] = msgspec.field(default_factory=dict)


class Node(msgspec.Struct, gc=False):
    """The fields of a node that the scheduler reads."""

    metadata: ObjectMeta
    spec: _ScheduledNodeSpec = msgspec.field(default_factory=_ScheduledNodeSpec)
    status: _ScheduledNodeStatus = msgspec.field(default_factory=_ScheduledNodeStatus)

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the node."""
        return self.metadata.labels or {}


@attrs.frozen
class Choice:
    """The node that was chosen for a pod; or, if none fits, the reasons.

    Attributes:
        node: The name of the node; empty if none fits.
        reasons: The number of unsuitable nodes by reason.
    """

    node: str = ""
    reasons: Mapping[str, int] = attrs.field(factory=dict)

    def message(self, nodes: int) -> str:
        """Return the reasons in the wording of the real scheduler; `nodes` is the number of all nodes."""
        reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in self.reasons.items()))
        return f"0/{nodes} nodes are available: {reasons}." if reasons else "no nodes available to schedule pods"


def choose(pod: WaitingPod, nodes: Sequence[Node], pods: Mapping[str, Sequence[WaitingPod]]) -> Choice:
    """Return the node on which a pod fits, or the reasons why it fits on none.

    Args:
        pod: The pod.
        nodes: All nodes.
        pods: The pods of each node, by the node's name.
    """
    reasons: Counter[str] = Counter()
    fitting: list[tuple[int, str]] = []
    for node in nodes:
        here = [each for each in pods.get(node.name, ()) if each.takes_room]
        found = _why_not(pod, node, here) or _why_apart(pod, node, nodes, pods)
        if found:
            reasons.update(found)
        else:
            fitting.append((len(here), node.name))
    return Choice(min(fitting)[1]) if fitting else Choice("", reasons)


def _why_not(pod: WaitingPod, node: Node, here: Sequence[WaitingPod]) -> list[str]:
    tolerations = [*(pod.spec.tolerations or ())]
    if node.spec.unschedulable and not _tolerates(tolerations, Taint("node.kubernetes.io/unschedulable", "NoSchedule")):
        return ["node(s) were unschedulable"]
    for taint in node.spec.taints or ():
        if taint.effect in ("NoSchedule", "NoExecute") and not _tolerates(tolerations, taint):
            return [f"node(s) had untolerated taint(s) {{{taint.key}: {taint.value}}}"]
    if not fits_selectors(node, pod.spec.node_selector, pod.spec.affinity):
        return ["node(s) didn't match Pod's node affinity/selector"]
    used: Requests = {}
    for each in here:
        for name, amount in each.requests.items():
            used[name] = used.get(name, Decimal(0)) + amount
    missing = [
        name
        for name, amount in pod.requests.items()
        if amount + used.get(name, Decimal(0)) > parse_quantity(node.status.allocatable.get(name, "0"))
    ]
    return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in missing]


def _tolerates(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    return any(each.matches(taint) for each in tolerations)


def fits_selectors(node: Node, node_selector: Mapping[str, str] | None, affinity: Mapping[str, Any] | None) -> bool:
    """Return whether a node has the labels that a pod's `nodeSelector` and required node affinity require."""
    if not (node_selector or {}).items() <= node.labels.items():
        return False
    required = ((affinity or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        return True
    return any(_fits_term(node, term) for term in required.get("nodeSelectorTerms") or ())


def _fits_term(node: Node, term: Mapping[str, Any]) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(_fits(node.labels, each) for each in expressions) and all(
        _fits({"metadata.name": node.name}, each) for each in fields
    )


def _fits(values: Mapping[str, str], requirement: Mapping[str, Any]) -> bool:
    value, wanted = values.get(requirement["key"]), requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            if value is None or not value.lstrip("-").isdecimal():
                return False
            return int(value) > int(wanted[0]) if operator == "Gt" else int(value) < int(wanted[0])
    return False


def _why_apart(
    pod: WaitingPod, node: Node, nodes: Sequence[Node], pods: Mapping[str, Sequence[WaitingPod]]
) -> list[str]:
    """Return a reason if the pod's required anti-affinity forbids the node, or the required affinity is not met."""
    apart = _terms(pod, "podAntiAffinity")
    if any(_is_near(pod, term, node, nodes, pods) for term in apart):
        return ["node(s) didn't match pod anti-affinity rules"]
    if not all(
        _is_near(pod, term, node, nodes, pods) or _matches(pod, pod, term) for term in _terms(pod, "podAffinity")
    ):
        return ["node(s) didn't match pod affinity rules"]
    return []


def _terms(pod: WaitingPod, kind: str) -> list[dict[str, Any]]:
    return ((pod.spec.affinity or {}).get(kind) or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or []


def _is_near(
    pod: WaitingPod,
    term: Mapping[str, Any],
    node: Node,
    nodes: Sequence[Node],
    pods: Mapping[str, Sequence[WaitingPod]],
) -> bool:
    """Tell whether a pod that the term means runs in the same topology as the node."""
    key = term.get("topologyKey", "")
    if key not in node.labels:
        return False
    near = [each.name for each in nodes if each.labels.get(key) == node.labels[key]]
    return any(_matches(pod, other, term) for name in near for other in pods.get(name, ()) if other.takes_room)


def _matches(pod: WaitingPod, other: WaitingPod, term: Mapping[str, Any]) -> bool:
    namespaces = term.get("namespaces") or [pod.metadata.namespace]
    if other.metadata.namespace not in namespaces or term.get("labelSelector") is None:
        return False
    return LabelSelector.from_object(term["labelSelector"]).matches(other.metadata.labels or {})
