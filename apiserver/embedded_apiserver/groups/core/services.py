# SPDX-License-Identifier: Apache-2.0
"""Rules of services: ports, types, traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apimachinery.names import subdomain_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, required
from embedded_apiserver.checks.addresses import address, address_of, endpoint_address, network
from embedded_apiserver.checks.basic import (
    PROTOCOLS,
    given_one_of,
    label,
    one_of,
    port_number,
    qualified_name,
    subdomain,
)
from embedded_apiserver.checks.metadata import label_causes
from embedded_apiserver.groups.core.service_addresses import address_change, addresses, is_headless
from embedded_apiserver.groups.pods.probes import port_reference
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_OF_BALANCER = "may only be used when `type` is 'LoadBalancer'"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_MOST_SECONDS = 86400


def service(obj: Object, old: Object | None = None) -> Iterator[Cause]:
    """Return the validation errors of a Service, except in its general metadata; `old` is the Service that it
    replaces.
    """
    spec, before = part(obj, "spec"), part(old or {}, "spec")
    annotations = obj["metadata"].get("annotations") or {}
    mode, hints = annotations.get(_MODE), annotations.get(_HINTS)
    if None not in (mode, hints) and mode != hints:
        text = f"must match annotations[{_HINTS}] when both are specified"
        yield invalid(f"metadata.annotations[{_MODE}]", mode, text)
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    if not ports and not is_headless(spec) and kind != "ExternalName":
        yield required("spec.ports")
    yield from _of_type(spec, kind)
    names: set[str] = set()
    for index, port in enumerate(ports):
        yield from _port(port, f"spec.ports[{index}]", names, needs_name=len(ports) > 1)
    yield from label_causes(spec.get("selector") or {}, "spec.selector")
    yield from _affinity(spec)
    if kind != "ExternalName":
        yield from addresses(spec, before.get("clusterIPs") or ())
    known = before.get("externalIPs") or ()
    for index, text in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{index}]"
        yield from address(text, field, known) or endpoint_address(text, field)
    yield from given_one_of(kind, _TYPES, "spec.type")
    yield from _used_ports(ports, kind)
    yield from _source_ranges(spec, kind, annotations, old)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        yield forbidden("spec.allocateLoadBalancerNodePorts", _OF_BALANCER)
    yield from _balancer_class(spec)
    yield from _traffic(spec, kind)


def _of_type(spec: Object, kind: str) -> Iterator[Cause]:
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    for name in ("clusterIPs", "ipFamilies"):
        if spec.get(name):
            yield forbidden(f"spec.{name}", "may not be set for ExternalName services")
    if spec.get("ipFamilyPolicy") is not None:
        yield forbidden("spec.ipFamilyPolicy", "may not be set for ExternalName services")
    if name := spec.get("externalName", "").removesuffix("."):
        yield from subdomain(name, "spec.externalName")
    else:
        yield required("spec.externalName")


def _port(port: Object, place: str, names: set[str], *, needs_name: bool) -> Iterator[Cause]:
    if name := port.get("name"):
        yield from label(name, f"{place}.name")
        if name in names:
            yield duplicate(f"{place}.name", name)
        names.add(name)
    elif needs_name:
        yield required(f"{place}.name")
    yield from port_number(port.get("port", 0), f"{place}.port")
    yield from given_one_of(port.get("protocol"), PROTOCOLS, f"{place}.protocol")
    yield from port_reference(port.get("targetPort", 0), f"{place}.targetPort")
    if (protocol := port.get("appProtocol")) is not None:
        yield from qualified_name(protocol, f"{place}.appProtocol")


def _affinity(spec: Object) -> Iterator[Cause]:
    kind, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    yield from given_one_of(kind, ("ClientIP", "None"), "spec.sessionAffinity")
    place = "spec.sessionAffinityConfig"
    if kind != "ClientIP":
        return
    text = "when session affinity type is ClientIP"
    if config is None:
        yield required(place, text)
    elif (client := config.get("clientIP")) is None:
        yield required(f"{place}.clientIP", text)
    elif (seconds := client.get("timeoutSeconds")) is None:
        yield required(f"{place}.clientIP.timeoutSeconds", text)
    elif not 0 < seconds <= _MOST_SECONDS:
        text = f"must be greater than 0 and less than {_MOST_SECONDS}"
        yield invalid(f"{place}.clientIP.timeoutSeconds", seconds, text)


def _used_ports(ports: Sequence[Object], kind: str) -> Iterator[Cause]:
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                yield forbidden(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    seen = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), number := port.get("nodePort", 0))
        if number and key in seen:
            yield duplicate(f"spec.ports[{index}].nodePort", number)
        seen.add(key)
    used = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol", ""), port.get("port", 0))
        if key in used:
            value = shown("ServicePort", {"protocol": key[0], "port": key[1]})
            yield duplicate(f"spec.ports[{index}]", value)
        used.add(key)


def _source_ranges(spec: Object, kind: str, annotations: Object, old: Object | None) -> Iterator[Cause]:
    if ranges := spec.get("loadBalancerSourceRanges"):
        if kind != "LoadBalancer":
            yield forbidden("spec.LoadBalancerSourceRanges", _OF_BALANCER)
        known = [text.strip() for text in part(old or {}, "spec").get("loadBalancerSourceRanges") or ()]
        for index, text in enumerate(ranges):
            yield from network(text.strip(), f"spec.LoadBalancerSourceRanges[{index}]", known)
    elif (value := annotations.get(_RANGES)) is not None:
        field = f"metadata.annotations[{_RANGES}]"
        if kind != "LoadBalancer":
            yield forbidden(field, _OF_BALANCER)
        before = part(old["metadata"], "annotations").get(_RANGES) if old else None
        if value != before and value.strip():
            for text in value.split(","):
                yield from network(text.strip(), field)


def _balancer_class(spec: Object) -> Iterator[Cause]:
    if (name := spec.get("loadBalancerClass")) is None:
        return
    if spec.get("type") == "LoadBalancer":
        yield from qualified_name(name, "spec.loadBalancerClass")
    else:
        yield forbidden("spec.loadBalancerClass", _OF_BALANCER)


def _traffic(spec: Object, kind: str) -> Iterator[Cause]:
    external, internal = spec.get("externalTrafficPolicy", ""), spec.get("internalTrafficPolicy")
    is_external = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if is_external:
        yield from given_one_of(external, ("Cluster", "Local"), "spec.externalTrafficPolicy")
    elif external:
        text = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", external, text)
    port = spec.get("healthCheckNodePort", 0)
    if kind == "LoadBalancer" and external == "Local":
        if port:
            yield from port_number(port, "spec.healthCheckNodePort")
    elif port:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield invalid("spec.healthCheckNodePort", port, text)
    if internal is not None:
        yield from one_of(internal, ("Cluster", "Local"), "spec.internalTrafficPolicy")
    if (word := spec.get("trafficDistribution")) is not None:
        yield from one_of(word, ("PreferClose", "PreferSameZone", "PreferSameNode"), "spec.trafficDistribution")


def balancer_status(old: Object, obj: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Service's status: those of its load balancer addresses."""
    ingress = part(part(obj, "status"), "loadBalancer").get("ingress") or ()
    if ingress and part(obj, "spec").get("type") != "LoadBalancer":
        text = "may only be used when `spec.type` is 'LoadBalancer'"
        yield forbidden("status.loadBalancer.ingress", text)
        return
    known = known_addresses(old)
    for index, one in enumerate(ingress):
        field = f"status.loadBalancer.ingress[{index}]"
        if ip := one.get("ip"):
            yield from address(ip, f"{field}.ip", known)
        mode = one.get("ipMode")
        if mode is not None and not ip:
            yield forbidden(f"{field}.ipMode", "may not be specified when `ip` is not set")
        elif mode is not None:
            yield from one_of(mode, ("Proxy", "VIP"), f"{field}.ipMode")
        yield from balancer_host(one.get("hostname", ""), f"{field}.hostname")


def known_addresses(old: Object) -> list[str]:
    """Return the load balancer addresses in the status of a stored object."""
    ingress = part(part(old, "status"), "loadBalancer").get("ingress") or ()
    return [one["ip"] for one in ingress if one.get("ip")]


def balancer_host(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a load balancer's host name, which may be empty."""
    if not name:
        return
    yield from (invalid(field, name, text) for text in subdomain_errors(name))
    if address_of(name) is not None:
        yield invalid(field, name, "must be a DNS name, not an IP address")


def service_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Service."""
    if part(old, "spec") != part(new, "spec") or old["metadata"] != new["metadata"]:
        yield from address_change(old, new)
        yield from service(new, old)
