# SPDX-License-Identifier: Apache-2.0
"""Defaults of services that depend on their type; see `type_defaults`. Addresses and ports are allocated elsewhere."""

from __future__ import annotations

from typing import Any

from embedded_apiserver.objects import Object, filled, part

_WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")
_ON_NODES = ("NodePort", "LoadBalancer")
_AFFINITY_SECONDS = 3 * 60 * 60


def is_accessible_from_outside(spec: Object) -> bool:
    """Return whether traffic from outside the cluster can reach a service."""
    type_ = spec.get("type")
    return type_ in _ON_NODES or (type_ == "ClusterIP" and bool(spec.get("externalIPs")))


def service(value: Object, before: Object) -> Object:
    """Return a service with the defaults that depend on its type and its session affinity."""
    spec = part(value, "spec")
    if spec is before.get("spec"):
        return _with_mode(value) if spec.get("type") == "LoadBalancer" else value
    made = _with_affinity(spec)
    missing: dict[str, Any] = {}
    if is_accessible_from_outside(made):
        missing["externalTrafficPolicy"] = "Cluster"
    if made.get("type") in _WITH_ADDRESS:
        missing["internalTrafficPolicy"] = "Cluster"
    if made.get("type") == "LoadBalancer":
        missing["allocateLoadBalancerNodePorts"] = True
        value = _with_mode(value)
    made = filled(made, missing)
    return value if made is spec else {**value, "spec": made}


def port(value: Object, before: Object) -> Object:
    """Return a port of a service with its default `targetPort`, which is the port itself."""
    return value if value.get("targetPort") else {**value, "targetPort": value.get("port", 0)}


def _with_affinity(spec: Object) -> Object:
    if spec.get("sessionAffinity") == "None" and "sessionAffinityConfig" in spec:
        return {name: item for name, item in spec.items() if name != "sessionAffinityConfig"}
    given = part(part(spec, "sessionAffinityConfig"), "clientIP").get("timeoutSeconds")
    if spec.get("sessionAffinity") == "ClientIP" and given is None:
        return {**spec, "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}}
    return spec


def _with_mode(value: Object) -> Object:
    balancer = part(part(value, "status"), "loadBalancer")
    ingress = balancer.get("ingress") or ()
    if all("ipMode" in one or not one.get("ip") for one in ingress):
        return value
    made = [filled(one, {"ipMode": "VIP"}) if one.get("ip") else one for one in ingress]
    return {**value, "status": {**value["status"], "loadBalancer": {**balancer, "ingress": made}}}
