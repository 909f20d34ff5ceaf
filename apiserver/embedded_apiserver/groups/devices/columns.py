# SPDX-License-Identifier: Apache-2.0
"""Cells of devices and their claims."""

from __future__ import annotations

from embedded_apiserver.kinds.cells import (
    NAMED,
    Cells,
    at,
    of,
    value_at,
)
from embedded_apiserver.objects import Object


def _claim_state(claim: Object) -> str:
    is_deleted, is_allocated = (
        "deletionTimestamp" in claim["metadata"],
        value_at(claim, "status.allocation") is not None,
    )
    states = ["deleted"] if is_deleted else []
    if is_allocated:
        states.append("allocated")
        if value_at(claim, "status.reservedFor"):
            states.append("reserved")
    elif not is_deleted:
        states.append("pending")
    return ",".join(states)


CLAIMS: Cells = {**NAMED, "State": of(_claim_state)}
SLICES: Cells = {
    **NAMED,
    "Node": at("spec.nodeName", ""),
    "Driver": at("spec.driver", ""),
    "Pool": at("spec.pool.name", ""),
}
