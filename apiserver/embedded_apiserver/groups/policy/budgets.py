# SPDX-License-Identifier: Apache-2.0
"""The checks of disruption budgets."""

from __future__ import annotations

from collections.abc import Iterator

from embedded_apiserver.causes import duplicate, invalid, required
from embedded_apiserver.checks.basic import (
    at_most_all,
    count_or_percent,
    non_negative,
    one_of,
    qualified_name,
)
from embedded_apiserver.checks.selectors import label_selector
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_CONDITION_STATUSES = ("False", "True", "Unknown")


def budget(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a PodDisruptionBudget."""
    spec = part(obj, "spec")
    names = [name for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    if len(names) > 1:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid("spec", shown("PodDisruptionBudgetSpec", spec), text)
    for name in names:
        yield from count_or_percent(spec[name], f"spec.{name}")
        yield from at_most_all(spec[name], f"spec.{name}")
    yield from label_selector(spec.get("selector"), "spec.selector")
    if (policy := spec.get("unhealthyPodEvictionPolicy")) is not None:
        yield from one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), "spec.unhealthyPodEvictionPolicy")


def budget_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a PodDisruptionBudget's status."""
    status, seen = part(new, "status"), set()
    for index, one in enumerate(status.get("conditions") or ()):
        field, kind = f"status.conditions[{index}]", one.get("type", "")
        if kind in seen:
            yield duplicate(f"{field}.type", kind)
        seen.add(kind)
        yield from qualified_name(kind, f"{field}.type")
        yield from one_of(one.get("status", ""), _CONDITION_STATUSES, f"{field}.status")
        if (generation := one.get("observedGeneration", 0)) < 0:
            text = "must be greater than or equal to zero"
            yield invalid(f"{field}.observedGeneration", generation, text)
        if one.get("lastTransitionTime") is None:
            yield required(f"{field}.lastTransitionTime")
        yield from _reason(one.get("reason", ""), f"{field}.reason")
    yield from non_negative(status, "status", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _reason(reason: str, field: str) -> Iterator[Cause]:
    if not reason:
        yield required(field)
