# SPDX-License-Identifier: Apache-2.0
"""A custom resource that owns objects, and a bench that runs a controller of it on an embedded cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import attrs

from controller_runtime import Dependents, Manager, ObjectKey, ObjectMeta, Owned
from controller_runtime.conditions import condition_of
from controller_runtime.crd import Condition, CustomResource, Meta, Struct, custom_resource, field, list_map
from controller_runtime.deletions import DeletionBudget
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS, Resource
from controller_runtime.testing import EmbeddedCluster, Simulation

KEY = ObjectKey("site", "default")
READY = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}
CONDITIONS = [
    {"type": "Available", "status": "True"},
    {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
]


class SiteSpec(Struct):
    pages: list[str] = field(default_factory=list)
    app: str = "web"
    text: Annotated[str, Meta(max_length=20)] = "hello"


class SiteStatus(Struct):
    pages: int = 0
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)


@custom_resource("example.com/v1")
class Site(CustomResource):
    spec: SiteSpec
    status: SiteStatus | None = None


def pages_of(site: Site) -> list[dict[str, Any]]:
    name, text = site.metadata.name, site.spec.text
    return [{"metadata": {"name": f"{name}-{page}"}, "data": {"text": text}} for page in site.spec.pages]


def deployment_of(site: Site) -> dict[str, Any]:
    labels = {"app": site.spec.app}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return {"spec": {"selector": {"matchLabels": labels}, "template": pod}}


def page(name: str) -> ObjectKey:
    return ObjectKey(f"site-{name}", "default")


@attrs.define
class OwningBench:
    """A cluster with a controller of sites; `user` acts beside it."""

    cluster: EmbeddedCluster
    sim: Simulation

    def run(
        self,
        *owned: Owned[Site, Any],
        status: Callable[..., Any] | None = None,
        budgets: Sequence[DeletionBudget] = (),
    ) -> None:
        def setup(manager: Manager) -> None:
            manager.install(Site)
            manager.add(Dependents(manager, "sites", Site, *owned, budgets=budgets).controller(status=status))

        self.cluster.run(setup)

    def create(self, *pages: str, **spec: Any) -> None:
        site = Site(SiteSpec(pages=[*pages], **spec), metadata=ObjectMeta(name="site", namespace="default"))
        self.cluster.user.create(site)
        self.sim.settle()

    def change(self, **spec: Any) -> None:
        self.cluster.user.patch(Site, KEY, {"spec": spec})
        self.sim.settle()

    def touch(self) -> None:
        """Cause a reconcile by a change that means nothing."""
        self.cluster.user.patch(Site, KEY, {"metadata": {"labels": {"touched": self.cluster.host.uuid()}}})
        self.sim.settle()

    def get(self, resource: Resource[Any], key: ObjectKey) -> dict[str, Any]:
        return self.cluster.user.get(resource, key, dict)

    def names(self, resource: Resource[Any] = CONFIG_MAPS) -> list[str]:
        return sorted(each["metadata"]["name"] for each in self.cluster.user.list(resource, view=dict))

    def ready(self) -> tuple[str, str, str]:
        """Return status, reason and message of the condition Ready."""
        found = condition_of(self.cluster.user.get(Site, KEY), "Ready")
        assert found is not None
        return found["status"], found["reason"], found["message"]

    def requests(self) -> list[str]:
        """Return method and path of all requests of the manager but lists and watches, since the last call."""
        found = [
            f"{each.method} {each.path.rpartition('/namespaces/default/')[2]}"
            for each in self.cluster.transport.requests
            if "/namespaces/" in each.path
        ]
        self.cluster.transport.requests.clear()
        return [each for each in found if "events" not in each]

    def make_ready(self, key: ObjectKey = KEY) -> None:
        """Write the status that the deployment controller would write for one ready pod."""
        generation = self.get(DEPLOYMENTS, key)["metadata"]["generation"]
        status = {**READY, "conditions": CONDITIONS, "observedGeneration": generation}
        self.cluster.user.patch(DEPLOYMENTS, key, {"status": status}, subresource="status")
        self.sim.settle()
