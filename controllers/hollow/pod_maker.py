# SPDX-License-Identifier: Apache-2.0
"""Creates pods on hollow nodes, for trying out what happens to them."""

from __future__ import annotations

from typing import Any

from apimachinery.errors import AlreadyExists, ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.stop import Stop
from controller_runtime.api.resources import PODS
from controller_runtime.client.client import Client
from controller_runtime.core.backoff import Backoff
from controllers.hollow.node import node_name

log = get_logger(__name__)

NAMESPACE = "default"
"""Namespace of the pods that `PodMaker` creates."""
RETRY = Backoff(initial=0.1, factor=2.0, cap=10.0, jitter=0.0)
"""Seconds between two tries to create a pod."""


def hollow_pod(index: int, nodes: int, *, toleration_seconds: int | None = None) -> dict[str, Any]:
    """Return a pod that is bound to a hollow node; consecutive pods are bound to consecutive nodes.

    Args:
        index: Index of the pod, counted from zero.
        nodes: Number of hollow nodes.
        toleration_seconds: Seconds for which the pod stays on a node that is not ready or not reachable; None for the
            API server's default, 300.
    """
    spec: dict[str, Any] = {
        "nodeName": node_name(index % nodes),
        "containers": [{"name": "main", "image": "hollow"}],
    }
    if toleration_seconds is not None:
        spec["tolerations"] = [
            {
                "key": f"node.kubernetes.io/{taint}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": toleration_seconds,
            }
            for taint in ("not-ready", "unreachable")
        ]
    return {
        "metadata": {"name": f"hollow-pod-{index:05d}", "namespace": NAMESPACE, "labels": {"type": "hollow"}},
        "spec": spec,
    }


class PodMaker:
    """Creates `count` pods, spread over the hollow nodes; a runnable that ends once all of them exist.

    Existing pods are not changed. Pods that are deleted later are not created again.

    Args:
        host: The source of waiting between two tries.
        client: Creates the pods.
        count: Number of pods.
        nodes: Number of hollow nodes.
        toleration_seconds: As for `hollow_pod`.

    Threads: call `run` once, from any thread.
    """

    name = "hollow-pods/maker"

    def __init__(
        self, host: Host, client: Client, count: int, nodes: int, *, toleration_seconds: int | None = None
    ) -> None:
        self._host = host
        self._client = client
        self._pods = (hollow_pod(i, nodes, toleration_seconds=toleration_seconds) for i in range(count))
        self._count = count

    def run(self, stop: Stop) -> None:
        """Create all pods, unless `stop` is set before; a failed creation is tried again until it succeeds."""
        for pod in self._pods:
            failures = 0
            while not self._create(pod, failures):
                failures += 1
                if stop.wait(RETRY.delay(failures, self._host.random)):
                    return
            if stop.is_set():
                return
        log.info("hollow pods created", pods=self._count)

    def _create(self, pod: dict[str, Any], failures: int) -> bool:
        """Create the pod, and tell whether it exists now."""
        try:
            self._client.create(PODS, pod)
        except AlreadyExists:
            return True
        except ControllerRuntimeError as error:
            write_log = log.warning if failures == 0 else log.debug
            write_log("cannot create a hollow pod, trying again", pod=pod["metadata"]["name"], error=error)
            return False
        return True
