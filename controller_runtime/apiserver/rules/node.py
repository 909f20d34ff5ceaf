# SPDX-License-Identifier: Apache-2.0
"""Rules of nodes: default capacity, taints, and pod address ranges, which never change once they are set."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any

from controller_runtime.api.names import label_value_problems, qualified_name_problems
from controller_runtime.apiserver.kinds.registry import Kind
from controller_runtime.apiserver.rules.rules import Object, Rules, part
from controller_runtime.apiserver.rules.validation import duplicate, forbidden, invalid, not_supported, required
from controller_runtime.apiserver.status import Cause

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ONCE = 'node updates may not change {} except from "" to valid'


class NodeRules(Rules):
    """A new node gets the taint `not-ready`, so that no pod is scheduled there until a controller finds it ready."""

    def on_create(self, obj: Object) -> Object:
        spec = part(obj, "spec")
        taints = spec.get("taints", [])
        if not any(_identity(taint) == _identity(_NOT_READY) for taint in taints):
            spec = {**spec, "taints": [*taints, {**_NOT_READY}]}
        return _without_configuration({**obj, "spec": spec})

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return made if "configSource" in part(old, "spec") else _without_configuration(made)

    def causes(self, obj: Object) -> Iterator[Cause]:
        spec = part(obj, "spec")
        yield from _taint_causes(spec.get("taints", ()))
        yield from _cidr_causes(spec)

    def update_causes(self, old: Object, new: Object, subresource: str) -> Iterator[Cause]:
        before, after = part(old, "spec"), part(new, "spec")
        yield from _address_causes(part(new, "status").get("addresses", ()))
        if before.get("podCIDRs", []) not in ([], after.get("podCIDRs", [])):
            yield forbidden("spec.podCIDRs", _ONCE.format("podCIDR"))
        if before.get("providerID", "") not in ("", after.get("providerID", "")):
            yield forbidden("spec.providerID", _ONCE.format("providerID"))
        # `causes` has found these already. A real server reports them twice, too: for the node and for its change.
        yield from _taint_causes(after.get("taints", ()))


def _without_configuration(obj: Object) -> Object:
    """Return a node without the source of its kubelet's configuration, which no server takes any more."""
    spec = part(obj, "spec")
    if "configSource" not in spec:
        return obj
    return {**obj, "spec": {name: value for name, value in spec.items() if name != "configSource"}}


def _identity(taint: Object) -> tuple[object, object]:
    return taint.get("key"), taint.get("effect")


def _taint_causes(taints: Sequence[Object]) -> Iterator[Cause]:
    seen = set()
    for index, taint in enumerate(taints):
        field = f"metadata.taints[{index}]"  # a real server names the metadata, too, although taints are in the spec
        for text in qualified_name_problems(taint["key"]):
            yield invalid(f"{field}.key", taint["key"], text)
        if text := "; ".join(label_value_problems(taint.get("value", ""))):
            yield invalid(f"{field}.value", taint["value"], text)
        if not taint["effect"]:
            yield required(f"{field}.effect")
        elif taint["effect"] not in _EFFECTS:
            yield not_supported(f"{field}.effect", taint["effect"], _EFFECTS)
        if _identity(taint) in seen:
            yield duplicate(field, taint, "taints must be unique by key and effect pair")
        seen.add(_identity(taint))


def _cidr_causes(spec: Object) -> Iterator[Cause]:
    ranges = spec.get("podCIDRs", [])
    if ranges and spec["podCIDR"] != ranges[0]:
        yield invalid("spec.podCIDR", spec["podCIDR"], "must be equal to podCIDRs[0]")
        return
    families = []
    for index, text in enumerate(ranges):
        try:
            families.append(ipaddress.ip_network(text, strict=False).version)
        except ValueError:
            example = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"spec.podCIDRs[{index}]", text, example)
    if len(families) != len(set(families)):
        yield invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")


def _address_causes(addresses: Sequence[Any]) -> Iterator[Cause]:
    first: dict[Any, int] = {}
    for index, address in enumerate(addresses):
        if first.setdefault(tuple(sorted(address.items())), index) != index:
            yield duplicate(f"status.addresses[{index}]", address)
