# SPDX-License-Identifier: Apache-2.0
"""Nodes without machines: many of them, from one process, registered through the real API."""

from __future__ import annotations

from typing import Any

from controller_runtime.api.objects import timestamp
from controller_runtime.api.resources import NODES
from controller_runtime.client.client import Client
from controller_runtime.core.backoff import Backoff, Retrying
from controller_runtime.core.errors import AlreadyExists, ConnectionLost, ServerError, TooManyRequests
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop

log = get_logger(__name__)

ZONES = ("zone-a", "zone-b", "zone-c")
# A kubelet's registration: 100 ms, doubling, at most 7 s.
REGISTRATION = Backoff(initial=0.1, factor=2.0, cap=7.0, jitter=0.0)


def node_name(index: int) -> str:
    """The name of the hollow node `index`, from zero."""
    return f"hollow-{index:05d}"


def hollow_node(index: int, heartbeat_time: str) -> dict[str, Any]:
    """A node as a healthy kubelet of a middling machine registers it.

    Args:
        index: Which one, from zero; spreads the nodes over three zones.
        heartbeat_time: The conditions' times, as the API writes them.
    """
    name = node_name(index)
    capacity = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "200Gi"}
    healthy = {"lastHeartbeatTime": heartbeat_time, "lastTransitionTime": heartbeat_time}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": ZONES[index % len(ZONES)],
                "type": "hollow",
            },
        },
        "spec": {"providerID": f"hollow://{name}"},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": [
                {"type": kind, "status": "False", "reason": reason, **healthy}
                for kind, reason in (
                    ("MemoryPressure", "KubeletHasSufficientMemory"),
                    ("DiskPressure", "KubeletHasNoDiskPressure"),
                    ("PIDPressure", "KubeletHasSufficientPID"),
                )
            ]
            + [{"type": "Ready", "status": "True", "reason": "KubeletReady", **healthy}],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "osImage": "hollow",
                "kernelVersion": "0",
                "kubeletVersion": "v1.36.2",
                "kubeProxyVersion": "",
                "containerRuntimeVersion": "hollow://0",
                "bootID": "",
                "machineID": name,
                "systemUUID": "",
            },
        },
    }


class HollowNodes:
    """Registers `count` nodes, one after the other, evenly over `spread` seconds.

    A node that exists already is left as it is. A server that refuses, fails or is
    overloaded is asked again with a kubelet's backoff, for as long as the program runs.

    Args:
        host: What to wait on.
        client: Where to register.
        count: How many nodes.
        spread: Seconds over which they join; longer if the server needs it.
    """

    name = "hollow-nodes"

    def __init__(self, host: Host, client: Client, count: int, *, spread: float = 4.0) -> None:
        self._host = host
        self._client = client
        self._count = count
        self._spread = spread

    def run(self, stop: Stop) -> None:
        """Register them all, then return; sooner if asked to stop."""
        started_at = self._host.monotonic()
        for index in range(self._count):
            if stop.wait_until(started_at + self._spread * index / self._count) or not self._register(index, stop):
                return
        log.info("hollow nodes registered", nodes=self._count)

    def _register(self, index: int, stop: Stop) -> bool:
        retrying = Retrying(REGISTRATION, self._host.random)
        while not stop.is_set():
            try:
                self._client.create(NODES, hollow_node(index, timestamp(self._host.now())))
            except AlreadyExists:
                return True
            except (ConnectionLost, ServerError, TooManyRequests) as error:
                log.warning("registration failed, trying again", node=node_name(index), error=error)
                stop.wait(retrying.next_delay(self._host.monotonic()))
            else:
                return True
        return False
