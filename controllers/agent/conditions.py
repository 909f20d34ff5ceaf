# SPDX-License-Identifier: Apache-2.0
"""The four conditions that a node agent posts, with a kubelet's reasons, and the events for their changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from controllers.agent.resources import REQUIRED

Condition = dict[str, Any]

READY = "Ready"


@attrs.frozen
class _Texts:
    """Reason and message of a pressure condition that is False (`enough`), and of one that is True (`short`)."""

    enough: tuple[str, str]
    short: tuple[str, str]


_TEXTS: Mapping[str, _Texts] = {
    "MemoryPressure": _Texts(
        ("KubeletHasSufficientMemory", "the machine has enough memory available"),
        ("KubeletHasInsufficientMemory", "less memory is available than the threshold"),
    ),
    "DiskPressure": _Texts(
        ("KubeletHasNoDiskPressure", "the machine has enough free disk space"),
        ("KubeletHasDiskPressure", "less of the disk is free than the threshold"),
    ),
    "PIDPressure": _Texts(
        ("KubeletHasSufficientPID", "the machine can run enough further processes"),
        ("KubeletHasInsufficientPID", "fewer further processes can run than the threshold"),
    ),
}
_UNKNOWN = ("NotObserved", "this system does not report it")
_READY_REASONS = {"True": "KubeletReady", "False": "KubeletNotReady"}


def with_pressure(conditions: Sequence[Condition], kind: str, is_short: bool | None, now: str) -> list[Condition]:
    """Return `conditions` with one of the three pressure conditions updated.

    As with a kubelet, reason, message and transition time change only when the status does, so a reason that another
    client wrote stays until then.

    Args:
        conditions: The conditions so far; not changed.
        kind: Type of the condition.
        is_short: Whether the resource is short; None if unknown.
        now: The current time in the API's format.
    """
    texts = _TEXTS[kind]
    reason, message = _UNKNOWN if is_short is None else texts.short if is_short else texts.enough
    status = "Unknown" if is_short is None else str(is_short)
    before = _find(conditions, kind) or {}
    moved = {"status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    same = before.get("status") == status
    return _with(conditions, {**before, "type": kind, **({} if same else moved), "lastHeartbeatTime": now})


def with_ready(conditions: Sequence[Condition], problems: Sequence[str], now: str) -> list[Condition]:
    """Return `conditions` with Ready updated: True unless there are `problems`. A new condition is added at the end."""
    before = _find(conditions, READY) or {}
    status = str(not problems)
    message = "; ".join(problems) or "the node agent is posting ready status"
    same = before.get("status") == status
    ready = {
        **before,
        "type": READY,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": before.get("lastTransitionTime", now) if same else now,
        "reason": _READY_REASONS[status],
        "message": message,
    }
    return _with(conditions, ready)


def ready_problems(capacity: Mapping[str, str], *, stops: bool) -> list[str]:
    """Return why a node is not ready; empty if it is."""
    missing = [name for name in REQUIRED if name not in capacity]
    problems = [f"missing node capacity for resources: {', '.join(missing)}"] if missing else []
    return [*problems, "node is shutting down"] if stops else problems


def is_ready(conditions: Iterable[Condition]) -> bool:
    """Return whether the condition Ready is True."""
    return (_find(conditions, READY) or {}).get("status") == "True"


def transitions(before: Iterable[Condition], after: Iterable[Condition]) -> list[str]:
    """Return the reasons of events for conditions that became True or False; for Ready only if it existed before."""
    was = {condition["type"]: condition.get("status") for condition in before}
    found = []
    for condition in after:
        kind, status = condition["type"], condition.get("status")
        if status == was.get(kind) or status == "Unknown":
            continue
        if kind in _TEXTS:
            texts = _TEXTS[kind]
            found.append((texts.short if status == "True" else texts.enough)[0].replace("Kubelet", "Node"))
        elif kind == READY and kind in was:
            found.append("NodeReady" if status == "True" else "NodeNotReady")
    return found


def _find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition.get("type") == kind), None)


def _with(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """Return `conditions` with `new` in place of the one of its type, or at the end if absent."""
    if _find(conditions, new["type"]) is None:
        return [*conditions, new]
    return [new if condition.get("type") == new["type"] else condition for condition in conditions]
