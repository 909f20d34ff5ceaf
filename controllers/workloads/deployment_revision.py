# SPDX-License-Identifier: Apache-2.0
"""The ReplicaSet of a template, and the annotations by which revisions are told."""

from __future__ import annotations

from typing import Any

from controllers.workloads.deployment_views import (
    DESIRED,
    MAXIMUM,
    REVISION,
    REVISION_HISTORY,
    Deployment,
    revision_of,
)
from controllers.workloads.replica_set_plan import ReplicaSet
from controllers.workloads.templates import POD_TEMPLATE_HASH, hash_of, without_hash

# Annotations of a Deployment that its ReplicaSets do not get.
_NOT_COPIED = {
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
}


def annotations_for(deployment: Deployment) -> dict[str, str]:
    """Return the annotations of a ReplicaSet that record the Deployment's desired and maximum replicas."""
    wanted = deployment.spec.replicas
    return {DESIRED: str(wanted), MAXIMUM: str(wanted + deployment.max_surge)}


def revised(deployment: Deployment, new: ReplicaSet, revision: int) -> dict[str, str]:
    """Return the annotations of the new ReplicaSet, with `revision` if its own revision is lower."""
    found = {**(new.metadata.annotations or {}), **_copied(deployment)}
    before = revision_of(new)
    if before < revision:
        found[REVISION] = str(revision)
        if before:
            history = found.get(REVISION_HISTORY, "")
            found[REVISION_HISTORY] = f"{history},{before}" if history else str(before)
    return found


def _copied(deployment: Deployment) -> dict[str, str]:
    return {name: value for name, value in (deployment.metadata.annotations or {}).items() if name not in _NOT_COPIED}


def replica_set_for(deployment: Deployment, revision: int, replicas: int) -> dict[str, Any]:
    """Return the ReplicaSet to create for the current template; its name contains the template's hash."""
    template = without_hash(deployment.spec.template)
    found = hash_of(template, int(deployment.status.get("collisionCount", 0)))
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), POD_TEMPLATE_HASH: found}
    selector = deployment.spec.selector
    matched = {**(selector.get("matchLabels") or {}), POD_TEMPLATE_HASH: found}
    return {
        "metadata": {
            "name": f"{deployment.metadata.name}-{found}",
            "labels": labels,
            "annotations": {**_copied(deployment), REVISION: str(revision), **annotations_for(deployment)},
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": deployment.spec.min_ready_seconds,
            "selector": {**selector, "matchLabels": matched},
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }
