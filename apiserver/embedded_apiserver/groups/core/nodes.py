# SPDX-License-Identifier: Apache-2.0
"""The checks of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embedded_apiserver.causes import duplicate, forbidden, invalid
from embedded_apiserver.checks.addresses import has_two_families, network, unreadable
from embedded_apiserver.checks.resources import amount_causes
from embedded_apiserver.groups.pods.scheduling import is_feature_name, taints
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_ONCE = 'node updates may not change {} except from "" to valid'


def node(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new Node, except in its general metadata."""
    spec, status = part(obj, "spec"), part(obj, "status")
    # A real server names the metadata, too, although taints are in the spec.
    yield from taints(spec.get("taints") or (), "metadata.taints")
    yield from _node_status(status)
    yield from _ranges(spec)


def _ranges(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the address ranges of the pods of a node."""
    ranges: Sequence[str] = spec.get("podCIDRs") or ()
    if ranges and spec.get("podCIDR", ranges[0]) != ranges[0]:
        yield invalid("spec.podCIDR", spec["podCIDR"], "must be equal to podCIDRs[0]")
        return
    for index, text in enumerate(ranges):
        yield from network(text, f"spec.podCIDRs[{index}]")
    if len(ranges) > 1 and (problem := unreadable(ranges)):
        text = f"Internal error: invalid PodCIDRs. failed to check with dual stack with error:{problem}"
        yield Cause("InternalError", text, "spec.podCIDRs")
    if len(ranges) > 1 and (problem or len(ranges) > 2 or not has_two_families(ranges)):
        yield invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")


def _node_status(status: Object) -> Iterator[Cause]:
    for name in ("capacity", "allocatable"):
        for key, text in (status.get(name) or {}).items():
            yield from amount_causes(key, text, f"status.{name}.{key}")
    features = status.get("declaredFeatures") or ()
    for index, name in enumerate(features):
        field = f"status.declaredFeatures[{index}]"
        if not is_feature_name(name):
            text = "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
            text += "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            yield invalid(field, name, f'invalid feature name "{name}": {text}')
        if index and features[index - 1] == name:
            yield duplicate(field, name)
        elif index and features[index - 1] > name:
            yield invalid(field, name, "list must be sorted alphabetically")


def node_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Node, except in its general metadata."""
    before, after, status = part(old, "spec"), part(new, "spec"), part(new, "status")
    is_tainted = before.get("taints") != after.get("taints")
    if before != after:  # a real server checks the whole node first
        if is_tainted:
            yield from taints(after.get("taints") or (), "metadata.taints")
        yield from _ranges(after)
    if status is not old.get("status") and status != old.get("status"):
        yield from _node_status(status)
        yield from _repeated_addresses(status)
    known, ranges = before.get("podCIDRs") or [], after.get("podCIDRs") or []
    if known and len(known) != len(ranges):
        yield forbidden("spec.podCIDRs", _ONCE.format("podCIDR"))
    elif known:
        pairs = zip(known, ranges, strict=True)
        yield from (forbidden("spec.podCIDRs", _ONCE.format("podCIDR")) for was, now in pairs if was != now)
    if before.get("providerID", "") not in ("", after.get("providerID", "")):
        yield forbidden("spec.providerID", _ONCE.format("providerID"))
    if is_tainted:  # once more, as on a real server
        yield from taints(after.get("taints") or (), "metadata.taints")
    if before.get("externalID", "") != after.get("externalID", ""):
        yield forbidden("spec.externalID", "may not be updated")


def _repeated_addresses(status: Object) -> Iterator[Cause]:
    seen = set()
    for index, address in enumerate(status.get("addresses") or ()):
        if (key := (address.get("type", ""), address.get("address", ""))) in seen:
            yield duplicate(f"status.addresses[{index}]", shown("NodeAddress", address))
        seen.add(key)
