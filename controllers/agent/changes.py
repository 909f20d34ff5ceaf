# SPDX-License-Identifier: Apache-2.0
"""Whether a status is worth a post, when an unchanged one is, and the patch that makes one Node of another."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from controller_runtime.api.differ import merge_patch
from controllers.shared.quantities import parse_quantity

Node = Mapping[str, Any]

_SPREAD = 0.5
_HEARTBEAT = "lastHeartbeatTime"
_RESOURCES = ("capacity", "allocatable")
_PATCHED_APART = ("conditions", "addresses")


def differs(before: Node, after: Node) -> bool:
    """Whether a Node says something else, by its labels, annotations or status."""
    return bool(_metadata_patch(before, after)) or status_differs(before.get("status"), after.get("status"))


def status_differs(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    """Whether a status says something else: times of heartbeats and the order of conditions do not count."""
    if before is None or after is None:
        return before is not after
    return bool(merge_patch(_comparable(before), _comparable(after)))


def _comparable(status: Mapping[str, Any]) -> dict[str, Any]:
    """A status in which what means the same is the same."""
    found = {name: value for name, value in status.items() if value not in (None, [], {})}
    conditions = [{**condition, _HEARTBEAT: None} for condition in status.get("conditions") or ()]
    found["conditions"] = sorted(conditions, key=lambda condition: str(condition.get("type")))
    for name in _RESOURCES:
        found[name] = {key: str(parse_quantity(amount).normalize()) for key, amount in (status.get(name) or {}).items()}
    return found


@attrs.frozen
class Reported:
    """The last post that was taken; the first value is that of an agent that has posted nothing.

    Attributes:
        at: When, in monotonic seconds.
        delay: Seconds by which the next unchanged post comes later than its interval, or earlier.
    """

    at: float | None = None
    delay: float = 0.0

    def is_due(self, now: float, interval: float) -> bool:
        """Whether an unchanged status is to be posted."""
        return self.at is None or now - self.at >= interval + self.delay

    def after(self, now: float, interval: float, *, changed: bool, chance: random.Random) -> Reported:
        """What to remember of a post at `now`: after a change, and at first, the next one comes anywhere around
        the interval, so that nodes that changed together part again."""
        spread = changed or self.at is None
        return Reported(now, interval * (chance.random() - _SPREAD) if spread else 0.0)


def node_patch(before: Node, after: Node) -> dict[str, Any]:
    """The strategic merge patch, for the status subresource, of labels, annotations and status; never of the spec."""
    patch = {}
    for name, difference in (("metadata", _metadata_patch(before, after)), ("status", _status_patch(before, after))):
        if difference:
            patch[name] = difference
    return patch


def _metadata_patch(before: Node, after: Node) -> dict[str, Any]:
    was, now = (
        {name: node["metadata"].get(name) or {} for name in ("labels", "annotations")} for node in (before, after)
    )
    return merge_patch(was, now)


def _status_patch(before: Node, after: Node) -> dict[str, Any]:
    was, now = (node.get("status") or {} for node in (before, after))
    patch = merge_patch(_without_lists(was), _without_lists(now))
    return patch | _conditions_patch(_list(was, "conditions"), _list(now, "conditions")) | _addresses_patch(was, now)


def _conditions_patch(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The conditions that differ, by type, and the order of all; none are ever taken away."""
    was = {condition["type"]: condition for condition in before}
    changed = [
        {**difference, "type": condition["type"]}
        for condition in after
        if (difference := merge_patch(was.get(condition["type"], {}), condition))
    ]
    if not changed:
        return {}
    order = [{"type": condition["type"]} for condition in after]
    return {"$setElementOrder/conditions": order, "conditions": changed}


def _addresses_patch(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """All addresses, if they differ. A server merges such lists by the type, of which there may be several."""
    before, after = _list(was, "addresses"), _list(now, "addresses")
    if before == after:
        return {}
    is_ambiguous = before or len({address["type"] for address in after}) < len(after)
    return {"addresses": [*after, {"$patch": "replace"}] if is_ambiguous else after}


def _without_lists(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in _PATCHED_APART}


def _list(status: Mapping[str, Any], name: str) -> list[Any]:
    return status.get(name) or []
