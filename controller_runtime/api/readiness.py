# SPDX-License-Identifier: Apache-2.0
"""Tells whether an object is ready, by the rules of its kind.

The rules are those of kstatus (`sigs.k8s.io/cli-utils/pkg/kstatus`), which kubectl's and Flux's waiting use, with four
differences: a Job is ready when it is complete (kstatus: when it has started), because what waits for a Job waits for
its work; a failed Pod is not ready; a Service of type `LoadBalancer` is ready when it has an ingress, not when it has
a cluster IP; and an object of any other kind is not ready while it has a condition `Ready` that is not true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.errors import UNREADABLE, DecodeError
from apimachinery.models import is_model, json_of
from apimachinery.objects import AnyObject, Cached

Object = Mapping[str, Any]

_FOREVER = 2**31 - 1  # a deployment with this progress deadline reports no progress; see kstatus


def unready(obj: Object) -> str:
    """Return why an object is not ready, as a sentence without its subject ("is being deleted"); empty if it is ready.

    Args:
        obj: The object as JSON, with its `apiVersion` and `kind`.
    """
    metadata, status = _part(obj, "metadata"), _part(obj, "status")
    if metadata.get("deletionTimestamp"):
        return "is being deleted"
    generation, observed = metadata.get("generation"), status.get("observedGeneration")
    if generation is not None and observed is not None and observed != generation:
        return f"its controller has seen generation {observed} and not {generation} yet"
    for kind in ("Reconciling", "Stalled"):
        if _has(status, kind):
            return f"is {kind.lower()}{_why(_condition(status, kind))}"
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    return _RULES.get((group, str(obj.get("kind") or "")), _other)(obj, _part(obj, "spec"), status)


@attrs.frozen
class Readiness:
    """A predicate: is an object ready by the rules of its kind? Its only instance is `ready`, which has the rules.

    Call it with an object in any form that includes its kind, or with None for an absent object, which is not ready.

    Raises:
        DecodeError: The object cannot be read, or has no kind.
    """

    def __str__(self) -> str:
        return "readiness"

    def __call__(self, obj: AnyObject | None) -> bool:
        """Return whether `obj` is ready; False if it is None.

        Raises:
            DecodeError: The object cannot be read, or does not say its kind.
        """
        return obj is not None and not unready(_plain(obj))

    def state_of(self, obj: AnyObject | None) -> str:
        """Return the state of an object in words, for messages. `obj` is None if it does not exist.

        Raises:
            DecodeError: The object cannot be read, or has no kind.
        """
        return "does not exist" if obj is None else unready(_plain(obj)) or "is ready"


ready = Readiness()
"""Tells whether an object is ready, for `Owned` and `Client.wait`: a call with the object returns True or False.

An object that is being deleted, whose controller has not seen its newest generation, or that has a true condition
`Reconciling` or `Stalled` is not ready. Otherwise:

- Deployment, StatefulSet, DaemonSet, ReplicaSet: all replicas are updated, ready and available;
- Job: it is complete, or suspended; Pod: it is ready, or has succeeded;
- Service: always, but with type `LoadBalancer` when it has an ingress; PersistentVolumeClaim: it is bound;
- CustomResourceDefinition: it is established;
- any other kind: its condition `Ready` is true, or it has none.
"""


def _plain(obj: AnyObject) -> Object:
    if isinstance(obj, Cached):
        try:
            found: dict[str, Any] = msgspec.json.decode(obj.raw)
        except UNREADABLE as error:
            raise DecodeError(f"{obj.key}: {error}") from error
        return found
    if isinstance(obj, Mapping):
        plain: Object = obj
    elif is_model(obj):
        plain = json_of(obj)
    else:
        plain = {"apiVersion": getattr(obj, "api_version", ""), "kind": getattr(obj, "kind", "")}
        plain = {**plain, **msgspec.to_builtins(obj)}
    if not plain.get("kind"):
        raise DecodeError(f"the {type(obj).__name__} does not say its kind, by which its readiness is judged")
    return plain


def _part(obj: Object, name: str) -> Object:
    found = obj.get(name)
    return found if isinstance(found, Mapping) else {}


def _condition(status: Object, kind: str) -> Object:
    found = (each for each in status.get("conditions") or () if each.get("type") == kind)
    return next(found, {})


def _has(status: Object, kind: str, value: str = "True") -> bool:
    return _condition(status, kind).get("status") == value


def _why(condition: Object) -> str:
    parts = [str(condition[part]) for part in ("reason", "message") if condition.get(part)]
    return f" ({': '.join(parts)})" if parts else ""


def _fewer(wanted: int, *counts: tuple[str, Any]) -> str:
    """Return the first of the counts that is less than `wanted`, in words."""
    for name, count in counts:
        if (count or 0) < wanted:
            return f"{count or 0} of {wanted} replicas are {name}"
    return ""


def _replicas(spec: Object) -> int:
    found = spec.get("replicas")
    return 1 if found is None else int(found)


def _extra(wanted: int, status: Object) -> str:
    extra = int(status.get("replicas") or 0) - wanted
    return f"{extra} old replicas have not ended yet" if extra > 0 else ""


def _deployment(obj: Object, spec: Object, status: Object) -> str:
    progress = _condition(status, "Progressing")
    if progress.get("reason") == "ProgressDeadlineExceeded":
        return f"makes no progress{_why(progress)}"
    wanted, updated = _replicas(spec), int(status.get("updatedReplicas") or 0)
    missing = (
        _fewer(wanted, ("created", status.get("replicas")), ("updated", updated))
        or _extra(wanted, status)
        or _fewer(updated, ("available", status.get("availableReplicas")))
        or _fewer(wanted, ("ready", status.get("readyReplicas")))
    )
    if missing:
        return missing
    reports = spec.get("progressDeadlineSeconds", _FOREVER) != _FOREVER
    if reports and not (progress.get("status") == "True" and progress.get("reason") == "NewReplicaSetAvailable"):
        return "its rollout is not complete"
    return "" if _has(status, "Available") else "is not available"


def _replica_set(obj: Object, spec: Object, status: Object) -> str:
    if _has(status, "ReplicaFailure"):
        return f"cannot make its pods{_why(_condition(status, 'ReplicaFailure'))}"
    wanted = _replicas(spec)
    counts = [(name, status.get(f"{name}Replicas")) for name in ("available", "ready")]
    return _fewer(wanted, ("labeled", status.get("fullyLabeledReplicas")), *counts) or _extra(wanted, status)


def _stateful_set(obj: Object, spec: Object, status: Object) -> str:
    strategy = _part(spec, "updateStrategy")
    if strategy.get("type") == "OnDelete":  # a person decides when its pods are replaced
        return ""
    wanted, partition = _replicas(spec), _part(strategy, "rollingUpdate").get("partition")
    counts = ("created", status.get("replicas")), ("ready", status.get("readyReplicas"))
    if missing := _fewer(wanted, *counts) or _extra(wanted, status):
        return missing
    if partition:  # the server's default is 0: all pods are updated
        return _fewer(wanted - partition, ("updated", status.get("updatedReplicas")))
    if missing := _fewer(wanted, ("current", status.get("currentReplicas"))):
        return missing
    return "" if status.get("currentRevision") == status.get("updateRevision") else "its rollout is not complete"


def _daemon_set(obj: Object, spec: Object, status: Object) -> str:
    wanted = status.get("desiredNumberScheduled")
    if wanted is None or status.get("observedGeneration") is None:
        return "its controller has not seen it yet"
    names = ("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady")
    words = ("scheduled", "updated", "available", "ready")
    return _fewer(int(wanted), *((word, status.get(name)) for word, name in zip(words, names, strict=True)))


def _job(obj: Object, spec: Object, status: Object) -> str:
    if _has(status, "Failed"):
        return f"has failed{_why(_condition(status, 'Failed'))}"
    if _has(status, "Complete") or _has(status, "Suspended"):
        return ""
    return "is not complete" if status.get("startTime") else "has not started"


def _pod(obj: Object, spec: Object, status: Object) -> str:
    phase = status.get("phase")
    if phase == "Succeeded" or (phase == "Running" and _has(status, "Ready")):
        return ""
    scheduled = _condition(status, "PodScheduled")
    if phase == "Pending" and scheduled.get("status") == "False":
        return f"is not scheduled{_why(scheduled)}"
    waits = [_part(_part(each, "state"), "waiting").get("reason") for each in status.get("containerStatuses") or ()]
    if "CrashLoopBackOff" in waits:
        return "has a container that crashes again and again"
    return "is running but not ready" if phase == "Running" else f"is in phase {phase or 'Pending'}"


def _service(obj: Object, spec: Object, status: Object) -> str:
    if spec.get("type") != "LoadBalancer" or _part(status, "loadBalancer").get("ingress"):
        return ""
    return "has no load balancer yet"


def _volume_claim(obj: Object, spec: Object, status: Object) -> str:
    phase = status.get("phase")
    return "" if phase == "Bound" else f"is not bound (phase {phase or 'Pending'})"


def _definition(obj: Object, spec: Object, status: Object) -> str:
    if _has(status, "NamesAccepted", "False"):
        return f"its names are not accepted{_why(_condition(status, 'NamesAccepted'))}"
    return "" if _has(status, "Established") else f"is not established{_why(_condition(status, 'Established'))}"


def _other(obj: Object, spec: Object, status: Object) -> str:
    found = _condition(status, "Ready")
    if not found:
        return ""
    observed, generation = found.get("observedGeneration"), _part(obj, "metadata").get("generation")
    if observed is not None and generation is not None and observed < generation:
        return f"its condition Ready is of generation {observed} and not {generation} yet"
    return "" if found.get("status") == "True" else f"its condition Ready is {found.get('status')}{_why(found)}"


_RULES: dict[tuple[str, str], Callable[[Object, Object, Object], str]] = {
    ("", "PersistentVolumeClaim"): _volume_claim,
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "Job"): _job,
}
