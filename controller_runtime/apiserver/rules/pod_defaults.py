# SPDX-License-Identifier: Apache-2.0
"""What is meant where the parts of a pod's spec are silent: probes, hooks, variables, ports, volumes.

Every function answers the part itself where nothing is missing.
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
    """A container of a pod or of a template."""
    for name in _PROBES:
        container = _within(container, name, _probe)
    container = _within(container, "lifecycle", _lifecycle)
    return _each(container, "env", lambda one: _within(one, "valueFrom", _source_of_value))


def volume_defaults(volume: Object) -> Object:
    """A volume; one without a source is an empty directory."""
    if len(volume) == 1:
        return {**volume, "emptyDir": {}}
    for name, missing in _VOLUMES.items():
        volume = _within(volume, name, partial(_filled, missing=missing))
    volume = _within(volume, "downwardAPI", _downward)
    volume = _within(volume, "projected", lambda one: _each(one, "sources", _projection))
    return _within(volume, "ephemeral", lambda one: _within(one, "volumeClaimTemplate", _claim_template))


def own_defaults(container: Object, *, on_host: bool) -> Object:
    """A container of a pod: it asks for what it is limited to, where it does not say for what it asks.

    In the network of its node (`on_host`) its ports are the node's.
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
    """`part` with those of `missing` that it lacks."""
    return part if missing.keys() <= part.keys() else {**missing, **part}


def _within(part: Object, name: str, default: Default) -> Object:
    """`part` with one of its parts completed, if it has that."""
    inner = part.get(name)
    if not isinstance(inner, Mapping):
        return part
    made = default(inner)
    return part if made is inner else {**part, name: made}


def _each(part: Object, name: str, default: Default) -> Object:
    """`part` with all elements of one of its lists completed."""
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
