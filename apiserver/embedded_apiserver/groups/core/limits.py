# SPDX-License-Identifier: Apache-2.0
"""Rules of limit ranges and of quotas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apimachinery.names import qualified_name_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, required
from embedded_apiserver.checks.basic import IMMUTABLE
from embedded_apiserver.checks.resources import (
    allows_overcommit,
    amount_causes,
    container_resource_name,
    is_quota_resource,
    quantity,
    quota_resource_name,
    resource_name,
)
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_POD = {"pods"}
_COMPUTE = {*_POD, *(f"{prefix}{name}" for prefix in ("", "limits.", "requests.") for name in ("cpu", "memory"))}
_CLAIMS = {"persistentvolumeclaims", "requests.storage"}
_SCOPES: Mapping[str, set[str]] = {
    **dict.fromkeys(("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass"), _COMPUTE),
    "CrossNamespacePodAffinity": _COMPUTE,
    "BestEffort": _POD,
    "VolumeAttributesClass": _CLAIMS,
}
_ONLY_EXISTS = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_PAIRS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_EXISTS_TEXT = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_AMOUNTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def limit_range(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a LimitRange, except in its metadata."""
    seen = set()
    for index, limit in enumerate(part(obj, "spec").get("limits") or ()):
        place, kind = f"spec.limits[{index}]", limit.get("type", "")
        if problems := qualified_name_errors(kind):
            yield from (invalid(f"{place}.type", kind, text) for text in problems)
        elif "/" not in kind and kind not in _LIMIT_TYPES:
            yield invalid(f"{place}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            yield duplicate(f"{place}.type", kind)
        seen.add(kind)
        yield from _limit(limit, kind, place)


def _limit(limit: Object, kind: str, place: str) -> Iterator[Cause]:
    rule = container_resource_name if kind in ("Pod", "Container") else resource_name
    amounts: dict[str, Mapping[str, str]] = {}
    for name in _AMOUNTS:
        given = limit.get(name) or {}
        if kind == "Pod" and name in ("default", "defaultRequest"):
            if given:
                yield forbidden(f"{place}.{name}", "may not be specified when `type` is 'Pod'")
            given = {}
        if name == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim" and not _is_bounded(limit):
            text = "either minimum or maximum storage value is required, but neither was provided"
            yield required(f"{place}.limits", text)
        amounts[name] = given
        for key in given:
            yield from rule(key, f"{place}.{name}[{key}]")
    for key in dict.fromkeys(key for name in _AMOUNTS for key in amounts[name]):
        yield from _bounds({name: amounts[name][key] for name in _AMOUNTS if key in amounts[name]}, key, place)


def _is_bounded(limit: Object) -> bool:
    return any("storage" in (limit.get(bound) or {}) for bound in ("min", "max"))


# Each is a field that may not be above another, what messages call both, and which of them is shown where.
_ORDER = (
    ("min", "max", "min value", "is greater than max value", "min", "min"),
    ("min", "defaultRequest", "min value", "is greater than default request value", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "default request value", "is greater than max value", "defaultRequest", "defaultRequest"),
    (
        *("defaultRequest", "default", "default request value", "is greater than default limit value"),
        *("defaultRequest", "defaultRequest"),
    ),
    ("min", "default", "min value", "is greater than default value", "default", "min"),
    ("default", "max", "default value", "is greater than max value", "default", "max"),
)


def _bounds(texts: Mapping[str, str], key: str, place: str) -> Iterator[Cause]:
    values = {name: quantity(text) for name, text in texts.items()}
    for low, high, what, above, field, value in _ORDER:
        if low in values and high in values and values[low] > values[high]:
            yield invalid(f"{place}.{field}[{key}]", texts[value], f"{what} {texts[low]} {above} {texts[high]}")
    ratio, field = texts.get("maxLimitRequestRatio"), f"{place}.maxLimitRequestRatio[{key}]"
    if ratio is not None:
        if values["maxLimitRequestRatio"] < 1:
            yield invalid(field, ratio, f"ratio {ratio} is less than 1")
        if "min" in values and "max" in values and values["min"]:
            most = float(values["max"] / values["min"])
            if float(values["maxLimitRequestRatio"]) > most:
                yield invalid(field, ratio, f"ratio {ratio} is greater than max/min = {most:f}")
    default, request = texts.get("default"), texts.get("defaultRequest")
    if None in (default, request) or allows_overcommit(key) or values["default"] == values["defaultRequest"]:
        return
    text = f"default value {default} must equal to defaultRequest value {request} in {key}"
    yield invalid(f"{place}.defaultRequest[{key}]", request, text)


def quota(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the spec of a ResourceQuota."""
    hard = spec.get("hard") or {}
    yield from quota_amounts(hard, "spec.hard")
    scopes = spec.get("scopes") or ()
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid("spec.scopes", scopes, "unsupported scope")
        yield from _unsupported(scope, hard, "spec.scopes", scopes)
    yield from _conflicting(set(scopes), "spec.scopes", scopes)
    if (selector := spec.get("scopeSelector")) is not None:
        yield from _selector(selector, spec)


def quota_amounts(amounts: Mapping[str, str], place: str) -> Iterator[Cause]:
    """Return the validation errors of the limits or the usage in a ResourceQuota; `place` is their path."""
    for name, text in amounts.items():
        yield from quota_resource_name(name, f"{place}[{name}]")
        yield from amount_causes(name, text, f"{place}[{name}]")


def _unsupported(scope: str, hard: Mapping[str, str], field: str, value: object) -> Iterator[Cause]:
    for name in sorted(hard):
        if is_quota_resource(name) and scope in _SCOPES and name not in _SCOPES[scope]:
            yield invalid(field, value, "unsupported scope applied to resource")


def _conflicting(scopes: set[str], field: str, value: object) -> Iterator[Cause]:
    yield from (invalid(field, value, "conflicting scopes") for pair in _PAIRS if pair <= scopes)


def _selector(selector: Object, spec: Object) -> Iterator[Cause]:
    place, found = "spec.scopeSelector.matchExpressions", set()
    for one in selector.get("matchExpressions") or ():
        scope, operator = one.get("scopeName", ""), one.get("operator", "")
        values: Sequence[str] = one.get("values") or ()
        if scope not in _SCOPES:
            yield invalid(f"{place}.scopeName", scope, "unsupported scope")
        yield from _unsupported(scope, spec.get("hard") or {}, place, shown("ScopeSelector", selector))
        if scope in _ONLY_EXISTS and operator != "Exists":
            yield invalid(f"{place}.operator", operator, _EXISTS_TEXT)
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield required(f"{place}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield invalid(f"{place}.values", values, text)
        else:
            yield invalid(f"{place}.operator", operator, "not a valid selector operator")
        found.add(scope)
    yield from _conflicting(found, place, spec.get("scopes"))


def quota_change(before: Object, after: Object) -> list[Cause]:
    """Return a validation error if the scopes of a ResourceQuota have changed; the arguments are specs."""
    old, new = (spec.get("scopes") or [] for spec in (before, after))
    return [] if set(old) == set(new) else [invalid("spec.scopes", after.get("scopes"), IMMUTABLE)]


def quota_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ResourceQuota's status."""
    for name in ("hard", "used"):
        yield from quota_amounts(part(new, "status").get(name) or {}, f"status.{name}")
