# SPDX-License-Identifier: Apache-2.0
"""Cells of pods, of their templates and of claims.

The status of a pod is one word for the states of the pod and all its containers, as in kubectl.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from embedded_apiserver.kinds.ages import age
from embedded_apiserver.kinds.cells import (
    AGE,
    NAME,
    NAMED,
    NONE,
    Cell,
    Cells,
    at,
    labels_at,
    of,
    value_at,
)
from embedded_apiserver.objects import Object, part

_UNSET = "<unset>"
_CLASS = "volume.beta.kubernetes.io/storage-class"  # the annotation that preceded `storageClassName`
# In the order in which they are shown.
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_ENDED = ("Succeeded", "Failed")


def _statuses(pod: Object, field: str) -> Sequence[Object]:
    found: Sequence[Object] = part(pod, "status").get(field, ())
    return found


def _ready(pod: Object) -> str:
    states = _statuses(pod, "containerStatuses")
    ready = sum(1 for one in states if one.get("ready") and "running" in part(one, "state"))
    ready += sum(1 for one in _sidecars(pod) if one.get("ready") and one.get("started"))
    return f"{ready}/{len(part(pod, 'spec').get('containers', ())) + len(_sidecar_names(pod))}"


def pod_status(pod: Object) -> str:
    """Return the status column of a pod: its phase, or the reason of the pod or of one of its containers.

    For a pod that is being deleted it is `Unknown` if its node is lost, or else `Terminating` if it has not ended.
    """
    status = part(pod, "status")
    phase = status.get("phase", "")
    reason = status.get("reason") or phase
    conditions = {one["type"]: one for one in status.get("conditions", ())}
    if part(conditions, "PodScheduled").get("reason") == "SchedulingGated":
        reason = "SchedulingGated"
    reason = _initializing(pod) or _running_reason(_statuses(pod, "containerStatuses"), reason, conditions)
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if phase not in _ENDED:
            return "Terminating"
    return str(reason)


def _initializing(pod: Object) -> str:
    """Return the state of the first init container that is not finished; empty if all are.

    A restartable init container (a sidecar) counts as finished once it has started.
    """
    specs = part(pod, "spec").get("initContainers", ())
    restartable = {one["name"] for one in specs if one.get("restartPolicy") == "Always"}
    for index, one in enumerate(_statuses(pod, "initContainerStatuses")):
        state = part(one, "state")
        ended, waiting = state.get("terminated"), part(state, "waiting").get("reason", "")
        if ended is not None and not ended.get("exitCode"):
            continue
        if one.get("name") in restartable and one.get("started"):
            continue
        if ended is not None:
            return f"Init:{_end(ended)}"
        return f"Init:{waiting}" if waiting not in ("", "PodInitializing") else f"Init:{index}/{len(specs)}"
    return ""


def _running_reason(containers: Sequence[Object], reason: str, conditions: Any) -> str:
    # In reverse, so that the reason of the first container that has one is what remains.
    running, failure = False, ""
    for one in reversed(containers):
        state = part(one, "state")
        if waiting := part(state, "waiting").get("reason"):
            reason = waiting
        elif (ended := state.get("terminated")) is not None:
            reason = _end(ended)
            failure = reason if ended.get("exitCode") else failure
        elif one.get("ready") and "running" in state:
            running = True
    # One container has completed and another still runs, or has failed: the pod is not completed.
    if reason != "Completed":
        return reason
    if running and part(conditions, "Ready").get("status") == "True":
        return "Running"
    return failure or ("NotReady" if running else reason)


def _end(terminated: Object) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _restarts(pod: Object, now: datetime) -> str:
    statuses = [*_statuses(pod, "containerStatuses"), *_sidecars(pod)]
    total = sum(one.get("restartCount", 0) for one in statuses)
    ends = [value_at(one, "lastState.terminated.finishedAt") for one in statuses]
    last = max((end for end in ends if end), default=None)
    return f"{total} ({age(last, now)} ago)" if total and last else str(total)


def _sidecar_names(pod: Object) -> Sequence[str]:
    """Return the names of the init containers that run next to the others, because they are restartable."""
    specs = part(pod, "spec").get("initContainers", ())
    return [one["name"] for one in specs if one.get("restartPolicy") == "Always"]


def _sidecars(pod: Object) -> Iterable[Object]:
    names = _sidecar_names(pod)
    return [one for one in _statuses(pod, "initContainerStatuses") if one.get("name") in names]


def _address(pod: Object) -> str:
    addresses = part(pod, "status").get("podIPs", ())
    return addresses[0].get("ip", NONE) if addresses else str(part(pod, "status").get("podIP") or NONE)


def _gates(pod: Object) -> str:
    gates = part(pod, "spec").get("readinessGates", ())
    if not gates:
        return NONE
    conditions = {one["type"]: one["status"] for one in _statuses(pod, "conditions")}
    return f"{sum(conditions.get(gate.get('conditionType')) == 'True' for gate in gates)}/{len(gates)}"


PODS: Cells = {
    "Name": NAME,
    "Ready": of(_ready),
    "Status": of(pod_status),
    "Restarts": _restarts,
    "Age": AGE,
    "IP": of(_address),
    "Node": at("spec.nodeName"),
    "Nominated Node": at("status.nominatedNodeName"),
    "Readiness Gates": of(_gates),
}
_COMPLETED = {
    "Succeeded": {"reason": "Succeeded", "message": "The pod has completed successfully."},
    "Failed": {"reason": "Failed", "message": "The pod failed."},
}


def pod_conditions(pod: Object) -> Sequence[Object]:
    """Return the conditions of a pod's table row, by which clients can hide pods that have ended."""
    ended = _COMPLETED.get(part(pod, "status").get("phase", ""))
    return () if ended is None else ({"type": "Completed", "status": "True", **ended},)


def size(obj: Object, path: str) -> str:
    """Return the amount of storage at a path, as text."""
    return str((value_at(obj, path) or {}).get("storage", 0))


def modes(obj: Object, path: str) -> str:
    """Return the short names of the access modes at a path, separated by commas."""
    found = value_at(obj, path) or ()
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _phase(obj: Object) -> str:
    return "Terminating" if "deletionTimestamp" in obj["metadata"] else value_at(obj, "status.phase") or ""


def _class(obj: Object) -> str:
    return (obj["metadata"].get("annotations") or {}).get(_CLASS) or value_at(obj, "spec.storageClassName") or ""


def _if_bound(read: Callable[[Object, str], str], path: str) -> Cell:
    return of(lambda claim: read(claim, path) if value_at(claim, "spec.volumeName") else "")


def _containers(key: str, place: str) -> Cell:
    path = f"{place}.spec.containers"
    return of(lambda obj: ",".join(str(one.get(key, "")) for one in value_at(obj, path) or ()))


def pods_of(place: str = "spec.template") -> Cells:
    """Return the cell functions for the names and images of the containers in the pod template at a path."""
    return {"Containers": _containers("name", place), "Images": _containers("image", place)}


OF_VOLUMES: Cells = {
    "Name": NAME,
    "Age": AGE,
    "Status": of(_phase),
    "StorageClass": of(_class),
    "VolumeAttributesClass": at("spec.volumeAttributesClassName", _UNSET),
    "VolumeMode": at("spec.volumeMode", _UNSET),
}
CLAIMS: Cells = {
    **OF_VOLUMES,
    "Volume": at("spec.volumeName", ""),
    "Capacity": _if_bound(size, "status.capacity"),
    "Access Modes": _if_bound(modes, "status.accessModes"),
}
TEMPLATES: Cells = {**NAMED, **pods_of("template"), "Pod Labels": labels_at("template.metadata.labels")}
