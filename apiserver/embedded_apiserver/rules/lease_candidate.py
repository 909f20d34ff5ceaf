# SPDX-License-Identifier: Apache-2.0
"""Rules of lease candidates: valid versions, and a strategy that can choose by them."""

from __future__ import annotations

from apimachinery.semver import ZERO, parse
from embedded_apiserver.causes import invalid, required
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.lease import strategy_causes
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.status import Cause

_OLDEST = "OldestEmulationVersion"
_NOT_A_VERSION = "must be a valid semantic version"


class LeaseCandidateRules(Rules):
    """A candidate names its lease, which never changes, its own version, and the version that it emulates."""

    def causes(self, obj: Object) -> list[Cause]:
        spec = part(obj, "spec")
        causes = [] if spec.get("leaseName") else [required("spec.leaseName")]
        causes += _version_causes(spec)
        if not (strategy := spec.get("strategy")):
            return [*causes, required("spec.strategy")]
        causes += strategy_causes(strategy)
        if strategy == _OLDEST and (parse(spec.get("emulationVersion", "")) or ZERO) == ZERO:
            text = f"must be specified when `strategy` is '{_OLDEST}'"
            causes.append(required("spec.emulationVersion", text))
        return causes

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        before, after = (part(one, "spec").get("leaseName", "") for one in (old, new))
        return [] if before == after else [invalid("spec.leaseName", after, "field is immutable")]


def _version_causes(spec: Object) -> list[Cause]:
    binary, emulated = spec.get("binaryVersion", ""), spec.get("emulationVersion", "")
    causes = []
    if emulated and parse(emulated) is None:
        causes.append(invalid("spec.emulationVersion", emulated, _NOT_A_VERSION))
    if not binary:
        causes.append(required("spec.binaryVersion"))
    elif parse(binary) is None:
        causes.append(invalid("spec.binaryVersion", binary, _NOT_A_VERSION))
    # An invalid version counts as the lowest, as on a real server. So one fault may be reported twice.
    if binary and emulated and (parse(binary) or ZERO) < (parse(emulated) or ZERO):
        text = "must be greater than or equal to `emulationVersion`"
        causes.append(invalid("spec.binaryVersion", binary, text))
    return causes
