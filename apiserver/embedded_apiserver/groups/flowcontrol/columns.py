# SPDX-License-Identifier: Apache-2.0
"""Cells of flow schemas and priority levels."""

from __future__ import annotations

from embedded_apiserver.kinds.cells import (
    NAMED,
    Cells,
    at,
    of,
    value_at,
)
from embedded_apiserver.objects import Object


def _dangling(schema: Object) -> str:
    conditions = value_at(schema, "status.conditions") or ()
    return next((one.get("status", "") for one in conditions if one.get("type") == "Dangling"), "?")


def by_precedence(schema: Object) -> tuple[int, str]:
    """Return the sort key of a FlowSchema in tables: the order in which requests are matched with flow schemas."""
    return value_at(schema, "spec.matchingPrecedence") or 0, schema["metadata"]["name"]


SCHEMAS: Cells = {
    **NAMED,
    "PriorityLevel": at("spec.priorityLevelConfiguration.name", ""),
    "MatchingPrecedence": at("spec.matchingPrecedence", 0),
    "DistinguisherMethod": at("spec.distinguisherMethod.type"),
    "MissingPL": of(_dangling),
}
LEVELS: Cells = {
    **NAMED,
    "Type": at("spec.type", ""),
    "NominalConcurrencyShares": at("spec.limited.nominalConcurrencyShares"),
    "Queues": at("spec.limited.limitResponse.queuing.queues"),
    "HandSize": at("spec.limited.limitResponse.queuing.handSize"),
    "QueueLengthLimit": at("spec.limited.limitResponse.queuing.queueLengthLimit"),
}
