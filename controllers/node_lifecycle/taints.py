# SPDX-License-Identifier: Apache-2.0
"""Which taints a node should bear: pure functions over its conditions. Other people's taints are left alone."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from controllers.node_lifecycle.views import NodeView

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
    """What is to become of a node's NoExecute taint."""

    KEEP = enum.auto()  # as it is: there is no Ready condition to go by
    CLEAR = enum.auto()  # neither of the two
    SET = enum.auto()  # the wanted one in place of the other: no more pods leave than do already
    ASK = enum.auto()  # the wanted one, where there is none: the zone decides when


def wanted_no_schedule(node: NodeView) -> list[str]:
    """The keys of the NoSchedule taints that the node should bear."""
    status = {each.type: each.status for each in node.conditions}
    keys = [_BY_READY[status["Ready"]]] if status.get("Ready") in _BY_READY else []
    keys += [key for kind, key in _IF_TRUE.items() if status.get(kind) == "True"]
    return [*keys, UNSCHEDULABLE] if node.unschedulable else keys


def wanted_no_execute(node: NodeView) -> str | None:
    """The key of the NoExecute taint that the node's Ready condition calls for."""
    return _BY_READY.get(node.ready.status) if node.ready is not None else None


def has_no_execute(node: NodeView) -> bool:
    """Whether the node bears a NoExecute taint of this controller's."""
    return any(_is(taint, _NO_EXECUTE, "NoExecute") for taint in node.taints)


def eviction(node: NodeView, *, all_silent: bool) -> Eviction:
    """What is to become of its NoExecute taint.

    Args:
        node: As it is.
        all_silent: No node of the cluster is ready. Then the likelier culprit is the control
            plane, and nobody is evicted.
    """
    if all_silent:
        return Eviction.CLEAR
    if node.ready is None:
        return Eviction.KEEP
    if wanted_no_execute(node) is None:
        return Eviction.CLEAR
    return Eviction.SET if has_no_execute(node) else Eviction.ASK


def new_taints(node: NodeView, no_execute: Eviction, now: str) -> list[Taint] | None:
    """The whole list of taints that the node should have; None if it has it.

    Args:
        node: As it is.
        no_execute: ASK leaves the NoExecute taints as they are, as KEEP does.
        now: When a taint that is added was, as the API writes it.
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


def missing_labels(node: NodeView) -> dict[str, str]:
    """The old labels that should say what the new ones say, as far as they do not."""
    stable = {beta: node.labels[label] for label, beta in _BETA_LABELS.items() if label in node.labels}
    return {beta: value for beta, value in stable.items() if node.labels.get(beta) != value}


def _pair(taint: Taint) -> tuple[str, str]:
    return taint.get("key", ""), taint.get("effect", "")


def _is(taint: Taint, keys: tuple[str, ...], effect: str) -> bool:
    return taint.get("effect") == effect and taint.get("key") in keys
