# SPDX-License-Identifier: Apache-2.0
"""Rules of the containers of a pod: the usual ones, init containers and ephemeral ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from embedded_apiserver.causes import duplicate, forbidden, invalid, not_found, not_supported, required, too_many
from embedded_apiserver.checks import resources
from embedded_apiserver.checks.basic import given_one_of, label, one_of
from embedded_apiserver.groups.pods import environment, probes, security
from embedded_apiserver.groups.pods.volumes import PULL_POLICIES
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTARTS = ("Always", "Never", "OnFailure")
_RESIZES = ("NotRequired", "RestartContainer")
_OF_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe"),
    *("readinessProbe", "startupProbe", "lifecycle"),
)


@attrs.frozen
class ContainerSurroundings:
    """The facts about a pod on which the validation of its containers depends.

    Attributes:
        volumes: The valid volumes of the pod, by name.
        claims: The names of the pod's resource claims.
        grace: The termination grace period in seconds; None if not set.
        restarts: The restart policy of the pod.
        host_users: True if the pod uses the node's user namespace.
    """

    volumes: Mapping[str, Object]
    claims: Collection[str]
    grace: int | None
    restarts: str
    host_users: bool


def containers(given: Sequence[Object], place: str, pod: ContainerSurroundings) -> Iterator[Cause]:
    """Return the validation errors of the containers of a pod, which needs at least one."""
    if not given:
        yield required(place)
    seen = set()
    for index, container in enumerate(given):
        field, name = f"{place}[{index}]", container.get("name", "")
        yield from _common(container, field, pod)
        if name in seen:
            yield duplicate(f"{field}.name", name)
        seen.add(name)
        yield from probes.lifecycle(container.get("lifecycle"), f"{field}.lifecycle", pod.grace)
        yield from probes.probes(container, field, pod.grace)
        yield from _restart_rules(container, field)
    yield from _host_ports(given, place)


def init_containers(
    given: Sequence[Object], others: Sequence[Object], place: str, pod: ContainerSurroundings
) -> Iterator[Cause]:
    """Return the validation errors of the init containers of a pod; `others` are its containers."""
    seen = {one.get("name", "") for one in others}
    for index, container in enumerate(given):
        field, name = f"{place}[{index}]", container.get("name", "")
        yield from _common(container, field, pod)
        yield from _restart_rules(container, field)
        if name in seen:
            yield duplicate(f"{field}.name", name)
        elif name:
            seen.add(name)
        yield from _host_ports([container], place)
        is_sidecar = container.get("restartPolicy") == "Always"
        if is_sidecar:
            yield from probes.lifecycle(container.get("lifecycle"), f"{field}.lifecycle", pod.grace)
            yield from probes.probes(container, field, pod.grace)
            continue
        for part in ("lifecycle", *probes.PROBES):
            if container.get(part) is not None:
                yield forbidden(f"{field}.{part}", _OF_SIDECARS)
        for number, policy in enumerate(container.get("resizePolicy") or ()):
            if policy.get("restartPolicy") == "RestartContainer":
                text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
                yield invalid(f"{field}.resizePolicy[{number}].restartPolicy", "RestartContainer", text)


def ephemeral_containers(spec: Object, place: str, pod: ContainerSurroundings) -> Iterator[Cause]:
    """Return the validation errors of the ephemeral containers of a pod."""
    given = spec.get("ephemeralContainers") or ()
    if not given:
        return
    others = {one.get("name", "") for group in ("containers", "initContainers") for one in spec.get(group) or ()}
    seen = set(others)
    for index, container in enumerate(given):
        field, name = f"{place}[{index}]", container.get("name", "")
        yield from _common(container, field, pod)
        yield from padded_image(container, field)
        if name in seen:
            yield duplicate(f"{field}.name", name)
        seen.add(name)
        if (target := container.get("targetContainerName")) and target not in others:
            yield not_found(f"{field}.targetContainerName", target)
        for part in _NOT_EPHEMERAL:
            if container.get(part):
                yield forbidden(f"{field}.{part}", "cannot be set for an Ephemeral Container")
        for number, mount in enumerate(container.get("volumeMounts") or ()):
            for part in ("subPath", "subPathExpr"):
                if mount.get(part):
                    text = "cannot be set for an Ephemeral Container"
                    yield forbidden(f"{field}.volumeMounts[{number}].{part}", text)


def padded_image(container: Object, place: str) -> list[Cause]:
    """Return a validation error if an image name has spaces around it. Pods are checked for that, templates are not."""
    image = container.get("image", "")
    if image == image.strip():
        return []
    return [invalid(f"{place}.image", image, "must not have leading or trailing whitespace")]


def _common(container: Object, place: str, pod: ContainerSurroundings) -> Iterator[Cause]:
    if name := container.get("name"):
        yield from label(name, f"{place}.name")
    else:
        yield required(f"{place}.name")
    if not container.get("image"):
        yield required(f"{place}.image")
    policy = container.get("terminationMessagePolicy")
    yield from given_one_of(policy, _MESSAGE_POLICIES, f"{place}.terminationMessagePolicy")
    if given := container.get("ports"):
        yield from environment.ports(given, f"{place}.ports")
    if given := container.get("env"):
        yield from environment.variables(given, f"{place}.env")
    if given := container.get("envFrom"):
        yield from environment.variable_sources(given, f"{place}.envFrom")
    if "volumeMounts" in container:
        yield from environment.mounts(container, pod.volumes, place)
    if "volumeDevices" in container:
        yield from environment.devices(container, pod.volumes, place)
    yield from given_one_of(container.get("imagePullPolicy"), PULL_POLICIES, f"{place}.imagePullPolicy")
    if given := container.get("resources"):
        yield from resources.requirements(given, f"{place}.resources", pod.claims)
    if given := container.get("resizePolicy"):
        yield from _resize_policies(given, f"{place}.resizePolicy", pod.restarts)
    if given := container.get("securityContext"):
        yield from security.of_container(given, f"{place}.securityContext", host_users=pod.host_users)


def _resize_policies(given: Sequence[Object], place: str, restarts: str) -> Iterator[Cause]:
    seen = set()
    for index, policy in enumerate(given):
        name, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if name in seen:
            yield duplicate(f"{place}[{index}]", name)
        seen.add(name)
        for word, supported in ((name, ("cpu", "memory")), (restart, _RESIZES)):
            yield from one_of(word, supported, place) if word else [required(place)]
        if restarts == "Never" and restart != "NotRequired":
            yield invalid(place, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _restart_rules(container: Object, place: str) -> Iterator[Cause]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None and rules:
        yield required(f"{place}.restartPolicy", "must specify restartPolicy when restart rules are used")
    elif policy is not None and policy not in _RESTARTS:
        yield not_supported(f"{place}.restartPolicy", policy, _RESTARTS)
    if len(rules) > 20:
        yield too_many(f"{place}.restartPolicyRules", len(rules), 20)
    for index, rule in enumerate(rules):
        field, codes = f"{place}.restartPolicyRules[{index}]", rule.get("exitCodes")
        yield from one_of(rule.get("action", ""), ("Restart", "RestartAllContainers"), f"{field}.action")
        if codes is None:
            yield required(f"{field}.exitCodes", "must be specified")
            continue
        yield from one_of(codes.get("operator", ""), ("In", "NotIn"), f"{field}.exitCodes.operator")
        if (count := len(codes.get("values") or ())) > 255:
            yield too_many(f"{field}.exitCodes.values", count, 255)


def _host_ports(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return a cause for each port of the node that is asked for twice."""
    seen = set()
    for index, container in enumerate(given):
        for number, port in enumerate(container.get("ports") or ()):
            if host := port.get("hostPort"):
                shown = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{host}"
                if shown in seen:
                    yield duplicate(f"{place}[{index}].ports[{number}].hostPort", shown)
                seen.add(shown)
