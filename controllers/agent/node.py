# SPDX-License-Identifier: Apache-2.0
"""The Node that an agent makes, and what it brings to date of one that is there already."""

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
"""Labels that are brought to date on a Node that is there already; others are its administrators'."""


def _platform_labels(machine: Machine) -> dict[str, str]:
    """The two labels that a Node always carries."""
    return {OS: machine.system, ARCH: machine.architecture}


def initial_node(settings: Settings, machine: Machine, status: Status) -> Node:
    """The Node to make."""
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


def reconciled(existing: Mapping[str, Any], initial: Node) -> dict[str, Any]:
    """The patch, for the status subresource, that makes `existing` ours; empty if it is already."""
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
    rest = {name: amount for name, amount in before.items() if not name.startswith(HUGE_PAGES)}
    return rest | {name: amount for name, amount in wanted.items() if name.startswith(HUGE_PAGES)}


def brought_to_date(node: Mapping[str, Any], machine: Machine, status: Status) -> Node:
    """`node` as it should be now: with this status, and the labels that it always carries."""
    labels = {**(node["metadata"].get("labels") or {}), **_platform_labels(machine)}
    return {**node, "metadata": {**node["metadata"], "labels": labels}, "status": status}


def pod_cidrs_of(node: Mapping[str, Any]) -> str:
    """The ranges of addresses that the node's pods have, in one word; empty for none."""
    return ",".join((node.get("spec") or {}).get("podCIDRs") or ())


def kept_by_another(node: Mapping[str, Any]) -> str:
    """The version of the kubelet that posted the status of `node`; empty if it was an agent, or nobody."""
    version: str = ((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion", "")
    return "" if version.endswith(AGENT_SUFFIX) else version
