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
    """A taint of a node, as the API writes it.

    `time_added` is kept as text: the API's timestamps sort as text, and they are only compared with each other,
    never with a clock of ours.
    """

    key: str
    effect: str = ""
    value: str = ""
    time_added: str | None = None


class Toleration(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """A toleration of a pod, as the API writes it."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def matches(self, taint: Taint) -> bool:
        """Return whether it tolerates that taint. An unknown operator matches nothing."""
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

    For each taint the first toleration that matches counts, and the shortest of these decides. The result is
    infinite if none of them has an end, and `AT_ONCE` if a taint is not tolerated.
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

    They were, if each taint that was there before has a later `time_added` now, because then there was a time
    without any of them. If no taint was there before, one took the place of another, and the countdown goes on.
    """
    added = {taint.key: taint.time_added for taint in before}
    known = [(added[taint.key], taint.time_added) for taint in taints if taint.key in added]
    return bool(known) and all(old and new and new > old for old, new in known)


def leaves_at(
    taints: Sequence[Taint] | None, tolerations: Sequence[Toleration], before: float | None, now: float
) -> float | None:
    """Return when the pod has to leave its node, or None if it may stay.

    The time is counted from when the taints were first seen. It does not change while some taint stays, neither
    because of other taints nor because of longer or shorter tolerations.

    Args:
        taints: The `NO_EXECUTE` taints of the node; None if there is no such node.
        tolerations: Those of the pod.
        before: When it had to leave so far, in monotonic seconds; None if it could stay.
        now: Monotonic seconds.
    """
    if taints is None:  # a node that is gone has no taints to judge by, so nothing changes
        return before
    seconds = tolerated_seconds(taints, tolerations)
    if seconds == AT_ONCE:
        return AT_ONCE
    if math.isinf(seconds):
        return None
    return now + seconds if before is None else before
