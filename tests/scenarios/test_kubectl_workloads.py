# SPDX-License-Identifier: Apache-2.0
"""kubectl on workloads of the embedded server: scale, roll out, prune, see the parts of an object."""

from __future__ import annotations

import json
import shutil

import pytest
import yaml
from kit.processes.kubectl import Kubectl

pytestmark = [pytest.mark.ends, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]


def deployment(kubectl: Kubectl, name: str, replicas: int = 2) -> None:
    kubectl("create", "deployment", name, "--image=i", f"--replicas={replicas}")


def replicas(kubectl: Kubectl, name: str) -> int:
    return int(kubectl("get", "deployment", name, "-o", "jsonpath={.spec.replicas}"))


def test_a_deployment_is_scaled_from_what_one_thinks_it_has(kubectl: Kubectl) -> None:
    deployment(kubectl, "scaled")

    kubectl("scale", "deployment/scaled", "--replicas=5")
    kubectl("scale", "deployment/scaled", "--replicas=6", "--current-replicas=5")
    refused = kubectl.fails("scale", "deployment/scaled", "--replicas=7", "--current-replicas=5")

    assert "Expected replicas to be 5, was 6" in refused
    assert replicas(kubectl, "scaled") == 6


def test_the_parts_of_an_object_are_shown_and_patched(kubectl: Kubectl) -> None:
    deployment(kubectl, "parts", 3)

    status = '{"status":{"replicas":3,"readyReplicas":2}}'
    kubectl("patch", "deployment", "parts", "--subresource=status", "--type=merge", "-p", status)
    kubectl("patch", "deployment", "parts", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":4}}')
    table = kubectl("get", "deployment", "parts", "--subresource=scale")
    whole = json.loads(kubectl("get", "deployment", "parts", "--subresource=status", "-o", "json"))

    assert table.split()[:7] == ["NAME", "DESIRED", "AVAILABLE", "AGE", "parts", "4", "3"]
    assert (whole["spec"]["replicas"], whole["status"]["readyReplicas"]) == (4, 2)


def test_a_rollout_is_over_when_the_status_says_so(kubectl: Kubectl) -> None:
    deployment(kubectl, "rolled", 1)
    kubectl("rollout", "restart", "deployment/rolled")
    counts = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 2}

    early = kubectl.fails("rollout", "status", "deployment/rolled", "--timeout=1s")
    kubectl(
        "patch", "deployment", "rolled", "--subresource=status", "--type=merge", "-p", json.dumps({"status": counts})
    )
    late = kubectl("rollout", "status", "deployment/rolled", "--timeout=60s")

    assert "timed out" in early
    assert "successfully rolled out" in late


def test_what_a_set_no_longer_has_is_pruned(kubectl: Kubectl) -> None:
    def apply(*names: str) -> str:
        labels = {"set": "pruned"}
        objects = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": n, "labels": labels}} for n in names]
        return kubectl("apply", "-f", "-", "--prune", "-l", "set=pruned", sent=yaml.safe_dump_all(objects))

    apply("kept", "dropped")
    told = apply("kept")

    assert "configmap/dropped pruned" in told
    assert kubectl("get", "cm", "-l", "set=pruned", "-o", "name").split() == ["configmap/kept"]


def test_a_watch_tells_what_happened_to_each_object(kubectl: Kubectl) -> None:
    kubectl("create", "cm", "watched-1")
    with kubectl.running("get", "cm", "watched-1", "--watch", "--output-watch-events", "--no-headers") as process:
        assert process.stdout is not None
        added = process.stdout.readline().split()
        kubectl("delete", "cm", "watched-1")
        deleted = process.stdout.readline().split()

    assert (added[:2], deleted[:2]) == (["ADDED", "watched-1"], ["DELETED", "watched-1"])
