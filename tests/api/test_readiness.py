# SPDX-License-Identifier: Apache-2.0
"""Readiness by the rules of each kind, as kstatus has them; the four differences are in the module's docstring."""

from __future__ import annotations

from typing import Any

import pytest
from kit.owning import Site, SiteSpec
from kubernetes.client import V1Pod

from apimachinery.errors import DecodeError
from apimachinery.models import model_of
from apimachinery.objects import ObjectMeta, cached_from_bytes
from controller_runtime.api.readiness import ready, unready
from controller_runtime.client.bodies import encoded

THREE = {"replicas": 3}
ALL = {f"{name}eplicas": 3 for name in ("r", "updatedR", "readyR", "availableR", "fullyLabeledR", "currentR")}
AVAILABLE = {"type": "Available", "status": "True"}
ROLLED_OUT = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
STUCK = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too slow"}
DEADLINE = {**THREE, "progressDeadlineSeconds": 600}
SCHEDULED = {f"{name}": 2 for name in ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled")}
DAEMONS = {**SCHEDULED, "numberAvailable": 2, "numberReady": 2, "observedGeneration": 1}


def true(kind: str, status: str = "True", **more: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status, **more}]}


@pytest.mark.parametrize(
    ("kind", "spec", "status", "why"),
    [
        ("Deployment", THREE, {}, "0 of 3 replicas are created"),
        ("Deployment", {}, {}, "0 of 1 replicas are created"),
        ("Deployment", THREE, {**ALL, "updatedReplicas": 1}, "1 of 3 replicas are updated"),
        ("Deployment", THREE, {**ALL, "replicas": 4}, "1 old replicas have not ended yet"),
        ("Deployment", THREE, {**ALL, "availableReplicas": 2}, "2 of 3 replicas are available"),
        ("Deployment", THREE, {**ALL, "readyReplicas": 2}, "2 of 3 replicas are ready"),
        ("Deployment", THREE, ALL, "is not available"),
        ("Deployment", THREE, {**ALL, "conditions": [AVAILABLE]}, ""),
        ("Deployment", DEADLINE, {**ALL, "conditions": [AVAILABLE]}, "its rollout is not complete"),
        ("Deployment", DEADLINE, {**ALL, "conditions": [AVAILABLE, ROLLED_OUT]}, ""),
        ("Deployment", DEADLINE, {"conditions": [STUCK]}, "makes no progress (ProgressDeadlineExceeded: too slow)"),
        ("Deployment", {"replicas": 0}, {"conditions": [AVAILABLE]}, ""),
        ("ReplicaSet", THREE, ALL, ""),
        ("ReplicaSet", THREE, {**ALL, "fullyLabeledReplicas": 2}, "2 of 3 replicas are labeled"),
        ("ReplicaSet", THREE, {**ALL, **true("ReplicaFailure", reason="Quota")}, "cannot make its pods (Quota)"),
        ("StatefulSet", THREE, ALL, ""),
        ("StatefulSet", THREE, {**ALL, "readyReplicas": 1}, "1 of 3 replicas are ready"),
        ("StatefulSet", THREE, {**ALL, "currentReplicas": 1}, "1 of 3 replicas are current"),
        ("StatefulSet", THREE, {**ALL, "updateRevision": "b"}, "its rollout is not complete"),
        ("StatefulSet", {**THREE, "updateStrategy": {"type": "OnDelete"}}, {}, ""),
        ("StatefulSet", {**THREE, "updateStrategy": {"rollingUpdate": {"partition": 2}}}, ALL, ""),
        ("StatefulSet", {**THREE, "updateStrategy": {"rollingUpdate": {"partition": 0}}}, ALL, ""),
        (
            "StatefulSet",
            {**THREE, "updateStrategy": {"rollingUpdate": {"partition": 2}}},
            {**ALL, "updatedReplicas": 0},
            "0 of 1 replicas are updated",
        ),
        ("DaemonSet", {}, {}, "its controller has not seen it yet"),
        ("DaemonSet", {}, DAEMONS, ""),
        ("DaemonSet", {}, {**DAEMONS, "numberReady": 1}, "1 of 2 replicas are ready"),
        ("Job", {}, {}, "has not started"),
        ("Job", {}, {"startTime": "t"}, "is not complete"),
        ("Job", {}, true("Complete"), ""),
        ("Job", {}, true("Suspended"), ""),
        ("Job", {}, true("Failed", reason="BackoffLimitExceeded"), "has failed (BackoffLimitExceeded)"),
        ("Pod", {}, {}, "is in phase Pending"),
        ("Pod", {}, {"phase": "Running"}, "is running but not ready"),
        ("Pod", {}, {"phase": "Running", **true("Ready")}, ""),
        ("Pod", {}, {"phase": "Succeeded"}, ""),
        ("Pod", {}, {"phase": "Failed"}, "is in phase Failed"),
        (
            "Pod",
            {},
            {"phase": "Pending", **true("PodScheduled", "False", reason="Unschedulable")},
            "is not scheduled (Unschedulable)",
        ),
        (
            "Pod",
            {},
            {"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
            "has a container that crashes again and again",
        ),
        ("Service", {"type": "ClusterIP"}, {}, ""),
        ("Service", {"type": "LoadBalancer", "clusterIP": "1.2.3.4"}, {}, "has no load balancer yet"),
        ("Service", {"type": "LoadBalancer"}, {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}, ""),
        ("PersistentVolumeClaim", {}, {"phase": "Pending"}, "is not bound (phase Pending)"),
        ("PersistentVolumeClaim", {}, {"phase": "Bound"}, ""),
        ("CustomResourceDefinition", {}, {}, "is not established"),
        ("CustomResourceDefinition", {}, true("Established"), ""),
        ("CustomResourceDefinition", {}, true("NamesAccepted", "False"), "its names are not accepted"),
        ("Cabin", {}, {}, ""),
        ("Cabin", {}, true("Ready"), ""),
        ("Cabin", {}, true("Ready", "False", reason="Cold"), "its condition Ready is False (Cold)"),
        ("Cabin", {}, true("Stalled", reason="Broken"), "is stalled (Broken)"),
        ("Cabin", {}, true("Reconciling"), "is reconciling"),
        ("ConfigMap", {}, {}, ""),
    ],
)
def test_each_kind_is_ready_by_its_rule(kind: str, spec: dict[str, Any], status: dict[str, Any], why: str) -> None:
    groups = {
        "apps/v1": ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"),
        "batch/v1": ("Job",),
        "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
        "example.com/v1": ("Cabin",),
    }
    version = next((version for version, kinds in groups.items() if kind in kinds), "v1")
    metadata = {"name": "x", "generation": 1}
    obj = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status}

    assert unready(obj) == why
    assert ready(obj) is (why == "")
    assert ready.state_of(cached_from_bytes(encoded(obj))) == (why or "is ready")


@pytest.mark.parametrize("kind", ["Deployment", "Cabin"])
def test_an_object_that_ends_or_that_its_controller_has_not_seen_is_not_ready(kind: str) -> None:
    obj: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": kind, "status": {"observedGeneration": 1}}

    metadata = {"name": "x", "generation": 2}
    assert unready({**obj, "metadata": metadata}) == "its controller has seen generation 1 and not 2 yet"
    assert unready({**obj, "metadata": {**metadata, "deletionTimestamp": "t"}}) == "is being deleted"
    old = {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}
    found = unready({**obj, "metadata": metadata, "status": old})
    assert found == "its condition Ready is of generation 1 and not 2 yet"


def test_readiness_of_models_and_of_what_has_none() -> None:
    assert not ready(None)
    assert ready.state_of(None) == "does not exist"
    status = {"phase": "Running"}
    assert ready.state_of(model_of(V1Pod, {"apiVersion": "v1", "kind": "Pod", "status": status})) == (
        "is running but not ready"
    )
    assert ready(Site(SiteSpec(), metadata=ObjectMeta(name="s")))
    assert ready({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}})
    with pytest.raises(DecodeError, match="the dict does not say its kind"):
        ready({"metadata": {"name": "x"}})
