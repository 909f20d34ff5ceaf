# SPDX-License-Identifier: Apache-2.0
"""The `IPAddress` objects of services, called records here: which ones a service needs, and whether one is right.

Each function is pure.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from embedded_apiserver.groups.core.service_allocation import NONE
from embedded_apiserver.objects import Object, part

CONTROLLER = "ipallocator.k8s.io"
"""The manager in the labels of the records that the server makes. It does not change records of other managers."""

MANAGED_BY, FAMILY = "ipaddress.kubernetes.io/managed-by", "ipaddress.kubernetes.io/ip-family"
_SERVICES = "services"


def held(service: Object | None) -> list[str]:
    """Return the cluster IPs of a service; empty for a headless service, and for None."""
    return [one for one in part(service or {}, "spec").get("clusterIPs") or () if one != NONE]


def family(address: str) -> str:
    """Return the IP family of an address: `IPv4` or `IPv6`."""
    return f"IPv{ipaddress.ip_address(address).version}"


def record_of(address: str, service: str) -> dict[str, Any]:
    """Return the `IPAddress` object for an address of a service.

    Args:
        address: The address.
        service: The key of the service, `namespace/name`.
    """
    namespace, _, name = service.partition("/")
    return {
        "metadata": {"name": address, "labels": {FAMILY: family(address), MANAGED_BY: CONTROLLER}},
        "spec": {"parentRef": {"resource": _SERVICES, "namespace": namespace, "name": name}},
    }


def parent(record: Object) -> str | None:
    """Return the key of the service that is the parent of an `IPAddress`; None if the parent is not a service."""
    found = part(part(record, "spec"), "parentRef")
    if found.get("group") or found.get("resource") != _SERVICES:
        return None
    return f"{found.get('namespace', '')}/{found.get('name', '')}"


def is_managed(record: Object) -> bool:
    """Return whether the labels of an `IPAddress` say that the server manages it."""
    return (part(record, "metadata").get("labels") or {}).get(MANAGED_BY) == CONTROLLER


def is_labelled(record: Object) -> bool:
    """Return whether an `IPAddress` has all labels that the server sets."""
    metadata = part(record, "metadata")
    return is_managed(record) and metadata["labels"].get(FAMILY) == family(metadata["name"])
