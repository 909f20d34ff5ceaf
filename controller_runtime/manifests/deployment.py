# SPDX-License-Identifier: Apache-2.0
"""The deployment of a program: its arguments, probes, and a pod that may do as little as possible."""

from __future__ import annotations

from typing import Any

from controller_runtime.manifests.objects import Object, metrics_port
from controller_runtime.manifests.settings import (
    GRACE,
    METRICS_PORT,
    PROBES_PORT,
    TERMINATION,
    WEBHOOKS_PORT,
    ManifestSettings,
)
from controller_runtime.manifests.text import ABSENT, when

_JOINS = 15
"""Seconds of `lease_duration`, the default of a ring: a new replica owns no slot before, so the next old one stays."""
_USER = 65532  # the user `nonroot` of usual base images; any number but zero would do


def deployment(settings: ManifestSettings) -> Object:
    """Return the Deployment of a program.

    Without a leader election or a ring, two pods must never run at the same time, so the old pod ends before the new
    one starts.
    """
    selector = dict(settings.selector)
    # A template has no `not` of a path without a word for it.
    alone = f"not {settings.elects}" if isinstance(settings.elects, str) else not settings.elects
    if settings.ring_by is not None:
        alone = False
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": settings.name, "namespace": settings.namespace, "labels": dict(settings.labels)},
        "spec": {
            "replicas": settings.replicas,
            "strategy": when(alone, {"type": "Recreate"}),
            "minReadySeconds": ABSENT if settings.ring_by is None else _JOINS,
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": dict(settings.labels)}, "spec": _pod(settings)},
        },
    }


def _pod(settings: ManifestSettings) -> dict[str, Any]:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": dict(settings.selector)},
    }
    return {
        "serviceAccountName": settings.account,
        "terminationGracePeriodSeconds": TERMINATION,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "topologySpreadConstraints": [spread],
        **settings.placement,
        "containers": [_container(settings)],
    }


def _container(settings: ManifestSettings) -> dict[str, Any]:
    return {
        "name": settings.program,
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "args": arguments(settings),
        "env": [
            {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
            {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"},  # the root file system is read-only
        ],
        "ports": [
            metrics_port(settings),
            {"name": "probes", "containerPort": PROBES_PORT},
            when(settings.has_webhooks, {"name": "webhooks", "containerPort": WEBHOOKS_PORT}),
        ],
        "livenessProbe": {
            "httpGet": {"path": "/livez", "port": "probes"},
            "initialDelaySeconds": 15,
            "periodSeconds": 20,
        },
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "probes"}, "periodSeconds": 10},
        "resources": settings.resources,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def arguments(settings: ManifestSettings) -> list[Any]:
    """Return the command line arguments of the program, for `run(setup)`.

    If there is a lease or a ring, it is named, because roles refer to its name.
    """
    by = settings.ring_by
    is_named = settings.elects if by is None else True
    return [
        when(settings.elects, "--leader-elect"),
        ABSENT if by is None else "--ring",
        ABSENT if by is None else f"--ring-by={by.value}",
        when(is_named, f"--leader-election-id={settings.name}"),
        when(is_named, "--leader-election-namespace=$(POD_NAMESPACE)"),
        f"--namespace={settings.watch_namespace}" if settings.watch_namespace else ABSENT,
        when(settings.has_metrics, f"--metrics-bind-address=:{METRICS_PORT}"),
        f"--health-probe-bind-address=:{PROBES_PORT}",
        when(settings.has_webhooks, f"--webhook-bind-address=:{WEBHOOKS_PORT}"),
        when(settings.has_webhooks, f"--webhook-service=$(POD_NAMESPACE)/{settings.webhooks_name}"),
        f"--grace={GRACE}",
        "--log-format=json",
    ]
