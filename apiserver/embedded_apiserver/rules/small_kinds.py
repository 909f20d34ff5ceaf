# SPDX-License-Identifier: Apache-2.0
"""Rules of kinds with few rules: service accounts, services, ingresses and disruption budgets."""

from __future__ import annotations

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.rules.service_addresses import without_leftovers
from embedded_apiserver.rules.workload import SpecRules

_COUNTS = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}


class StatusRules(Rules):
    """Rules of a kind whose new objects all have the same status, whatever the client sent.

    Args:
        status: The status of a new object.
    """

    def __init__(self, status: Object) -> None:
        self._status = status

    def on_create(self, obj: Object) -> Object:
        return {**obj, "status": dict(self._status)}


class ServiceAccountRules(Rules):
    """Of the secrets of an account the names alone are stored."""

    def on_create(self, obj: Object) -> Object:
        return _with_names_of_secrets(obj)

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        return _with_names_of_secrets(new)


def _with_names_of_secrets(account: Object) -> Object:
    if not (secrets := account.get("secrets")):
        return account
    named = [{name: value for name, value in one.items() if name == "name"} for one in secrets]
    return account if named == secrets else {**account, "secrets": named}


class ServiceRules(Rules):
    """Services get addresses and ports.

    Nothing answers at the addresses that services have here.
    """

    def on_create(self, obj: Object) -> Object:
        spec = part(obj, "spec")
        if spec.get("type") == "ExternalName":
            spec = {name: value for name, value in spec.items() if name != "internalTrafficPolicy"}
        return {**obj, "spec": spec, "status": {"loadBalancer": {}}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        if subresource == "status":
            return made
        made = {**made, "spec": without_leftovers(part(made, "spec"), part(old, "spec"))}
        return made if made["spec"].get("type") == "LoadBalancer" else {**made, "status": {"loadBalancer": {}}}

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        spec = part(obj, "spec")
        external = spec.get("type") == "ExternalName"
        headless = spec.get("clusterIP") == "None" and spec.get("type", "ClusterIP") == "ClusterIP"
        found = {
            "spec.loadBalancerIP is ignored for headless services": headless and spec.get("loadBalancerIP"),
            "spec.externalIPs is ignored for headless services": headless and spec.get("externalIPs"),
            "spec.SessionAffinity is ignored for headless services": headless
            and spec.get("sessionAffinity", "None") != "None",
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters": not headless
            and not external
            and spec.get("externalIPs"),
            'spec.externalIPs is ignored when spec.type is "ExternalName"': external and spec.get("externalIPs"),
            'spec.externalName is ignored when spec.type is not "ExternalName"': not external
            and spec.get("externalName"),
            'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"': spec.get(
                "trafficDistribution"
            )
            == "PreferClose",
        }
        return [text for text, is_true in found.items() if is_true]


class IngressRules(SpecRules):
    """A new ingress has no addresses. The server routes no traffic."""

    def __init__(self) -> None:
        super().__init__({"loadBalancer": {}})


class BudgetRules(SpecRules):
    """A new budget has counted nothing."""

    def __init__(self) -> None:
        super().__init__(_COUNTS)
