# SPDX-License-Identifier: Apache-2.0
"""The life of a pod without containers: when it is ready, when it ends and how, as its annotations say.

The status says all that has happened so far, so that a program that starts again goes on where another one ended.
Annotations of a pod, all of them optional:

- `hollow/ready-after`: seconds from the start until it is ready, or `never`; by default it is ready at once.
- `hollow/runs-for`: seconds for which its containers run, or `never` for no end. By default those of a Job end as soon
  as they run, since their work has an end, and all others run on.
- `hollow/exit-code`: the code with which they end; 0 by default.

Containers that end are started again as `restartPolicy` says, after 10 s, 20 s, and so on up to 300 s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs
import msgspec

from apimachinery.objects import ObjectMeta, timestamp
from controllers.hollow.pods import CONDITIONS

READY_AFTER, RUNS_FOR, EXIT_CODE = "hollow/ready-after", "hollow/runs-for", "hollow/exit-code"
FIRST_DELAY, LONGEST_DELAY = 10.0, 300.0
"""Seconds until a container that has ended is started again: of the first time, and the most. Those of a kubelet."""
_OF_READINESS = ("Ready", "ContainersReady")


class _LivingContainer(msgspec.Struct, gc=False):
    name: str = ""
    image: str = ""


class _LivingPodSpec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    restart_policy: str = "Always"
    containers: list[_LivingContainer] = msgspec.field(default_factory=list)
    init_containers: list[_LivingContainer] | None = None


class _LivingPodStatus(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: datetime | None = None
    conditions: list[dict[str, Any]] | None = None
    container_statuses: list[dict[str, Any]] | None = None


class LivingPod(msgspec.Struct, gc=False):
    """The fields of a pod that its hollow kubelet reads."""

    metadata: ObjectMeta
    spec: _LivingPodSpec = msgspec.field(default_factory=_LivingPodSpec)
    status: _LivingPodStatus = msgspec.field(default_factory=_LivingPodStatus)


@attrs.frozen
class Script:
    """The life of a simulated pod, as its annotations define it.

    Attributes:
        ready_after: Seconds from the start of the containers; infinite for never.
        runs_for: Seconds from the start to the end of the containers; infinite if they never end.
        exit_code: The exit code of the containers.
    """

    ready_after: float = 0.0
    runs_for: float = math.inf
    exit_code: int = 0

    @classmethod
    def of(cls, metadata: ObjectMeta) -> Script:
        """Return the script in the annotations of a pod; one that is neither a number nor `never` counts as missing."""
        annotations = metadata.annotations or {}
        code = annotations.get(EXIT_CODE, "")
        is_of_job = any(each.kind == "Job" and each.controller for each in metadata.owner_references or ())
        return cls(
            _seconds(annotations.get(READY_AFTER), 0.0),
            _seconds(annotations.get(RUNS_FOR), 0.0 if is_of_job else math.inf),
            int(code) if code.isdecimal() and len(code) < 4 else 0,
        )


def _seconds(text: str | None, default: float) -> float:
    if text == "never":
        return math.inf
    try:
        found = float(text) if text is not None else default
    except ValueError:
        return default
    return found if found >= 0 else default


@attrs.frozen
class LifeStep:
    """The next step of a simulated pod's life.

    Attributes:
        status: The part of the status to write; None if nothing changes now.
        wait: Seconds until the next change; None if nothing will change by itself.
    """

    status: dict[str, Any] | None
    wait: float | None


def next_step(pod: LivingPod, now: datetime, address: str = "") -> LifeStep:
    """Return the next step of a pod that is bound to a node.

    Args:
        pod: The pod.
        now: The current time.
        address: The address of the pod, written when it starts; empty for none.
    """
    if pod.status.phase in ("Succeeded", "Failed"):
        return LifeStep(None, None)
    script = Script.of(pod.metadata)
    present = pod.status.container_statuses or []
    if pod.status.phase != "Running" or not present:
        containers = [_started(each, now, restarts=0, is_ready=script.ready_after == 0) for each in pod.spec.containers]
        step = _running(pod, script, containers, now, first=True)
        addresses = {"podIP": address, "podIPs": [{"ip": address}]} if address else {}
        return attrs.evolve(step, status={**(step.status or {}), **addresses})
    state = present[0].get("state") or {}
    if "running" in state:
        since = datetime.fromisoformat(state["running"]["startedAt"])
        if (now - since).total_seconds() >= script.runs_for:
            return _ended(pod, script, present, now)
        is_ready = (now - since).total_seconds() >= script.ready_after
        containers = [{**each, "ready": is_ready, "started": True} for each in present]
        return _running(pod, script, containers, now)
    restarts = int(present[0].get("restartCount", 0))
    finished = datetime.fromisoformat(present[0]["lastState"]["terminated"]["finishedAt"])
    left = min(FIRST_DELAY * 2**restarts, LONGEST_DELAY) - (now - finished).total_seconds()
    if left > 0:
        return LifeStep(None, left)
    containers = [
        {**_started(spec, now, restarts + 1, is_ready=script.ready_after == 0), "lastState": before["lastState"]}
        for spec, before in zip(pod.spec.containers, present, strict=False)
    ]
    return _running(pod, script, containers, now)


def _started(container: _LivingContainer, now: datetime, restarts: int, *, is_ready: bool) -> dict[str, Any]:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": is_ready,
        "started": True,
        "restartCount": restarts,
        "state": {"running": {"startedAt": timestamp(now)}},
    }


def _running(
    pod: LivingPod, script: Script, containers: Sequence[Mapping[str, Any]], now: datetime, *, first: bool = False
) -> LifeStep:
    is_ready = all(each["ready"] for each in containers)
    status: dict[str, Any] = {"phase": "Running", "containerStatuses": [*containers]}
    if first:
        status["startTime"] = timestamp(now)
        if pod.spec.init_containers:
            status["initContainerStatuses"] = [_completed(each, now) for each in pod.spec.init_containers]
    unready = ("ContainersNotReady", f"containers with unready status: [{_names(containers)}]")
    status["conditions"] = _conditions(pod, {} if is_ready else dict.fromkeys(_OF_READINESS, unready), now)
    changed = first or status["conditions"] != [] or [*containers] != (pod.status.container_statuses or [])
    since = datetime.fromisoformat(containers[0]["state"]["running"]["startedAt"]) if containers else now
    lived = (now - since).total_seconds()
    later = [at - lived for at in (script.ready_after, script.runs_for) if math.isfinite(at) and at > lived]
    return LifeStep(status if changed else None, min(later, default=None))


def _names(containers: Sequence[Mapping[str, Any]]) -> str:
    return " ".join(str(each["name"]) for each in containers)


def _completed(container: _LivingContainer, now: datetime) -> dict[str, Any]:
    end = {"exitCode": 0, "reason": "Completed", "startedAt": timestamp(now), "finishedAt": timestamp(now)}
    made = _started(container, now, 0, is_ready=True)
    return {**made, "started": False, "state": {"terminated": end}}


def _ended(pod: LivingPod, script: Script, present: Sequence[Mapping[str, Any]], now: datetime) -> LifeStep:
    """Return the end of the containers: that of the pod as well, or the wait before they are started again."""
    reason = "Completed" if script.exit_code == 0 else "Error"
    end = {"exitCode": script.exit_code, "reason": reason, "finishedAt": timestamp(now)}
    policy = pod.spec.restart_policy
    is_last = policy == "Never" or (policy == "OnFailure" and script.exit_code == 0)
    containers = []
    for each in present:
        terminated = {"terminated": {**end, "startedAt": each["state"]["running"]["startedAt"]}}
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        changed = {"state": terminated} if is_last else {"state": waiting, "lastState": terminated}
        containers.append({**each, "ready": False, "started": False, **changed})
    if is_last:
        phase = "Failed" if script.exit_code else "Succeeded"
        why = ("PodFailed" if script.exit_code else "PodCompleted", "")
        kinds = (*_OF_READINESS, "PodReadyToStartContainers") if phase else ()
        conditions = _conditions(pod, dict.fromkeys(kinds, why), now)
        return LifeStep({"phase": phase, "conditions": conditions, "containerStatuses": containers}, None)
    unready = ("ContainersNotReady", f"containers with unready status: [{_names(containers)}]")
    conditions = _conditions(pod, dict.fromkeys(_OF_READINESS, unready), now)
    restarts = int(present[0].get("restartCount", 0))
    wait = min(FIRST_DELAY * 2**restarts, LONGEST_DELAY)
    return LifeStep({"phase": "Running", "conditions": conditions, "containerStatuses": containers}, wait)


def _conditions(pod: LivingPod, false: Mapping[str, tuple[str, str]], now: datetime) -> list[dict[str, Any]]:
    """Return the conditions that change: all are true but those in `false`, with reason and message."""
    present = {each["type"]: each for each in pod.status.conditions or ()}
    changed = []
    for kind in CONDITIONS:
        status = "False" if kind in false else "True"
        before = present.get(kind, {})
        reason, message = false.get(kind, ("", ""))
        if (before.get("status"), before.get("reason") or "") == (status, reason):
            continue
        condition: dict[str, Any] = {"type": kind, "status": status}
        if before.get("status") != status:
            condition["lastTransitionTime"] = timestamp(now)
        # A strategic merge patch keeps what it does not name: an old reason is removed by null.
        condition |= {"reason": reason or None, "message": message or None} if before or reason else {}
        changed.append(condition)
    return changed
