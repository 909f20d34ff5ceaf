# SPDX-License-Identifier: Apache-2.0
"""Sums the states of a primary's dependents up: in one condition, and in the result of the reconcile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import attrs

from controller_runtime.api.codec import Decoder, decoder_for
from controller_runtime.api.conditions import Condition, with_condition
from controller_runtime.controller.reconciler import Result
from controller_runtime.dependents.owned import Owned
from controller_runtime.dependents.plan import DependentState, Progress

C = TypeVar("C")

NAMED = 5
"""The number of objects that a condition's message names, so that it stays readable."""

# From the gravest on: the reason of the condition is the gravest of all states.
_GRAVITY = (Progress.REFUSED, Progress.NOT_OWNED, Progress.NOT_READY, Progress.WAITING)


@attrs.frozen
class Applied:
    """The result of `Dependents.apply` for one primary.

    Attributes:
        states: The state of each desired object, in the order in which they are applied.
        result: The `Result` to return from a reconcile that does nothing else. It requeues to check refused and foreign
            objects again.
        is_deleted: True if the primary is being deleted, so that nothing was applied.
    """

    states: Sequence[DependentState] = ()
    result: Result = attrs.field(factory=Result)
    is_deleted: bool = False

    @property
    def is_ready(self) -> bool:
        """Whether all objects are as desired, and ready."""
        return not self.is_deleted and all(state.progress is Progress.READY for state in self.states)

    def objects(self, owned: Owned[Any, C]) -> list[C]:
        """Return the existing objects of one declaration, as instances of the class of their kind.

        Raises:
            UnreadableObject: An object cannot be decoded.
        """
        decode: Decoder[C] = decoder_for(None, owned.resource)
        return [decode(each.object.raw) for each in self.states if each.owned is owned and each.object is not None]


def applied(states: Sequence[DependentState], now: float) -> Applied:
    """Return the `Applied` for these states.

    Args:
        states: The states.
        now: The time in monotonic seconds.
    """
    retries = [state.retry_at for state in states if state.retry_at is not None]
    result = Result(requeue_after=max(min(retries) - now, 0.0), jitter=0.1) if retries else Result()
    return Applied(states, result)


def problem_of(states: Sequence[DependentState]) -> tuple[str, str]:
    """Return the reason and the message of the summarizing condition; the reason is `Ready` if all are ready."""
    bad = [state for progress in _GRAVITY for state in states if state.progress is progress]
    if not bad:
        count = f"{len(states)} objects are" if len(states) != 1 else "1 object is"
        return "Ready", f"{count} ready"
    more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
    return bad[0].progress.value, "; ".join(str(state) for state in bad[:NAMED]) + more


def with_readiness(
    before: Sequence[Condition], reason: str, message: str, *, kind: str, now: datetime, generation: int
) -> list[Condition]:
    """Return the conditions with the updated condition that summarizes the dependents.

    Args:
        before: The current conditions.
        reason: The reason of the condition: `Ready`, or why not all are ready.
        message: The message of the condition, for people.
        kind: The type of the condition.
        now: The current time of the wall clock.
        generation: The generation of the primary from which the dependents were computed.
    """
    status = "True" if reason == "Ready" else "False"
    return with_condition(
        before, kind, status, reason=reason, message=message, now=now, observed_generation=generation or None
    )
