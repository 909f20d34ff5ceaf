# SPDX-License-Identifier: Apache-2.0
"""The Node that an agent creates, and the patches of one that exists already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllers.agent.changes import node_patch
from controllers.agent.machine import Machine
from controllers.agent.resources import HUGE_PAGES
from controllers.agent.settings import LABEL, Settings
from controllers.agent.status import AGENT_SUFFIX, Status

Node = dict[str, Any]

ATTACH_DETACH = "volumes.kubernetes.io/controller-managed-attach-detach"
OS, ARCH = "kubernetes.io/os", "kubernetes.io/arch"
_DEFAULT_LABELS = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    OS,
    ARCH,
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
)
"""Labels that an agent updates on a Node that exists already; the others belong to its administrators."""


def _platform_labels(machine: Machine) -> dict[str, str]:
    """Return the two labels that every round restores."""
    return {OS: machine.system, ARCH: machine.architecture}


def initial_node(settings: Settings, machine: Machine, status: Status) -> Node:
    """Return the Node object to create for a machine."""
    labels = {
        "kubernetes.io/hostname": settings.name,
        "beta.kubernetes.io/os": machine.system,
        "beta.kubernetes.io/arch": machine.architecture,
        **_platform_labels(machine),
        **LABEL,
        **settings.labels,
    }
    metadata: dict[str, Any] = {"name": settings.name, "labels": labels}
    if settings.attach_detach:
        metadata["annotations"] = {ATTACH_DETACH: "true"}
    spec: dict[str, Any] = {}
    if settings.provider_id:
        spec["providerID"] = settings.provider_id
    if settings.taints:
        spec["taints"] = [dict(taint) for taint in settings.taints]
    return {"metadata": metadata, "spec": spec, "status": status}


def adoption_patch(existing: Mapping[str, Any], initial: Node) -> dict[str, Any]:
    """Return the patch, for the status subresource, by which the agent takes over an existing Node; empty if none is
    needed.

    It updates the default labels, the annotation about volumes, the huge pages, and capacity and allocatable if they
    are missing. A default label whose value in `initial` is empty is removed.
    """
    metadata, status = existing["metadata"], existing.get("status") or {}
    labels, annotations = dict(metadata.get("labels") or {}), dict(metadata.get("annotations") or {})
    for name in _DEFAULT_LABELS:
        value = initial["metadata"]["labels"].get(name)
        if value:
            labels[name] = value
        elif value == "":
            labels.pop(name, None)
    annotations.pop(ATTACH_DETACH, None)
    annotations |= initial["metadata"].get("annotations", {})
    ours = {"metadata": {"labels": labels, "annotations": annotations}, "status": {**status}}
    for name in ("capacity", "allocatable"):
        ours["status"][name] = _with_huge_pages(status.get(name) or initial["status"][name], initial["status"][name])
    return node_patch(existing, ours)


def _with_huge_pages(before: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the amounts `before`, with the huge pages of `wanted` in place of theirs."""
    rest = {name: amount for name, amount in before.items() if not name.startswith(HUGE_PAGES)}
    return rest | {name: amount for name, amount in wanted.items() if name.startswith(HUGE_PAGES)}


def updated_node(node: Mapping[str, Any], machine: Machine, status: Status) -> Node:
    """Return a copy of `node` with `status`, and with the labels that the agent restores at each update."""
    labels = {**(node["metadata"].get("labels") or {}), **_platform_labels(machine)}
    return {**node, "metadata": {**node["metadata"], "labels": labels}, "status": status}


def pod_cidrs_of(node: Mapping[str, Any]) -> str:
    """Return the address ranges of the node's pods, separated by commas; empty if it has none."""
    return ",".join((node.get("spec") or {}).get("podCIDRs") or ())


def version_of_kubelet(node: Mapping[str, Any]) -> str:
    """Return the version of the kubelet that posted the status of `node`; empty if no kubelet posted it."""
    version: str = ((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion", "")
    return "" if version.endswith(AGENT_SUFFIX) else version
