# SPDX-License-Identifier: Apache-2.0
"""Rules of amounts of resources: their names, and requests against limits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal

from apimachinery.names import qualified_name_errors
from apimachinery.quantities import parse_quantity
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_found, not_supported, required
from embedded_apiserver.checks.basic import NOT_NEGATIVE, label
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

NameRule = Callable[[str, str], list[Cause]]

_HUGE = "hugepages-"
_CONTAINER = {"cpu", "memory", "ephemeral-storage"}
_OF_POD = ("cpu", "memory")
COUNTED = {
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
}
"""The resources of which a quota limits the number."""
_AMOUNTS = {
    *(f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory", "ephemeral-storage")),
    "requests.storage",
}
QUOTA = frozenset(COUNTED | _AMOUNTS)
"""The resources that a quota can limit, except those with a prefix, and huge pages."""
_STANDARD = QUOTA | {"storage"}

_parse = functools.lru_cache(maxsize=4096)(parse_quantity)


def quantity(text: str | int | float) -> Decimal:
    """Return the value of a stored quantity."""
    return _parse(text) if isinstance(text, str) and len(text) < 40 else parse_quantity(str(text))


def is_huge(name: str) -> bool:
    """Return whether a resource name is that of huge pages, such as `hugepages-2Mi`."""
    return name.startswith(_HUGE)


def is_quota_resource(name: str) -> bool:
    """Return whether a quota can limit a resource with this name, which has no prefix."""
    return name in QUOTA or is_huge(name) or name.startswith(f"requests.{_HUGE}")


def is_native(name: str) -> bool:
    """Return whether a resource belongs to Kubernetes, so that it is not an extended resource."""
    return "/" not in name or "kubernetes.io/" in name


def allows_overcommit(name: str) -> bool:
    """Return whether the limit of a resource may exceed its request."""
    return is_native(name) and not is_huge(name)


def is_extended(name: str) -> bool:
    """Return whether a resource is an extended one, such as `example.com/gpu`."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_errors(f"requests.{name}")


def resource_name(name: str, field: str) -> list[Cause]:
    """Return the validation errors of a resource name."""
    if problems := qualified_name_errors(name):
        return [invalid(field, name, text) for text in problems]
    is_known = name in _STANDARD or is_huge(name) or name.startswith(f"requests.{_HUGE}")
    if "/" not in name and not is_known:
        return [invalid(field, name, "must be a standard resource type or fully qualified")]
    return []


def container_resource_name(name: str, field: str) -> list[Cause]:
    """Return the validation errors of a resource name in a container's requests or limits."""
    if name in _CONTAINER:
        return []
    causes = resource_name(name, field)
    if "/" not in name:
        if not is_huge(name):
            causes.append(invalid(field, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        causes.append(invalid(field, name, "doesn't follow extended resource name standard"))
    return causes


def quota_resource_name(name: str, field: str) -> list[Cause]:
    """Return the validation errors of a resource name in a quota."""
    causes = resource_name(name, field)
    if "/" not in name and not is_quota_resource(name):
        causes.append(invalid(field, name, "must be a standard resource for quota"))
    return causes


def pod_resource_name(name: str, field: str) -> list[Cause]:
    """Return the validation errors of a resource name in the requests or limits of a whole pod."""
    causes = resource_name(name, field)
    if not causes and name not in _OF_POD and not is_huge(name):
        causes.append(not_supported(field, name, ("cpu", _HUGE, "memory")))
    return causes


def amount_causes(name: str, text: str, field: str) -> list[Cause]:
    """Return the validation errors of an amount: it must not be negative, and must be whole if the resource is counted
    (`COUNTED`) or extended.
    """
    value, causes = quantity(text), []
    if value < 0:
        causes.append(invalid(field, text, NOT_NEGATIVE))
    if value != value.to_integral_value() and (name in COUNTED or is_extended(name)):
        causes.append(invalid(field, text, "must be an integer"))
    return causes


def requirements(
    part: Object | None, place: str, claims: Collection[str] = (), name_rule: NameRule = container_resource_name
) -> Iterator[Cause]:
    """Return the validation errors of `requests` and `limits`; `claims` are the names of the pod's resource claims."""
    if not part:
        return
    limits: Mapping[str, str] = part.get("limits") or {}
    requests: Mapping[str, str] = part.get("requests") or {}
    for name, text in limits.items():
        field = f"{place}.limits[{name}]"
        yield from name_rule(name, field)
        yield from amount_causes(name, text, field)
        yield from _huge_causes(name, text, field)
    for name, text in requests.items():
        field = f"{place}.requests[{name}]"
        yield from name_rule(name, field)
        yield from amount_causes(name, text, field)
        yield from _against_limit(name, text, limits.get(name), place)
        yield from _huge_causes(name, text, field)
    names = {*limits, *requests}
    if any(map(is_huge, names)) and not names & {"cpu", "memory"}:
        yield forbidden(place, "HugePages require cpu or memory")
    if "claims" in part:
        yield from _claim_causes(part["claims"] or (), claims, f"{place}.claims")


def _against_limit(name: str, text: str, limit: str | None, place: str) -> Iterator[Cause]:
    if limit is None:
        if not allows_overcommit(name):
            yield required(f"{place}.limits", "Limit must be set for non overcommitable resources")
        return
    asked, most = quantity(text), quantity(limit)
    if asked != most and not allows_overcommit(name):
        yield invalid(f"{place}.requests", text, f"must be equal to {name} limit of {limit}")
    elif asked > most:
        yield invalid(f"{place}.requests", text, f"must be less than or equal to {name} limit of {limit}")


def _huge_causes(name: str, text: str, field: str) -> Iterator[Cause]:
    if not is_huge(name):
        return
    try:
        size = parse_quantity(name.removeprefix(_HUGE))
        fits = size > 0 and quantity(text) % size == 0
    except (ValueError, ArithmeticError):
        fits = False
    if not fits:
        yield invalid(field, text, f"{text} is not positive integer multiple of {name}")


def _claim_causes(asked: Collection[Object], known: Collection[str], place: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(asked):
        field, name, request = f"{place}[{index}]", claim.get("name", ""), claim.get("request", "")
        if not name:
            yield required(field)
            continue
        if name in seen:
            yield duplicate(field, name)
        else:
            yield from label(request, f"{field}.request") if request else ()
            key = f"{name}/{request}" if request else name
            if key in seen:
                yield duplicate(field, key)
            elif not request:
                yield from (duplicate(field, name) for other in seen if other.startswith(f"{name}/"))
            seen.add(key)
        if name not in known:
            there = f": {', '.join(sorted(known))}" if known else " which is empty"
            yield not_found(field, name, f"must be one of the names in pod.spec.resourceClaims{there}")
