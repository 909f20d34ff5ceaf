# SPDX-License-Identifier: Apache-2.0
"""An operator that owns what it makes: `python examples/memcached.py`.

Each Memcached owns a deployment and a service, which are applied, restored and pruned. Its condition `Ready` says what
is not ready yet.
"""

from __future__ import annotations

from typing import Annotated, Any

from controller_runtime import Dependents, Manager, Owned, run
from controller_runtime.crd import Condition, CustomResource, Meta, Struct, custom_resource, field, list_map
from controller_runtime.resources import DEPLOYMENTS, SERVICES


class MemcachedSpec(Struct):
    size: Annotated[int, Meta(ge=1, le=5)] = 1
    port: Annotated[int, Meta(gt=0, lt=65536)] = 11211
    exposed: bool = True


class MemcachedStatus(Struct):
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


@custom_resource(
    "cache.example.com/v1alpha1",
    plural="memcacheds",
    columns={"Size": ".spec.size", "Ready": '.status.conditions[?(@.type=="Ready")].status'},
)
class Memcached(CustomResource):
    spec: MemcachedSpec
    status: MemcachedStatus | None = None


def labels_for(memcached: Memcached) -> dict[str, str]:
    return {"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": memcached.metadata.name}


def deployment_for(memcached: Memcached) -> dict[str, Any]:
    labels, port = labels_for(memcached), memcached.spec.port
    container = {
        "name": "memcached",
        "image": "memcached:1.6.26-alpine3.19",
        "command": ["memcached", f"--port={port}", "--memory-limit=64", "-o", "modern", "-v"],
        "ports": [{"name": "memcached", "containerPort": port, "protocol": "TCP"}],
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1001, "allowPrivilegeEscalation": False},
    }
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {"spec": {"replicas": memcached.spec.size, "selector": {"matchLabels": labels}, "template": pod}}


def service_for(memcached: Memcached) -> dict[str, Any] | None:
    if not memcached.spec.exposed:
        return None
    port = {"name": "memcached", "port": memcached.spec.port, "protocol": "TCP"}
    return {"spec": {"clusterIP": "None", "selector": labels_for(memcached), "ports": [port]}}


def setup(manager: Manager) -> None:
    manager.install(Memcached)
    deployment = Owned(DEPLOYMENTS, deployment_for)
    service = Owned(SERVICES, service_for, after=deployment)
    manager.add(Dependents(manager, "memcached", Memcached, deployment, service).controller())


if __name__ == "__main__":
    run(setup)
