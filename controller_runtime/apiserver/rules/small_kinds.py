# SPDX-License-Identifier: Apache-2.0
"""Rules of kinds with few rules: services, ingresses, disruption budgets, roles and role bindings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.rules import Object, Rules, part
from controller_runtime.apiserver.rules.validation import invalid, required
from controller_runtime.apiserver.rules.workload import SpecRules
from controller_runtime.apiserver.status import Cause

_COUNTS = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}
_RBAC_GROUP = "rbac.authorization.k8s.io"


class StatusRules(Rules):
    """Rules of a kind whose new objects all have the same status, whatever the client sent.

    Args:
        status: The status of a new object.
    """

    def __init__(self, status: Object) -> None:
        self._status = status

    def on_create(self, obj: Object) -> Object:
        return {**obj, "status": dict(self._status)}


class ServiceRules(Rules):
    """A service must have ports, unless it is headless or of type ExternalName.

    No service gets a cluster address, unlike on a real server: nothing would answer there.
    """

    def on_create(self, obj: Object) -> Object:
        return {**obj, "spec": _service_defaults(part(obj, "spec")), "status": {"loadBalancer": {}}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return {**made, "spec": _service_defaults(part(made, "spec"))}

    def causes(self, obj: Object) -> list[Cause]:
        spec = part(obj, "spec")
        headless = spec.get("clusterIP") == "None" or spec.get("type") == "ExternalName"
        return [] if headless or spec.get("ports") else [required("spec.ports")]


class IngressRules(SpecRules):
    """An ingress must have a default backend or rules. The server routes no traffic."""

    def __init__(self) -> None:
        super().__init__(dict, {"loadBalancer": {}})

    def causes(self, obj: Object) -> list[Cause]:
        spec = part(obj, "spec")
        text = "either `defaultBackend` or `rules` must be specified"
        return [] if spec.get("rules") or spec.get("defaultBackend") else [invalid("spec", spec, text)]


class BudgetRules(SpecRules):
    """A budget sets at most one of `minAvailable` and `maxUnavailable`."""

    def __init__(self) -> None:
        super().__init__(dict, _COUNTS)

    def causes(self, obj: Object) -> list[Cause]:
        spec = part(obj, "spec")
        if "minAvailable" in spec and "maxUnavailable" in spec:
            return [invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")]
        return []


class RoleRules(Rules):
    """Each rule of a role names at least one verb. Requests are not checked against roles."""

    def causes(self, obj: Object) -> Iterator[Cause]:
        for index, rule in enumerate(obj.get("rules") or ()):
            if not rule.get("verbs"):
                yield required(f"rules[{index}].verbs", "verbs must contain at least one value")


class BindingRules(Rules):
    """A binding must name a role, and must name the same one after each update."""

    def on_create(self, obj: Object) -> Object:
        return _with_groups(obj)

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        return _with_groups(new)

    def causes(self, obj: Object) -> list[Cause]:
        return [] if part(obj, "roleRef").get("name") else [required("roleRef.name")]

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        after = part(new, "roleRef")
        return [] if part(old, "roleRef") == after else [invalid("roleRef", after, "cannot change roleRef")]


def _service_defaults(spec: Object) -> dict[str, Any]:
    made = {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", **spec}
    if "ports" in spec:
        made["ports"] = [{"targetPort": port.get("port"), **port} for port in spec["ports"]]
    return made


def _with_groups(obj: Object) -> Object:
    reference = {**part(obj, "roleRef")}
    reference["apiGroup"] = reference.get("apiGroup") or _RBAC_GROUP
    made = {**obj, "roleRef": reference}
    if "subjects" in obj:
        made["subjects"] = [_subject(one) for one in obj["subjects"]]
    return made


def _subject(subject: Object) -> Object:
    if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
        return {**subject, "apiGroup": _RBAC_GROUP}
    return subject
