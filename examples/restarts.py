# SPDX-License-Identifier: Apache-2.0
"""Restarts the pods of a Deployment when the ConfigMap that it names changes: `python examples/restarts.py`.

The operator of the tutorial, docs/tutorial.md, which explains each part and tests it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import attrs

from controller_runtime import (
    Cached,
    Client,
    Controller,
    Delta,
    EventRecorder,
    Lister,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    annotations_of,
    run,
)
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS

CONFIG = "example.com/config"  # annotation of a Deployment: the name of a ConfigMap in its namespace
CHECKSUM = "example.com/config-checksum"  # annotation of its pods, written by this operator


def checksum(config_map: dict[str, Any]) -> str:
    content = [config_map.get("data"), config_map.get("binaryData")]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@attrs.frozen
class Restarts(Reconciler):
    deployments: Lister[dict[str, Any]]
    config_maps: Lister[dict[str, Any]]
    client: Client
    recorder: EventRecorder

    def reconcile(self, request: Request) -> Result:
        deployment = self.deployments.get(request)
        if deployment is None:  # deleted by now
            return Result()
        name = annotations_of(deployment).get(CONFIG)
        if name is None:
            return Result()
        config_map = self.config_maps.get(ObjectKey(name, request.namespace))
        if config_map is None:
            note = f"there is no ConfigMap {name}"
            self.recorder.event(deployment, "Warning", "ConfigMissing", note, resource=DEPLOYMENTS)
            return Result()
        wanted = checksum(config_map)
        if annotations_of(deployment["spec"]["template"]).get(CHECKSUM) != wanted:
            template = {"metadata": {"annotations": {CHECKSUM: wanted}}}
            self.client.patch(DEPLOYMENTS, request, {"spec": {"template": template}})
        return Result()


def setup(manager: Manager) -> None:
    deployments, config_maps = manager.lister(DEPLOYMENTS, dict), manager.lister(CONFIG_MAPS, dict)
    manager.informer(DEPLOYMENTS).add_index("config", config_of)

    def users_of(config_map: Delta) -> list[Request]:
        found = deployments.by_index("config", str(config_map.key))
        return [Request(each["metadata"]["name"], each["metadata"]["namespace"]) for each in found]

    recorder = manager.recorder("example.com/restarts")
    controller = Controller("restarts", Restarts(deployments, config_maps, manager.client, recorder))
    manager.add(controller.watch(DEPLOYMENTS).watch(CONFIG_MAPS, map=users_of))


def config_of(deployment: Cached) -> list[str]:
    name = annotations_of(deployment).get(CONFIG)
    return [f"{deployment.namespace}/{name}"] if name else []


if __name__ == "__main__":
    run(setup)
