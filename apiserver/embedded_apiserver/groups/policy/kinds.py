# SPDX-License-Identifier: Apache-2.0
"""Disruption budgets."""

from __future__ import annotations

from embedded_apiserver.groups.policy import budgets, columns
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy, changed

DISRUPTION_BUDGET = Kind(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    short_names=("pdb",),
    subresources=("status",),
    unconditional_update=False,
    name_rule="path",
    policy=Policy(
        status={"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0},
        generation=changed("spec"),
    ),
    metadata="",
    status_metadata="",
    checks=Checks(budgets.budget, status=budgets.budget_status, before_metadata=True),
    cells=columns.BUDGETS,
)
KINDS = (DISRUPTION_BUDGET,)
