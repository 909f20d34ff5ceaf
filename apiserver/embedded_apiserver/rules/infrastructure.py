# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds that describe a cluster and what runs beside it: generations, and what a status may change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apimachinery.objects import timestamp
from embedded_apiserver.kinds import infrastructure as kinds
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.autoscaler import AutoscalerRules, OldAutoscalerRules
from embedded_apiserver.rules.hooks import PolicyBindingRules
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.rules.small_kinds import StatusRules
from embedded_apiserver.rules.storage_warnings import (
    WarnedRules,
    of_capacity,
    of_runtime_class,
    of_storage_class,
)
from embedded_apiserver.rules.workload import SpecRules

_OF_OBJECTS = ("labels", "annotations", "finalizers", "ownerReferences", "generation")
_DECIDED = ("Approved", "Denied")
_LOCAL = {"type": "Available", "status": "True", "reason": "Local", "message": "Local APIServices are always available"}
_UNSAFE_TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def _as_before(old: Object, new: Object) -> Object:
    """Return the metadata of an object whose status alone is written."""
    before, after = old["metadata"], new["metadata"]
    kept = {name: before[name] for name in _OF_OBJECTS if name in before}
    return {**{name: value for name, value in after.items() if name not in _OF_OBJECTS}, **kept}


class KeptStatusRules(StatusRules):
    """A write of the status leaves labels and annotations as they are."""

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return {**made, "metadata": _as_before(old, made)} if subresource == "status" else made


class FlowRules(SpecRules):
    """Flow schemas and priority levels count the generations of their spec."""

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return {**made, "metadata": _as_before(old, made)} if subresource == "status" else made


class PriorityClassRules(Rules):
    """A class has one generation: its value never changes."""

    def on_create(self, obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], "generation": 1}}


class DriverRules(PolicyBindingRules):
    """A driver counts the changes of its spec, and starts with none."""

    def on_create(self, obj: Object) -> Object:
        return obj

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        spec = part(obj, "spec")
        requests = spec.get("tokenRequests")
        if old is not None and part(old, "spec").get("tokenRequests") == requests:
            return []
        return [_UNSAFE_TOKENS] if requests and spec.get("serviceAccountTokenInSecrets") is None else []


class DeviceSliceRules(PolicyBindingRules):
    """A slice of devices counts the changes of its spec."""

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        driver = part(obj, "spec").get("driver", "")
        shown = json.dumps(driver, ensure_ascii=False)
        text = f"spec.driver: driver names should be lowercase; {shown} contains uppercase characters"
        return [text] if driver != driver.lower() else []


class EndpointSliceRules(Rules):
    """A slice counts the changes of its labels, too: they say to which service it belongs."""

    def on_create(self, obj: Object) -> Object:
        made = {**obj, "metadata": {**obj["metadata"], "generation": 1}}
        return _without_topology(made)

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        before, after = old["metadata"], new["metadata"]
        is_same = _rest(old) == _rest(new) and (before.get("labels") or {}) == (after.get("labels") or {})
        made = {**new, "metadata": {**after, "generation": before.get("generation", 0) + (not is_same)}}
        return made if old.get("endpoints") == new.get("endpoints") else _without_topology(made)

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        is_new = old is None and obj.get("addressType") == "FQDN"
        return ["spec.addressType: FQDN endpoints are deprecated"] if is_new else []


def _rest(obj: Object) -> dict[str, Any]:
    return {name: value for name, value in obj.items() if name != "metadata"}


def _without_topology(obj: Object) -> Object:
    """Return a slice without the topology that older versions of the API had."""
    endpoints = obj.get("endpoints") or ()
    if not any("deprecatedTopology" in one for one in endpoints):
        return obj
    left = [{name: value for name, value in one.items() if name != "deprecatedTopology"} for one in endpoints]
    return {**obj, "endpoints": left}


class SigningRequestRules(Rules):
    """A request never changes; it is decided through `approval`, and signed through `status`."""

    def on_create(self, obj: Object) -> Object:
        return {**obj, "status": {}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        kept: dict[str, Any] = {**old, "metadata": new["metadata"]}
        if not subresource:
            return kept
        before, after = part(old, "status"), part(new, "status")
        if subresource == "approval":
            conditions = after.get("conditions")
            rest = {name: value for name, value in before.items() if name != "conditions"}
            return {**kept, "status": {**rest, "conditions": conditions} if conditions else rest}
        return {**kept, "status": _with_decisions(before, after)}

    def dated(self, old: Object, new: Object, now: datetime) -> Object:
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


class APIServiceRules(Rules):
    """An API service without a backend is served here, so it is available; nothing asks the others."""

    def on_create(self, obj: Object) -> Object:
        if part(obj, "spec").get("service") is not None:
            return {**obj, "status": {}}
        condition = {**_LOCAL, "lastTransitionTime": obj["metadata"]["creationTimestamp"]}
        return {**obj, "status": {"conditions": [condition]}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return {**made, "metadata": _as_before(old, made)} if subresource == "status" else made


RULES: Mapping[Kind, Rules] = {
    kinds.API_SERVICE: APIServiceRules(),
    kinds.AUTOSCALER: AutoscalerRules(),
    kinds.OLD_AUTOSCALER: OldAutoscalerRules(),
    kinds.SIGNING_REQUEST: SigningRequestRules(),
    kinds.INGRESS_CLASS: PolicyBindingRules(),
    kinds.NETWORK_POLICY: PolicyBindingRules(),
    kinds.SERVICE_CIDR: KeptStatusRules({}),
    kinds.CSI_DRIVER: DriverRules(),
    kinds.CSI_CAPACITY: WarnedRules(of_capacity),
    kinds.STORAGE_CLASS: WarnedRules(of_storage_class),
    kinds.RUNTIME_CLASS: WarnedRules(of_runtime_class),
    kinds.ATTACHMENT: KeptStatusRules({"attached": False}),
    kinds.PRIORITY_CLASS: PriorityClassRules(),
    kinds.ENDPOINT_SLICE: EndpointSliceRules(),
    kinds.DEVICE_CLASS: PolicyBindingRules(),
    kinds.RESOURCE_CLAIM: KeptStatusRules({}),
    kinds.RESOURCE_SLICE: DeviceSliceRules(),
    kinds.FLOW_SCHEMA: FlowRules(),
    kinds.PRIORITY_LEVEL: FlowRules(),
}
"""The rules of each of these kinds that has any."""
