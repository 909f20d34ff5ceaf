# SPDX-License-Identifier: Apache-2.0
"""How long a pod tolerates the taints of its node, and when it has to leave: pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

NO_EXECUTE = "NoExecute"
AT_ONCE = -math.inf
"""What a pod that does not tolerate a taint is given; also when it has to leave."""


class Taint(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """Keeps pods off a node, as the API writes it; the time is compared with others and never reckoned with."""

    key: str
    effect: str = ""
    value: str = ""
    time_added: str | None = None


class Toleration(msgspec.Struct, gc=False, frozen=True, rename="camel"):
    """Lets a pod stay in spite of taints, as the API writes it."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def matches(self, taint: Taint) -> bool:
        """Whether it is about that taint. An operator that nobody knows matches nothing."""
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


def patience(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float:
    """Seconds for which all taints together are tolerated.

    For each taint the first toleration that matches counts; the shortest of these
    decides. Infinite where none of them ends, `AT_ONCE` where a taint has none.
    """
    shortest = math.inf
    for taint in taints:
        used = next((toleration for toleration in tolerations if toleration.matches(taint)), None)
        if used is None:
            return AT_ONCE
        if used.toleration_seconds is not None:
            shortest = min(shortest, max(0.0, float(used.toleration_seconds)))
    return shortest


def have_come_again(before: Sequence[Taint], taints: Sequence[Taint]) -> bool:
    """Whether all taints were gone for a while, though nobody saw it: each that is known was added later than before.

    Where one took the place of another, so that none is known, they were not.
    """
    added = {taint.key: taint.time_added for taint in before}
    known = [(added[taint.key], taint.time_added) for taint in taints if taint.key in added]
    return bool(known) and all(old and new and new > old for old, new in known)


def leaves_at(
    taints: Sequence[Taint] | None, tolerations: Sequence[Toleration], before: float | None, now: float
) -> float | None:
    """When the pod has to leave its node; None for as long as things stay as they are.

    The time runs from when the taints were first seen, and is not set anew while some
    stay: neither by other taints nor by longer or shorter tolerations.

    Args:
        taints: The node's that are `NO_EXECUTE`; None if there is no such node.
        tolerations: The pod's.
        before: When it had to leave so far; None if it had not.
        now: On the clock of `before`.
    """
    if taints is None:  # nobody says that it may stay, or that it may not
        return before
    seconds = patience(taints, tolerations)
    if seconds == AT_ONCE:
        return AT_ONCE
    if math.isinf(seconds):
        return None
    return now + seconds if before is None else before
