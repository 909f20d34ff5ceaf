# SPDX-License-Identifier: Apache-2.0
"""The checks of ingresses and of their classes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apimachinery.names import label_errors, path_segment_errors, subdomain_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported, required, too_long
from embedded_apiserver.checks.addresses import address, address_of
from embedded_apiserver.checks.basic import (
    IMMUTABLE,
    each,
    label,
    port_number,
    subdomain,
)
from embedded_apiserver.checks.prefixed import prefixed_path
from embedded_apiserver.groups.core.services import balancer_host, known_addresses
from embedded_apiserver.groups.pods.probes import port_name_errors
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = re.compile(rf"\*\.{_LABEL}(\.{_LABEL})*")
_WILDCARD_TEXT = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character "
    rf"(e.g. '*.example.com', regex used for validation is '\*\.{_LABEL}(\.{_LABEL})*')"
)
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_CLASS = "kubernetes.io/ingress.class"


def new_ingress(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new Ingress, except in its general metadata."""
    spec = part(obj, "spec")
    yield from ingress(spec)
    old, name = part(obj["metadata"], "annotations").get(_CLASS), spec.get("ingressClassName")
    if old is not None and name is not None and old != name:
        text = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS}", old, text)


def ingress(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the spec of an Ingress."""
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        yield from _rule(rule, f"spec.rules[{index}]")
    for index, one in enumerate(spec.get("tls") or ()):
        for number, host in enumerate(one.get("hosts") or ()):
            yield from _host(host, f"spec.tls[{index}].hosts[{number}]")
        if name := one.get("secretName"):
            yield from subdomain(name, f"spec.tls[{index}].secretName")
    if (name := spec.get("ingressClassName")) is not None:
        yield from subdomain(name, "spec.ingressClassName")


def _host(host: str, field: str) -> list[Cause]:
    if "*" not in host:
        return each(subdomain_errors, host, field)
    causes = [] if len(host) <= 253 else [invalid(field, host, "must be no more than 253 characters")]
    return causes if _WILDCARD.fullmatch(host) else [*causes, invalid(field, host, _WILDCARD_TEXT)]


def _rule(rule: Object, place: str) -> Iterator[Cause]:
    if host := rule.get("host"):
        if address_of(host) is not None:
            yield invalid(f"{place}.host", host, "must be a DNS name, not an IP address")
        yield from _host(host, f"{place}.host")
    if (http := rule.get("http")) is None:
        return
    if not (paths := http.get("paths")):
        yield required(f"{place}.http.paths")
    for index, path in enumerate(paths or ()):
        yield from _path(path, f"{place}.http.paths[{index}]")


def _path(path: Object, place: str) -> Iterator[Cause]:
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        yield required(f"{place}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(f"{place}.pathType", kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield invalid(f"{place}.path", text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for sequence in ("//", "/./", "/../", "%2f", "%2F"):
            if sequence in text:
                yield invalid(f"{place}.path", text, f"must not contain '{sequence}'")
        for suffix in ("/..", "/."):
            if text.endswith(suffix):
                yield invalid(f"{place}.path", text, f"cannot end with '{suffix}'")
    yield from _backend(part(path, "backend"), f"{place}.backend")


def _backend(backend: Object, place: str) -> Iterator[Cause]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield invalid(place, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _resource(resource, f"{place}.resource")
    elif service is not None:
        yield from _service(service, place)
    else:
        yield invalid(place, "", "resource or service backend is required")


def _resource(resource: Object, place: str) -> Iterator[Cause]:
    if (group := resource.get("apiGroup")) is not None:
        yield from subdomain(group, f"{place}.apiGroup")
    for name in ("kind", "name"):
        if value := resource.get(name):
            yield from each(path_segment_errors, value, f"{place}.{name}")
        else:
            yield required(f"{place}.{name}")


def _service(service: Object, place: str) -> Iterator[Cause]:
    if name := service.get("name"):
        yield from label(name, f"{place}.service.name")
    else:
        yield required(f"{place}.service.name")
    port = part(service, "port")
    name, number = port.get("name"), port.get("number", 0)
    if name and number:
        yield invalid(place, "", "cannot set both port name & port number")
    elif name:
        yield from each(port_name_errors, name, f"{place}.service.port.name")
    elif number:
        yield from port_number(number, f"{place}.service.port.number")
    else:
        yield required(place, "port name or number is required")


def ingress_status(old: Object, obj: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of an Ingress's status: those of its load balancer addresses."""
    known = known_addresses(old)
    for index, one in enumerate(part(part(obj, "status"), "loadBalancer").get("ingress") or ()):
        field = f"status.loadBalancer.ingress[{index}]"
        if ip := one.get("ip"):
            yield from address(ip, f"{field}.ip", known)
        yield from balancer_host(one.get("hostname", ""), f"{field}.hostname")


_SCOPES = ("Cluster", "Namespace")
_LONGEST_CONTROLLER = 250


def ingress_class(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of an IngressClass."""
    spec = part(obj, "spec")
    controller = spec.get("controller", "")
    if len(controller.encode()) > _LONGEST_CONTROLLER:
        yield too_long("spec.controller", _LONGEST_CONTROLLER)
    yield from prefixed_path(controller, "spec.controller")
    if (given := spec.get("parameters")) is None:
        return
    place = "spec.parameters"
    if (group := given.get("apiGroup")) is not None:
        yield from each(subdomain_errors, group, f"{place}.apiGroup")
    yield from segments(given, place, "kind", "name")
    scope, namespace = given.get("scope"), given.get("namespace")
    if scope is None:
        yield required(f"{place}.scope")
    elif scope not in _SCOPES:
        yield not_supported(f"{place}.scope", scope, _SCOPES)
    elif scope == "Namespace":
        if namespace is None:
            yield required(f"{place}.namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            yield from each(label_errors, namespace, f"{place}.namespace")
    elif namespace is not None:
        yield forbidden(f"{place}.namespace", "`parameters.scope` is set to 'Cluster'")


def ingress_class_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of an IngressClass: its controller must not change."""
    before, after = (part(one, "spec").get("controller", "") for one in (old, new))
    if before != after:
        yield invalid("spec.controller", after, IMMUTABLE)
    yield from ingress_class(new)


def segments(obj: Object, place: str, *names: str) -> Iterator[Cause]:
    """Return a validation error for each of the fields `names` that is missing, or is not a valid path segment."""
    for name in names:
        if not (value := obj.get(name, "")):
            yield required(f"{place}.{name}")
        else:
            yield from each(path_segment_errors, value, f"{place}.{name}")
