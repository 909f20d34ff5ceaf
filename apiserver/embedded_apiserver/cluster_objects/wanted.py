# SPDX-License-Identifier: Apache-2.0
"""The objects of a cluster that the server keeps in place, as a real API server and its controllers make them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from embedded_apiserver.groups.core.kinds import CONFIG_MAP, ENDPOINTS, SERVICE, SERVICE_ACCOUNT
from embedded_apiserver.groups.core.service_allocation import NETWORK

ACCOUNT, AUTHORITY, SERVED = "default", "kube-root-ca.crt", "kubernetes"
"""The names of the account and of the config map in each namespace, and of the server's own service."""
HOME = "default"
"""The namespace of the server's own service."""
ADDRESS = "192.0.2.1"
"""The address of the server in its endpoints. Nothing answers there: it is one of those for documentation (RFC 5737).

The server listens on loopback only, and endpoints must not have such an address.
"""
FIRST_PORT = 6443
"""The port in the endpoints of a server without sockets, which is that of most clusters."""

SLICES = "endpointslices.discovery.k8s.io"
"""The collection of endpoint slices."""

_SECURE_PORT = 443
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class Wanted(NamedTuple):
    """An object that must exist in the cluster.

    Attributes:
        collection: The name of the collection of its kind.
        namespace: The namespace of the object.
        name: The name of the object.
        obj: The object to create if it does not exist.
        fields: The paths of the fields in which an existing object must equal `obj`; clients may change all other
            fields.
        manager: The field manager that writes the object.
    """

    collection: str
    namespace: str
    name: str
    obj: dict[str, Any]
    fields: tuple[str, ...] = ()
    manager: str = "kube-controller-manager"


def wanted_in(namespace: str, authority: str, port: int) -> Iterator[Wanted]:
    """Yield the objects that must exist in a namespace.

    Args:
        namespace: The name of the namespace.
        authority: The certificate of the server's certificate authority, in PEM form; empty for a server without TLS.
        port: The port of the server.
    """
    here = {"namespace": namespace}
    account = {"metadata": {"name": ACCOUNT, **here}}
    yield Wanted(SERVICE_ACCOUNT.resource, namespace, ACCOUNT, account)
    described = {"name": AUTHORITY, **here, "annotations": {"kubernetes.io/description": _DESCRIPTION}}
    yield Wanted(
        CONFIG_MAP.resource, namespace, AUTHORITY, {"metadata": described, "data": {"ca.crt": authority}}, ("data",)
    )
    if namespace == HOME:
        yield from _of_the_server(port)


def _of_the_server(port: int) -> Iterator[Wanted]:
    """Return the service of the server, with its endpoints in both forms."""
    here = {"name": SERVED, "namespace": HOME}
    address = str(NETWORK[1])
    ports = [{"name": "https", "port": _SECURE_PORT, "protocol": "TCP", "targetPort": port}]
    service = {
        "metadata": {**here, "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "clusterIP": address,
            "clusterIPs": [address],
            "ports": ports,
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }
    listening = [{"name": "https", "port": port, "protocol": "TCP"}]
    endpoints = {
        "metadata": {**here, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": ADDRESS}], "ports": listening}],
    }
    slice_ = {
        "metadata": {**here, "labels": {"kubernetes.io/service-name": SERVED}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True}}],
        "ports": listening,
    }
    yield Wanted(SERVICE.resource, HOME, SERVED, service, ("spec.ports",), "kube-apiserver")
    yield Wanted(ENDPOINTS.resource, HOME, SERVED, endpoints, ("subsets",), "kube-apiserver")
    yield Wanted(SLICES, HOME, SERVED, slice_, ("endpoints", "ports"), "kube-apiserver")


def corrected(wanted: Wanted, found: dict[str, Any]) -> dict[str, Any] | None:
    """Return a copy of `found` whose `wanted.fields` have the values of `wanted.obj`; None if `found` has them."""
    made = found
    for field in wanted.fields:
        made = _with_field(made, wanted.obj, field.split("."))
    return None if made == found else made


def _with_field(obj: dict[str, Any], source: dict[str, Any], path: list[str]) -> dict[str, Any]:
    first, *rest = path
    if rest:
        return {**obj, first: _with_field(obj.get(first) or {}, source[first], rest)}
    return {**obj, first: source[first]}
