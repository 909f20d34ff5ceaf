# SPDX-License-Identifier: Apache-2.0
"""Defaults of pods and their parts that depend on other fields; see `type_defaults`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from embedded_apiserver.objects import Object, filled, part
from embedded_apiserver.typed.pod_amounts import of_containers
from embedded_apiserver.typed.quantity_text import quantity_text

CONTAINERS = ("initContainers", "containers")
_IMAGE = re.compile(r"(?:[\w.:\[\]-]+/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[\w.-]+)?", re.ASCII)


def _container(value: Object, before: Object) -> Object:
    return value if "imagePullPolicy" in value else {**value, "imagePullPolicy": _pull_policy(value.get("image", ""))}


def _image_volume(value: Object, before: Object) -> Object:
    return value if "pullPolicy" in value else {**value, "pullPolicy": _pull_policy(value.get("reference", ""))}


def _pull_policy(image: str) -> str:
    """Return the default pull policy of an image.

    It is `Always` if the image has no digest and its tag is `latest` or missing, and `IfNotPresent` otherwise, which
    includes names that no image can have, such as those with capital letters.
    """
    name, _, digest = image.partition("@")
    if not _IMAGE.fullmatch(name):
        return "IfNotPresent"
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if image and not digest and tag in ("", "latest") else "IfNotPresent"


def _volume(value: Object, before: Object) -> Object:
    """A volume without a source is an empty directory."""
    return value if value.keys() - {"name"} else {**value, "emptyDir": {}}


def _spec(value: Object, before: Object) -> Object:
    """The deprecated name of the service account is set, too; the other one wins."""
    account = value.get("serviceAccountName") or value.get("serviceAccount")
    if account == value.get("serviceAccount") and account == value.get("serviceAccountName"):
        return value
    return {**value, "serviceAccountName": account, "serviceAccount": account}


def _pod(value: Object, before: Object) -> Object:
    """Add what a pod has and a pod template has not: requests from limits, host ports, links to services."""
    spec = value.get("spec")
    if spec is None or spec is before.get("spec"):
        return value
    made = filled(spec, {"enableServiceLinks": True})
    if made.get("terminationGracePeriodSeconds", 0) < 0:
        made = {**made, "terminationGracePeriodSeconds": 1}
    for name in CONTAINERS:
        if made.get(name):
            containers = [_own(one, on_host=bool(spec.get("hostNetwork"))) for one in made[name]]
            if any(one is not old for one, old in zip(containers, made[name], strict=True)):
                made = {**made, name: containers}
    if part(made, "resources").get("limits"):
        made = {**made, "resources": _of_whole_pod(made)}
    return value if made is spec else {**value, "spec": made}


def _own(container: Object, *, on_host: bool) -> Object:
    resources = part(container, "resources")
    if resources.get("limits") and (made := _requesting(resources)) is not resources:
        container = {**container, "resources": made}
    ports = container.get("ports")
    if not on_host or not ports or all("hostPort" in port for port in ports):
        return container
    return {**container, "ports": [_on_host(port) for port in ports]}


def _on_host(port: Object) -> Object:
    return filled(port, {"hostPort": port["containerPort"]}) if port.get("containerPort") else port


def _requesting(resources: Object) -> Object:
    """Return resources in which a missing request is the limit of that resource."""
    requests = part(resources, "requests")
    made = filled(requests, resources["limits"])
    return resources if made is requests else {**resources, "requests": made}


def _of_whole_pod(spec: Object) -> Object:
    """Return the resources of a pod: a missing request is the sum of those of its containers, or else the limit."""
    resources, together = spec["resources"], of_containers(spec, "requests")
    asked = {name: quantity_text(name, together[name]) for name in _SHARED if name in together}
    limits = {name: text for name, text in resources["limits"].items() if _is_of_pod(name)}
    made = filled(filled(part(resources, "requests"), asked), limits)
    return {**resources, "requests": made} if made else resources


_SHARED = ("cpu", "memory")


def _is_of_pod(name: str) -> bool:
    return name in _SHARED or name.startswith("hugepages-")


def _status(value: Object, before: Object) -> Object:
    """`podIP` is the first of `podIPs`, and clients may set only one of them; if they differ, `podIP` counts."""
    one, many = value.get("podIP"), value.get("podIPs")
    if one and (not many or many[0].get("ip") != one):
        return {**value, "podIPs": [{"ip": one}]}
    return {**value, "podIP": many[0]["ip"]} if many and not one and many[0].get("ip") else value


_CORE = "io.k8s.api.core.v1."
TYPES: Mapping[str, Callable[[Any, Object], Any]] = {
    f"{_CORE}Container": _container,
    f"{_CORE}EphemeralContainer": _container,
    f"{_CORE}ImageVolumeSource": _image_volume,
    f"{_CORE}Pod": _pod,
    f"{_CORE}PodSpec": _spec,
    f"{_CORE}PodStatus": _status,
    f"{_CORE}Volume": _volume,
}
