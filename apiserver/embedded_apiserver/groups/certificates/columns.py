# SPDX-License-Identifier: Apache-2.0
"""Cells of requests for certificates."""

from __future__ import annotations

from embedded_apiserver.kinds.ages import short_duration
from embedded_apiserver.kinds.cells import (
    NAMED,
    NONE,
    Cells,
    at,
    of,
    value_at,
)
from embedded_apiserver.objects import Object


def _condition(request: Object) -> str:
    types = {one.get("type") for one in value_at(request, "status.conditions") or ()}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    failed = ",Failed" if "Failed" in types else ""
    return f"{state}{failed}{',Issued' if value_at(request, 'status.certificate') else ''}"


def _duration(request: Object) -> str:
    seconds = value_at(request, "spec.expirationSeconds")
    return NONE if seconds is None else short_duration(seconds)


REQUESTS: Cells = {
    **NAMED,
    "SignerName": at("spec.signerName"),
    "Requestor": at("spec.username", ""),
    "RequestedDuration": of(_duration),
    "Condition": of(_condition),
}
