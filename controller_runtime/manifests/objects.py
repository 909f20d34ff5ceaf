# SPDX-License-Identifier: Apache-2.0
"""The objects beside definitions and deployment: the namespace, the account with its rights, metrics, disruptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controller_runtime.manifests.facts import Facts, WatchedCollection
from controller_runtime.manifests.rights import Rights, Rule
from controller_runtime.manifests.settings import METRICS_PORT, ManifestSettings
from controller_runtime.manifests.text import Literal, literal, when
from controller_runtime.ring.rights import objects_role_name, ring_rules, role_name

Object = dict[str, Any]

METRICS_SUFFIX = "-metrics"
"""The end of the metrics service's name, after the name of the program."""

RBAC = "rbac.authorization.k8s.io"
_OWN_NAMESPACES = ("default",)


def namespace_of(settings: ManifestSettings) -> list[Object]:
    """Return the Namespace of the program, in which only restricted pods may run; empty for one that exists anyway."""
    if settings.namespace in _OWN_NAMESPACES or settings.namespace.startswith("kube-"):
        return []
    labels = {**settings.labels, "pod-security.kubernetes.io/enforce": "restricted"}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": settings.namespace, "labels": labels}}]


def service_account(settings: ManifestSettings) -> Object:
    """Return the service account of the program."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(settings, settings.account)}


def roles(settings: ManifestSettings, rights: Rights) -> list[Object]:
    """Return roles with exactly these rights, and their bindings to the service account.

    A ClusterRole has the rules that apply everywhere, a Role for each namespace the rules that apply there.
    """
    made = []
    if rights.cluster:
        made += bound(settings, "ClusterRole", None, settings.name, rights.cluster)
    for namespace, rules in rights.namespaced.items():
        where = settings.namespace if namespace == "" else Literal(namespace)
        made += bound(settings, "Role", where, settings.name, rules)
    return made


def lease_roles(settings: ManifestSettings) -> list[Object]:
    """Return the role for the leader election, and its binding.

    The verb `create` cannot be limited by name; the other verbs are.
    """
    group, leases = ["coordination.k8s.io"], ["leases"]
    rules = [
        {"apiGroups": group, "resources": leases, "verbs": ["create"]},
        {"apiGroups": group, "resources": leases, "resourceNames": [settings.name], "verbs": ["get", "update"]},
    ]
    name = f"{settings.name}-leader-election"
    return bound(settings, "Role", settings.namespace, name, rules, are_own=True)


def deletion_roles(settings: ManifestSettings, facts: Facts) -> list[Object]:
    """Return the role for the ConfigMap of deletion budgets, and its binding; empty without budgets.

    Unless the program names the ConfigMap, it is named after the lease or the ring, or after the program if there is
    neither. The role then has both names, because a chart may be used with or without an election.
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


def ring_roles(settings: ManifestSettings, shared: Iterable[WatchedCollection]) -> list[Object]:
    """Return the roles that a replica needs as a member of its ring, and their bindings; an empty list without a ring.

    In a ring by uid or owner they include the right to get objects by name: a replica asks the server whether an object
    is really gone.

    Args:
        settings: The settings of the deployment.
        shared: The collections whose objects the replicas divide among themselves.
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
    settings: ManifestSettings,
    kind: str,
    namespace: str | None,
    name: str,
    rules: Sequence[Rule],
    *,
    are_own: bool = False,
) -> list[Object]:
    """Return a role with these rules, and a binding of it to the service account.

    Args:
        settings: The settings of the deployment.
        kind: `Role` or `ClusterRole`.
        namespace: The role's namespace; None for a ClusterRole.
        name: The name of the role and of the binding.
        rules: The rules.
        are_own: True if names in the rules may be template expressions; otherwise they are literal.
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


def metrics_service(settings: ManifestSettings) -> Object:
    """Return the Service by which metrics are scraped. It is headless, since it does no load balancing."""
    port = {"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(settings, f"{settings.name}{METRICS_SUFFIX}"),
        "spec": {"clusterIP": "None", "selector": dict(settings.selector), "ports": [port]},
    }


def service_monitor(settings: ManifestSettings) -> Object:
    """Return the ServiceMonitor by which the Prometheus operator scrapes the metrics."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(settings, settings.name),
        "spec": {
            "selector": {"matchLabels": dict(settings.selector)},
            "endpoints": [{"port": "metrics", "interval": "30s"}],
        },
    }


def disruption_budget(settings: ManifestSettings) -> Object:
    """Return the PodDisruptionBudget that allows a drain to evict one pod at a time, even a single replica."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(settings, settings.name),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": dict(settings.selector)}},
    }


def metrics_port(settings: ManifestSettings) -> Any:
    """Return the container port of the metrics, if they are served."""
    return when(settings.has_metrics, {"name": "metrics", "containerPort": METRICS_PORT})


def metadata(settings: ManifestSettings, name: str) -> Mapping[str, Any]:
    """Return the metadata of an object called `name` in the namespace of the program."""
    return {"name": name, "namespace": settings.namespace, "labels": dict(settings.labels)}
