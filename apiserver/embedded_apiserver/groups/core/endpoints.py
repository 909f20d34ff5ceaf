# SPDX-License-Identifier: Apache-2.0
"""The checks of endpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from embedded_apiserver.causes import required
from embedded_apiserver.checks.addresses import address, endpoint_address
from embedded_apiserver.checks.basic import PROTOCOLS, given_one_of, label, port_number, qualified_name, subdomain
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause


def endpoints(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of an Endpoints object, except in its metadata."""
    for index, subset in enumerate(obj.get("subsets") or ()):
        place = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(place, "must specify `addresses` or `notReadyAddresses`")
        for name in ("addresses", "notReadyAddresses"):
            for number, one in enumerate(subset.get(name) or ()):
                yield from _endpoint(one, f"{place}.{name}[{number}]")
        ports = subset.get("ports") or ()
        for number, port in enumerate(ports):
            yield from _endpoint_port(port, f"{place}.ports[{number}]", needs_name=len(ports) > 1)


def _endpoint(one: Object, place: str) -> Iterator[Cause]:
    ip = one.get("ip", "")
    yield from address(ip, f"{place}.ip")
    if host := one.get("hostname"):
        yield from label(host, f"{place}.hostname")
    if (node := one.get("nodeName")) is not None:
        yield from subdomain(node, f"{place}.nodeName")
    yield from endpoint_address(ip, f"{place}.ip")


def _endpoint_port(port: Object, place: str, *, needs_name: bool) -> Iterator[Cause]:
    if name := port.get("name"):
        yield from label(name, f"{place}.name")
    elif needs_name:
        yield required(f"{place}.name")
    yield from port_number(port.get("port", 0), f"{place}.port")
    yield from given_one_of(port.get("protocol"), PROTOCOLS, f"{place}.protocol")
    if (protocol := port.get("appProtocol")) is not None:
        yield from qualified_name(protocol, f"{place}.appProtocol")


def endpoints_change(old: Object, new: Object) -> Iterable[Cause]:
    """Return the validation errors of an update of an Endpoints object."""
    return () if old.get("subsets") == new.get("subsets") else endpoints(new)
