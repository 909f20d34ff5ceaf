# SPDX-License-Identifier: Apache-2.0
"""The Node that a hollow node registers, and its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from controllers.shared.views import ConditionsView

ZONES = ("zone-a", "zone-b", "zone-c")
RACK_SIZE = 4
"""Number of nodes in one rack; they would lose their power together."""
RACK = "rack"
"""Label with the name of the rack; Kubernetes has no label of its own for it."""
HEALTHY: Mapping[str, tuple[str, str]] = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID"),
    "Ready": ("True", "KubeletReady"),
}
"""Status and reason of each condition of a healthy node, in a kubelet's order."""


class NodeConditions(msgspec.Struct, gc=False):
    """The fields of a Node that its hollow kubelet reads: its conditions."""

    status: ConditionsView | None = None

    def statuses(self) -> dict[str, str]:
        """Return the status of each condition, by type."""
        return {c.type: c.status for c in (self.status.conditions if self.status else None) or ()}

    def is_healthy(self) -> bool:
        """Return whether the conditions are those of a healthy node."""
        found = self.statuses()
        return all(found.get(kind) == status for kind, (status, _) in HEALTHY.items())


def node_name(index: int) -> str:
    """Return the name of the hollow node `index`, counted from zero."""
    return f"hollow-{index:05d}"


def zone_of(index: int) -> str:
    """Return the zone of the hollow node `index`. Consecutive nodes are in alternating zones."""
    return ZONES[index % len(ZONES)]


def rack_of(index: int) -> str:
    """Return the rack of the hollow node `index`, such as `rack-a0`. Each zone fills one rack after another."""
    zones = len(ZONES)
    return f"rack-{zone_of(index)[-1]}{index // zones // RACK_SIZE}"


def conditions(heartbeat_time: str, before: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the conditions of a healthy node.

    Args:
        heartbeat_time: The current time in the API's format.
        before: The previous status of each condition, by type. A condition whose status changes gets a new transition
            time; the others have none in the result, so that a patch does not change theirs.
    """
    posted = []
    for kind, (status, reason) in HEALTHY.items():
        condition = {"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": heartbeat_time}
        if before.get(kind) != status:
            condition["lastTransitionTime"] = heartbeat_time
        posted.append(condition)
    return posted


def hollow_node(index: int, heartbeat_time: str) -> dict[str, Any]:
    """Return a Node object as a healthy kubelet on a machine with 8 cores and 32 GiB registers it.

    Args:
        index: Index of the node, counted from zero; it determines the zone and the rack.
        heartbeat_time: The time of the conditions in the API's format.
    """
    name = node_name(index)
    capacity = {"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "200Gi"}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": zone_of(index),
                RACK: rack_of(index),
                "type": "hollow",
            },
        },
        "spec": {"providerID": f"hollow://{name}"},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": conditions(heartbeat_time, {}),
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
