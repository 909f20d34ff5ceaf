# SPDX-License-Identifier: Apache-2.0
"""Disruption budgets."""

from __future__ import annotations

from embedded_apiserver.groups.policy import columns
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import Policy, changed
from embedded_apiserver.rules.causes import small_kinds

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
    checks=Checks(small_kinds.budget, status=small_kinds.budget_status, before_metadata=True),
    cells=columns.BUDGETS,
)
KINDS = (DISRUPTION_BUDGET,)
