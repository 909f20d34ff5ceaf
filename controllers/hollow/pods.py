# SPDX-License-Identifier: Apache-2.0
"""The pods of hollow nodes: the work of a kubelet for pods without containers.

A pod that is bound to a hollow node whose kubelet runs gets the status Running and Ready, and a pod that is
marked for deletion is removed. A pod of a Job ends as soon as it runs, with exit code 0. Nothing happens to the pods of
a node whose kubelet does not run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from apimachinery.errors import Conflict, NotFound
from apimachinery.objects import ObjectKey, timestamp
from controller_runtime.api.resources import PODS
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.manager.manager import Manager
from controllers.hollow.kubelet_pods import WORKERS, KubeletPods
from controllers.shared.views import ConditionView

CONDITIONS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
"""Conditions of a pod that runs, all of them True, in a kubelet's order."""


# Not `ObjectMeta`: its annotations are left out of the caches that `trim_caches` trims, and a test holds that no
# view of a cached pod reads them.
class _Owner(msgspec.Struct, gc=False):
    kind: str = ""
    controller: bool = False


class _HollowPodMetadata(msgspec.Struct, gc=False, rename="camel"):
    uid: str = ""
    deletion_timestamp: str | None = None
    owner_references: list[_Owner] | None = None


class _HollowContainer(msgspec.Struct, gc=False):
    name: str = ""
    image: str = ""

    def running(self, since: str) -> dict[str, Any]:
        """Return the status that a kubelet posts for the container while it runs."""
        fixed = {"imageID": "", "ready": True, "started": True, "restartCount": 0}
        return {"name": self.name, "image": self.image, **fixed, "state": {"running": {"startedAt": since}}}

    def ended(self, since: str, at: str) -> dict[str, Any]:
        """Return the status that a kubelet posts for the container once it has ended by itself."""
        fixed = {"imageID": "", "ready": False, "started": False, "restartCount": 0}
        end = {"exitCode": 0, "reason": "Completed", "startedAt": since, "finishedAt": at}
        return {"name": self.name, "image": self.image, **fixed, "state": {"terminated": end}}


class _HollowPodSpec(msgspec.Struct, gc=False, rename="camel"):
    node_name: str = ""
    containers: list[_HollowContainer] = msgspec.field(default_factory=list)


class _HollowPodStatus(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    start_time: str = ""
    conditions: list[ConditionView] | None = None


class HollowPod(msgspec.Struct, gc=False):
    """The fields of a pod that its hollow kubelet reads."""

    metadata: _HollowPodMetadata
    spec: _HollowPodSpec = msgspec.field(default_factory=_HollowPodSpec)
    status: _HollowPodStatus = msgspec.field(default_factory=_HollowPodStatus)

    @property
    def missing_conditions(self) -> list[str]:
        """The types of those conditions of a running pod that are not True yet."""
        found = {condition.type: condition.status for condition in self.status.conditions or ()}
        return [kind for kind in CONDITIONS if found.get(kind) != "True"]

    @property
    def ends_by_itself(self) -> bool:
        """True for a pod of a Job, whose containers end by themselves, unlike those of other pods."""
        return any(one.kind == "Job" and one.controller for one in self.metadata.owner_references or ())


class HollowPods(KubeletPods[HollowPod]):
    """Reports that a pod runs, or removes it if it is marked for deletion, while the kubelet of its node runs.

    A pod of a Job ends as soon as it runs. A pod that has ended (`Succeeded`, `Failed`) is not changed unless it is
    marked for deletion. This is a runnable; see `KubeletPods`.

    Args:
        manager: The manager, whose client and caches of pods and nodes are used.
        is_running: Returns whether there is a hollow node of that name whose kubelet runs.
        workers: The most pods that are reconciled at the same time.

    Threads: call `run` once, from any thread.
    """

    def __init__(self, manager: Manager, is_running: Callable[[str], bool], *, workers: int = WORKERS) -> None:
        super().__init__(manager, is_running, HollowPod, workers=workers)

    def reconcile(self, request: Request) -> Result:
        """Report that the pod runs, or that a running pod of a Job has ended, or remove a pod marked for deletion.

        Do nothing if its kubelet does not run.
        """
        pod = self._pods.get(request)
        if pod is None or not self._is_running(pod.spec.node_name):
            return Result()
        try:
            if pod.metadata.deletion_timestamp is not None:
                self._client.delete(PODS, request, uid=pod.metadata.uid, grace_period_seconds=0)
            elif pod.status.phase == "Running" and pod.ends_by_itself:
                self._post_ended(request, pod)
            elif pod.status.phase in ("", "Pending", "Running") and (
                pod.missing_conditions or pod.status.phase != "Running"
            ):
                self._post_running(request, pod)
        except (NotFound, Conflict):  # the pod was deleted, or replaced by another one, which the cache will deliver
            return Result()
        return Result()

    def _post_running(self, key: ObjectKey, pod: HollowPod) -> None:
        """Post the status of a running pod."""
        now = timestamp(self._host.now())
        status: dict[str, Any] = {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": now} for kind in pod.missing_conditions
            ],
        }
        if pod.status.phase != "Running":
            whole = self._client.get(
                PODS, key, HollowPod
            )  # from the server, because caches may leave the containers out
            containers = [container.running(now) for container in whole.spec.containers]
            status |= {"startTime": now, "containerStatuses": containers}
            if address := self._addresses.give(key):
                status |= {"podIP": address, "podIPs": [{"ip": address}]}
        self._post(key, pod, status)

    def _post_ended(self, key: ObjectKey, pod: HollowPod) -> None:
        """Post the status of a pod whose containers have done their work."""
        now, since = timestamp(self._host.now()), pod.status.start_time
        whole = self._client.get(PODS, key, HollowPod)
        reason = {"status": "False", "reason": "PodCompleted", "lastTransitionTime": now}
        status: dict[str, Any] = {
            "phase": "Succeeded",
            "conditions": [{"type": kind, **reason} for kind in ("Ready", "ContainersReady")],
            "containerStatuses": [container.ended(since, now) for container in whole.spec.containers],
        }
        self._post(key, pod, status)

    def _post(self, key: ObjectKey, pod: HollowPod, status: dict[str, Any]) -> None:
        """Patch the status; the uid in the patch makes it a conflict if the pod was replaced."""
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        self._client.patch(PODS, key, patch, type=PatchType.STRATEGIC, subresource="status")
