# SPDX-License-Identifier: Apache-2.0
"""Warnings of pods and of templates of pods: what is stored as it is sent, and will hardly do what its author means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apimachinery.names import label_errors
from embedded_apiserver.groups.pods import profile_annotations
from embedded_apiserver.objects import Object, part

_GROUPS = ("initContainers", "containers")
_IN_BYTES = ("memory", "ephemeral-storage")
FRACTIONS = ("m", "u", "n")  # how amounts end, in canonical spelling, that are no whole number
_NO_SELECTOR = "a null labelSelector results in matching no pod"
_NEGATIVE = "must be >= 0; negative values are invalid and will be treated as 1"
OLD_LABELS: Mapping[str, str] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": "deprecated since v1.22; use Taints and Tolerations instead",
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
OLD_VOLUMES: Mapping[str, str] = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_SPELT = {"storageos": "storageOS"}
_RUNS = ("requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution")


def of_name(metadata: Object, use: str) -> list[str]:
    """Return a warning in a list if the name of a new object is not a DNS label, as a host name made from it must be.

    Args:
        metadata: The metadata from the client. A generated name is not known yet, so a placeholder is used as its
            suffix.
        use: The purpose for which the name is used, in the words of the warning, such as `the Pod's hostname`.
    """
    name = metadata.get("name") or f"{metadata.get('generateName', '')[:58]}xxxxx"
    if not (problems := label_errors(name)):
        return []
    told = f"this is used in {use}, which can result in surprising behavior; a DNS label is recommended"
    return [f"metadata.name: {told}: [{' '.join(problems)}]"]


def of_pod(pod: Object, where: str = "") -> list[str]:
    """Return the warnings about a pod, or about a pod template at the path `where`, such as `spec.template`."""
    found: list[str] = []
    spec, begin = part(pod, "spec"), where and f"{where}."
    place, annotations = f"{begin}spec", f"{begin}metadata.annotations"
    if not spec.keys().isdisjoint(_PLACEMENT):
        found += _of_placement(spec, place)
    for index, volume in enumerate(spec.get("volumes") or ()):
        for name in volume.keys() & OLD_VOLUMES.keys():
            found.append(f"{place}.volumes[{index}].{_SPELT.get(name, name)}: {OLD_VOLUMES[name]}")
    if not spec.keys().isdisjoint(_LISTS):
        found += _of_lists(spec, place)
    has_profiles = profile_annotations.are_in(part(pod, "metadata"))
    if has_profiles:
        found += profile_annotations.of_pod(pod, annotations)
    for group in _GROUPS:
        for index, container in enumerate(spec.get(group) or ()):
            if has_profiles:
                found += profile_annotations.of_container(container, pod, annotations, of_template=bool(where))
            if container.get("resources"):
                found += _of_resources(container["resources"], f"{place}.{group}[{index}]")
            variables = container.get("env") or ()
            if len(variables) > 1 and len({one.get("name") for one in variables}) < len(variables):
                found += _of_variables(variables, f"{place}.{group}[{index}]")
    found += _of_ports(_ports_of(spec, place))
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        found.append(f"{place}.terminationGracePeriodSeconds: {_NEGATIVE}")
    return [*found, *_of_affinity(part(spec, "affinity"), f"{place}.affinity")] if "affinity" in spec else found


_PLACEMENT = ("nodeSelector", "topologySpreadConstraints")
_LISTS = ("hostAliases", "imagePullSecrets")


def _of_placement(spec: Object, place: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if text := OLD_LABELS.get(key):
            yield f"{place}.nodeSelector[{key}]: {text}"
    for index, one in enumerate(spec.get("topologySpreadConstraints") or ()):
        field, key = f"{place}.topologySpreadConstraints[{index}]", one.get("topologyKey", "")
        if text := OLD_LABELS.get(key):
            yield f"{field}.topologyKey: {key} is {text}"
        if one.get("labelSelector") is None:
            yield f"{field}.labelSelector: {_NO_SELECTOR}"


def _of_lists(spec: Object, place: str) -> Iterator[str]:
    yield from _repeated(spec.get("hostAliases") or (), "ip", f"{place}.hostAliases")
    secrets = spec.get("imagePullSecrets") or ()
    yield from _repeated(secrets, "name", f"{place}.imagePullSecrets")
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{place}.imagePullSecrets[{index}].name: invalid empty name ""'


def _repeated(items: Sequence[Object], key: str, place: str) -> Iterator[str]:
    seen = set()
    for index, item in enumerate(items):
        if (value := item.get(key, "")) in seen:
            yield f'{place}[{index}].{key}: duplicate {key} "{value}"'
        seen.add(value)


def _of_resources(resources: Object, place: str) -> Iterator[str]:
    for name in _IN_BYTES:
        for side in ("limits", "requests"):
            text = part(resources, side).get(name)
            if text is not None and str(text).endswith(FRACTIONS):
                fault = f'fractional byte value "{text}" is invalid, must be an integer'
                yield f"{place}.resources.{side}[{name}]: {fault}"


def _of_variables(variables: Sequence[Object], place: str) -> Iterator[str]:
    """Yield the warnings of variables that are set again without a use of the value before."""
    seen = set()
    for index, one in enumerate(variables):
        name, value = one.get("name", ""), one.get("value", "")
        own = f"$({name})"
        if name in seen and ("valueFrom" in one or value == own or own not in value):
            text = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{place}.env[{index}]: {text}"
        seen.add(name)


def _ports_of(spec: Object, place: str) -> list[tuple[Object, str]]:
    """Return the ports of all containers, and their places."""
    return [
        (port, f"{place}.{group}[{number}].ports[{index}]")
        for group in _GROUPS
        for number, container in enumerate(spec.get(group) or ())
        for index, port in enumerate(container.get("ports") or ())
    ]


def _of_ports(ports: Sequence[tuple[Object, str]]) -> Iterator[str]:
    before: dict[tuple[Any, Any], list[tuple[Object, str]]] = {}
    for port, place in ports:
        address, of_host = port.get("hostIP", ""), port.get("hostPort", 0)
        if address and not of_host:
            shown = f"Name:{port.get('name', '')} HostPort:0 ContainerPort:{port.get('containerPort', 0)}"
            shown = f"{{{shown} Protocol:{port.get('protocol', '')} HostIP:{address}}}"
            yield f"{place}: hostIP set without hostPort: {shown}"
        others = before.setdefault((port.get("containerPort", 0), port.get("protocol", "TCP")), [])
        for other, where in others:
            if how := _overlap(address, of_host, other.get("hostIP", ""), other.get("hostPort", 0)):
                yield f"{place}: {how} port definition with {where}"
        others.append((port, place))
    named: dict[str, str] = {}
    for port, place in ports:
        if "name" in port and (first := named.setdefault(name := port["name"], place)) != place:
            which = f"services and probes that select ports by name will use {first}"
            yield f'{place}: duplicate port name "{name}" with {first}, {which}'


def _overlap(address: str, port: int, other_address: str, other_port: int) -> str:
    """Return how two ports of one number and protocol overlap on a host; empty if they do not."""
    if (address, port) == (other_address, other_port):
        return "duplicate"
    if not port or not other_port:
        return "overlapping"
    return "dangerously ambiguous" if port == other_port and bool(address) != bool(other_address) else ""


def _of_affinity(affinity: Object, place: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        for when, inner in zip(_RUNS, ("", "podAffinityTerm"), strict=True):
            for index, one in enumerate(part(affinity, kind).get(when) or ()):
                term = part(one, inner) if inner else one
                if term.get("labelSelector") is None:
                    field = f"{place}.{kind}.{when}[{index}]{f'.{inner}' if inner else ''}"
                    yield f"{field}.labelSelector: {_NO_SELECTOR}"
