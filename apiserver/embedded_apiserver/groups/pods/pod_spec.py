# SPDX-License-Identifier: Apache-2.0
"""Rules of the spec of a pod, and of the templates of pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from apimachinery.names import label_errors, subdomain_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_found, required, too_long
from embedded_apiserver.checks import resources
from embedded_apiserver.checks.addresses import address
from embedded_apiserver.checks.basic import each, given_one_of, label, qualified_name, subdomain
from embedded_apiserver.checks.metadata import label_causes
from embedded_apiserver.groups.pods import containers, scheduling, security
from embedded_apiserver.groups.pods.all_containers import LISTS, is_windows
from embedded_apiserver.groups.pods.volumes import volumes
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

RESTARTS = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_UNDERSCORED = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = re.compile(rf"{_UNDERSCORED}(\.{_UNDERSCORED})*")
_SEARCH_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character "
    rf"(e.g. 'example.com', regex used for validation is '{_UNDERSCORED}(\.{_UNDERSCORED})*')"
)
_MOST = 2**31 - 1
_MIRROR = "kubernetes.io/config.mirror"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_COST_TEXT = re.compile(r"0|-?[1-9][0-9]*")
_NAMES = {"serviceAccountName": subdomain_errors, "nodeName": subdomain_errors}
_LABELS = {"hostname": label_errors, "subdomain": label_errors}


def pod_spec(spec: Object, place: str, metadata: Object | None = None) -> Iterator[Cause]:
    """Return the validation errors of the spec of a pod.

    Args:
        spec: The spec, with its defaults.
        place: The path of the spec.
        metadata: The metadata of the pod; None for a template.
    """
    pod_name = (metadata or {}).get("name", "")
    known, causes = volumes(spec, f"{place}.volumes", pod_name)
    yield from causes
    claims = [one["name"] for one in spec.get("resourceClaims") or () if one.get("name")]
    if "resourceClaims" in spec:
        yield from _resource_claims(spec["resourceClaims"] or (), f"{place}.resourceClaims")
    pod = containers.ContainerSurroundings(
        volumes=known,
        claims=claims,
        grace=spec.get("terminationGracePeriodSeconds"),
        restarts=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
    )
    usual = spec.get("containers") or ()
    yield from containers.containers(usual, f"{place}.containers", pod)
    if given := spec.get("initContainers"):
        yield from containers.init_containers(given, usual, f"{place}.initContainers", pod)
    yield from containers.ephemeral_containers(spec, f"{place}.ephemeralContainers", pod)
    if (given := spec.get("resources")) is not None:
        yield from _pod_resources(spec, given, f"{place}.resources")
    if spec.get("hostNetwork"):
        yield from _host_network_ports(usual, f"{place}.containers", is_pod=metadata is not None)
    yield from given_one_of(spec.get("restartPolicy"), RESTARTS, f"{place}.restartPolicy")
    yield from given_one_of(spec.get("dnsPolicy"), _DNS_POLICIES, f"{place}.dnsPolicy")
    yield from label_causes(spec.get("nodeSelector") or {}, f"{place}.nodeSelector")
    yield from security.of_pod(spec, place)
    if (given := spec.get("affinity")) is not None:
        yield from scheduling.affinity(given, f"{place}.affinity")
    yield from _dns_config(spec, f"{place}.dnsConfig")
    yield from _rest(spec, place)


def _rest(spec: Object, place: str) -> Iterator[Cause]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        yield from qualified_name(gate.get("conditionType", ""), f"{place}.readinessGates[{index}].conditionType")
    if given := spec.get("schedulingGates"):
        yield from scheduling.gates(given, f"{place}.schedulingGates")
    if given := spec.get("topologySpreadConstraints"):
        yield from scheduling.spread_constraints(given, f"{place}.topologySpreadConstraints")
    yield from security.host_processes(spec, place)
    yield from _host_users(spec, place)
    if (name := spec.get("hostnameOverride")) is not None:
        yield from _hostname_override(name, spec, f"{place}.hostnameOverride")
    for field, problems in _NAMES.items():
        if name := spec.get(field):
            yield from each(problems, name, f"{place}.{field}")
    if (deadline := spec.get("activeDeadlineSeconds")) is not None and not 1 <= deadline <= _MOST:
        yield invalid(f"{place}.activeDeadlineSeconds", deadline, f"must be between 1 and {_MOST}, inclusive")
    for field, problems in _LABELS.items():
        if name := spec.get(field):
            yield from each(problems, name, f"{place}.{field}")
    if given := spec.get("tolerations"):
        yield from scheduling.tolerations(given, f"{place}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from address(alias.get("ip", ""), f"{place}.hostAliases[{index}].ip")
        for number, name in enumerate(alias.get("hostnames") or ()):
            yield from subdomain(name, f"{place}.hostAliases[{index}].hostnames[{number}]")
    if name := spec.get("priorityClassName"):
        yield from subdomain(name, f"{place}.priorityClassName")
    if (name := spec.get("runtimeClassName")) is not None:
        yield from subdomain(name, f"{place}.runtimeClassName")
    if (policy := spec.get("preemptionPolicy")) is not None:
        yield from given_one_of(policy, ("PreemptLowerPriority", "Never"), f"{place}.preemptionPolicy")
    if given := spec.get("overhead"):
        yield from resources.requirements({"limits": given}, f"{place}.overhead")
    yield from security.of_system(spec, place)
    yield from _file_keys(spec, place)


def _resource_claims(claims: Sequence[Object], place: str) -> Iterator[Cause]:
    seen = set()
    for index, claim in enumerate(claims):
        field, name = f"{place}[{index}]", claim.get("name", "")
        if not name:
            yield required(f"{field}.name")
        elif name in seen:
            yield duplicate(f"{field}.name", name)
        else:
            yield from label(name, f"{field}.name")
            seen.add(name)
        sources = [source for source in _CLAIM_SOURCES if claim.get(source) is not None]
        value = shown("PodResourceClaim", claim)
        if len(sources) > 1:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            yield invalid(field, value, text)
        if not sources:
            yield invalid(field, value, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
        for source in sources:
            yield from subdomain(claim[source], f"{field}.{source}")


_CLAIM_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def _pod_resources(spec: Object, given: Object, place: str) -> Iterator[Cause]:
    if is_windows(spec):
        yield forbidden(place, "may not be set for a windows pod")
        return
    if "claims" in given:
        yield forbidden(f"{place}.claims", "claims may not be set for Resources at pod-level")
    yield from resources.requirements(given, place, (), resources.pod_resource_name)
    requests, limits = part(given, "requests"), part(given, "limits")
    for name, text in requests.items():
        asked = [part(part(one, "resources"), "requests").get(name) for one in spec.get("containers") or ()]
        total = sum(resources.quantity(one) for one in asked if one is not None)
        if total > resources.quantity(text):
            words = f"must be greater than or equal to aggregate container requests of {_plain(asked, total)}"
            yield invalid(f"{place}.requests[{name}]", text, words)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, text in part(part(container, "resources"), "limits").items():
            if name in limits and resources.quantity(text) > resources.quantity(limits[name]):
                words = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{place}.containers[{index}][{name}].limits", text, words)


def _plain(asked: Sequence[str | None], total: object) -> str:
    """Return a sum of requests; the only one in its own form."""
    given = [one for one in asked if one is not None]
    return given[0] if len(given) == 1 else f"{total:f}"


def _host_network_ports(given: Sequence[Object], place: str, *, is_pod: bool) -> Iterator[Cause]:
    for index, container in enumerate(given):
        for number, port in enumerate(container.get("ports") or ()):
            own, host = port.get("containerPort", 0), port.get("hostPort", 0)
            if (is_pod or host) and host != own:
                text = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{place}[{index}].ports[{number}].hostPort", host, text)


def _dns_config(spec: Object, place: str) -> Iterator[Cause]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(place, "must provide `dnsConfig` when `dnsPolicy` is None")
        elif not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{place}.nameservers", text)
            return
    if not config:
        return
    servers, searches = config.get("nameservers") or (), config.get("searches") or ()
    if len(servers) > 3:
        yield invalid(f"{place}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        yield from address(server, f"{place}.nameservers[{index}]")
    if len(searches) > 32:
        yield invalid(f"{place}.searches", searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        text = "must not have more than 2048 characters (including spaces) in the search list"
        yield invalid(f"{place}.searches", searches, text)
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        if search != "." and not _SEARCH.fullmatch(name):
            yield invalid(f"{place}.searches[{index}]", name, _SEARCH_TEXT)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{place}.options[{index}]", "must not be empty")


def _host_users(spec: Object, place: str) -> Iterator[Cause]:
    if spec.get("hostUsers") is not False:
        return
    for name, field in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(name):
            yield forbidden(f"{place}.{field}", "when `hostUsers` is false")
    for _, container, field in _all_containers(spec, place):
        if container.get("volumeDevices"):
            yield forbidden(f"{field}.volumeDevices", "when `hostUsers` is false")


def _hostname_override(name: str, spec: Object, field: str) -> Iterator[Cause]:
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(field, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(field, "may not be specified when hostNetwork is true")
    if len(name.encode()) > 64:
        yield too_long(field, 64)
    yield from subdomain(name, field)


def _all_containers(spec: Object, place: str) -> Iterator[tuple[str, Object, str]]:
    """Return each container with its group and its path."""
    for group in LISTS:
        for index, container in enumerate(spec.get(group) or ()):
            yield group, container, f"{place}.{group}[{index}]"


def _file_keys(spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of variables from files in volumes that are not scratch space of the pod."""
    given: Mapping[str, Object] = {one.get("name", ""): one for one in spec.get("volumes") or ()}
    for _, container, field in _all_containers(spec, place):
        for index, variable in enumerate(container.get("env") or ()):
            if not (reference := (variable.get("valueFrom") or {}).get("fileKeyRef")):
                continue
            path, name = f"{field}.env[{index}].valueFrom.fileKeyRef.volumeName", reference.get("volumeName", "")
            if name not in given:
                yield not_found(path, name)
            elif given[name].get("emptyDir") is None:
                yield invalid(path, name, "referenced volume must be of type emptyDir")
