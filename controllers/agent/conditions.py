# SPDX-License-Identifier: Apache-2.0
"""The four conditions that a node agent posts, with a kubelet's reasons, and which of their changes make events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from controllers.agent.resources import REQUIRED

Condition = dict[str, Any]

READY = "Ready"


@attrs.frozen
class _Words:
    """Of a shortage: reason and message when it is not there, and when it is."""

    well: tuple[str, str]
    short: tuple[str, str]


_WORDS: Mapping[str, _Words] = {
    "MemoryPressure": _Words(
        ("KubeletHasSufficientMemory", "the machine has enough memory available"),
        ("KubeletHasInsufficientMemory", "less memory is available than the threshold"),
    ),
    "DiskPressure": _Words(
        ("KubeletHasNoDiskPressure", "the machine has enough room on its disk"),
        ("KubeletHasDiskPressure", "less of the disk is free than the threshold"),
    ),
    "PIDPressure": _Words(
        ("KubeletHasSufficientPID", "the machine can run enough processes more"),
        ("KubeletHasInsufficientPID", "fewer processes can be added than the threshold"),
    ),
}
_NOT_KNOWN = ("NotObserved", "this system does not tell")
_READY_REASONS = {"True": "KubeletReady", "False": "KubeletNotReady"}


def with_pressure(conditions: Sequence[Condition], kind: str, is_short: bool | None, now: str) -> list[Condition]:
    """`conditions` with one of the three shortages brought to date.

    Reason, message and time of transition move with the status alone, so a reason that others
    wrote stays until then.

    Args:
        conditions: As they were; not changed.
        kind: Its type.
        is_short: None where the machine does not tell.
        now: As the API writes it.
    """
    words = _WORDS[kind]
    reason, message = _NOT_KNOWN if is_short is None else words.short if is_short else words.well
    status = "Unknown" if is_short is None else str(is_short)
    before = _of(conditions, kind) or {}
    moved = {"status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    same = before.get("status") == status
    return _with(conditions, {**before, "type": kind, **({} if same else moved), "lastHeartbeatTime": now})


def with_ready(conditions: Sequence[Condition], problems: Sequence[str], now: str) -> list[Condition]:
    """`conditions` with Ready brought to date: True unless there are `problems`; behind what is new."""
    before = _of(conditions, READY) or {}
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
    """Why a node is not ready; empty if it is."""
    missing = [name for name in REQUIRED if name not in capacity]
    problems = [f"missing node capacity for resources: {', '.join(missing)}"] if missing else []
    return [*problems, "node is shutting down"] if stops else problems


def is_ready(conditions: Iterable[Condition]) -> bool:
    """Whether they say so."""
    return (_of(conditions, READY) or {}).get("status") == "True"


def transitions(before: Iterable[Condition], after: Iterable[Condition]) -> list[str]:
    """The reasons of events for the conditions whose status differs; for Ready only if it was there before."""
    was = {condition["type"]: condition.get("status") for condition in before}
    found = []
    for condition in after:
        kind, status = condition["type"], condition.get("status")
        if status == was.get(kind) or status == "Unknown":
            continue
        if kind in _WORDS:
            words = _WORDS[kind]
            found.append((words.short if status == "True" else words.well)[0].replace("Kubelet", "Node"))
        elif kind == READY and kind in was:
            found.append("NodeReady" if status == "True" else "NodeNotReady")
    return found


def _of(conditions: Iterable[Condition], kind: str) -> Condition | None:
    return next((condition for condition in conditions if condition.get("type") == kind), None)


def _with(conditions: Sequence[Condition], new: Condition) -> list[Condition]:
    """`conditions` with `new` in the place of the one of its type, else at the end."""
    if _of(conditions, new["type"]) is None:
        return [*conditions, new]
    return [new if condition.get("type") == new["type"] else condition for condition in conditions]
