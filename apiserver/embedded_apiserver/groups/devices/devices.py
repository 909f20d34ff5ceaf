# SPDX-License-Identifier: Apache-2.0
"""Rules of devices: their classes, the claims for them, and the slices that describe them.

The expressions that choose devices are in `device_selectors`, the devices of a slice in `slice_devices`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apimachinery.names import label_value_errors, qualified_name_errors, subdomain_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import IMMUTABLE, each
from embedded_apiserver.checks.resources import is_extended
from embedded_apiserver.checks.selectors import node_selector
from embedded_apiserver.groups.devices.allocations import allocation, names_of, reference_to
from embedded_apiserver.groups.devices.device_names import device_name, each_of, full_name, pool_name
from embedded_apiserver.groups.devices.slice_devices import EFFECTS, devices_of_slice
from embedded_apiserver.groups.pods.sources import driver_name
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_MOST, _MOST_ALTERNATIVES, _MOST_RESERVED = 32, 8, 256
_MODES = ("All", "ExactCount")
_OPERATORS = ("Equal", "Exists")
_ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def resource_claim(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ResourceClaim."""
    return _claim(part(part(obj, "spec"), "devices"), "spec.devices")


def resource_claim_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ResourceClaim: its spec must not change."""
    if part(old, "spec") != part(new, "spec"):
        yield invalid("spec", shown("ResourceClaimSpec", part(new, "spec")), IMMUTABLE)


def claim_template(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ResourceClaimTemplate."""
    return _claim(part(part(part(obj, "spec"), "spec"), "devices"), "spec.spec.devices")


def claim_template_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ResourceClaimTemplate: its spec must not change."""
    yield from claim_template(new)
    if part(old, "spec") != part(new, "spec"):
        yield invalid("spec", shown("ResourceClaimTemplateSpec", part(new, "spec")), IMMUTABLE)


def _claim(devices: Object, place: str) -> Iterator[Cause]:
    requests = devices.get("requests") or ()
    reference = reference_to(names_of(requests))
    yield from each_of(requests, _MOST, _request, f"{place}.requests", "name")

    def constraint(one: Object, field: str) -> Iterator[Cause]:
        yield from each_of(one.get("requests") or (), _MOST, reference, f"{field}.requests", "")
        given = next((name for name in ("matchAttribute", "distinctAttribute") if one.get(name) is not None), "")
        if given:
            yield from full_name(one[given], f"{field}.{given}")
        else:
            text = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
            yield required(field, text)

    def config(one: Object, field: str) -> Iterator[Cause]:
        yield from each_of(one.get("requests") or (), _MOST, reference, f"{field}.requests", "")
        yield from _config(one, field)

    yield from each_of(devices.get("constraints") or (), _MOST, constraint, f"{place}.constraints")
    yield from each_of(devices.get("config") or (), _MOST, config, f"{place}.config")


def _request(request: Object, place: str) -> Iterator[Cause]:
    yield from device_name(request.get("name", ""), f"{place}.name")
    alternatives, exact = request.get("firstAvailable") or (), request.get("exactly")
    if alternatives and exact is not None:
        yield invalid(place, None, f"{_ONE_KIND}, but multiple fields are set")
    elif alternatives:
        yield from each_of(alternatives, _MOST_ALTERNATIVES, _alternative, f"{place}.firstAvailable", "name")
    elif exact is not None:
        yield from _exact(exact, f"{place}.exactly")
    else:
        yield required(place, _ONE_KIND)


def _alternative(request: Object, place: str) -> Iterator[Cause]:
    yield from device_name(request.get("name", ""), f"{place}.name")
    yield from _exact(request, place)


def _exact(request: Object, place: str) -> Iterator[Cause]:
    if not (name := request.get("deviceClassName", "")):
        yield required(f"{place}.deviceClassName")
    else:
        yield from each(subdomain_errors, name, f"{place}.deviceClassName")
    yield from each_of(request.get("selectors") or (), _MOST, _selector, f"{place}.selectors")
    for index, one in enumerate(request.get("tolerations") or ()):
        yield from _toleration(one, f"{place}.tolerations[{index}]")
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode not in _MODES:
        yield not_supported(f"{place}.allocationMode", mode, _MODES)
    elif mode == "All" and count:
        yield invalid(f"{place}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid(f"{place}.count", count, "must be greater than zero")


def _toleration(toleration: Object, place: str) -> Iterator[Cause]:
    if key := toleration.get("key"):
        yield from each(qualified_name_errors, key, f"{place}.key")
    operator, value, effect = (toleration.get(name, "") for name in ("operator", "value", "effect"))
    if not operator:
        yield required(f"{place}.operator")
    elif operator not in _OPERATORS:
        yield not_supported(f"{place}.operator", operator, _OPERATORS)
    elif operator == "Equal":
        yield from each(label_value_errors, value, f"{place}.value")
    elif value:
        yield invalid(f"{place}.value", value, "must be empty for operator `Exists`")
    if effect and effect not in EFFECTS:
        yield not_supported(f"{place}.effect", effect, EFFECTS)


def _selector(given: Object, place: str) -> Iterator[Cause]:
    from embedded_apiserver.groups.devices.device_selectors import selector

    yield from selector(given, place)


def _config(config: Object, place: str) -> Iterator[Cause]:
    if (opaque := config.get("opaque")) is None:
        yield required(f"{place}.opaque")
        return
    yield from driver_name(opaque.get("driver", ""), f"{place}.opaque.driver")
    if (given := opaque.get("parameters")) is None:
        yield required(f"{place}.opaque.parameters")
    elif not isinstance(given, dict):
        yield invalid(f"{place}.opaque.parameters", "<value omitted>", "must be a valid JSON object")


def device_class(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a DeviceClass."""
    spec = part(obj, "spec")
    yield from each_of(spec.get("selectors") or (), _MOST, _selector, "spec.selectors")
    yield from each_of(spec.get("config") or (), _MOST, _config, "spec.config")
    if (name := spec.get("extendedResourceName")) is not None and not is_extended(name):
        yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


def claim_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ResourceClaim's status.

    An allocation may only be set or removed, and each entry of `reservedFor` needs a resource, a name and a uid.
    """
    before, after = part(old, "status"), part(new, "status")
    reserved = after.get("reservedFor") or ()
    yield from each_of(reserved, _MOST_RESERVED, _user, "status.reservedFor", "uid")
    if reserved and after.get("allocation") is None:
        yield forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    was, now = before.get("allocation"), after.get("allocation")
    if was is not None and now is not None and was != now:
        yield invalid("status.allocation", shown("*AllocationResult", now), IMMUTABLE)
    elif now is not None and was is None:
        names = names_of(part(part(new, "spec"), "devices").get("requests") or ())
        yield from allocation(now, names, "status.allocation")


def _user(user: Object, place: str) -> Iterator[Cause]:
    for name in ("resource", "name", "uid"):
        if not user.get(name):
            yield required(f"{place}.{name}")


def resource_slice(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ResourceSlice."""
    yield from _slice(part(obj, "spec"))


def _slice(spec: Object, before: Object | None = None) -> Iterator[Cause]:
    yield from driver_name(spec.get("driver", ""), "spec.driver")
    yield from _pool(part(spec, "pool"), "spec.pool")
    if before is not None:
        yield from _fixed(before, spec)
    yield from _place(spec)
    if spec.get("sharedCounters") and spec.get("devices"):
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    yield from devices_of_slice(spec, before)
    yield from each_of(spec.get("sharedCounters") or (), 8, _counters, "spec.sharedCounters", "name")


def _pool(pool: Mapping[str, Any], place: str) -> Iterator[Cause]:
    yield from pool_name(pool.get("name", ""), f"{place}.name")
    if (count := pool.get("resourceSliceCount", 0)) <= 0:
        yield invalid(f"{place}.resourceSliceCount", count, "must be greater than zero")
    if (generation := pool.get("generation", 0)) < 0:
        yield invalid(f"{place}.generation", generation, "must be greater than or equal to zero")


def _counters(counters: Object, place: str) -> Iterator[Cause]:
    yield from (
        device_name(counters.get("name", ""), f"{place}.name") if counters.get("name") else [required(f"{place}.name")]
    )
    if not counters.get("counters"):
        yield required(f"{place}.counters")


def resource_slice_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ResourceSlice: driver, pool name and node must not change."""
    yield from _slice(part(new, "spec"), part(old, "spec"))


def _fixed(before: Object, after: Object) -> Iterator[Cause]:
    was, now = (part(one, "pool").get("name") for one in (before, after))
    if was != now:
        yield invalid("spec.pool.name", now, IMMUTABLE)
    for name in ("driver", "nodeName"):
        if before.get(name) != after.get(name):
            yield invalid(f"spec.{name}", after.get(name), IMMUTABLE)


def _place(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of where the devices of a slice are: one of four fields says it."""
    if (name := spec.get("nodeName")) == "":
        yield invalid("spec.nodeName", name, "must be either unset or set to a non-empty string")
    elif name is not None:
        yield from each(subdomain_errors, name, "spec.nodeName")
    if (selector := spec.get("nodeSelector")) is not None:
        yield from node_selector(selector, "spec.nodeSelector")
        if len(terms := selector.get("nodeSelectorTerms") or ()) != 1:
            field = "spec.nodeSelector.nodeSelectorTerms"
            yield invalid(field, shown("[]NodeSelectorTerm", terms), "must have exactly one node selector term")
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name) is False:
            yield invalid(f"spec.{name}", False, "must be either unset or set to true")
    given = [f"`{name}`" for name in _PLACES if spec.get(name) or (name == "nodeSelector" and name in spec)]
    text = f"exactly one of {', '.join(f'`{name}`' for name in _PLACES)} is required"
    if not given:
        yield required("spec", text)
    elif len(given) > 1:
        yield invalid("spec", f"{{{', '.join(given)}}}", f"{text}, but multiple fields are set")
