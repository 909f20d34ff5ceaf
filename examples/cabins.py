# SPDX-License-Identifier: Apache-2.0
"""A custom resource from one class, and its controller: `python examples/cabins.py`.

Each cabin owns a deployment with one pod for each bed, and its status counts those that are ready.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import attrs
from msgspec import Meta, structs

from controller_runtime import (
    Client,
    Controller,
    Lister,
    Manager,
    Reconciler,
    Request,
    Result,
    enqueue_owner,
    run,
    set_controller,
)
from controller_runtime.crd import CustomResource, Rule, Struct, changes, custom_resource
from controller_runtime.resources import DEPLOYMENTS


class CabinSpec(Struct):
    beds: Annotated[int, Meta(ge=1, le=9)]
    heating: Literal["wood", "gas"] = "wood"


class CabinStatus(Struct):
    ready_beds: int


@custom_resource(
    "example.com/v1",
    columns={"Beds": ".spec.beds", "Ready": ".status.readyBeds"},
    rules=[Rule("self.spec.heating != 'gas' || self.spec.beds < 5", "gas heats four beds at most")],
)
class Cabin(CustomResource):
    spec: CabinSpec
    status: CabinStatus | None = None


def deployment_for(cabin: Cabin) -> dict[str, Any]:
    labels, name = {"cabin": cabin.metadata.name}, {"name": cabin.metadata.name, "namespace": cabin.metadata.namespace}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "bed", "image": "example.com/bed"}]}}
    spec = {"replicas": cabin.spec.beds, "selector": {"matchLabels": labels}, "template": pod}
    wanted: dict[str, Any] = {"metadata": name, "spec": spec}
    set_controller(wanted, cabin)
    return wanted


@attrs.frozen
class Cabins(Reconciler):
    cabins: Lister[Cabin]
    deployments: Lister[dict[str, Any]]
    client: Client

    def reconcile(self, request: Request) -> Result:
        cabin = self.cabins.get(request)
        if cabin is None:
            return Result()
        self.client.apply(DEPLOYMENTS, deployment_for(cabin), field_manager="cabins", force=True)
        deployment = self.deployments.get(request) or {}
        ready = deployment.get("status", {}).get("readyReplicas", 0)
        if patch := changes(cabin, structs.replace(cabin, status=CabinStatus(ready))):
            self.client.patch(Cabin, request, patch, subresource="status")
        return Result()


def setup(manager: Manager) -> None:
    manager.install(Cabin)
    cabins = Cabins(manager.lister(Cabin), manager.lister(DEPLOYMENTS, dict), manager.client)
    manager.add(Controller("cabins", cabins).watch(Cabin).watch(DEPLOYMENTS, map=enqueue_owner(Cabin)))


if __name__ == "__main__":
    run(setup)
