# SPDX-License-Identifier: Apache-2.0
"""Rules of horizontal pod autoscalers, as version 2 has them."""

from __future__ import annotations

from collections.abc import Iterator

from apimachinery.names import label_errors, path_segment_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import each, non_negative
from embedded_apiserver.checks.resources import container_resource_name, quantity
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800  # seconds
_SELECTIONS = ("Disabled", "Max", "Min")
_POLICIES = ("Percent", "Pods")
_TARGETS = ("Utilization", "Value", "AverageValue")
# From the type of a metric to the field that describes it, in the order in which fields are checked.
_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def autoscaler(obj: Object, old: Object | None = None) -> Iterator[Cause]:
    """Return the validation errors of a HorizontalPodAutoscaler.

    The API version of the scale target is not checked again if it and the kind are those of `old`. `minReplicas` may be
    0 only if it is 0 in `old`.
    """
    spec, before = part(obj, "spec"), part(old, "spec") if old is not None else {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    lowest = 0 if before.get("minReplicas") == 0 else 1
    if least is not None and least < lowest:
        yield invalid("spec.minReplicas", least, f"must be greater than or equal to {lowest}")
    if most == 0:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target, was = part(spec, "scaleTargetRef"), part(before, "scaleTargetRef")
    is_known = old is not None and all(target.get(name) == was.get(name) for name in ("apiVersion", "kind"))
    needs_group = target.get("kind") != "ReplicationController"
    yield from _reference(target, "spec.scaleTargetRef", needs_group=needs_group, is_known=is_known)
    metrics = spec.get("metrics") or ()
    for index, metric in enumerate(metrics):
        yield from _metric(metric, f"spec.metrics[{index}]")
    if least == 0 and not any(one.get("type") in ("Object", "External") for one in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden("spec.metrics", text)
    for name in ("scaleUp", "scaleDown"):
        if (rules := part(spec, "behavior").get(name)) is not None:
            yield from _rules(rules, f"spec.behavior.{name}")


def autoscaler_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a HorizontalPodAutoscaler."""
    return autoscaler(new, old)


def autoscaler_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a HorizontalPodAutoscaler's status."""
    return non_negative(part(new, "status"), "status", "currentReplicas", "desiredReplicas")


def _reference(ref: Object, place: str, *, needs_group: bool, is_known: bool = False) -> Iterator[Cause]:
    for name in ("kind", "name"):
        if not (value := ref.get(name, "")):
            yield required(f"{place}.{name}")
        else:
            yield from each(path_segment_errors, value, f"{place}.{name}")
    version = ref.get("apiVersion", "")
    if is_known:
        return
    if version.count("/") > 1:
        yield invalid(f"{place}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif (needs_group and not version.partition("/")[1]) or (needs_group and version.startswith("/")):
        yield invalid(f"{place}.apiVersion", version, "apiVersion must specify API group")


def _rules(rules: Object, place: str) -> Iterator[Cause]:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield invalid(f"{place}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        text = f"must be less than or equal to {_LONGEST_WINDOW}"
        yield invalid(f"{place}.stabilizationWindowSeconds", window, text)
    if (chosen := rules.get("selectPolicy")) is not None and chosen not in _SELECTIONS:
        yield not_supported(f"{place}.selectPolicy", chosen, _SELECTIONS)
    policies = rules.get("policies") or ()
    if not policies:
        yield required(f"{place}.policies", "must specify at least one Policy")
    for index, policy in enumerate(policies):
        yield from _policy(policy, f"{place}.policies[{index}]")
    if (tolerance := rules.get("tolerance")) is not None and quantity(tolerance) < 0:
        yield invalid(f"{place}.tolerance", tolerance, "must be greater than or equal to 0")


def _policy(policy: Object, place: str) -> Iterator[Cause]:
    if policy.get("type", "") not in _POLICIES:
        yield not_supported(f"{place}.type", policy.get("type", ""), _POLICIES)
    for name in ("value", "periodSeconds"):
        if (value := policy.get(name, 0)) <= 0:
            yield invalid(f"{place}.{name}", value, "must be greater than zero")
    if (seconds := policy.get("periodSeconds", 0)) > _LONGEST_PERIOD:
        yield invalid(f"{place}.periodSeconds", seconds, f"must be less than or equal to {_LONGEST_PERIOD}")


def _metric(metric: Object, place: str) -> Iterator[Cause]:
    kind = metric.get("type", "")
    if not kind:
        yield required(f"{place}.type", "must specify a metric source type")
    if kind not in _SOURCES:
        yield not_supported(f"{place}.type", kind, sorted(_SOURCES))
    given = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if given:
        yield from _SOURCE_CHECKS[given[0]](metric[given[0]], f"{place}.{given[0]}")
    expected = _SOURCES.get(kind, "")
    if not expected:
        yield not_supported(f"{place}.type", kind, sorted(_SOURCES))
    elif expected not in given:
        yield required(f"{place}.{expected}", "must populate information for the given metric source")
    if len(given) != 1:
        for name in given:
            if name != expected:
                yield forbidden(f"{place}.{name}", "must populate the given metric source only")


def _object(source: Object, place: str) -> Iterator[Cause]:
    yield from _reference(part(source, "describedObject"), f"{place}.describedObject", needs_group=False)
    yield from _identifier(part(source, "metric"), f"{place}.metric")
    target = part(source, "target")
    yield from _target(target, f"{place}.target")
    if target.get("value") is None and target.get("averageValue") is None:
        yield required(f"{place}.target.averageValue", "must set either a target value or averageValue")


def _external(source: Object, place: str) -> Iterator[Cause]:
    yield from _identifier(part(source, "metric"), f"{place}.metric")
    target = part(source, "target")
    yield from _target(target, f"{place}.target")
    is_total, is_per_pod = target.get("value") is not None, target.get("averageValue") is not None
    if not is_total and not is_per_pod:
        text = "must set either a target value for metric or a per-pod target"
        yield required(f"{place}.target.averageValue", text)
    if is_total and is_per_pod:
        text = "may not set both a target value for metric and a per-pod target"
        yield forbidden(f"{place}.target.value", text)


def _pods(source: Object, place: str) -> Iterator[Cause]:
    yield from _identifier(part(source, "metric"), f"{place}.metric")
    target = part(source, "target")
    yield from _target(target, f"{place}.target")
    if target.get("averageValue") is None:
        yield required(f"{place}.target.averageValue", "must specify a positive target averageValue")


def _container_resource(source: Object, place: str) -> Iterator[Cause]:
    if name := source.get("name"):
        yield from container_resource_name(name, f"{place}.name")
    else:
        yield required(f"{place}.name", "must specify a resource name")
    if container := source.get("container"):
        yield from each(label_errors, container, f"{place}.container")
    else:
        yield required(f"{place}.container", "must specify a container")
    yield from _amounts(part(source, "target"), f"{place}.target")


def _resource(source: Object, place: str) -> Iterator[Cause]:
    if not source.get("name"):
        yield required(f"{place}.name", "must specify a resource name")
    yield from _amounts(part(source, "target"), f"{place}.target")


def _amounts(target: Object, place: str) -> Iterator[Cause]:
    yield from _target(target, place)
    is_share, is_value = target.get("averageUtilization") is not None, target.get("averageValue") is not None
    if not is_share and not is_value:
        text = "must set either a target raw value or a target utilization"
        yield required(f"{place}.averageUtilization", text)
    if is_share and is_value:
        text = "may not set both a target raw value and a target utilization"
        yield forbidden(f"{place}.averageValue", text)


def _target(target: Object, place: str) -> Iterator[Cause]:
    kind = target.get("type", "")
    if not kind:
        yield required(f"{place}.type", "must specify a metric target type")
    if kind not in _TARGETS:
        yield invalid(f"{place}.type", kind, "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        if (value := target.get(name)) is not None and quantity(value) <= 0:
            yield invalid(f"{place}.{name}", value, "must be positive")
    if (share := target.get("averageUtilization")) is not None and share < 1:
        yield invalid(f"{place}.averageUtilization", share, "must be greater than 0")


def _identifier(metric: Object, place: str) -> Iterator[Cause]:
    if not (name := metric.get("name", "")):
        yield required(f"{place}.name", "must specify a metric name")
    else:
        yield from each(path_segment_errors, name, f"{place}.name")


_SOURCE_CHECKS = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}
