# SPDX-License-Identifier: Apache-2.0
"""Decides whether a status is posted, and computes the patch that turns one Node into another."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from apimachinery.quantities import parse_quantity
from controller_runtime.api.differ import merge_patch

Node = Mapping[str, Any]

_SPREAD = 0.5
"""Half the width of the spread of posts after a change, as a fraction of the interval."""
_HEARTBEAT = "lastHeartbeatTime"
_RESOURCES = ("capacity", "allocatable")
_MERGED_LISTS = ("conditions", "addresses")  # which a strategic merge patch merges by their type


def differs(before: Node, after: Node) -> bool:
    """Return whether the labels, annotations or status of two Nodes differ; see `status_differs`."""
    return bool(_metadata_patch(before, after)) or status_differs(before.get("status"), after.get("status"))


def status_differs(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    """Return whether two statuses differ, ignoring heartbeat times, the order of conditions and the format of
    quantities.
    """
    if before is None or after is None:
        return before is not after
    return bool(merge_patch(_comparable(before), _comparable(after)))


def _comparable(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return a status in a normal form, so that two statuses that mean the same compare equal."""
    found = {name: value for name, value in status.items() if value not in (None, [], {})}
    conditions = [{**condition, _HEARTBEAT: None} for condition in status.get("conditions") or ()]
    found["conditions"] = sorted(conditions, key=lambda condition: str(condition.get("type")))
    for name in _RESOURCES:
        found[name] = {key: str(parse_quantity(amount).normalize()) for key, amount in (status.get(name) or {}).items()}
    return found


@attrs.frozen
class Reported:
    """The last successful post of a status; the defaults are for an agent that has not posted yet.

    Attributes:
        at: The time of the post in monotonic seconds; None if there was none.
        delay: Seconds that are added to the interval until the next post of an unchanged status; may be negative.
    """

    at: float | None = None
    delay: float = 0.0

    def is_due(self, now: float, interval: float) -> bool:
        """Return whether an unchanged status must be posted at `now`."""
        return self.at is None or now - self.at >= interval + self.delay

    def after(self, now: float, interval: float, *, changed: bool, chance: random.Random) -> Reported:
        """Return the value for a post at `now`.

        After a change, and after the first post, the next post comes after a random 0.5 to 1.5 intervals, so that nodes
        that changed together do not keep posting together.
        """
        spread = changed or self.at is None
        return Reported(now, interval * (chance.random() - _SPREAD) if spread else 0.0)


def node_patch(before: Node, after: Node) -> dict[str, Any]:
    """Return the strategic merge patch between two Nodes: of labels, annotations and status, without the spec."""
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
    """Return the patch of the conditions that differ, by type, with the order of all; none is removed."""
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
    """Return the patch of all addresses if they differ.

    The server merges addresses by their type. So a patch replaces the whole list where the merge would go
    wrong: where there are addresses already, or several of one type.
    """
    before, after = _list(was, "addresses"), _list(now, "addresses")
    if before == after:
        return {}
    is_ambiguous = before or len({address["type"] for address in after}) < len(after)
    return {"addresses": [*after, {"$patch": "replace"}] if is_ambiguous else after}


def _without_lists(status: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in _MERGED_LISTS}


def _list(status: Mapping[str, Any], name: str) -> list[Any]:
    return status.get(name) or []
