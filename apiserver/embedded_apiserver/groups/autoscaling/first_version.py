# SPDX-License-Identifier: Apache-2.0
"""Horizontal pod autoscalers in version 1: stored in version 2, and shown with the rest in annotations.

Version 1 has a field for the use of processors only. All other metrics, the behavior, what was measured and the
conditions are texts of JSON in annotations there, which version 2 never shows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from embedded_apiserver.objects import Object, part

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _MEASURED = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
_CONDITIONS, _BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_ANNOTATIONS = (_METRICS, _MEASURED, _CONDITIONS, _BEHAVIOR)
_DEFAULT_USE = 80  # percent of the requested processors
_SHARED = ("maxReplicas", "minReplicas", "scaleTargetRef")
_COUNTS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
NO_STATUS: Mapping[str, Any] = {"desiredReplicas": 0, "currentMetrics": None}
"""The status of an autoscaler that has measured nothing."""


def stored_form(obj: Object) -> Object:
    """Return a HorizontalPodAutoscaler of version `v1` in the form of `v2`."""
    annotations = part(part(obj, "metadata"), "annotations")
    spec, status = part(obj, "spec"), part(obj, "status")
    metrics = [_metric_of(one, "target") for one in _list_in(annotations, _METRICS)]
    use = spec.get("targetCPUUtilizationPercentage")
    if use is not None:
        metrics.append(_of_processors(use))
    made = {name: spec[name] for name in _SHARED if name in spec}
    made["metrics"] = metrics or [_of_processors(_DEFAULT_USE)]
    if (behavior := _behavior_in(annotations)) is not None:
        made["behavior"] = behavior
    return {**obj, "spec": made, "status": _status_of(status, annotations)}


def shown_form(obj: Object) -> Object:
    """Return a HorizontalPodAutoscaler of version `v2` in the form of `v1`."""
    spec, status = part(obj, "spec"), part(obj, "status")
    made = {name: spec[name] for name in _SHARED if name in spec}
    use = next((_use_of(one) for one in spec.get("metrics") or () if _use_of(one) is not None), None)
    if use is not None:
        made["targetCPUUtilizationPercentage"] = use
    others = [_old_metric(one, "target") for one in spec.get("metrics") or () if _use_of(one) is None]
    measured = [_old_metric(one, "current") for one in status.get("currentMetrics") or ()]
    texts = {
        _METRICS: _text(others),
        _MEASURED: _text(measured),
        _CONDITIONS: _text(status.get("conditions") or []),
        _BEHAVIOR: _text(_in_go(spec.get("behavior"))),
    }
    metadata = _without_texts(obj["metadata"])
    added = {name: text for name, text in texts.items() if text}
    if added:
        metadata = {**metadata, "annotations": {**part(metadata, "annotations"), **added}}
    return {**obj, "metadata": metadata, "spec": made, "status": _old_status(status)}


def new_autoscaler(obj: Object) -> Object:
    """Return a new HorizontalPodAutoscaler without the annotations that are fields in version `v2`."""
    return {**obj, "metadata": _without_texts(obj["metadata"])}


def updated_autoscaler(old: Object, made: Object, subresource: str) -> Object:
    """Return an updated HorizontalPodAutoscaler without the annotations that are fields in version `v2`."""
    return {**made, "metadata": _without_texts(made["metadata"])}


def _without_texts(metadata: Object) -> Object:
    annotations = part(metadata, "annotations")
    if not any(name in annotations for name in _ANNOTATIONS):
        return metadata
    left = {name: text for name, text in annotations.items() if name not in _ANNOTATIONS}
    rest = {name: value for name, value in metadata.items() if name != "annotations"}
    return {**rest, "annotations": left} if left else rest


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) if value else ""


def _list_in(annotations: Mapping[str, str], name: str) -> Sequence[Any]:
    """Return the list in an annotation; empty if the annotation is absent or not a list."""
    try:
        found = json.loads(annotations.get(name, "[]"))
    except ValueError:
        return []
    return found if isinstance(found, list) and all(isinstance(one, dict) for one in found) else []


def _use_of(metric: Object) -> Any:
    """Return the wanted use of processors in percent; None if a metric is about something else."""
    resource = part(metric, "resource")
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    return part(resource, "target").get("averageUtilization")


def _of_processors(use: int) -> dict[str, Any]:
    return {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": use}},
    }


# From the field of a metric's target, or of its present value, to the names in version 1: by the source.
_VALUES = {
    "target": {
        "object": {"value": "targetValue", "averageValue": "averageValue"},
        "pods": {"averageValue": "targetAverageValue"},
        "external": {"value": "targetValue", "averageValue": "targetAverageValue"},
        "resource": {"averageUtilization": "targetAverageUtilization", "averageValue": "targetAverageValue"},
        "containerResource": {"averageUtilization": "targetAverageUtilization", "averageValue": "targetAverageValue"},
    },
    "current": {
        "object": {"value": "currentValue", "averageValue": "averageValue"},
        "pods": {"averageValue": "currentAverageValue"},
        "external": {"value": "currentValue", "averageValue": "currentAverageValue"},
        "resource": {"averageUtilization": "currentAverageUtilization", "averageValue": "currentAverageValue"},
        "containerResource": {"averageUtilization": "currentAverageUtilization", "averageValue": "currentAverageValue"},
    },
}
# The field of a present value that version 1 always has, by source; the average if a source is not here.
_ALWAYS = {"object": "currentValue", "external": "currentValue"}
_ORDER = (
    *("target", "name", "metricName", "metricSelector", "targetAverageUtilization", "currentAverageUtilization"),
    *("targetValue", "currentValue", "targetAverageValue", "currentAverageValue", "selector", "averageValue"),
    "container",
)
_SELECTORS = {"external": "metricSelector"}


def _old_metric(metric: Object, side: str) -> dict[str, Any]:
    """Return a metric of version 2 as version 1 has it; `side` is `target` or `current`."""
    made: dict[str, Any] = {"type": metric.get("type", "")}
    for source, names in _VALUES[side].items():
        if (given := metric.get(source)) is None:
            continue
        one: dict[str, Any] = {}
        if source == "object":
            one["target"] = given.get("describedObject") or {}
        for name in ("name", "container"):
            if name in given:
                one[name] = given[name]
        if (about := given.get("metric")) is not None:
            one["metricName"] = about.get("name", "")
            if "selector" in about:
                one[_SELECTORS.get(source, "selector")] = about["selector"]
        value = given.get(side) or {}
        one |= {old: value[new] for new, old in names.items() if new in value}
        if side == "current":
            one.setdefault(_ALWAYS.get(source, "currentAverageValue"), "0")
        made[source] = {name: one[name] for name in _ORDER if name in one}
    return made


def _metric_of(metric: Object, side: str) -> dict[str, Any]:
    """Return a metric of version 1 as version 2 has it; the reverse of `_old_metric`."""
    made: dict[str, Any] = {"type": metric.get("type", "")}
    for source, names in _VALUES[side].items():
        if not isinstance(given := metric.get(source), dict):
            continue
        one: dict[str, Any] = {name: given[name] for name in ("name", "container") if name in given}
        if source == "object":
            one["describedObject"] = given.get("target") or {}
        if "metricName" in given:
            selector = given.get(_SELECTORS.get(source, "selector"))
            one["metric"] = {"name": given["metricName"], **({"selector": selector} if selector else {})}
        value = {new: given[old] for new, old in names.items() if old in given}
        if side == "target":
            value = {"type": _target_type(value), **value}
        one[side] = value
        made[source] = one
    return made


def _target_type(value: Object) -> str:
    if "averageUtilization" in value:
        return "Utilization"
    return "Value" if "value" in value and "averageValue" not in value else "AverageValue"


def _status_of(status: Object, annotations: Mapping[str, str]) -> dict[str, Any]:
    made = {**NO_STATUS, **{name: status[name] for name in _COUNTS if name in status}}
    if not made.get("currentReplicas", 1):
        del made["currentReplicas"]
    measured = [_metric_of(one, "current") for one in _list_in(annotations, _MEASURED)]
    use = status.get("currentCPUUtilizationPercentage")
    if use is not None and not measured:
        measured = [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": use}}}]
    if measured:
        made["currentMetrics"] = measured
    if conditions := _list_in(annotations, _CONDITIONS):
        made["conditions"] = conditions
    return made


def _old_status(status: Object) -> dict[str, Any]:
    made: dict[str, Any] = {"currentReplicas": 0, **{name: status[name] for name in _COUNTS if name in status}}
    for one in status.get("currentMetrics") or ():
        use = part(part(one, "resource"), "current").get("averageUtilization")
        if part(one, "resource").get("name") == "cpu" and use is not None:
            made["currentCPUUtilizationPercentage"] = use
    return made


_GO = {"scaleUp": "ScaleUp", "scaleDown": "ScaleDown"}
_GO_RULES = (
    ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
    ("selectPolicy", "SelectPolicy"),
    ("policies", "Policies"),
    ("tolerance", "Tolerance"),
)
_GO_POLICY = (("type", "Type"), ("value", "Value"), ("periodSeconds", "PeriodSeconds"))


def _in_go(behavior: Object | None) -> dict[str, Any]:
    """Return a behavior under the names that the structures of a real API server have, as its annotation shows it."""
    if behavior is None:
        return {}
    made: dict[str, Any] = {}
    for name, go in _GO.items():
        rules = behavior.get(name)
        made[go] = None if rules is None else {key: rules.get(field) for field, key in _GO_RULES}
        if rules is not None:
            policies = rules.get("policies")
            made[go]["Policies"] = policies and [{key: one.get(f) for f, key in _GO_POLICY} for one in policies]
    return made


def _behavior_in(annotations: Mapping[str, str]) -> dict[str, Any] | None:
    try:
        found = json.loads(annotations.get(_BEHAVIOR, "null"))
    except ValueError:
        return None
    if not isinstance(found, dict) or not any(found.values()):
        return None
    made = {}
    for name, go in _GO.items():
        if isinstance(rules := found.get(go), dict):
            one = {field: rules[key] for field, key in _GO_RULES if rules.get(key) is not None}
            if isinstance(policies := one.get("policies"), list):
                one["policies"] = [{f: policy.get(key) for f, key in _GO_POLICY} for policy in policies]
            made[name] = one
    return made
