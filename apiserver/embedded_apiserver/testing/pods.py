# SPDX-License-Identifier: Apache-2.0
"""Runs pods without a scheduler and a kubelet: each change of a pod is followed at once by its next step.

A step is done on the thread of the write that causes it, before that write is answered. So a client that has created a
pod reads it as running, and one that watches sees each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from apimachinery.objects import timestamp
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.settling import Settling
from embedded_apiserver.storage.storage import Cursor

log = get_logger(__name__)

NODE = "node-1"
"""The name of the node to which pods are bound. There is no Node object of this name."""
ExitStatus = Callable[[Mapping[str, Any]], int | None]
"""Returns the exit status with which the containers of a pod end; None if they continue to run."""
_BATCH = 256
_REFUSED = 400
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


@attrs.frozen
class PodStep:
    """A request that brings a pod to the next state of its life.

    Attributes:
        method: The HTTP method.
        part: The subresource of the pod; empty for the pod itself.
        body: The body of the request, as decoded JSON.
    """

    method: str
    part: str
    body: Mapping[str, Any]


def exit_by_restart_policy(pod: Mapping[str, Any]) -> int | None:
    """Return the exit status of a pod's containers: None (they go on running) for restart policy `Always`, otherwise
    0.
    """
    return None if pod["spec"].get("restartPolicy", "Always") == "Always" else 0


def next_step(pod: Mapping[str, Any], status: int | None, now: str, address: str) -> PodStep | None:
    """Return the request for the next state of a pod; None if there is nothing to do.

    A pod is bound to a node, then runs, then ends; a deleted pod is removed.

    Args:
        pod: The pod.
        status: The exit status of its containers; None for a pod that goes on running.
        now: The current time, as text.
        address: The IP address for a running pod.
    """
    spec, phase = pod["spec"], pod.get("status", {}).get("phase", "Pending")
    if "deletionTimestamp" in pod["metadata"]:
        if pod["metadata"].get("deletionGracePeriodSeconds") == 0:  # what keeps it is a finalizer
            return None
        return PodStep("DELETE", "", {"gracePeriodSeconds": 0})
    if spec.get("schedulingGates"):
        return None
    if "nodeName" not in spec:
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        name = {"name": pod["metadata"]["name"]}
        return PodStep("POST", "binding", {"apiVersion": "v1", "kind": "Binding", "metadata": name, "target": target})
    if phase == "Pending":
        return PodStep("PATCH", "status", {"status": _running(pod, now, address)})
    if phase == "Running" and status is not None:
        return PodStep("PATCH", "status", {"status": _ended(pod, status, now)})
    return None


def _running(pod: Mapping[str, Any], now: str, address: str) -> dict[str, Any]:
    spec = pod["spec"]
    begun = {"startedAt": now}
    done = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": "192.0.2.1",
        "hostIPs": [{"ip": "192.0.2.1"}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [_condition(name, now) for name in _CONDITIONS],
        "initContainerStatuses": [
            _container(each, {"running": begun} if each.get("restartPolicy") == "Always" else {"terminated": done})
            for each in spec.get("initContainers", ())
        ],
        "containerStatuses": [_container(each, {"running": begun}) for each in spec["containers"]],
    }


def _ended(pod: Mapping[str, Any], code: int, now: str) -> dict[str, Any]:
    reason = "Error" if code else "Completed"
    state = {"terminated": {"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now}}
    conditions = [_condition(name, now, ended=name in ("Ready", "ContainersReady")) for name in _CONDITIONS]
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": conditions,
        "containerStatuses": [_container(each, state, ended=True) for each in pod["spec"]["containers"]],
    }


def _condition(name: str, now: str, *, ended: bool = False) -> dict[str, Any]:
    condition = {"type": name, "status": "False" if ended else "True", "lastTransitionTime": now}
    return {**condition, "reason": "PodCompleted"} if ended else condition


def _container(container: Mapping[str, Any], state: Mapping[str, Any], *, ended: bool = False) -> dict[str, Any]:
    name, image = container["name"], container["image"]
    is_running = "running" in state
    return {
        "name": name,
        "image": image,
        "imageID": f"example.invalid/{name}",
        "containerID": f"example://{name}",
        "ready": not ended,
        "started": is_running,
        "restartCount": 0,
        "state": dict(state),
    }


class RunningPods:
    """Brings all pods of a server to Ready or to their end, without a scheduler and a kubelet.

    Pods with scheduling gates wait. Deleted pods are removed.

    Args:
        host: The source of time and locks.
        server: The server.
        token: The administrator's token.
        exit_status: A function that returns the exit status of a pod's containers; None if they go on running.

    Threads: any.
    """

    def __init__(self, host: Host, server: APIServer, token: str, exit_status: ExitStatus) -> None:
        self._host, self._server, self._exit_status = host, server, exit_status
        self._headers = {"authorization": f"Bearer {token}", "user-agent": "kubelet"}
        # Used by the thread that settles: the addresses given so far, and the changes of pods.
        self._addresses = 0
        self._cursor: Cursor | None = None
        self._settling = Settling(host, "running pods", self._act)
        self._settling.settle()

    def close(self) -> None:
        """Ignore further changes of pods. Idempotent."""
        if self._cursor is not None:
            self._cursor.close()

    def _act(self) -> None:
        for raw in self._due():
            pod = msgspec.json.decode(raw)
            self._addresses += 1
            address = f"10.244.{self._addresses // 250 % 250}.{self._addresses % 250 + 1}"
            step = next_step(pod, self._exit_status(pod), timestamp(self._host.now()), address)
            if step is not None:
                self._do(pod["metadata"], step)

    def _due(self) -> Iterator[bytes]:
        """Yield the pods that have changed, at first all."""
        storage, name = self._server.storage, POD.resource
        if self._cursor is None:
            there = storage.read(name)
            self._cursor = storage.follow(name, there.version, self._settling.settle)
            yield from (each.raw for each in there.items)
        while (batch := self._cursor.take(_BATCH)) is not None and batch.changes:
            yield from (each.new.raw for each in batch.changes if each.new is not None)

    def _do(self, metadata: Mapping[str, Any], step: PodStep) -> None:
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/{step.part}".rstrip("/")
        kind = "application/merge-patch+json" if step.method == "PATCH" else "application/json"
        body = dict(step.body)
        if step.method == "PATCH":  # another client may have changed the pod, whose change comes next
            body["metadata"] = {"resourceVersion": metadata["resourceVersion"]}
        headers = {**self._headers, "content-type": kind}
        answer = self._server.handle(HTTPRequest(step.method, path, (), headers, msgspec.json.encode(body)))
        if isinstance(answer, HTTPResponse) and answer.status >= _REFUSED and answer.status not in (404, 409):
            log.warning("pod does not run", path=path, answer=answer.body.decode(errors="replace"))
