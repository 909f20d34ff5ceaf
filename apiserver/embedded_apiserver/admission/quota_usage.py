# SPDX-License-Identifier: Apache-2.0
"""The usage of a quota by an object, by the names of the quota's resources, and the objects that its scopes select."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from apimachinery.quantities import parse_quantity
from embedded_apiserver.admission.pod_resources import containers_of, of_pod
from embedded_apiserver.checks.resources import COUNTED
from embedded_apiserver.groups.core.kinds import SERVICE
from embedded_apiserver.groups.pods.kinds import CLAIM, POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.typed.pod_amounts import Amounts, amounts

_ONE = Decimal(1)
_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
# Resources of pods that a quota may name without `requests.`.
_PLAIN = ("cpu", "memory", "ephemeral-storage")


def count_name(kind: Kind) -> str:
    """Return the resource name by which a quota counts objects of a kind, such as `count/deployments.apps`."""
    return f"count/{kind.plural}.{kind.group}" if kind.group else f"count/{kind.plural}"


def usage_of(kind: Kind, obj: Object) -> Amounts:
    """Return the usage of a quota by one object, by the quota's resource names."""
    used: Amounts = {count_name(kind): _ONE}
    if kind == POD:
        if part(obj, "status").get("phase") not in ("Succeeded", "Failed"):
            used |= {"pods": _ONE, **_of_pod(obj)}
        return used
    if not kind.group and kind.plural in COUNTED:
        used[kind.plural] = _ONE
    if kind == SERVICE:
        used |= _of_service(part(obj, "spec"))
    elif kind == CLAIM:
        used |= _of_claim(part(obj, "spec"))
    return used


def _of_pod(pod: Object) -> Amounts:
    used: Amounts = {}
    for name, amount in of_pod(pod, "requests").items():
        used[f"requests.{name}"] = amount
        if name in _PLAIN or name.startswith("hugepages-"):
            used[name] = amount
    return used | {f"limits.{name}": amount for name, amount in of_pod(pod, "limits").items()}


def _of_service(spec: Object) -> Amounts:
    type_, ports = spec.get("type", "ClusterIP"), Decimal(len(spec.get("ports") or ()))
    if type_ == "NodePort":
        return {"services.nodeports": ports}
    if type_ == "LoadBalancer":
        has_ports = spec.get("allocateLoadBalancerNodePorts", True)
        return {"services.loadbalancers": _ONE, "services.nodeports": ports if has_ports else Decimal(0)}
    return {}


def _of_claim(spec: Object) -> Amounts:
    size = amounts(part(part(spec, "resources"), "requests")).get("storage")
    used = {} if size is None else {"requests.storage": size}
    if class_name := spec.get("storageClassName"):
        used |= {f"{class_name}{_STORAGE_CLASS}{name}": amount for name, amount in used.items()}
        used[f"{class_name}{_STORAGE_CLASS}persistentvolumeclaims"] = _ONE
    return used


def missing_in(pod: Object, resources: Iterable[str]) -> str:
    """Return the quota's resources that containers of a pod do not set, such as `limits.cpu for: a,b`; empty if
    none. Only CPU, memory and ephemeral storage are looked at.
    """
    lacking: dict[str, list[str]] = {}
    for container in containers_of(pod):
        own = part(container, "resources")
        said = {f"requests.{name}" for name in part(own, "requests")} | {
            f"limits.{name}" for name in part(own, "limits")
        }
        said |= {name for name in _PLAIN if f"requests.{name}" in said}
        for resource in resources:
            side, _, name = resource.partition(".")
            is_checked = resource in _PLAIN or (side in ("requests", "limits") and name in _PLAIN)
            if is_checked and resource not in said:
                lacking.setdefault(resource, []).append(str(container.get("name", "")))
    return "; ".join(f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))


def is_selected(quota: Object, kind: Kind, obj: Object) -> bool:
    """Return whether a quota counts an object. A quota with scopes counts only pods that match all scopes."""
    spec = part(quota, "spec")
    scopes = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    scopes += part(spec, "scopeSelector").get("matchExpressions") or ()
    return not scopes or (kind == POD and all(_is_in(scope, obj) for scope in scopes))


def _is_in(scope: Mapping[str, object], pod: Object) -> bool:
    spec = part(pod, "spec")
    match scope.get("scopeName"):
        case "Terminating":
            return "activeDeadlineSeconds" in spec
        case "NotTerminating":
            return "activeDeadlineSeconds" not in spec
        case "BestEffort":
            return not any(part(container, "resources") for container in containers_of(pod))
        case "NotBestEffort":
            return any(part(container, "resources") for container in containers_of(pod))
        case "PriorityClass":
            return _matches(scope, str(spec.get("priorityClassName", "")))
    return False


def _matches(scope: Mapping[str, object], name: str) -> bool:
    values = scope.get("values")
    known = isinstance(values, Sequence) and name in values
    match scope.get("operator"):
        case "Exists":
            return bool(name)
        case "DoesNotExist":
            return not name
        case "In":
            return known
        case "NotIn":
            return not known
    return False


def hard_of(quota: Object) -> Amounts:
    """Return the hard limits of a quota, by resource name."""
    return {name: parse_quantity(str(text)) for name, text in part(part(quota, "spec"), "hard").items()}
