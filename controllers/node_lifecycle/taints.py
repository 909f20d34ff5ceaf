# SPDX-License-Identifier: Apache-2.0
"""Pure functions that decide by a node's conditions which taints it should have; taints of others are left alone."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from controllers.node_lifecycle.views import MonitoredNodeView

PREFIX = "node.kubernetes.io/"
NOT_READY = f"{PREFIX}not-ready"
UNREACHABLE = f"{PREFIX}unreachable"
UNSCHEDULABLE = f"{PREFIX}unschedulable"

_BY_READY: Mapping[str, str] = {"False": NOT_READY, "Unknown": UNREACHABLE}
_IF_TRUE: Mapping[str, str] = {
    "MemoryPressure": f"{PREFIX}memory-pressure",
    "DiskPressure": f"{PREFIX}disk-pressure",
    "PIDPressure": f"{PREFIX}pid-pressure",
    "NetworkUnavailable": f"{PREFIX}network-unavailable",
}
_NO_SCHEDULE = (*_BY_READY.values(), *_IF_TRUE.values(), UNSCHEDULABLE)
_NO_EXECUTE = (NOT_READY, UNREACHABLE)

_BETA_LABELS = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}

Taint = dict[str, Any]


class Eviction(enum.Enum):
    """The change to make to a node's NoExecute taint."""

    KEEP = enum.auto()
    """Leave it as it is: there is no Ready condition to judge by."""

    CLEAR = enum.auto()
    """Remove both NoExecute taints of this controller."""

    SET = enum.auto()
    """Replace the other one by the wanted one. No turn is needed, because the pods have to leave already."""

    ASK = enum.auto()
    """Add the wanted one to a node that has none, when it is the node's turn in its zone."""


def wanted_no_schedule(node: MonitoredNodeView) -> list[str]:
    """Return the keys of the NoSchedule taints that the node should have."""
    status = {each.type: each.status for each in node.conditions}
    keys = [_BY_READY[status["Ready"]]] if status.get("Ready") in _BY_READY else []
    keys += [key for kind, key in _IF_TRUE.items() if status.get(kind) == "True"]
    return [*keys, UNSCHEDULABLE] if node.unschedulable else keys


def wanted_no_execute(node: MonitoredNodeView) -> str | None:
    """Return the key of the NoExecute taint for the node's Ready condition; None if it should have none."""
    return _BY_READY.get(node.ready.status) if node.ready is not None else None


def has_no_execute(node: MonitoredNodeView) -> bool:
    """Return whether the node has a NoExecute taint of this controller."""
    return any(_is(taint, _NO_EXECUTE, "NoExecute") for taint in node.taints)


def eviction(node: MonitoredNodeView, *, all_silent: bool) -> Eviction:
    """Return what to do with the node's NoExecute taint.

    Args:
        node: The current node.
        all_silent: Whether no node of the cluster is ready. Then the control plane is more likely the cause, and no
            node is evicted.
    """
    if all_silent:
        return Eviction.CLEAR
    if node.ready is None:
        return Eviction.KEEP
    if wanted_no_execute(node) is None:
        return Eviction.CLEAR
    return Eviction.SET if has_no_execute(node) else Eviction.ASK


def new_taints(node: MonitoredNodeView, no_execute: Eviction, now: str) -> list[Taint] | None:
    """Return the whole list of taints that the node should have; None if no change is needed.

    Args:
        node: The current node.
        no_execute: The change to make to the NoExecute taints. ASK and KEEP do not change them.
        now: The current time in the API's format, for added taints.
    """
    wanted = [(key, "NoSchedule") for key in wanted_no_schedule(node)]
    kept = [taint for taint in node.taints if not _is(taint, _NO_SCHEDULE, "NoSchedule")]
    if no_execute in (Eviction.CLEAR, Eviction.SET):
        kept = [taint for taint in kept if not _is(taint, _NO_EXECUTE, "NoExecute")]
    key = wanted_no_execute(node)
    if no_execute is Eviction.SET and key is not None:
        wanted.append((key, "NoExecute"))
    present = {_pair(taint): taint for taint in node.taints}
    gone = [taint for taint in node.taints if taint not in kept and _pair(taint) not in wanted]
    added = [{"key": key, "effect": effect, "timeAdded": now} for key, effect in wanted if (key, effect) not in present]
    if not gone and not added:
        return None
    return [*(taint for taint in node.taints if taint not in gone), *added]


def missing_labels(node: MonitoredNodeView) -> dict[str, str]:
    """Return the deprecated `beta.kubernetes.io` labels to set, with the values of their successors."""
    stable = {beta: node.labels[label] for label, beta in _BETA_LABELS.items() if label in node.labels}
    return {beta: value for beta, value in stable.items() if node.labels.get(beta) != value}


def _pair(taint: Taint) -> tuple[str, str]:
    return taint.get("key", ""), taint.get("effect", "")


def _is(taint: Taint, keys: tuple[str, ...], effect: str) -> bool:
    return taint.get("effect") == effect and taint.get("key") in keys
