# SPDX-License-Identifier: Apache-2.0
"""What a node without a machine tells the API: the Node it registers, and its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

ZONES = ("zone-a", "zone-b", "zone-c")
RACK_SIZE = 4
"""Nodes of one zone that would lose their power together."""
RACK = "rack"
"""The label that says which; Kubernetes has none for it."""
HEALTHY: Mapping[str, tuple[str, str]] = {
    "MemoryPressure": ("False", "KubeletHasSufficientMemory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID"),
    "Ready": ("True", "KubeletReady"),
}
"""Status and reason of each condition, as a healthy kubelet posts them and in its order."""


class Condition(msgspec.Struct, gc=False):
    """The part of a condition that decides whether it is ours."""

    type: str
    status: str


class _Status(msgspec.Struct, gc=False):
    conditions: list[Condition] | None = None


class NodeView(msgspec.Struct, gc=False):
    """The part of a Node that its hollow kubelet reads."""

    status: _Status | None = None

    def statuses(self) -> dict[str, str]:
        """What the server's Node says: status by condition."""
        return {c.type: c.status for c in (self.status.conditions if self.status else None) or ()}

    def is_healthy(self) -> bool:
        """Whether that is what a healthy node says."""
        found = self.statuses()
        return all(found.get(kind) == status for kind, (status, _) in HEALTHY.items())


def node_name(index: int) -> str:
    """The name of the hollow node `index`, from zero."""
    return f"hollow-{index:05d}"


def zone_of(index: int) -> str:
    """The zone of the hollow node `index`: each has every third."""
    return ZONES[index % len(ZONES)]


def rack_of(index: int) -> str:
    """The rack of the hollow node `index`, such as `rack-a0`: each zone fills one after the other."""
    zones = len(ZONES)
    return f"rack-{zone_of(index)[-1]}{index // zones // RACK_SIZE}"


def conditions(heartbeat_time: str, before: Mapping[str, str]) -> list[dict[str, str]]:
    """The conditions of a healthy node.

    Args:
        heartbeat_time: The time now, as the API writes it.
        before: Status by condition so far; one that differs has its transition now, the
            others keep theirs.
    """
    posted = []
    for kind, (status, reason) in HEALTHY.items():
        condition = {"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": heartbeat_time}
        if before.get(kind) != status:
            condition["lastTransitionTime"] = heartbeat_time
        posted.append(condition)
    return posted


def hollow_node(index: int, heartbeat_time: str) -> dict[str, Any]:
    """A node as a healthy kubelet of a middling machine registers it.

    Args:
        index: Which one, from zero; spreads the nodes over three zones and their racks.
        heartbeat_time: The conditions' times, as the API writes them.
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
