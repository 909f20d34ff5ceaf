# SPDX-License-Identifier: Apache-2.0
"""The effects of a write on a request for a certificate, decided by `approval` and signed by `status`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apimachinery.objects import timestamp
from embedded_apiserver.objects import Object, part

_DECIDED = ("Approved", "Denied")


def isolated_request(old: Object, new: Object, subresource: str) -> Object:
    """Return the stored CertificateSigningRequest with the sent metadata, and with those changes of its status that
    `subresource` may make.

    Its spec never changes.
    """
    kept: dict[str, Any] = {**old, "metadata": new["metadata"]}
    if not subresource:
        return kept
    before, after = part(old, "status"), part(new, "status")
    if subresource == "approval":
        conditions = after.get("conditions")
        rest = {name: value for name, value in before.items() if name != "conditions"}
        return {**kept, "status": {**rest, "conditions": conditions} if conditions else rest}
    return {**kept, "status": _with_decisions(before, after)}


def dated_request(old: Object, new: Object, now: datetime) -> Object:
    """Return an updated CertificateSigningRequest with the times that its conditions lack."""
    status = part(new, "status")
    conditions = status.get("conditions") or ()
    if all(one.get("lastUpdateTime") and one.get("lastTransitionTime") for one in conditions):
        return new
    known = part(old, "status").get("conditions") or ()
    return {**new, "status": {**status, "conditions": [_dated(one, known, timestamp(now)) for one in conditions]}}


def _with_decisions(before: Object, after: Object) -> Object:
    """Return a status with the decisions that there were, which it cannot change; a missing one is refused later."""
    conditions = [*(after.get("conditions") or ())]
    for kind in _DECIDED:
        olds = [one for one in before.get("conditions") or () if one.get("type") == kind]
        places = [index for index, one in enumerate(conditions) if one.get("type") == kind]
        if len(olds) == len(places):
            for index, one in zip(places, olds, strict=True):
                conditions[index] = one
    return {**after, "conditions": conditions} if conditions else after


def _dated(condition: Object, known: Any, now: str) -> Object:
    changed = next(
        (
            one.get("lastTransitionTime")
            for one in known
            if all(one.get(name) == condition.get(name) for name in ("type", "status"))
        ),
        None,
    )
    times = {"lastUpdateTime": now, "lastTransitionTime": changed or now}
    return {**condition, **{name: condition.get(name) or time for name, time in times.items()}}
