# SPDX-License-Identifier: Apache-2.0
"""The checks of slices of endpoints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apimachinery.names import (
    label_errors,
    label_value_errors,
    subdomain_errors,
)
from embedded_apiserver.causes import duplicate, invalid, not_supported, required, too_many
from embedded_apiserver.checks.addresses import address, endpoint_address
from embedded_apiserver.checks.basic import IMMUTABLE, PROTOCOLS, each, qualified_name
from embedded_apiserver.checks.metadata import label_causes
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS, _MOST_HINTS, _MOST_LABELS = 1000, 100, 20000, 8, 16


def endpoint_slice(obj: Object, old: Object | None = None) -> Iterator[Cause]:
    """Return the validation errors of an EndpointSlice; the endpoints are not checked if `old` has the same."""
    kind = obj.get("addressType", "")
    if not kind:
        yield required("addressType")
    elif kind not in _ADDRESS_TYPES:
        yield not_supported("addressType", kind, _ADDRESS_TYPES)
    yield from _slice_ports(obj.get("ports") or ())
    if old is None or old.get("endpoints") != obj.get("endpoints"):
        yield from _endpoints(obj.get("endpoints") or (), kind)
    if old is not None and old.get("addressType") != kind:
        yield invalid("addressType", kind, IMMUTABLE)


def endpoint_slice_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of an EndpointSlice."""
    return endpoint_slice(new, old)


def _slice_ports(ports: Sequence[Object]) -> Iterator[Cause]:
    if len(ports) > _MOST_PORTS:
        yield too_many("ports", len(ports), _MOST_PORTS)
        return
    names: set[str] = set()
    for index, port in enumerate(ports):
        place, name = f"ports[{index}]", port.get("name") or ""
        if name:
            yield from each(label_errors, name, f"{place}.name")
        if name in names:
            yield duplicate(f"{place}.name", name)
        names.add(name)
        if (protocol := port.get("protocol")) is None:
            yield required(f"{place}.protocol")
        elif protocol not in PROTOCOLS:
            yield not_supported(f"{place}.protocol", protocol, PROTOCOLS)
        if (application := port.get("appProtocol")) is not None:
            yield from qualified_name(application, f"{place}.appProtocol")


def _endpoints(endpoints: Sequence[Object], kind: str) -> Iterator[Cause]:
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        place = f"endpoints[{index}]"
        addresses = endpoint.get("addresses") or ()
        if not addresses:
            yield required(f"{place}.addresses", "must contain at least 1 address")
        elif len(addresses) > _MOST_ADDRESSES:
            yield too_many(f"{place}.addresses", len(addresses), _MOST_ADDRESSES)
        for number, text in enumerate(addresses):
            yield from _address(text, kind, f"{place}.addresses", number)
        if (node := endpoint.get("nodeName")) is not None:
            yield from each(subdomain_errors, node, f"{place}.nodeName")
        topology = endpoint.get("deprecatedTopology") or {}
        if len(topology) > _MOST_LABELS:
            yield too_many(f"{place}.deprecatedTopology", len(topology), _MOST_LABELS)
        yield from label_causes(topology, f"{place}.deprecatedTopology")
        if (host := endpoint.get("hostname")) is not None:
            yield from each(label_errors, host, f"{place}.hostname")
        yield from _hints(part(endpoint, "hints"), f"{place}.hints")


def _address(text: str, kind: str, place: str, index: int) -> Iterator[Cause]:
    field = f"{place}[{index}]"
    if kind == "FQDN":
        yield from _full_name(text, field)
    elif kind in ("IPv4", "IPv6"):
        if found := address(text, field):
            yield from found
            return
        if (":" in text) != (kind == "IPv6"):
            yield invalid(place, text, f"must be an {kind} address")
        yield from endpoint_address(text, field)


def _full_name(text: str, field: str) -> Iterator[Cause]:
    if not text:
        yield required(field)
        return
    name = text.removesuffix(".")
    if problems := each(subdomain_errors, name, field):
        yield from problems
        return
    if "." not in name:
        yield invalid(field, name, "should be a domain with at least two segments separated by dots")
    for label in name.split("."):
        yield from each(label_errors, label, field)


def _hints(hints: Object, place: str) -> Iterator[Cause]:
    for name, problems in (("forZones", label_value_errors), ("forNodes", subdomain_errors)):
        given = hints.get(name) or ()
        if len(given) > _MOST_HINTS:
            yield too_many(f"{place}.{name}", len(given), _MOST_HINTS)
            return
        names = [one.get("name", "") for one in given]
        for index, one in enumerate(names):
            if one in names[:index]:
                yield duplicate(f"{place}.{name}[{index}].name", one)
            yield from each(problems, one, f"{place}.{name}[{index}].name")
