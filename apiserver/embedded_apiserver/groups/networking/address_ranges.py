# SPDX-License-Identifier: Apache-2.0
"""The checks of the ranges and the addresses of services."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apimachinery.names import path_segment_errors, subdomain_errors
from embedded_apiserver.causes import invalid, required
from embedded_apiserver.checks.addresses import network, network_of
from embedded_apiserver.checks.basic import IMMUTABLE, each
from embedded_apiserver.groups.networking.ingresses import segments
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_TWO_FAMILIES = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def ip_address(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of an IPAddress."""
    if (parent := part(obj, "spec").get("parentRef")) is None:
        yield required("spec.parentRef")
        return
    place = "spec.parentRef"
    if group := parent.get("group"):
        yield from each(subdomain_errors, group, f"{place}.group")
    yield from segments(parent, place, "resource", "name")
    if namespace := parent.get("namespace"):
        yield from each(path_segment_errors, namespace, f"{place}.namespace")


def ip_address_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of an IPAddress: its parent must not change."""
    before, after = (part(one, "spec").get("parentRef") for one in (old, new))
    if before != after:
        yield invalid("spec.parentRef", shown("*ParentReference", after), IMMUTABLE)


def service_cidr(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a ServiceCIDR."""
    return _cidrs(part(obj, "spec").get("cidrs") or ())


def _cidrs(cidrs: Sequence[str]) -> Iterator[Cause]:
    place = "spec.cidrs"
    if not cidrs:
        yield required(place, "at least one CIDR required")
        return
    if len(cidrs) > 2:
        yield invalid(place, {"CIDRs": cidrs}, "may only hold up to 2 values")
        return
    for index, text in enumerate(cidrs):
        yield from network(text, f"{place}[{index}]")
    found = [network_of(text) for text in cidrs]
    if len(found) == 2 and found[0] and found[1] and found[0].version == found[1].version:
        yield invalid(place, cidrs, _TWO_FAMILIES)


def service_cidr_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a ServiceCIDR: only a range of the other IP family may be added."""
    before, after = (list(part(one, "spec").get("cidrs") or ()) for one in (old, new))
    if len(before) == len(after):
        for index, (was, now) in enumerate(zip(before, after, strict=True)):
            if was != now:
                yield invalid(f"spec.cidrs[{index}]", now, IMMUTABLE)
    elif len(before) == 1 and len(after) == 2:
        if before[0] != after[0]:
            yield invalid("spec.cidrs[0]", after[0], IMMUTABLE)
        yield from _cidrs(after)
    else:
        yield invalid("spec.cidrs", after, IMMUTABLE)
