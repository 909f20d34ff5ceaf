# SPDX-License-Identifier: Apache-2.0
"""Cells of ingresses, of policies and ranges of addresses, and of slices of endpoints."""

from __future__ import annotations

from collections.abc import Sequence

from embedded_apiserver.kinds.cells import (
    AGE,
    NAMED,
    NONE,
    Cells,
    at,
    default_of,
    of,
    selector_at,
    value_at,
)
from embedded_apiserver.objects import Object


def _hosts(ingress: Object) -> str:
    hosts = [host for rule in value_at(ingress, "spec.rules") or () if (host := rule.get("host"))]
    more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""
    return ",".join(hosts[:3]) + more or "*"


def _addresses(ingress: Object) -> str:
    found = value_at(ingress, "status.loadBalancer.ingress") or ()
    return ",".join(one.get("ip") or one.get("hostname", "") for one in found)


def _first(values: Sequence[str]) -> str:
    more = f" + {len(values) - _MOST_LISTED} more..." if len(values) > _MOST_LISTED else ""
    return ",".join(values[:_MOST_LISTED]) + more or "<unset>"


def _ports(slice_: Object) -> str:
    return _first([str(one.get("port") or one.get("name", "*")) for one in slice_.get("ports") or ()])


def _endpoints(slice_: Object) -> str:
    return _first([text for one in slice_.get("endpoints") or () for text in one.get("addresses") or ()])


def _parent(address: Object) -> str:
    if (ref := value_at(address, "spec.parentRef")) is None:
        return NONE
    group = f".{ref['group']}" if ref.get("group") else ""
    names = [f"{ref.get('resource', '')}{group}".lower(), ref.get("namespace", ""), ref.get("name", "")]
    return "/".join(name for index, name in enumerate(names) if name or index != 1)


def _parameters(ingress_class: Object) -> str:
    if (ref := value_at(ingress_class, "spec.parameters")) is None:
        return NONE
    group = f".{ref['apiGroup']}" if ref.get("apiGroup") is not None else ""
    return f"{ref.get('kind', '')}{group}/{ref.get('name', '')}"


_MOST_METRICS, _MOST_LISTED = 2, 3
INGRESSES: Cells = {
    **NAMED,
    "Class": at("spec.ingressClassName"),
    "Hosts": of(_hosts),
    "Address": of(_addresses),
    "Ports": of(lambda ingress: "80, 443" if value_at(ingress, "spec.tls") else "80"),
}
CLASSES: Cells = {
    "Name": default_of("ingressclass.kubernetes.io/is-default-class"),
    "Age": AGE,
    "Controller": at("spec.controller", ""),
    "Parameters": of(_parameters),
}
ADDRESSES: Cells = {**NAMED, "ParentRef": of(_parent)}
POLICIES: Cells = {**NAMED, "Pod-Selector": selector_at("spec.podSelector")}
RANGES: Cells = {**NAMED, "CIDRs": of(lambda obj: ",".join(value_at(obj, "spec.cidrs") or ()))}
SLICES: Cells = {
    **NAMED,
    "AddressType": at("addressType", ""),
    "Ports": of(_ports),
    "Endpoints": of(_endpoints),
}
