# SPDX-License-Identifier: Apache-2.0
"""Keeps a claim for each EphemeralVolumeClaim, as the operator of kopf's walkthrough does.

After https://docs.kopf.dev/en/stable/walkthrough/starting/ and the pages that follow it.
"""

from __future__ import annotations

from typing import Any

import kopf
from kubernetes import client, config


@kopf.on.login()
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    return kopf.login_with_kubeconfig(**kwargs)


def claims() -> client.CoreV1Api:
    config.load_kube_config()
    return client.CoreV1Api()


@kopf.on.create("ephemeralvolumeclaims")
def create_fn(spec: kopf.Spec, name: str, namespace: str, **_: Any) -> dict[str, str]:
    size = spec.get("size")
    if not size:
        raise kopf.PermanentError(f"a size must be set, not {size!r}")
    body = {
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    }
    kopf.adopt(body)
    made = claims().create_namespaced_persistent_volume_claim(namespace, body)
    return {"pvc-name": made.metadata.name}


@kopf.on.update("ephemeralvolumeclaims")
def update_fn(spec: kopf.Spec, status: kopf.Status, namespace: str, **_: Any) -> None:
    name = status["create_fn"]["pvc-name"]
    patch = {"metadata": {"labels": {"size": spec["size"]}}}
    claims().patch_namespaced_persistent_volume_claim(name, namespace, patch)
