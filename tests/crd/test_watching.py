# SPDX-License-Identifier: Apache-2.0
"""A declared class stands where a `Resource` does: in caches, controllers, owners, finalizers and events."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from kit.crd.cabins import Cabin, CabinSpec

from controller_runtime import (
    Client,
    Controller,
    Delta,
    EventRecorder,
    Finalizers,
    Lister,
    ObjectKey,
    ObjectMeta,
    Reconciler,
    Request,
    Result,
    enqueue_owner,
    set_controller,
    without,
)
from controller_runtime.crd import resource_of
from controller_runtime.errors import UsageError
from controller_runtime.resources import PODS, Collection, Resource
from controller_runtime.testing import EmbeddedCluster, Simulation, a_pod, eventually

HUT = ObjectKey("hut", "default")
EVENTS: Resource[Any] = Resource("events.k8s.io", "v1", "Event", "events")


def a_cabin(beds: int = 3) -> Cabin:
    return Cabin(CabinSpec(beds), metadata=ObjectMeta(name="hut", namespace="default"))


@attrs.frozen
class Beds(Reconciler):
    """Keeps one pod per bed, which the cabin owns, and removes them with it."""

    cabins: Lister[Cabin]
    client: Client
    recorder: EventRecorder
    finalizers: Finalizers[Cabin]

    def reconcile(self, request: Request) -> Result:
        cabin = self.cabins.get(request)
        if cabin is None or self.finalizers.handle(cabin):
            return Result()
        have = {pod["metadata"]["name"] for pod in self.client.list(PODS, view=dict)}
        for number in range(cabin.spec.beds):
            if (name := f"bed-{number}") not in have:
                pod = a_pod(name)
                set_controller(pod, cabin)
                self.client.create(PODS, pod)
                self.recorder.event(cabin, "Normal", "Made", "a bed is made")
        return Result()


@pytest.fixture
def bedded(served: EmbeddedCluster) -> EmbeddedCluster:
    manager = served.manager

    def finalize(cabin: Cabin) -> None:
        for pod in served.user.list(PODS, "default", view=dict):
            served.user.delete(PODS, ObjectKey(pod["metadata"]["name"], "default"))

    finalizers = Finalizers[Cabin](manager.client, Cabin).register("example.com/beds", finalize)
    reconciler = Beds(manager.lister(Cabin), manager.client, manager.recorder("beds"), finalizers)
    manager.add(Controller("beds", reconciler).watch(Cabin).watch(PODS, map=enqueue_owner(Cabin)))
    served.start()
    return served


def test_a_controller_of_a_class_creates_what_the_object_owns_and_creates_it_again(
    bedded: EmbeddedCluster, simulation: Simulation
) -> None:
    bedded.user.create(a_cabin(2))
    simulation.settle()
    bedded.user.delete(PODS, ObjectKey("bed-1", "default"), grace_period_seconds=0)
    simulation.settle()

    pods = bedded.user.list(PODS, view=dict)
    assert [pod["metadata"]["name"] for pod in pods] == ["bed-0", "bed-1"]
    assert {(owner["kind"], owner["apiVersion"]) for pod in pods for owner in pod["metadata"]["ownerReferences"]} == {
        ("Cabin", "example.com/v1")
    }
    regarding = bedded.user.list(EVENTS, view=dict)[0]["regarding"]
    assert (regarding["kind"], regarding["apiVersion"], regarding["name"]) == ("Cabin", "example.com/v1", "hut")


def test_finalizers_of_a_class_run_before_the_object_goes(bedded: EmbeddedCluster, simulation: Simulation) -> None:
    bedded.user.create(a_cabin(2))
    simulation.settle()

    bedded.user.delete(Cabin, HUT)
    simulation.settle()

    assert bedded.user.list(Cabin) == []


def test_a_class_and_its_resource_share_one_cache(served: EmbeddedCluster) -> None:
    manager = served.manager
    manager.lister(Cabin)
    manager.lister(resource_of(Cabin), dict)

    assert [str(informer.resource) for informer in manager.informers] == ["cabins.example.com"]
    assert Collection(Cabin) == Collection(resource_of(Cabin))


def test_transforms_and_followers_take_the_class(served: EmbeddedCluster, simulation: Simulation) -> None:
    manager, seen = served.manager, list[Delta]()
    manager.informers.transform(Cabin, without(("spec", "tags")))

    def follow(delta: Delta) -> list[Request]:
        seen.append(delta)
        return []

    cabins = manager.lister(Cabin)
    manager.add(Controller("cabins", Beds(cabins, *[None] * 3)).follow(Cabin, follow))  # type: ignore[arg-type]
    served.start()
    served.user.create(Cabin(CabinSpec(1, tags={"a": "b"}), metadata=ObjectMeta(name="hut", namespace="default")))
    simulation.settle()

    assert ["tags" in json.loads(delta.object.raw)["spec"] for delta in seen] == [False]
    with pytest.raises(UsageError, match=r"cabins\.example\.com are cached already"):
        manager.informers.transform(Cabin, without(("spec", "tags")))


def test_eventually_waits_for_a_class(served: EmbeddedCluster) -> None:
    served.start()
    served.user.create(a_cabin())

    lister = served.manager.lister(Cabin)

    assert eventually(served.manager, Cabin, lambda: lister.get(HUT), timeout=10.0)
