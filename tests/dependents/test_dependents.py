# SPDX-License-Identifier: Apache-2.0
"""Owned objects are made, restored, replaced and pruned, in order, and an idle controller sends nothing."""

from __future__ import annotations

from typing import Any

import pytest
from kit.owning import KEY, OwningBench, Site, deployment_of, page, pages_of
from kubernetes.client import V1ConfigMap, V1ObjectMeta

from controller_runtime import ObjectMeta, Owned
from controller_runtime.conditions import condition
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.deletions import DeletionBudget
from controller_runtime.errors import NotFound, UsageError
from controller_runtime.resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS, SERVICES
from controller_runtime.testing import EmbeddedCluster, Simulation


class RoomSpec(Struct):
    beds: int = 1


@custom_resource("example.com/v1")
class Room(CustomResource):
    spec: RoomSpec


def test_each_object_is_made_by_one_request_and_has_its_owner(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))

    bench.create("a", "b")

    owner = bench.cluster.user.get(Site, KEY).metadata
    assert bench.get(CONFIG_MAPS, page("a"))["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "example.com/v1",
            "kind": "Site",
            "name": "site",
            "uid": owner.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert bench.requests() == ["PATCH configmaps/site-a", "PATCH configmaps/site-b", "PATCH sites/site/status"]
    assert bench.ready() == ("True", "Ready", "2 objects are ready")


@pytest.mark.parametrize(
    "desired",
    [
        pytest.param(lambda site: {"data": {"x": "y"}}, id="dict without a name"),
        pytest.param(lambda site: V1ConfigMap(data={"x": "y"}), id="official model"),
        pytest.param(
            lambda site: V1ConfigMap(metadata=V1ObjectMeta(name="site", namespace="default"), data={"x": "y"}),
            id="official model with metadata",
        ),
        pytest.param(lambda site: iter([{"data": {"x": "y"}}]), id="generator"),
    ],
)
def test_objects_are_desired_in_any_form(bench: OwningBench, desired: Any) -> None:
    bench.run(Owned(CONFIG_MAPS, desired))

    bench.create()

    assert bench.get(CONFIG_MAPS, KEY)["data"] == {"x": "y"}


def test_an_owned_object_may_be_of_a_declared_class(bench: OwningBench) -> None:
    bench.cluster.manager.install(Room)
    bench.run(Owned(Room, lambda site: Room(RoomSpec(beds=3), metadata=ObjectMeta(name="room"))))

    bench.create()

    assert [room.spec.beds for room in bench.cluster.user.list(Room)] == [3]


def test_what_a_user_changes_or_deletes_is_restored(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a")

    bench.cluster.user.patch(CONFIG_MAPS, page("a"), {"data": {"text": "changed", "more": "kept"}})
    bench.sim.settle()
    assert bench.get(CONFIG_MAPS, page("a"))["data"] == {"text": "hello", "more": "kept"}

    bench.cluster.user.patch(CONFIG_MAPS, page("a"), {"metadata": {"ownerReferences": None}})
    bench.sim.settle()
    assert len(bench.get(CONFIG_MAPS, page("a"))["metadata"]["ownerReferences"]) == 1

    bench.cluster.user.delete(CONFIG_MAPS, page("a"))
    bench.sim.settle()
    assert bench.get(CONFIG_MAPS, page("a"))["data"] == {"text": "hello"}


def test_a_field_that_is_no_longer_desired_is_removed(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, lambda site: {"data": dict.fromkeys(site.spec.pages, "x")}))
    bench.create("a", "b")

    bench.change(pages=["b"])

    assert bench.get(CONFIG_MAPS, KEY)["data"] == {"b": "x"}


def test_nothing_is_sent_while_nothing_changes(bench: OwningBench) -> None:
    bench.run(Owned(DEPLOYMENTS, deployment_of), Owned(CONFIG_MAPS, pages_of))
    bench.create("a")
    bench.make_ready()
    bench.requests()

    bench.touch()
    bench.cluster.user.patch(DEPLOYMENTS, KEY, {"status": {"replicas": 1}}, subresource="status")
    bench.cluster.user.patch(DEPLOYMENTS, KEY, {"metadata": {"labels": {"a": "b"}}})
    bench.sim.advance(3600.0)

    assert bench.requests() == []


def test_a_restart_applies_each_object_once_and_changes_nothing(bench: OwningBench) -> None:
    bench.run(Owned(DEPLOYMENTS, deployment_of), Owned(CONFIG_MAPS, pages_of))
    bench.create("a")
    objects = ((DEPLOYMENTS, KEY), (CONFIG_MAPS, page("a")))
    before = [bench.get(*each) for each in objects]
    bench.requests()

    bench.cluster.restart()
    bench.sim.advance(60.0)

    assert bench.requests() == ["PATCH deployments/site", "PATCH configmaps/site-a"]
    assert [bench.get(*each) for each in objects] == before


def test_an_object_comes_after_one_that_is_ready(bench: OwningBench) -> None:
    first = Owned(DEPLOYMENTS, deployment_of)
    second = Owned(CONFIG_MAPS, pages_of, after=first)
    bench.run(Owned(SERVICES, lambda site: {"spec": {"ports": [{"port": 80}]}}, after=[first, second]), second, first)
    bench.create("a")
    assert (bench.names(DEPLOYMENTS), bench.names(), bench.names(SERVICES)) == (["site"], [], [])
    assert bench.ready()[2] == (
        "Deployment default/site: 0 of 1 replicas are created; ConfigMap default/site-a: waits for Deployment "
        "default/site; Service default/site: waits for Deployment default/site"
    )

    bench.make_ready()

    assert (bench.names(), bench.names(SERVICES)) == (["site-a"], ["site"])
    assert bench.ready()[0] == "True"


def test_a_change_waits_until_what_comes_first_is_ready_again(bench: OwningBench) -> None:
    first = Owned(DEPLOYMENTS, deployment_of)
    bench.run(first, Owned(CONFIG_MAPS, pages_of, after=first))
    bench.create("a")
    bench.make_ready()
    bench.cluster.user.patch(
        DEPLOYMENTS, KEY, {"status": {"readyReplicas": 0, "availableReplicas": 0}}, subresource="status"
    )
    bench.sim.settle()

    bench.change(text="new")
    assert bench.get(CONFIG_MAPS, page("a"))["data"] == {"text": "hello"}
    bench.make_ready()
    assert bench.get(CONFIG_MAPS, page("a"))["data"] == {"text": "new"}


def test_readiness_may_be_a_condition_or_a_function(bench: OwningBench) -> None:
    bench.run(
        Owned(DEPLOYMENTS, deployment_of, ready=condition("Available")),
        Owned(CONFIG_MAPS, pages_of, ready=lambda found: found.data["text"] == "good"),
    )
    bench.create("a")
    assert bench.ready()[2] == (
        "Deployment default/site: it has no condition Available; ConfigMap default/site-a: is not ready"
    )

    bench.make_ready()
    bench.change(text="good")
    assert bench.ready()[0] == "True"


def test_more_fields_of_the_status_are_written_with_the_condition(bench: OwningBench) -> None:
    maps = Owned(CONFIG_MAPS, pages_of)
    bench.run(maps, status=lambda site, applied: {"pages": len(applied.objects(maps))})
    bench.create("a", "b")

    status = bench.cluster.user.get(Site, KEY).status
    assert status is not None
    assert (status.pages, status.conditions[0].observed_generation) == (2, 1)
    assert bench.requests()[-1] == "PATCH sites/site/status"

    bench.change(text="new")
    status = bench.cluster.user.get(Site, KEY).status
    assert status is not None
    assert status.conditions[0].observed_generation == 2


def test_the_transition_time_stays_while_the_status_does(bench: OwningBench) -> None:
    bench.run(Owned(DEPLOYMENTS, deployment_of))
    bench.create()

    def condition_now() -> dict[str, Any]:
        found: dict[str, Any] = bench.cluster.user.get(Site.__resource__, KEY, dict)["status"]["conditions"][0]
        return found

    before = condition_now()
    bench.sim.advance(60.0)
    bench.cluster.user.patch(DEPLOYMENTS, KEY, {"status": {"replicas": 1}}, subresource="status")
    bench.sim.settle()
    assert condition_now()["message"] != before["message"]
    assert condition_now()["lastTransitionTime"] == before["lastTransitionTime"]

    bench.make_ready()
    assert condition_now()["lastTransitionTime"] > before["lastTransitionTime"]


@pytest.mark.embedded_cluster(garbage_collection=True)
def test_the_objects_go_with_their_owner(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a", "b")

    bench.cluster.user.delete(Site, KEY, propagation_policy="Foreground")
    bench.sim.advance(5.0)

    assert bench.names() == []
    with pytest.raises(NotFound):
        bench.cluster.user.get(Site, KEY)


def test_what_is_pruned_has_a_budget(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of), budgets=[DeletionBudget(CONFIG_MAPS, most=2)])
    bench.create("a", "b", "c", "d")

    bench.change(pages=[])

    assert len([name for name in bench.names() if name.startswith("site-")]) == 2
    assert bench.cluster.manager.deletions.states()[0].refused >= 1


def test_a_budget_of_a_kind_that_is_not_owned_is_refused(bench: OwningBench) -> None:
    with pytest.raises(UsageError, match="sites: a deletion budget of secrets, which it does not own"):
        bench.run(Owned(CONFIG_MAPS, pages_of), budgets=[DeletionBudget(SECRETS, most=2)])


def test_nothing_is_made_for_an_owner_that_is_being_deleted(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a")
    bench.cluster.user.patch(Site, KEY, {"metadata": {"finalizers": ["example.com/hold"]}})
    bench.cluster.user.delete(Site, KEY)
    bench.sim.settle()

    bench.cluster.user.delete(CONFIG_MAPS, page("a"))
    bench.sim.settle()

    assert bench.names() == []


def test_an_object_that_is_being_deleted_is_made_again_when_it_is_gone(bench: OwningBench) -> None:
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a")
    bench.cluster.user.patch(CONFIG_MAPS, page("a"), {"metadata": {"finalizers": ["example.com/hold"]}})
    bench.cluster.user.delete(CONFIG_MAPS, page("a"))
    bench.sim.settle()
    assert bench.ready() == ("False", "NotReady", "ConfigMap default/site-a: is being deleted")

    bench.cluster.user.patch(CONFIG_MAPS, page("a"), {"metadata": {"finalizers": None}})
    bench.sim.settle()

    assert bench.ready()[0] == "True"
    assert "deletionTimestamp" not in bench.get(CONFIG_MAPS, page("a"))["metadata"]


def test_a_new_owner_of_the_same_name_waits_for_the_end_of_the_old_objects(
    cluster: EmbeddedCluster, simulation: Simulation
) -> None:
    bench = OwningBench(cluster, simulation)
    bench.run(Owned(CONFIG_MAPS, pages_of))
    bench.create("a")
    cluster.user.delete(Site, KEY)
    bench.create("a")
    assert bench.ready() == (
        "False",
        "NotOwned",
        "ConfigMap default/site-a: is controlled by Site site already",
    )

    cluster.user.delete(CONFIG_MAPS, page("a"))  # as the garbage collector does
    simulation.settle()

    assert bench.ready()[0] == "True"
