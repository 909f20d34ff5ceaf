# SPDX-License-Identifier: Apache-2.0
"""Perturbed runs find taint eviction without its preconditions, and say nothing about the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from kit.controllers.evicting import TAINT, tolerates

from controller_runtime import Client, Manager, ObjectKey
from controller_runtime.resources import NODES, PODS
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node, a_pod
from controller_runtime.testing.perturbation.trial import perturb
from controllers.taint_eviction.taint_eviction import taint_eviction


class Careless(Client):
    """Forgets which version of an object its caller has judged."""

    def patch(self, kind: Any, name: Any, patch: Any, **options: Any) -> Any:
        if isinstance(patch, Mapping):
            patch = {field: value for field, value in patch.items() if field != "metadata"}
        return super().patch(kind, name, patch, **options)

    def delete(self, kind: Any, name: Any, *, resource_version: str = "", **options: Any) -> Any:
        return super().delete(kind, name, **options)


def setup(manager: Manager, *, is_careful: bool) -> None:
    controller = taint_eviction(manager)
    if not is_careful:
        object.__setattr__(controller.reconciler, "client", Careless(manager.host, manager.client.transport))
    manager.add(controller)


def move(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    """Move a pod to another node before it has to leave its own."""
    for node in ("m", "n"):
        cluster.user.create(NODES, a_node(node))
    place(cluster, "n")
    cluster.user.patch(NODES, ObjectKey("n"), {"spec": {"taints": [TAINT]}})
    simulation.advance(5.0)
    cluster.user.delete(PODS, ObjectKey("web", "default"), grace_period_seconds=0)
    place(cluster, "m")
    simulation.advance(60.0)


def place(cluster: EmbeddedCluster, node: str) -> None:
    pod = a_pod("web", node=node)
    pod["spec"]["tolerations"] = [tolerates(seconds=30)]
    cluster.user.create(PODS, pod)


@pytest.mark.parametrize("is_careful", [True, False])
def test_a_pod_that_has_moved_is_evicted_only_without_preconditions(is_careful: bool) -> None:
    outcome = perturb(lambda manager: setup(manager, is_careful=is_careful), move, patterns=["stale"])

    found = "\n".join(complaint for finding in outcome.findings for complaint in finding.complaints)
    assert outcome.run - outcome.void >= 5
    if is_careful:
        assert found == ""
    else:
        assert "pods default/web metadata.deletionTimestamp: absent in a calm run" in found
