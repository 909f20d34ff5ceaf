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
    """Raised if a request would delete more than a `DeletionBudget` allows, or an unknown number; nothing was sent.

    The message has the count, the budget, and the command that opens the budget once.
    """


def _resource(kind: Kind[Any]) -> Resource[Any]:
    return resource_of(kind)


@attrs.frozen
class DeletionBudget:
    """The most objects of one kind that a program may delete within a time, for `Manager.deletions`.

    Attributes:
        kind: The kind, or a declared class.
        most: The most objects within the time, from 1 to 100,000; None for no such limit.
        share: The greatest share of the kind's objects, above 0 and at most 1, counted when the first deletion within
            the time was allowed. The number is rounded down, but is at least one. None for no such limit.
        per: The time, from ten seconds to a day. A deletion counts for this time after the deadline of its request (30
            s by default), so that delayed requests do not add up to more.

    Raises:
        UsageError: There is no limit, or a value is out of range.
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
        """The kind as `kubectl` writes it: `pods`, `deployments.apps`."""
        return f"{self.kind.plural}.{self.kind.group}" if self.kind.group else self.kind.plural

    @property
    def seconds(self) -> float:
        """The time `per` in seconds."""
        return self.per.total_seconds()

    def __str__(self) -> str:
        share = "" if self.share is None else f"{100 * self.share:.4g} % of them"
        return f"{' and '.join(bound for bound in (str(self.most or ''), share) if bound)} in {self.seconds:g} s"
