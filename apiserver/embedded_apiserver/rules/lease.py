# SPDX-License-Identifier: Apache-2.0
"""Rules of leases: positive durations, and a known election strategy."""

from __future__ import annotations

from apimachinery.names import qualified_name_problems
from embedded_apiserver.causes import forbidden, invalid, not_supported
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.status import Cause

_STRATEGIES = ("OldestEmulationVersion",)
_STRATEGY = "spec.strategy.strategy"  # a real server repeats the field's name, too


class LeaseRules(Rules):
    """A lease has a positive duration. It names a preferred holder only together with a strategy."""

    def causes(self, obj: Object) -> list[Cause]:
        spec = part(obj, "spec")
        causes = []
        if (duration := spec.get("leaseDurationSeconds", 1)) <= 0:
            causes.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
        if (transitions := spec.get("leaseTransitions", 0)) < 0:
            causes.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        strategy = spec.get("strategy")
        if strategy is not None:
            causes += strategy_causes(strategy)
        if spec.get("preferredHolder") and not strategy:
            causes.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
        return causes


def strategy_causes(strategy: str) -> list[Cause]:
    """Return the faults of the name of an election strategy.

    A name without a prefix has to be one of the built-in strategies; a custom one has a DNS prefix (`example.com/own`).
    """
    if "/" in strategy:
        return [invalid(_STRATEGY, strategy, text) for text in qualified_name_problems(strategy)]
    return [] if strategy in _STRATEGIES else [not_supported(_STRATEGY, strategy, _STRATEGIES)]
