# SPDX-License-Identifier: Apache-2.0
"""The kubelets of hollow nodes for pods that live as their annotations say."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.errors import Conflict, NotFound
from controller_runtime.api.resources import PODS
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.manager.manager import Manager
from controllers.hollow.kubelet_pods import WORKERS, KubeletPods
from controllers.workloads.pod_life import LivingPod, next_step


class LivingPods(KubeletPods[LivingPod]):
    """Simulates the life of each pod on a node whose kubelet runs, and removes pods that are marked for deletion.

    This is a runnable; see `KubeletPods`.

    Args:
        manager: The manager, whose client and caches of pods and nodes are used. The cached pods need their
            annotations.
        is_running: Returns whether the node of that name has a simulated kubelet that runs.
        workers: The most pods that are reconciled at the same time.

    Threads: call `run` once, from any thread.
    """

    def __init__(self, manager: Manager, is_running: Callable[[str], bool], *, workers: int = WORKERS) -> None:
        super().__init__(manager, is_running, LivingPod, workers=workers)

    def reconcile(self, request: Request) -> Result:
        """Write the next step of a pod's life into its status, or remove the pod if it is marked for deletion."""
        pod = self._pods.get(request)
        if pod is None or not self._is_running(pod.spec.node_name):
            return Result()
        try:
            if pod.metadata.deletion_timestamp is not None:
                self._client.delete(PODS, request, uid=pod.metadata.uid, grace_period_seconds=0)
                return Result()
            step = next_step(pod, self._host.now(), pod.status.pod_ip or self._addresses.give(request))
            if step.status is not None:
                patch = {"metadata": {"uid": pod.metadata.uid}, "status": step.status}
                self._client.patch(PODS, request, patch, type=PatchType.STRATEGIC, subresource="status")
        except (NotFound, Conflict):  # the pod was deleted, or replaced by another one, which the cache will deliver
            return Result()
        return Result(requeue_after=step.wait)
