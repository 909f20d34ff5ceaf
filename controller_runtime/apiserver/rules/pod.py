# SPDX-License-Identifier: Apache-2.0
"""Rules of pods: defaults, the few fields that may change, and grace periods. No pod runs here; pods are data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller_runtime.apiserver.kinds.registry import Kind
from controller_runtime.apiserver.rules.pod_defaults import CONTAINERS
from controller_runtime.apiserver.rules.pod_template import DEFAULT_GRACE, container_causes
from controller_runtime.apiserver.rules.rules import Object, Rules, part, with_status_of
from controller_runtime.apiserver.rules.validation import forbidden
from controller_runtime.apiserver.status import Cause

_TOLERATED_SECONDS = 300  # for which a pod stays on an unreachable node by default: the admission plugin's number
_TOLERATED_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# Fields that the admission plugins of a real server add to a pod, and not to a pod template.
_ADMITTED: Mapping[str, Any] = {
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
}
_GATED: Mapping[str, Any] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}
# Fields that an update may change, images of containers aside; two of them within limits, see `_may_become`.
_LIVE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
_CHANGEABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


class PodRules(Rules):
    """A new pod is Pending, and hardly any field of its spec may change."""

    def on_create(self, obj: Object) -> Object:
        spec = _admitted(part(obj, "spec"))
        metadata = {**obj["metadata"], "generation": 1}
        status: dict[str, Any] = {"phase": "Pending", "qosClass": _quality(spec)}
        if spec.get("schedulingGates"):
            status["conditions"] = [{**_GATED, "lastTransitionTime": metadata["creationTimestamp"]}]
        return {**obj, "metadata": metadata, "spec": spec, "status": status}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        if subresource == "status":
            owners = {"ownerReferences": old["metadata"].get("ownerReferences")}
            metadata = {name: value for name, value in {**new["metadata"], **owners}.items() if value is not None}
            return {**old, "metadata": metadata, "status": new.get("status", {})}
        new = with_status_of(old, new)
        spec = _admitted(part(new, "spec")) if new.get("spec") is not old.get("spec") else old["spec"]
        if spec == old.get("spec"):
            return {**new, "spec": spec}
        metadata = {**new["metadata"], "generation": old["metadata"].get("generation", 0) + 1}
        return {**new, "metadata": metadata, "spec": spec}

    def causes(self, obj: Object) -> Iterator[Cause]:
        return container_causes(part(obj, "spec"), "spec")

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        unchanged = old["spec"] is new["spec"]
        return [] if unchanged or _may_become(old["spec"], new["spec"]) else [forbidden("spec", _CHANGEABLE)]


def grace_of(obj: Object, asked: int | None) -> int:
    """Return the seconds that a pod may take to end when it is deleted; 0 if it is on no node or has finished.

    A negative period means 1: Kubernetes reserves 0 for a deletion at once.
    """
    spec = part(obj, "spec")
    if not spec.get("nodeName") or part(obj, "status").get("phase") in ("Succeeded", "Failed"):
        return 0
    grace: int = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE) if asked is None else asked
    return 1 if grace < 0 else grace


def _admitted(spec: Object) -> dict[str, Any]:
    admitted = {**_ADMITTED, **spec}
    tolerations = spec.get("tolerations", [])
    missing = [taint for taint in _TOLERATED_TAINTS if not any(_tolerates(one, taint) for one in tolerations)]
    if missing:
        admitted["tolerations"] = [*tolerations, *map(_toleration, missing)]
    return admitted


def _tolerates(toleration: Object, taint: str) -> bool:
    if toleration.get("effect", "") not in ("", "NoExecute"):
        return False
    key = toleration.get("key", "")
    return key == taint or (not key and toleration.get("operator") == "Exists")


def _toleration(taint: str) -> dict[str, Any]:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}


def _quality(spec: Object) -> str:
    """Return the quality of service class, which follows from requests and limits of all containers."""
    resources = [part(container, "resources") for container in _containers(spec)]
    wants = [{**part(one, "limits"), **part(one, "requests")} for one in resources]
    if not any(wants):
        return "BestEffort"
    limits = [part(one, "limits") for one in resources]
    guaranteed = all(
        {"cpu", "memory"} <= limit.keys() and all(want.get(name) == limit[name] for name in ("cpu", "memory"))
        for want, limit in zip(wants, limits, strict=True)
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _containers(spec: Object) -> Iterator[Object]:
    for name in CONTAINERS:
        yield from spec.get(name, ())


def _may_become(old: Object, new: Object) -> bool:
    """Return whether the spec of a pod may change from `old` to `new`."""
    grace = new.get("terminationGracePeriodSeconds")
    before = old.get("terminationGracePeriodSeconds", DEFAULT_GRACE)
    keeps_tolerations = _tolerated(old) <= _tolerated(new)
    return keeps_tolerations and (grace == before or (before < 0 and grace == 1)) and _fixed(old) == _fixed(new)


def _tolerated(spec: Object) -> set[tuple[Any, ...]]:
    """Return the tolerations without their seconds, which may change."""
    tolerations = [{**toleration, "tolerationSeconds": None} for toleration in spec.get("tolerations", ())]
    return {tuple(sorted(toleration.items())) for toleration in tolerations}


def _fixed(spec: Object) -> dict[str, Any]:
    """Return the part of a spec that must not change: all except the `_LIVE` fields and the images of containers."""
    fixed = {name: value for name, value in spec.items() if name not in _LIVE}
    for group in CONTAINERS:
        if group in spec:
            fixed[group] = [{**container, "image": ""} for container in spec[group]]
    return fixed
