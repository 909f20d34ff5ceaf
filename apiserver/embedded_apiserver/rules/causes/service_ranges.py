# SPDX-License-Identifier: Apache-2.0
"""Rules of classes of ingresses, and of the ranges and addresses of services."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apimachinery.names import label_problems, path_segment_problems, subdomain_problems
from embedded_apiserver.causes import forbidden, invalid, not_supported, required, too_long
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.causes.addresses import network, network_of
from embedded_apiserver.rules.causes.basic import IMMUTABLE, each
from embedded_apiserver.rules.causes.prefixed import prefixed_path
from embedded_apiserver.rules.go_structs import shown
from embedded_apiserver.status import Cause

_SCOPES = ("Cluster", "Namespace")
_LONGEST_CONTROLLER = 250
_TWO_FAMILIES = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def ingress_class(obj: Object) -> Iterator[Cause]:
    """Return the faults of a class of ingresses."""
    spec = part(obj, "spec")
    controller = spec.get("controller", "")
    if len(controller.encode()) > _LONGEST_CONTROLLER:
        yield too_long("spec.controller", _LONGEST_CONTROLLER)
    yield from prefixed_path(controller, "spec.controller")
    if (given := spec.get("parameters")) is None:
        return
    place = "spec.parameters"
    if (group := given.get("apiGroup")) is not None:
        yield from each(subdomain_problems, group, f"{place}.apiGroup")
    yield from _segments(given, place, "kind", "name")
    scope, namespace = given.get("scope"), given.get("namespace")
    if scope is None:
        yield required(f"{place}.scope")
    elif scope not in _SCOPES:
        yield not_supported(f"{place}.scope", scope, _SCOPES)
    elif scope == "Namespace":
        if namespace is None:
            yield required(f"{place}.namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            yield from each(label_problems, namespace, f"{place}.namespace")
    elif namespace is not None:
        yield forbidden(f"{place}.namespace", "`parameters.scope` is set to 'Cluster'")


def ingress_class_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of a changed class of ingresses: its controller is fixed."""
    before, after = (part(one, "spec").get("controller", "") for one in (old, new))
    if before != after:
        yield invalid("spec.controller", after, IMMUTABLE)
    yield from ingress_class(new)


def _segments(obj: Object, place: str, *names: str) -> Iterator[Cause]:
    for name in names:
        if not (value := obj.get(name, "")):
            yield required(f"{place}.{name}")
        else:
            yield from each(path_segment_problems, value, f"{place}.{name}")


def ip_address(obj: Object) -> Iterator[Cause]:
    """Return the faults of the address of a service."""
    if (parent := part(obj, "spec").get("parentRef")) is None:
        yield required("spec.parentRef")
        return
    place = "spec.parentRef"
    if group := parent.get("group"):
        yield from each(subdomain_problems, group, f"{place}.group")
    yield from _segments(parent, place, "resource", "name")
    if namespace := parent.get("namespace"):
        yield from each(path_segment_problems, namespace, f"{place}.namespace")


def ip_address_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of a changed address: whose it is is fixed."""
    before, after = (part(one, "spec").get("parentRef") for one in (old, new))
    if before != after:
        yield invalid("spec.parentRef", shown("*ParentReference", after), IMMUTABLE)


def service_cidr(obj: Object) -> Iterator[Cause]:
    """Return the faults of a range of addresses of services."""
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
    """Return the faults of a changed range: a second family may be added, and nothing else."""
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
