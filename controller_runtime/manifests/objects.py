# SPDX-License-Identifier: Apache-2.0
"""The objects beside definitions and deployment: the namespace, the account with its rights, metrics, disruptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller_runtime.manifests.facts import Facts, Watched
from controller_runtime.manifests.rights import Rights, Rule
from controller_runtime.manifests.settings import METRICS_PORT, Settings
from controller_runtime.manifests.text import Literal, literal, when
from controller_runtime.ring.rights import objects_role_name, ring_rules, role_name

Object = dict[str, Any]

METRICS_SUFFIX = "-metrics"
"""The end of the metrics service's name, after the name of the program."""

RBAC = "rbac.authorization.k8s.io"
_OWN_NAMESPACES = ("default",)


def namespace_of(settings: Settings) -> list[Object]:
    """Return the namespace of the program, in which only pods without privileges may run; none for `default`."""
    if settings.namespace in _OWN_NAMESPACES or settings.namespace.startswith("kube-"):
        return []
    labels = {**settings.labels, "pod-security.kubernetes.io/enforce": "restricted"}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace, "labels": labels}}]


def service_account(settings: Settings) -> Object:
    """Return the service account of the program."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(settings, settings.account)}


def roles(settings: Settings, rights: Rights) -> list[Object]:
    """Return roles with exactly these rights, and bindings of them to the service account.

    There is a ClusterRole for the rules that hold everywhere, and a Role for each namespace with rules of its own.
    """
    made = []
    if rights.cluster:
        made += bound(settings, "ClusterRole", None, settings.name, rights.cluster)
    for namespace, rules in rights.namespaced.items():
        where = settings.namespace if namespace == "" else Literal(namespace)
        made += bound(settings, "Role", where, settings.name, rules)
    return made


def lease_roles(settings: Settings) -> list[Object]:
    """Return the role that the election of a leader needs, and its binding.

    A creation cannot be bounded by a name, so only the other verbs are.
    """
    group, leases = ["coordination.k8s.io"], ["leases"]
    rules = [
        {"apiGroups": group, "resources": leases, "verbs": ["create"]},
        {"apiGroups": group, "resources": leases, "resourceNames": [settings.name], "verbs": ["get", "update"]},
    ]
    name = f"{settings.name}-leader-election"
    return bound(settings, "Role", settings.namespace, name, rules, are_own=True)


def deletion_roles(settings: Settings, facts: Facts) -> list[Object]:
    """Return the role that the record of deletion budgets needs, and its binding; none without budgets.

    The record is called after the lease or the ring, and after the program if there is neither, so both names are in
    the role: one of a chart may have an election or not.
    """
    if not facts.limits_deletions:
        return []
    names: Sequence[str] = [*dict.fromkeys((f"{settings.name}-deletions", f"{settings.program}-deletions"))]
    namespace: str = settings.namespace
    if facts.record is not None:
        names, namespace = [Literal(facts.record.name)], Literal(facts.record.namespace)
    maps: Rule = {"apiGroups": [""], "resources": ["configmaps"]}
    rules = [{**maps, "verbs": ["create"]}, {**maps, "resourceNames": names, "verbs": ["get", "update"]}]
    return bound(settings, "Role", namespace, f"{settings.name}-deletions", rules, are_own=True)


def ring_roles(settings: Settings, shared: Iterable[Watched]) -> list[Object]:
    """Return the roles that a member of a ring needs, and their bindings; none without a ring.

    Where a slot follows from an object, the server is asked by name whether the object is gone.
    """
    by = settings.ring_by
    if by is None:
        return []
    made = bound(
        settings, "Role", settings.namespace, role_name(settings.name), ring_rules(settings.name), are_own=True
    )
    places: dict[str, list[Rule]] = {}
    for one in shared if by.needs_object else ():
        rule = {"apiGroups": [one.group], "resources": [one.plural], "verbs": ["get"]}
        places.setdefault(one.namespace, []).append(rule)
    for namespace, rules in places.items():
        kind, where = ("Role", Literal(namespace)) if namespace else ("ClusterRole", None)
        made += bound(settings, kind, where, objects_role_name(settings.name), rules)
    return made


def bound(
    settings: Settings, kind: str, namespace: str | None, name: str, rules: Sequence[Rule], *, are_own: bool = False
) -> list[Object]:
    """Return a role with these rules, and a binding of it to the service account.

    Args:
        settings: The choices of the deployment.
        kind: `Role` or `ClusterRole`.
        namespace: The role's namespace; None for a ClusterRole.
        name: The name of both.
        rules: The rules.
        are_own: Whether names in the rules may be template expressions; those of others are literal.
    """
    named = {"name": name, "labels": dict(settings.labels)}
    if namespace is not None:
        named = {"name": name, "namespace": namespace, "labels": dict(settings.labels)}
    version = f"{RBAC}/v1"
    given = [_ordered(rule) for rule in rules]
    return [
        {"apiVersion": version, "kind": kind, "metadata": named, "rules": given if are_own else literal(given)},
        {
            "apiVersion": version,
            "kind": f"{kind}Binding",
            "metadata": named,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": settings.account, "namespace": settings.namespace}],
        },
    ]


def _ordered(rule: Rule) -> dict[str, Any]:
    names = ("apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs")
    return {name: list(rule[name]) for name in names if rule.get(name)}


def metrics_service(settings: Settings) -> Object:
    """Return the service at which metrics are collected; it balances nothing, so it has no address of its own."""
    port = {"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(settings, f"{settings.name}{METRICS_SUFFIX}"),
        "spec": {"clusterIP": "None", "selector": dict(settings.selector), "ports": [port]},
    }


def service_monitor(settings: Settings) -> Object:
    """Return the object for which the Prometheus operator collects metrics; its kind is not one of Kubernetes' own."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(settings, settings.name),
        "spec": {
            "selector": {"matchLabels": dict(settings.selector)},
            "endpoints": [{"port": "metrics", "interval": "30s"}],
        },
    }


def disruption_budget(settings: Settings) -> Object:
    """Return the budget that lets a drain take one pod at a time: so it never waits, even for a single replica."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(settings, settings.name),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(settings.selector)}},
    }


def metrics_port(settings: Settings) -> Any:
    """Return the container's port of the metrics, if they are served."""
    return when(settings.has_metrics, {"name": "metrics", "containerPort": METRICS_PORT})


def metadata(settings: Settings, name: str) -> Mapping[str, Any]:
    """Return the metadata of an object in the namespace of the program."""
    return {"name": name, "namespace": settings.namespace, "labels": dict(settings.labels)}
