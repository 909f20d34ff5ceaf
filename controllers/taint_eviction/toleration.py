# SPDX-License-Identifier: Apache-2.0
"""Pure functions that decide for how long a pod tolerates the taints of its node, and when it has to leave."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

NO_EXECUTE = "NoExecute"
AT_ONCE = -math.inf
"""The seconds given to a pod that does not tolerate a taint, and also the time at which it has to leave.

It differs from zero seconds so that it also ends a countdown that has begun.
"""


class Taint(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A taint of a node, with the API's fields.

    `time_added` is kept as text: the API's timestamps sort as text, and are only compared with each other, never with
    our clock.
    """

    key: str
    effect: str = ""
    value: str = ""
    time_added: str | None = None


class Toleration(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A toleration of a pod, with the API's fields."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def matches(self, taint: Taint) -> bool:
        """Return whether this toleration matches the taint. An unknown operator matches nothing."""
        if self.effect not in ("", taint.effect):
            return False
        if self.key not in ("", taint.key):
            return False
        match self.operator:
            case "Exists":
                return True
            case "" | "Equal":
                return self.value == taint.value
            case _:
                return False


def tolerated_seconds(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float:
    """Return the seconds for which all taints together are tolerated.

    For each taint the first matching toleration counts, and the shortest of these decides. The result is infinite if
    none of them has a limit, and `AT_ONCE` if a taint is not tolerated.
    """
    shortest = math.inf
    for taint in taints:
        used = next((toleration for toleration in tolerations if toleration.matches(taint)), None)
        if used is None:
            return AT_ONCE
        if used.toleration_seconds is not None:
            shortest = min(shortest, max(0.0, float(used.toleration_seconds)))
    return shortest


def were_added_again(before: Sequence[Taint], taints: Sequence[Taint]) -> bool:
    """Return whether the taints were removed and added again unseen, so that the countdown starts again.

    That is the case if each taint that existed before has a later `time_added` now, because then for some time none of
    them existed. If none of the taints existed before, a new taint has replaced another one, and the countdown
    continues.
    """
    added = {taint.key: taint.time_added for taint in before}
    known = [(added[taint.key], taint.time_added) for taint in taints if taint.key in added]
    return bool(known) and all(old and new and new > old for old, new in known)


def leaves_at(
    taints: Sequence[Taint] | None, tolerations: Sequence[Toleration], before: float | None, now: float
) -> float | None:
    """Return when the pod must leave its node, in monotonic seconds; None if it may stay.

    The time counts from when the taints were first seen. It does not change while a taint remains, neither because of
    other taints nor because of longer or shorter tolerations.

    Args:
        taints: The `NO_EXECUTE` taints of the node; None if there is no such node.
        tolerations: The tolerations of the pod.
        before: The previous result; None if the pod could stay.
        now: The time in monotonic seconds.
    """
    if taints is None:  # a node that is gone has no taints to judge by, so nothing changes
        return before
    seconds = tolerated_seconds(taints, tolerations)
    if seconds == AT_ONCE:
        return AT_ONCE
    if math.isinf(seconds):
        return None
    return now + seconds if before is None else before
