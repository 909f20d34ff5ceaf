# SPDX-License-Identifier: Apache-2.0
"""Rules of the status of a pod."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embedded_apiserver.causes import duplicate, forbidden, invalid, required
from embedded_apiserver.checks.addresses import address, has_two_families
from embedded_apiserver.checks.basic import identifier, in_range, label, qualified_name, subdomain
from embedded_apiserver.groups.pods.pod_changes import changed_annotations
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_OWN_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_MOST = 2**31 - 1
_ENDED = "may not be transitioned to non-terminated state"
_GENERATION = "must be a non-negative integer"
_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def pod_status_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of the status of a pod."""
    spec, before, after = part(old, "spec"), part(old, "status"), part(new, "status")
    if old["metadata"].get("annotations") != new["metadata"].get("annotations"):
        yield from changed_annotations(old, new, spec)
    yield from _conditions(after.get("conditions") or ())
    node, was = after.get("nominatedNodeName", ""), before.get("nominatedNodeName", "")
    if node and node != was:
        yield from subdomain(node, "status.nominatedNodeName")
        if spec.get("nodeName"):
            text = "may not be set on pods that are already bound to a node"
            yield forbidden("status.nominatedNodeName", text)
    if (generation := after.get("observedGeneration", 0)) < 0:
        yield invalid("status.observedGeneration", generation, _GENERATION)
    if (quality := after.get("qosClass", "")) != before.get("qosClass", ""):
        yield invalid("status.qosClass", quality, "field is immutable")
    for name in _STATUSES:
        yield from _ended(before.get(name) or (), after.get(name) or (), name, spec)
    yield from _claims(after.get("resourceClaimStatuses") or (), spec)
    if (claim := after.get("extendedResourceClaimStatus")) is not None:
        yield from _extended_claim(claim, spec)
    yield from _addresses(before, after, "podIPs", "PodIP")
    if ips := after.get("hostIPs"):
        if after.get("hostIP", "") != (first := ips[0].get("ip", "")):
            yield invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
        yield from _addresses(before, after, "hostIPs", "HostIP")
    for name in _STATUSES:
        yield from _users(after.get(name) or (), f"status.{name}")


def _conditions(conditions: Sequence[Object]) -> Iterator[Cause]:
    for index, condition in enumerate(conditions):
        field, kind = f"status.conditions[{index}]", condition.get("type", "")
        if (generation := condition.get("observedGeneration", 0)) < 0:
            yield invalid(f"{field}.observedGeneration", generation, _GENERATION)
        if kind not in _OWN_CONDITIONS:
            yield from qualified_name(kind, f"{field}.Type")


def _ended(before: Sequence[Object], after: Sequence[Object], name: str, spec: Object) -> Iterator[Cause]:
    """Return the validation errors of containers that ended and seem to run again, although nothing restarts them."""
    now = {one.get("name", ""): one for one in reversed(after)}
    for index, status in enumerate(before):
        ended, other = part(status, "state").get("terminated"), now.get(status.get("name", ""))
        if ended is None or other is None or part(other, "state").get("terminated") is not None:
            continue
        if name == "ephemeralContainerStatuses" or not _restarts(status.get("name", ""), ended, name, spec):
            yield forbidden(f"status.{name}[{index}].state", _ENDED)


def _restarts(container: str, ended: Object, name: str, spec: Object) -> bool:
    """Return whether a container that has ended is started again."""
    group, code = "containers" if name == "containerStatuses" else "initContainers", ended.get("exitCode", 0)
    everything = [one for names in ("initContainers", "containers") for one in spec.get(names) or ()]
    if any(rule.get("action") == "RestartAllContainers" for one in everything for rule in _rules(one)):
        return True
    for one in spec.get(group) or ():
        if one.get("name") == container:
            return _restarts_one(one, code, spec)
    return False


def _rules(container: Object) -> Sequence[Object]:
    return container.get("restartPolicyRules") or ()


def _restarts_one(container: Object, code: int, spec: Object) -> bool:
    for rule in _rules(container):
        codes = rule.get("exitCodes") or {}
        if (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _claims(statuses: Sequence[Object], spec: Object) -> Iterator[Cause]:
    known, seen = {one.get("name", "") for one in spec.get("resourceClaims") or ()}, set()
    for index, status in enumerate(statuses):
        field, name = f"status.resourceClaimStatuses[{index}]", status.get("name", "")
        if name not in known:
            yield invalid(f"{field}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(f"{field}.name", name)
        seen.add(name)
        if (claim := status.get("resourceClaimName")) is not None:
            yield from subdomain(claim, f"{field}.resourceClaimName")


def _extended_claim(status: Object, spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the status of the claim that was made for the extended resources of a pod."""
    place, seen = "status.extendedResourceClaimStatus", set()
    containers = [one for group in ("initContainers", "containers") for one in spec.get(group) or ()]
    asked = {one.get("name", ""): part(part(one, "resources"), "requests") for one in containers}
    if not (mappings := status.get("requestMappings")):
        yield required(f"{place}.requestMappings", "at least one request mapping is required")
    for index, one in enumerate(mappings or ()):
        field = f"{place}.requestMappings[{index}]"
        key = tuple(one.get(name, "") for name in _MAPPED)
        container, resource, request = key
        if container not in asked:
            yield invalid(f"{field}.containerName", container, _NO_CONTAINER)
        elif resource not in asked[container]:
            yield invalid(f"{field}.resourceName", resource, _NO_RESOURCE)
        yield from label(request, f"{place}.requestName")
        if key in seen:
            pairs = zip(_MAPPED, key, strict=True)
            yield from (duplicate(f"{field}.{name}", value) for name, value in pairs)
        seen.add(key)
    if not (name := status.get("resourceClaimName", "")):
        yield required(f"{place}.resourceClaimName")
    else:
        yield from subdomain(name, f"{place}.resourceClaimName")


_MAPPED = ("containerName", "resourceName", "requestName")
_WHERE = "an entry in spec.initContainers.{0} or spec.containers.{0}"
_NO_CONTAINER = f"must match the name of {_WHERE.format('name')}"
_NO_RESOURCE = f"must match the extended resource name of {_WHERE.format('resources.requests')}"


def _addresses(before: Object, after: Object, name: str, struct: str) -> Iterator[Cause]:
    known = [one.get("ip", "") for one in before.get(name) or ()]
    given = after.get(name) or ()
    texts = [one.get("ip", "") for one in given]
    for index, text in enumerate(texts):
        yield from address(text, f"status.{name}[{index}]", known)
    if len(texts) > 1 and (len(texts) > 2 or not has_two_families(texts)):
        text = "may specify no more than one IP for each IP family"
        yield invalid(f"status.{name}", shown(f"[]{struct}", given), text)


def _users(statuses: Sequence[Object], place: str) -> Iterator[Cause]:
    for index, status in enumerate(statuses):
        if user := part(status, "user").get("linux"):
            field = f"{place}[{index}].user.linux"
            yield from identifier(user, "uid", field)
            yield from identifier(user, "gid", field)
            for number, group in enumerate(user.get("supplementalGroups") or ()):
                yield from in_range(group, 0, _MOST, f"{field}.supplementalGroups[{number}]")
