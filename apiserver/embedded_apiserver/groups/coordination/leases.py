# SPDX-License-Identifier: Apache-2.0
"""The checks of leases and of lease candidates."""

from __future__ import annotations

from apimachinery.names import qualified_name_errors
from apimachinery.semver import ZERO, parse
from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_STRATEGIES = ("OldestEmulationVersion",)
_STRATEGY = "spec.strategy.strategy"  # a real server repeats the field's name, too
_OLDEST = "OldestEmulationVersion"
_NOT_A_VERSION = "must be a valid semantic version"


def lease(obj: Object) -> list[Cause]:
    """Return the validation errors of a Lease: durations must be positive, and a preferred holder needs a strategy."""
    spec = part(obj, "spec")
    causes = []
    if (duration := spec.get("leaseDurationSeconds", 1)) <= 0:
        causes.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    if (transitions := spec.get("leaseTransitions", 0)) < 0:
        causes.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    strategy = spec.get("strategy")
    if strategy is not None:
        causes += _strategy_causes(strategy)
    if spec.get("preferredHolder") and not strategy:
        causes.append(forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return causes


def candidate(obj: Object) -> list[Cause]:
    """Return the validation errors of a LeaseCandidate: its lease, its versions and its strategy."""
    spec = part(obj, "spec")
    causes = [] if spec.get("leaseName") else [required("spec.leaseName")]
    causes += _version_causes(spec)
    if not (strategy := spec.get("strategy")):
        return [*causes, required("spec.strategy")]
    causes += _strategy_causes(strategy)
    if strategy == _OLDEST and (parse(spec.get("emulationVersion", "")) or ZERO) == ZERO:
        text = f"must be specified when `strategy` is '{_OLDEST}'"
        causes.append(required("spec.emulationVersion", text))
    return causes


def candidate_change(old: Object, new: Object) -> list[Cause]:
    """Return the validation errors of an update of a LeaseCandidate: its lease must not change."""
    before, after = (part(one, "spec").get("leaseName", "") for one in (old, new))
    return [*candidate(new), *([] if before == after else [invalid("spec.leaseName", after, "field is immutable")])]


def _strategy_causes(strategy: str) -> list[Cause]:
    """Return the validation errors of the name of an election strategy.

    A name without a prefix has to be one of the built-in strategies; a custom one has a DNS prefix (`example.com/own`).
    """
    if "/" in strategy:
        return [invalid(_STRATEGY, strategy, text) for text in qualified_name_errors(strategy)]
    return [] if strategy in _STRATEGIES else [not_supported(_STRATEGY, strategy, _STRATEGIES)]


def _version_causes(spec: Object) -> list[Cause]:
    binary, emulated = spec.get("binaryVersion", ""), spec.get("emulationVersion", "")
    causes = []
    if emulated and parse(emulated) is None:
        causes.append(invalid("spec.emulationVersion", emulated, _NOT_A_VERSION))
    if not binary:
        causes.append(required("spec.binaryVersion"))
    elif parse(binary) is None:
        causes.append(invalid("spec.binaryVersion", binary, _NOT_A_VERSION))
    # An invalid version counts as the lowest, as on a real server. So one cause may be reported twice.
    if binary and emulated and (parse(binary) or ZERO) < (parse(emulated) or ZERO):
        text = "must be greater than or equal to `emulationVersion`"
        causes.append(invalid("spec.binaryVersion", binary, text))
    return causes
