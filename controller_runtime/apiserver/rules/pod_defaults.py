# SPDX-License-Identifier: Apache-2.0
"""Defaults for parts of a pod's spec: probes, hooks, environment variables, ports and volumes.

A function returns its argument itself, not a copy, where nothing is missing. So a caller sees by identity that a part
has not changed, and most parts are not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from controller_runtime.apiserver.rules.rules import Object

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE: Object = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP: Object = {"path": "/", "scheme": "HTTP"}
_MODE: Object = {"defaultMode": 0o644}
_VOLUMES: Mapping[str, Object] = {
    "secret": _MODE,
    "configMap": _MODE,
    "downwardAPI": _MODE,
    "projected": _MODE,
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
}

Default = Callable[[Object], Object]


def container_defaults(container: Object) -> Object:
    """Return a container of a pod or of a pod template with its defaults."""
    for name in _PROBES:
        container = _within(container, name, _probe)
    container = _within(container, "lifecycle", _lifecycle)
    return _each(container, "env", lambda one: _within(one, "valueFrom", _source_of_value))


def volume_defaults(volume: Object) -> Object:
    """Return a volume with its defaults; a volume without a source is an empty directory."""
    if len(volume) == 1:
        return {**volume, "emptyDir": {}}
    for name, missing in _VOLUMES.items():
        volume = _within(volume, name, partial(_filled, missing=missing))
    volume = _within(volume, "downwardAPI", _downward)
    volume = _within(volume, "projected", lambda one: _each(one, "sources", _projection))
    return _within(volume, "ephemeral", lambda one: _within(one, "volumeClaimTemplate", _claim_template))


def own_defaults(container: Object, *, on_host: bool) -> Object:
    """Return a container of a pod with the defaults that a pod template does not get.

    A missing resource request defaults to the limit of that resource. With `on_host`, that is, if the pod uses the
    network of the node, a missing host port defaults to the container's port.
    """

    def asking(resources: Object) -> Object:
        limits = resources.get("limits")
        if not limits:
            return resources
        requests = resources.get("requests") or {}
        filled = _filled(requests, limits)
        return resources if filled is requests else {**resources, "requests": filled}

    container = _within(container, "resources", asking)
    return _each(container, "ports", _host_port) if on_host else container


def _filled(part: Object, missing: Object) -> Object:
    """Return `part` with those entries of `missing` that it lacks."""
    return part if missing.keys() <= part.keys() else {**missing, **part}


def _within(part: Object, name: str, default: Default) -> Object:
    """Return `part` with its object `name`, if there is one, completed by `default`."""
    inner = part.get(name)
    if not isinstance(inner, Mapping):
        return part
    made = default(inner)
    return part if made is inner else {**part, name: made}


def _each(part: Object, name: str, default: Default) -> Object:
    """Return `part` with all elements of its list `name` completed by `default`."""
    old: list[Any] = part.get(name) or []
    new = [default(one) for one in old]
    return part if all(made is one for made, one in zip(new, old, strict=True)) else {**part, name: new}


def _probe(probe: Object) -> Object:
    probe = _within(_filled(probe, _PROBE), "httpGet", _http)
    return _within(probe, "grpc", lambda grpc: _filled(grpc, {"service": ""}))


def _http(action: Object) -> Object:
    return _filled(action, _HTTP)


def _lifecycle(lifecycle: Object) -> Object:
    for name in ("postStart", "preStop"):
        lifecycle = _within(lifecycle, name, lambda hook: _within(hook, "httpGet", _http))
    return lifecycle


def _source_of_value(source: Object) -> Object:
    source = _within(source, "fieldRef", lambda one: _filled(one, {"apiVersion": "v1"}))
    return _within(source, "resourceFieldRef", lambda one: _filled(one, {"divisor": "0"}))


def _host_port(port: Object) -> Object:
    return _filled(port, {"hostPort": port["containerPort"]}) if "containerPort" in port else port


def _downward(source: Object) -> Object:
    return _each(source, "items", _source_of_value)


def _projection(source: Object) -> Object:
    source = _within(source, "serviceAccountToken", partial(_filled, missing={"expirationSeconds": 3600}))
    return _within(source, "downwardAPI", _downward)


def _claim_template(template: Object) -> Object:
    return _within(template, "spec", lambda spec: _filled(spec, {"volumeMode": "Filesystem"}))
