# SPDX-License-Identifier: Apache-2.0
"""A plan of the next version lists what that version then writes first, and leaves the server as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import cabins
import memcached
import pytest
import restarts
from kit.planning.bench import PlanBench

from controller_runtime import Manager, ObjectKey
from controller_runtime.controller.stories import Story
from controller_runtime.core.resource_paths import ResourcePath, resource_path
from controller_runtime.planning.overlay import BlindSpot, Work
from controller_runtime.planning.report import PlanReport
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS, SERVICES
from controller_runtime.testing import EmbeddedCluster, Simulation
from controllers.workloads.deployment import deployment_controller
from controllers.workloads.replica_set import replica_set_controller

NAMES = ("one", "two", "three")
LABELS = {"app": "web"}
POD = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}


@attrs.frozen
class Update:
    """An example, its objects, and what its next version does in another way.

    Attributes:
        setup: Fills the manager of either version.
        create: Creates the objects of the example.
        change: Makes the code that of the next version.
    """

    setup: Callable[[Manager], None]
    create: Callable[[EmbeddedCluster], None]
    change: Callable[[pytest.MonkeyPatch], None]


def objects_of(kind: Any, spec: dict[str, Any]) -> Callable[[EmbeddedCluster], None]:
    def create(cluster: EmbeddedCluster) -> None:
        for name in NAMES:
            cluster.user.create(kind, {"metadata": {"name": name, "namespace": "default"}, "spec": spec})

    return create


def annotated_deployments(cluster: EmbeddedCluster) -> None:
    cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "config", "namespace": "default"}, "data": {"a": "b"}})
    annotations = {restarts.CONFIG: "config"}
    for name in NAMES:
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        spec = {"selector": {"matchLabels": LABELS}, "template": POD}
        cluster.user.create(DEPLOYMENTS, {"metadata": metadata, "spec": spec})


def another_image(module: Any) -> Callable[[pytest.MonkeyPatch], None]:
    """Let the deployments of an example have another image, and its services another name of their port."""

    def change(monkeypatch: pytest.MonkeyPatch) -> None:
        before = module.deployment_for

        def deployment_for(primary: Any) -> dict[str, Any]:
            wanted: dict[str, Any] = before(primary)
            wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "example.com/next"
            return wanted

        monkeypatch.setattr(module, "deployment_for", deployment_for)

    return change


def next_memcached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the service, which the deployment comes before, be applied to another port, and none be exposed twice."""
    another_image(memcached)(monkeypatch)
    before = memcached.service_for

    def service_for(primary: Any) -> dict[str, Any] | None:
        wanted = before(primary)
        assert wanted is not None
        wanted["spec"]["ports"][0]["name"] = "cache"
        return wanted

    monkeypatch.setattr(memcached, "service_for", service_for)

    def setup(manager: Manager) -> None:
        deployment = memcached.Owned(DEPLOYMENTS, memcached.deployment_for)
        service = memcached.Owned(SERVICES, memcached.service_for, after=deployment)
        manager.add(memcached.Dependents(manager, "memcached", memcached.Memcached, deployment, service).controller())

    monkeypatch.setattr(memcached, "setup", setup)


def another_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "checksum", lambda config_map: "next")


UPDATES = {
    "cabins": Update(cabins.setup, objects_of(cabins.Cabin, {"beds": 2}), another_image(cabins)),
    "memcached": Update(
        lambda manager: memcached.setup(manager), objects_of(memcached.Memcached, {"size": 1}), next_memcached
    ),
    "restarts": Update(restarts.setup, annotated_deployments, another_checksum),
}


def make_ready(cluster: EmbeddedCluster) -> None:
    """Write the status that the deployment controller would write."""
    for deployment in cluster.user.list(DEPLOYMENTS, view=dict):
        size, metadata = deployment["spec"]["replicas"], deployment["metadata"]
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        conditions = [
            {"type": "Available", "status": "True"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ]
        status = {**dict.fromkeys(names, size), "observedGeneration": metadata["generation"], "conditions": conditions}
        key = ObjectKey(metadata["name"], metadata["namespace"])
        cluster.user.patch(DEPLOYMENTS, key, {"status": status}, subresource="status")


def first_writes(stories: list[Story]) -> Iterator[tuple[ResourcePath, Work]]:
    """Yield the target of each write of the first reconcile of each request, and that reconcile."""
    first: dict[tuple[str, ObjectKey], Story] = {}
    for story in stories:  # the newest first
        first[story.controller, story.request] = story
    for story in first.values():
        for verb, path, _, _ in story.steps:
            if verb in ("POST", "PUT", "PATCH", "DELETE") and (target := resource_path(str(path))) is not None:
                yield target._replace(subresource=""), Work(story.controller, story.request)


def unlisted(stories: list[Story], report: PlanReport) -> Counter[BlindSpot]:
    """Count what was written first and not planned, by its class, and fail for an object that has none."""
    listed = {each.target for each in report.result.planned}
    made = {
        (each.target._replace(name=""), work) for each in report.result.planned if not each.live for work in each.works
    }
    created = {ObjectKey(each.name, each.namespace) for each in report.differences if each.before is None}
    found: Counter[BlindSpot] = Counter()
    for target, work in first_writes(stories):
        if target in listed or (target, work) in made:  # a creation names its object in its body alone
            continue
        if work.request not in created:
            pytest.fail(f"{work} writes {target}, and that was not planned")
        found[BlindSpot.CHILDREN] += 1
    return found


def versions(cluster: EmbeddedCluster, kinds: list[Any]) -> dict[str, str]:
    found = [each for kind in kinds for each in cluster.user.list(kind, view=dict)]
    return {f"{each['kind']} {each['metadata']['name']}": each["metadata"]["resourceVersion"] for each in found}


@pytest.mark.parametrize("name", UPDATES)
def test_what_the_next_version_writes_first_was_planned(
    name: str, cluster: EmbeddedCluster, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = UPDATES[name]
    cluster.run(update.setup)
    update.create(cluster)
    for _ in range(2):  # a deployment, and then the service that waits for it
        simulation.advance(5.0)
        make_ready(cluster)
    simulation.advance(5.0)
    kinds = [DEPLOYMENTS, CONFIG_MAPS, SERVICES]
    before = versions(cluster, kinds), cluster.server.storage.version
    update.change(monkeypatch)

    bench = PlanBench(simulation, cluster.server, cluster.user)
    report = bench.plan(update.setup)  # beside the version that runs

    assert (versions(cluster, kinds), cluster.server.storage.version) == before
    writes = [request for request in bench.requests if request.method not in ("GET", "HEAD")]
    assert writes
    assert all(("dryRun", "All") in request.query for request in writes)
    assert report.status == 3
    assert {each.name for each in report.differences} == {*NAMES}

    cluster.stop()
    after = EmbeddedCluster(simulation.host("next"), server=cluster.server)
    after.manager.stories.is_recording = True
    after.run(update.setup)
    simulation.advance(5.0)

    assert unlisted(after.manager.stories.all(), report) == Counter()
    for each in report.differences:
        if each.kind == "Deployment" and each.after is not None:
            live = cluster.user.get(DEPLOYMENTS, ObjectKey(each.name, each.namespace), dict)
            assert live["spec"] == each.after["spec"]
    after.stop()


def workloads(manager: Manager) -> None:
    """Add the controllers of a chain: a deployment has a replica set, and that has pods."""
    manager.add(deployment_controller(manager))
    manager.add(replica_set_controller(manager))


def test_what_a_chain_writes_beyond_its_first_link_is_of_the_class_of_children(
    cluster: EmbeddedCluster, simulation: Simulation
) -> None:
    spec = {"replicas": 2, "selector": {"matchLabels": LABELS}, "template": POD}
    cluster.user.create(DEPLOYMENTS, {"metadata": {"name": "web", "namespace": "default"}, "spec": spec})

    report = PlanBench(simulation, cluster.server, cluster.user).plan(workloads)

    [made] = [each for each in report.differences if each.before is None]
    assert made.kind == "ReplicaSet"
    assert BlindSpot.CHILDREN in [spot for spot, _ in made.blind]
    cluster.manager.stories.is_recording = True
    cluster.run(workloads)
    simulation.advance(5.0)
    assert unlisted(cluster.manager.stories.all(), report) == {BlindSpot.CHILDREN: 2}  # its pods
