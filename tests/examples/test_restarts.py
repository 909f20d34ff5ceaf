# SPDX-License-Identifier: Apache-2.0
"""The operator of the tutorial through the life of a deployment and its settings; the tutorial has its other tests."""

from __future__ import annotations

from typing import Any

import pytest
from restarts import CHECKSUM, CONFIG, setup

from controller_runtime import ObjectKey, annotations_of
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS
from controller_runtime.testing import EmbeddedCluster, Simulation

pytestmark = pytest.mark.story

WEB = ObjectKey("web", "default")
SETTINGS = ObjectKey("settings", "default")


def a_deployment() -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "example.com/web"}]}}
    metadata = {"name": WEB.name, "namespace": WEB.namespace, "annotations": {CONFIG: SETTINGS.name}}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": labels}, "template": pod}}


def a_config_map(color: str) -> dict[str, Any]:
    return {"metadata": {"name": SETTINGS.name, "namespace": SETTINGS.namespace}, "data": {"color": color}}


def checksum(cluster: EmbeddedCluster) -> str | None:
    return annotations_of(cluster.user.get(DEPLOYMENTS, WEB, dict)["spec"]["template"]).get(CHECKSUM)


def test_the_pods_restart_with_each_change_of_their_settings(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    cluster.user.create(DEPLOYMENTS, a_deployment())
    simulation.settle()
    assert checksum(cluster) is None

    cluster.user.create(CONFIG_MAPS, a_config_map("red"))
    simulation.settle()
    red = checksum(cluster)
    assert red is not None

    cluster.user.patch(CONFIG_MAPS, SETTINGS, {"data": {"color": "blue"}})
    simulation.settle()
    assert checksum(cluster) not in (None, red)

    cluster.user.delete(CONFIG_MAPS, SETTINGS)
    cluster.user.create(CONFIG_MAPS, a_config_map("red"))
    simulation.settle()
    assert checksum(cluster) == red
