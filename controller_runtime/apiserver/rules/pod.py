# SPDX-License-Identifier: Apache-2.0
"""Rules of pods: what admission adds, status and grace periods. No pod runs here; pods are data."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from controller_runtime.api.quantities import parse_quantity
from controller_runtime.apiserver.kinds.registry import Kind
from controller_runtime.apiserver.rules.pod_defaults import CONTAINERS
from controller_runtime.apiserver.rules.pod_warnings import of_name, of_pod
from controller_runtime.apiserver.rules.rules import Object, Rules, part, with_status_of

DEFAULT_GRACE = 30  # seconds

_GATED: Mapping[str, Any] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


class PodRules(Rules):
    """A new pod is Pending."""

    def on_create(self, obj: Object) -> Object:
        spec = part(obj, "spec")
        metadata = {**obj["metadata"], "generation": 1}
        status: dict[str, Any] = {"phase": "Pending", "qosClass": _quality(spec)}
        if spec.get("schedulingGates"):
            status["conditions"] = [{**_GATED, "lastTransitionTime": metadata["creationTimestamp"]}]
        return {**obj, "metadata": metadata, "spec": spec, "status": status}

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        if old is not None:  # as a real server, for which pods change too often
            return []
        return [*of_name(obj["metadata"], "the Pod's hostname"), *of_pod(part(obj, "spec"), "spec")]

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        if subresource == "status":
            owners = {"ownerReferences": old["metadata"].get("ownerReferences")}
            metadata = {name: value for name, value in {**new["metadata"], **owners}.items() if value is not None}
            kept = {"qosClass": quality} if (quality := part(old, "status").get("qosClass")) else {}
            return {**old, "metadata": metadata, "status": {**kept, **part(new, "status")}}
        new = with_status_of(old, new)
        spec = part(new, "spec")
        if spec == old.get("spec"):
            return {**new, "spec": spec}
        metadata = {**new["metadata"], "generation": old["metadata"].get("generation", 0) + 1}
        return {**new, "metadata": metadata, "spec": spec}


def grace_of(obj: Object, asked: int | None) -> int:
    """Return the seconds that a pod may take to end when it is deleted; 0 if it is on no node or has finished.

    A negative period means 1: Kubernetes reserves 0 for a deletion at once.
    """
    spec = part(obj, "spec")
    if not spec.get("nodeName") or part(obj, "status").get("phase") in ("Succeeded", "Failed"):
        return 0
    grace: int = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE) if asked is None else asked
    return 1 if grace < 0 else grace


def _quality(spec: Object) -> str:
    """Return the quality of service class, which follows from requests and limits of all containers."""
    if "resources" in spec:  # of the whole pod
        resources = [part(spec, "resources")]
    else:
        resources = [part(container, "resources") for container in _containers(spec)]
    if not any(resources):
        return "BestEffort"
    requests: dict[str, Decimal] = {}
    limits: dict[str, Decimal] = {}
    is_bounded = True
    for one in resources:
        _add(requests, one.get("requests"))
        is_bounded &= _add(limits, one.get("limits")) == len(_COUNTED)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if is_bounded and requests == limits else "Burstable"


_COUNTED = ("cpu", "memory")
_amount = functools.lru_cache(maxsize=1024)(parse_quantity)


def _add(total: dict[str, Decimal], amounts: Mapping[str, str] | None) -> int:
    """Add amounts of processors and memory to a total, and return how many there are: no others count for the quality.

    An amount of zero is none.
    """
    count = 0
    for name in _COUNTED if amounts else ():
        if amounts and name in amounts and (amount := _amount(amounts[name])) > 0:
            total[name] = total[name] + amount if name in total else amount
            count += 1
    return count


def _containers(spec: Object) -> Iterator[Object]:
    for name in CONTAINERS:
        yield from spec.get(name, ())
