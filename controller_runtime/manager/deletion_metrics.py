# SPDX-License-Identifier: Apache-2.0
"""The metrics of the deletion budgets of a manager."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from controller_runtime.deletions.limits import BudgetState, DeletionLimits
from controller_runtime.manager.exposition import Row, counter, gauge, metrics_of

# fmt: off
_OF_BUDGETS: tuple[Row[BudgetState], ...] = (
    Row(counter, "controller_runtime_deletions_allowed_total",
        "Deletions that this replica reserved in their budget.", lambda s: s.allowed),
    Row(counter, "controller_runtime_deletions_refused_total",
        "Requests of this replica that were not sent, because they were beyond a budget of deletions.",
        lambda s: s.refused),
    Row(gauge, "controller_runtime_deletions_used",
        "Deletions of all replicas that count in their budget now, as far as this replica knows.", lambda s: s.used),
)
# fmt: on


def of_deletions(limits: DeletionLimits) -> Iterator[Metric]:
    """Yield the metrics of the deletion budgets; nothing if there are no budgets."""
    if states := [((state.budget.name,), state) for state in limits.states()]:
        yield from metrics_of(_OF_BUDGETS, ("resource",), states)
