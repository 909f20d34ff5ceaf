# SPDX-License-Identifier: Apache-2.0
"""A budget of deletions, as a value, and the error of a deletion that is beyond it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs

from apimachinery.errors import ControllerRuntimeError, UsageError
from controller_runtime.api.resources import Kind, Resource, resource_of

LARGEST = 100_000
"""The largest `most`; a program that may delete more within its time needs no budget."""


class DeletionBudgetExceeded(ControllerRuntimeError):
    """A request would delete more than a `DeletionBudget` allows, or it cannot be known how much; nothing was sent.

    The message has the count, the budget, and the command that opens it once.
    """


def _resource(kind: Kind[Any]) -> Resource[Any]:
    return resource_of(kind)


@attrs.frozen
class DeletionBudget:
    """How many objects of one kind a program may delete within a time, for `Manager.deletions`.

    Attributes:
        kind: The kind, or a declared class.
        most: Objects within the time, from 1 to 100,000; None for no such bound.
        share: The share, above 0 and at most 1, of the objects that there were when the first deletion within the time
            was allowed. It is rounded down, but one deletion is always within it. None for no such bound.
        per: The time, from ten seconds to a day. An object counts for so long after the deadline of the request that
            deletes it, 30 s at most unless the client has another timeout: so no delay on the way brings more than
            this into the time.

    Raises:
        UsageError: There is no bound, or a value is out of range.
    """

    kind: Resource[Any] = attrs.field(converter=_resource)
    most: int | None = attrs.field(default=None, kw_only=True)
    share: float | None = attrs.field(default=None, kw_only=True)
    per: timedelta = attrs.field(default=timedelta(minutes=10), kw_only=True)

    def __attrs_post_init__(self) -> None:
        wrong = ""
        if self.most is None and self.share is None:
            wrong = "has no bound: give most, such as most=10, or share, such as share=0.2, or both"
        elif self.most is not None and not 1 <= self.most <= LARGEST:
            wrong = f"most is {self.most}, and must be from 1 to {LARGEST}"
        elif self.share is not None and not 0 < self.share <= 1:
            wrong = f"share is {self.share:g}, and must be above 0 and at most 1: a fifth is 0.2"
        elif not timedelta(seconds=10) <= self.per <= timedelta(days=1):
            wrong = f"per is {self.per}, and must be from ten seconds to a day"
        if wrong:
            raise UsageError(f"the deletion budget of {self.name} {wrong}")

    @property
    def name(self) -> str:
        """The kind as `kubectl` has it: `pods`, `deployments.apps`."""
        return f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural

    @property
    def seconds(self) -> float:
        """The time in seconds."""
        return self.per.total_seconds()

    def __str__(self) -> str:
        share = "" if self.share is None else f"{100 * self.share:.4g} % of them"
        return f"{' and '.join(bound for bound in (str(self.most or ''), share) if bound)} in {self.seconds:g} s"
