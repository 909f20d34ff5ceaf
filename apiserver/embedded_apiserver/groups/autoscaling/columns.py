# SPDX-License-Identifier: Apache-2.0
"""Cells of autoscalers."""

from __future__ import annotations

from embedded_apiserver.kinds.cells import (
    NAMED,
    NONE,
    Cells,
    at,
    of,
    value_at,
)
from embedded_apiserver.objects import Object

_UNKNOWN = "<unknown>"
_SOURCES = {"External": "external", "Pods": "pods", "Object": "object"}
_OF_RESOURCES = {"Resource": "resource", "ContainerResource": "containerResource"}


def _metrics(obj: Object) -> str:
    specs = value_at(obj, "spec.metrics") or ()
    states = value_at(obj, "status.currentMetrics") or ()
    if not specs:
        return NONE
    found = [_metric(spec, states[index] if index < len(states) else {}) for index, spec in enumerate(specs)]
    more = f" + {len(found) - _MOST_METRICS} more..." if len(found) > _MOST_METRICS else ""
    return ", ".join(found[:_MOST_METRICS]) + more


def _metric(spec: Object, state: Object) -> str:
    kind = spec.get("type", "")
    if name := _SOURCES.get(kind):
        return _source(kind, value_at(spec, f"{name}.target") or {}, value_at(state, f"{name}.current"))
    if name := _OF_RESOURCES.get(kind):
        target, current = value_at(spec, f"{name}.target") or {}, value_at(state, f"{name}.current")
        return f"{value_at(spec, f'{name}.name')}: {_amount(target, current)}"
    return "<unknown type>"


def _source(kind: str, target: Object, current: Object | None) -> str:
    """Return the present and the wanted value of a metric of pods, of an object, or from outside."""
    is_average = target.get("averageValue") is not None
    name = "averageValue" if is_average else "value"
    seen = _UNKNOWN if current is None else current.get(name, _UNKNOWN if is_average and kind != "Pods" else "0")
    end = " (avg)" if is_average and kind != "Pods" else ""
    return f"{seen}/{target.get(name, '0')}{end}"


def _amount(target: Object, current: Object | None) -> str:
    if target.get("averageValue") is not None:
        return f"{_UNKNOWN if current is None else current.get('averageValue', '0')}/{target['averageValue']}"
    seen, wanted = (current or {}).get("averageUtilization"), target.get("averageUtilization")
    return f"{_UNKNOWN if seen is None else f'{seen}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


_MOST_METRICS, _MOST_LISTED = 2, 3
AUTOSCALERS: Cells = {
    **NAMED,
    "Reference": of(
        lambda obj: "/".join(str(value_at(obj, f"spec.scaleTargetRef.{name}") or "") for name in ("kind", "name"))
    ),
    "Targets": of(_metrics),
    "MinPods": of(lambda obj: str(value_at(obj, "spec.minReplicas") or "<unset>")),
    "MaxPods": at("spec.maxReplicas", 0),
    "Replicas": at("status.currentReplicas", 0),
}
