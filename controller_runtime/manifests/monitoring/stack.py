# SPDX-License-Identifier: Apache-2.0
"""Prometheus and Grafana for a program: a kustomization that brings them up, or parts for those that run already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from controller_runtime.manifests.bundles import MARK, Files, yaml_of
from controller_runtime.manifests.monitoring.alerts import rule_groups
from controller_runtime.manifests.monitoring.dashboard import dashboard
from controller_runtime.manifests.objects import Object
from controller_runtime.manifests.settings import ManifestSettings
from controller_runtime.manifests.text import document, plain

PROMETHEUS_IMAGE = "prom/prometheus:v3.5.0"
GRAFANA_IMAGE = "grafana/grafana:12.1.0"

_CONFINED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def monitoring_files(settings: ManifestSettings, *, with_operator: bool) -> Files:
    """Return the files of a kustomization that runs Prometheus and Grafana for a program.

    Args:
        settings: The settings of the program's deployment.
        with_operator: True if the cluster has the Prometheus operator, and a Grafana with a sidecar that loads
            dashboards from ConfigMaps; then only the rules and the dashboard are made.
    """
    parts = {"dashboard.yaml": [_dashboard(settings)]}
    if with_operator:
        parts["alerts.yaml"] = [_rule(settings)]
    else:
        parts["prometheus.yaml"] = _prometheus(settings)
        parts["grafana.yaml"] = _grafana(settings)
    whole = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(parts),
    }
    texts = {name: yaml_of([plain(obj) for obj in objects]) for name, objects in parts.items()}
    return {name: MARK + text for name, text in {"kustomization.yaml": document(whole), **texts}.items()}


def _meta(settings: ManifestSettings, suffix: str, **labels: str) -> dict[str, Any]:
    name = f"{settings.name}-{suffix}"
    own = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": settings.name, **labels}
    return {"name": name, "namespace": settings.namespace, "labels": own}


def _dashboard(settings: ManifestSettings) -> Object:
    text = json.dumps(dashboard(settings.program), indent=1) + "\n"
    metadata = _meta(settings, "dashboard", grafana_dashboard="1")
    return _config(metadata, {"controllers.json": text})


def _rule(settings: ManifestSettings) -> Object:
    groups = rule_groups(settings.program, settings.namespace)
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": _meta(settings, "alerts"),
        "spec": {"groups": groups},
    }


def _config(metadata: Mapping[str, Any], data: Mapping[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": dict(metadata), "data": dict(data)}


def _prometheus(settings: ManifestSettings) -> list[Object]:
    metadata = _meta(settings, "prometheus")
    rights = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    group = "rbac.authorization.k8s.io"
    files = {
        "prometheus.yml": document(_scraping(settings)),
        "alerts.yml": document({"groups": rule_groups(settings.program, settings.namespace)}),
    }
    arguments = ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/data"]
    arguments += ["--storage.tsdb.retention.time=7d", "--web.enable-lifecycle"]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": rights},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": metadata["name"], "namespace": settings.namespace}],
        },
        _config(metadata, files),
        _service(metadata, 9090),
        _deployment(
            metadata,
            {
                "image": PROMETHEUS_IMAGE,
                "args": arguments,
                "ports": [{"name": "http", "containerPort": 9090}],
                "readinessProbe": {"httpGet": {"path": "/-/ready", "port": "http"}},
                "resources": {"requests": {"cpu": "50m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
            },
            {"/etc/prometheus": metadata["name"]},
            user=65534,
        ),
    ]


def _scraping(settings: ManifestSettings) -> dict[str, Any]:
    """Return Prometheus' configuration: each pod of the program is a target, at its port `metrics`."""

    def copied(source: str, target: str) -> dict[str, Any]:
        return {"source_labels": [f"__meta_kubernetes_{source}"], "target_label": target}

    ours = {
        "source_labels": [
            "__meta_kubernetes_pod_label_app_kubernetes_io_name",
            "__meta_kubernetes_pod_container_port_name",
        ],
        "regex": f"{settings.program};metrics",
        "action": "keep",
    }
    return {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": ["/etc/prometheus/alerts.yml"],
        "scrape_configs": [
            {
                "job_name": settings.name,
                "kubernetes_sd_configs": [{"role": "pod", "namespaces": {"names": [settings.namespace]}}],
                "relabel_configs": [ours, copied("namespace", "namespace"), copied("pod_name", "pod")],
            }
        ],
    }


def _grafana(settings: ManifestSettings) -> list[Object]:
    metadata = _meta(settings, "grafana")
    source = {
        "apiVersion": 1,
        "datasources": [
            {
                "name": "Prometheus",
                "type": "prometheus",
                "access": "proxy",
                "url": f"http://{settings.name}-prometheus:9090",
                "isDefault": True,
            }
        ],
    }
    folder = {
        "apiVersion": 1,
        "providers": [{"name": "controllers", "type": "file", "options": {"path": "/var/lib/dashboards"}}],
    }
    anonymous = {"GF_AUTH_ANONYMOUS_ENABLED": "true", "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer"}
    quiet = {"GF_ANALYTICS_REPORTING_ENABLED": "false", "GF_ANALYTICS_CHECK_FOR_UPDATES": "false"}
    paths = {"GF_PATHS_DATA": "/data", "GF_PATHS_LOGS": "/data/log", "GF_PATHS_PLUGINS": "/data/plugins"}
    environment = {**anonymous, **quiet, **paths, "GF_PLUGINS_PREINSTALL_DISABLED": "true"}
    return [
        _config(metadata, {"datasource.yaml": document(source), "dashboards.yaml": document(folder)}),
        _service(metadata, 3000),
        _deployment(
            metadata,
            {
                "image": GRAFANA_IMAGE,
                "env": [{"name": name, "value": value} for name, value in environment.items()],
                "ports": [{"name": "http", "containerPort": 3000}],
                "readinessProbe": {"httpGet": {"path": "/api/health", "port": "http"}},
                "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
            },
            {
                "/etc/grafana/provisioning/datasources/datasource.yaml": metadata["name"],
                "/etc/grafana/provisioning/dashboards/dashboards.yaml": metadata["name"],
                "/var/lib/dashboards": f"{settings.name}-dashboard",
            },
            user=472,
        ),
    ]


def _service(metadata: Mapping[str, Any], port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": dict(metadata),
        "spec": {
            "selector": {"app.kubernetes.io/name": metadata["name"]},
            "ports": [{"name": "http", "port": port, "targetPort": "http"}],
        },
    }


def _deployment(
    metadata: Mapping[str, Any], container: Mapping[str, Any], mounts: Mapping[str, str], *, user: int
) -> Object:
    """Return a deployment of one pod without rights of its machine, whose data ends with it.

    Args:
        metadata: Its metadata; the pod's account has its name if there is one.
        container: Fields of the container.
        mounts: The config map for each path; a path that ends in a file is that key of it alone.
        user: The user of the image.
    """
    maps = sorted({*mounts.values()})
    mounted = [
        {"name": name, "mountPath": path, "readOnly": True}
        | ({"subPath": path.rpartition("/")[2]} if path.endswith(".yaml") else {})
        for path, name in mounts.items()
    ]
    writable = [{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/tmp"}]
    pod: dict[str, Any] = {
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": user,
            "fsGroup": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {"name": "main", **container, "securityContext": _CONFINED, "volumeMounts": [*mounted, *writable]}
        ],
        "volumes": [
            *({"name": name, "configMap": {"name": name}} for name in maps),
            *({"name": name, "emptyDir": {}} for name in ("data", "tmp")),
        ],
    }
    if metadata["name"].endswith("-prometheus"):
        pod["serviceAccountName"] = metadata["name"]
    else:
        pod["automountServiceAccountToken"] = False
    selector = {"app.kubernetes.io/name": metadata["name"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": dict(metadata),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": selector},
            "template": {"metadata": {"labels": dict(metadata["labels"])}, "spec": pod},
        },
    }
