# SPDX-License-Identifier: Apache-2.0
"""Each way to delete passes the budgets of its manager, and nothing beyond them is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from kit.deleting import RECORD, left, make_secrets, record_of, secret, sent, used

from apimachinery.errors import Conflict, ConnectionLost, Forbidden, NotFound, UsageError
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SECRETS
from controller_runtime.api.resources import NAMESPACES, PODS, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.core.planning import planning
from controller_runtime.crd.definitions import DEFINITIONS
from controller_runtime.deletions import DeletionBudget, DeletionBudgetExceeded
from controller_runtime.deletions.record import FRESH
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.testing import EmbeddedCluster, Simulation, a_pod
from controller_runtime.testing.faults import CutReply, Fault, LostRequest

THREE = DeletionBudget(SECRETS, most=3)
WIDGETS: Resource[Any] = Resource("example.com", "v1", "Widget", "widgets")


@pytest.fixture
def shop(cluster: EmbeddedCluster) -> EmbeddedCluster:
    """Return a cluster whose manager may delete three secrets in ten minutes."""
    cluster.manager.deletions.limit(THREE, record=RECORD)
    make_secrets(cluster.user, 10)
    return cluster


def delete(cluster: EmbeddedCluster, *numbers: int) -> None:
    for number in numbers:
        cluster.client.delete(SECRETS, secret(number))


def test_beyond_the_budget_nothing_is_sent(shop: EmbeddedCluster) -> None:
    delete(shop, 0, 1, 2)

    with pytest.raises(DeletionBudgetExceeded) as refused:
        delete(shop, 3)

    assert (left(shop.user), len(sent(shop)), used(shop.user)) == (7, 3, 3)
    assert str(refused.value) == (
        "DELETE /api/v1/namespaces/default/secrets/s3 was not sent: it would delete one of the secrets, 3 were deleted "
        "before, and the budget is 3 in 600 s. If it is meant, open the budget once: kubectl annotate configmap -n "
        "default shop-deletions --overwrite controller-runtime/open-deletions=secrets=1"
    )


def test_a_deletion_within_the_budget_costs_a_look_and_a_write(shop: EmbeddedCluster) -> None:
    delete(shop, 0)
    before = len(shop.transport.requests)

    delete(shop, 1)

    assert [f"{each.method} {each.path.rpartition('/')[2]}" for each in shop.transport.requests[before:]] == [
        "GET s1",
        "PUT shop-deletions",
        "DELETE s1",
    ]


def test_a_refused_deletion_costs_a_look_alone(shop: EmbeddedCluster) -> None:
    delete(shop, 0, 1, 2)
    before = len(shop.transport.requests)

    for _ in range(5):
        with pytest.raises(DeletionBudgetExceeded):
            delete(shop, 3)

    assert [each.method for each in shop.transport.requests[before:]] == ["GET"] * 5


def test_the_next_burst_goes_through_once_the_time_has_passed(simulation: Simulation, shop: EmbeddedCluster) -> None:
    delete(shop, 0, 1, 2)
    simulation.advance(629.0)
    with pytest.raises(DeletionBudgetExceeded):
        delete(shop, 3)

    simulation.advance(1.0)
    delete(shop, 3, 4, 5)

    assert left(shop.user) == 4


def test_without_a_budget_nothing_is_asked(cluster: EmbeddedCluster) -> None:
    make_secrets(cluster.user, 1)

    delete(cluster, 0)

    assert [each.method for each in cluster.transport.requests] == ["DELETE"]


def test_kinds_without_a_budget_are_left_alone(shop: EmbeddedCluster) -> None:
    for number in range(5):
        shop.user.create(CONFIG_MAPS, {"metadata": {"name": f"c{number}"}}, "default")
        shop.client.delete(CONFIG_MAPS, ObjectKey(f"c{number}", "default"))

    assert {each.method for each in shop.transport.requests} == {"DELETE"}


def test_a_collection_counts_as_all_that_it_selects(shop: EmbeddedCluster) -> None:
    with pytest.raises(DeletionBudgetExceeded, match="it would delete 10 of the secrets"):
        shop.client.delete_collection(SECRETS, "default")
    for number in (0, 1):
        shop.user.patch(SECRETS, secret(number), {"metadata": {"labels": {"a": "b"}}})

    shop.client.delete_collection(SECRETS, "default", label_selector="a=b")

    assert (left(shop.user), used(shop.user)) == (8, 2)


def test_a_collection_that_grows_meanwhile_loses_no_more_than_was_counted(cluster: EmbeddedCluster) -> None:
    def grow(number: int, request: HTTPRequest) -> Fault | None:
        if request.method == "DELETE":
            make_secrets(cluster.user, 4)
        return None

    grown = EmbeddedCluster(cluster.host, server=cluster.server, faults=grow)
    grown.manager.deletions.limit(THREE, record=RECORD)
    cluster.user.create(SECRETS, {"metadata": {"name": "z"}}, "default")

    grown.client.delete_collection(SECRETS, "default")

    assert left(cluster.user) == 4


def test_an_empty_collection_counts_nothing_and_is_not_sent(shop: EmbeddedCluster) -> None:
    for _ in range(5):
        shop.client.delete_collection(SECRETS, "default", label_selector="a=b")

    assert sent(shop, "DELETE", "POST") == []


def test_a_namespace_counts_as_what_is_in_it(shop: EmbeddedCluster) -> None:
    shop.user.create(NAMESPACES, {"metadata": {"name": "small"}})
    shop.user.create(SECRETS, {"metadata": {"name": "a"}}, "small")

    with pytest.raises(DeletionBudgetExceeded, match="it would delete 10 of the secrets"):
        shop.client.delete(NAMESPACES, ObjectKey("default"))
    shop.client.delete(NAMESPACES, ObjectKey("small"))

    assert [each.path for each in sent(shop)] == ["/api/v1/namespaces/small"]
    assert used(shop.user) == 1


def test_a_definition_counts_as_all_objects_of_its_kind(cluster: EmbeddedCluster) -> None:
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    cluster.user.create(DEFINITIONS, {"metadata": {"name": "widgets.example.com"}, "spec": spec})
    for name in "ab":
        cluster.user.create(WIDGETS, {"metadata": {"name": name}}, "default")
    cluster.manager.deletions.limit(DeletionBudget(WIDGETS, most=1), record=RECORD)

    with pytest.raises(DeletionBudgetExceeded, match=r"it would delete 2 of the widgets\.example\.com"):
        cluster.client.delete(DEFINITIONS, ObjectKey("widgets.example.com"))
    with pytest.raises(DeletionBudgetExceeded, match=r"cannot be known how many.*widgets\.example\.com=any"):
        cluster.client.delete_collection(DEFINITIONS)

    assert sent(cluster) == []


def test_an_eviction_counts(cluster: EmbeddedCluster) -> None:
    cluster.manager.deletions.limit(DeletionBudget(PODS, most=1), record=RECORD)
    for name in "ab":
        cluster.user.create(PODS, a_pod(name), "default")

    cluster.client.create_subresource(PODS, ObjectKey("a", "default"), "eviction")
    with pytest.raises(DeletionBudgetExceeded):
        cluster.client.create_subresource(PODS, ObjectKey("b", "default"), "eviction")


def off(client: Client, key: ObjectKey) -> None:
    client.patch(SECRETS, key, {"metadata": {"finalizers": []}})


def off_by_update(client: Client, key: ObjectKey) -> None:
    obj = client.get(SECRETS, key, dict)
    del obj["metadata"]["finalizers"]
    client.update(SECRETS, obj)


def off_by_json_patch(client: Client, key: ObjectKey) -> None:
    client.patch(SECRETS, key, [{"op": "remove", "path": "/metadata/finalizers/0"}], type=PatchType.JSON)


@pytest.mark.parametrize("take_off", [off, off_by_update, off_by_json_patch])
def test_the_removal_of_a_last_finalizer_counts(
    cluster: EmbeddedCluster, take_off: Callable[[Client, ObjectKey], None]
) -> None:
    cluster.manager.deletions.limit(THREE, record=RECORD)
    make_secrets(cluster.user, 5, finalizers=["example.com/a"])
    for number in range(4):
        cluster.user.delete(SECRETS, secret(number))

    for number in range(3):
        take_off(cluster.client, secret(number))
    with pytest.raises(DeletionBudgetExceeded):
        take_off(cluster.client, secret(3))
    take_off(cluster.client, secret(4))  # it is not being deleted

    assert left(cluster.user) == 2


def test_an_apply_makes_an_object_of_a_kind_with_a_budget(shop: EmbeddedCluster) -> None:
    for _ in range(5):
        shop.client.apply(SECRETS, {"metadata": {"name": "new", "namespace": "default"}}, field_manager="shop")

    assert left(shop.user) == 11


def test_an_object_that_the_program_deletes_and_finalizes_counts_once(cluster: EmbeddedCluster) -> None:
    cluster.manager.deletions.limit(THREE, record=RECORD)
    make_secrets(cluster.user, 3, finalizers=["example.com/a"])

    for _ in range(3):  # as a reconciler that asks again until they are gone
        delete(cluster, 0, 1, 2)
    for number in range(3):
        off(cluster.client, secret(number))

    assert (left(cluster.user), used(cluster.user)) == (0, 3)


def test_an_object_that_is_being_deleted_already_counts_nothing(shop: EmbeddedCluster) -> None:
    delete(shop, 0, 1, 2)
    shop.user.patch(SECRETS, secret(3), {"metadata": {"finalizers": ["example.com/a"]}})
    shop.user.delete(SECRETS, secret(3))

    delete(shop, 3)

    assert used(shop.user) == 3


def test_an_object_that_does_not_exist_counts_nothing(shop: EmbeddedCluster) -> None:
    for _ in range(5):
        with pytest.raises(NotFound, match='secrets "s99" not found'):
            delete(shop, 99)

    delete(shop, 0, 1, 2)


def test_another_object_that_has_the_name_by_now_is_not_deleted(cluster: EmbeddedCluster) -> None:
    def replace(number: int, request: HTTPRequest) -> Fault | None:
        if request.method == "DELETE":
            cluster.user.delete(SECRETS, secret(0))
            make_secrets(cluster.user, 1)
        return None

    late = EmbeddedCluster(cluster.host, server=cluster.server, faults=replace)
    late.manager.deletions.limit(THREE, record=RECORD)
    make_secrets(cluster.user, 1)

    with pytest.raises(Conflict):
        delete(late, 0)

    assert left(cluster.user) == 1


def test_a_dry_run_is_sent_and_counts_nothing(shop: EmbeddedCluster) -> None:
    dry = shop.client.writing(dry_run=True)

    for number in range(5):
        dry.delete(SECRETS, secret(number))

    assert [each.method for each in shop.transport.requests] == ["DELETE"] * 5


def test_a_plan_shows_each_deletion_and_counts_none(shop: EmbeddedCluster) -> None:
    with planning():
        delete(shop, *range(5))

    assert [each.method for each in shop.transport.requests] == ["DELETE"] * 5


def test_a_share_is_of_all_that_the_server_has(cluster: EmbeddedCluster) -> None:
    cluster.manager.deletions.limit(DeletionBudget(SECRETS, share=0.2), record=RECORD)
    make_secrets(cluster.user, 10)

    delete(cluster, 0, 1)
    with pytest.raises(DeletionBudgetExceeded, match=r"20 % of them in 600 s, which is 2 of 10\."):
        delete(cluster, 2)


def test_a_share_that_cannot_be_counted_refuses(host_with_rights: Callable[..., EmbeddedCluster]) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "delete"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update"]},
    ]
    cluster = host_with_rights(rules)
    cluster.manager.deletions.limit(DeletionBudget(SECRETS, share=0.5), record=RECORD)

    with pytest.raises(DeletionBudgetExceeded, match="and they could not be counted"):
        delete(cluster, 0)


def test_an_object_that_may_not_be_read_counts_at_each_try(host_with_rights: Callable[..., EmbeddedCluster]) -> None:
    rules = [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["delete"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "update"]},
    ]
    cluster = host_with_rights(rules)
    cluster.manager.deletions.limit(THREE, record=RECORD)

    delete(cluster, 0)

    assert used(cluster.user) == 1


def test_a_record_that_may_not_be_written_allows_nothing(host_with_rights: Callable[..., EmbeddedCluster]) -> None:
    cluster = host_with_rights([{"apiGroups": [""], "resources": ["*"], "verbs": ["get", "delete"]}])
    cluster.manager.deletions.limit(THREE, record=RECORD)

    with pytest.raises(Forbidden, match="configmaps"):
        delete(cluster, 0)

    assert left(cluster.user) == 3


@pytest.fixture
def host_with_rights(cluster: EmbeddedCluster) -> Callable[..., EmbeddedCluster]:
    def make(rules: Any) -> EmbeddedCluster:
        make_secrets(cluster.user, 3)
        return EmbeddedCluster(cluster.host, server=cluster.server, role=rules)

    return make


def test_coroutines_have_the_same_budget(shop: EmbeddedCluster, simulation: Simulation) -> None:
    from controller_runtime.controller.controller import Controller
    from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result

    ends: list[str] = []

    class Deletes(AsyncReconciler):
        async def reconcile(self, request: Request) -> Result:
            try:
                await asyncio.gather(*(shop.manager.async_client.delete(SECRETS, secret(n)) for n in range(3)))
                await shop.manager.async_client.delete(SECRETS, secret(3))
            except DeletionBudgetExceeded as error:
                ends.append(type(error).__name__)
            return Result()

    shop.user.create(CONFIG_MAPS, {"metadata": {"name": "go"}}, "default")
    shop.manager.add(Controller("deletes", Deletes()).watch(CONFIG_MAPS, field_selector="metadata.name=go"))
    shop.start()
    simulation.settle()

    assert ends == ["DeletionBudgetExceeded"]
    assert left(shop.user) == 7


# The record.


def test_replicas_share_their_record(shop: EmbeddedCluster) -> None:
    other = EmbeddedCluster(shop.host, server=shop.server)
    other.manager.deletions.limit(THREE, record=RECORD)
    delete(shop, 0)
    delete(other, 1)
    delete(shop, 2)

    for cluster in (shop, other):
        with pytest.raises(DeletionBudgetExceeded, match="3 were deleted before"):
            delete(cluster, 3)


def test_a_program_that_starts_again_goes_on_with_its_record(simulation: Simulation, shop: EmbeddedCluster) -> None:
    delete(shop, 0, 1, 2)
    shop.kill()

    again = EmbeddedCluster(simulation.host("again"), server=shop.server)
    again.manager.deletions.limit(THREE, record=RECORD)

    with pytest.raises(DeletionBudgetExceeded):
        delete(again, 3)


@pytest.mark.parametrize("fault", [CutReply(), LostRequest()], ids=["answer lost", "request lost"])
def test_a_reservation_of_unknown_outcome_deletes_nothing(cluster: EmbeddedCluster, fault: Fault) -> None:
    faulty = [fault]

    def once(number: int, request: HTTPRequest) -> Fault | None:
        return faulty.pop() if request.method == "POST" and faulty else None

    lost = EmbeddedCluster(cluster.host, server=cluster.server, faults=once)
    lost.manager.deletions.limit(THREE, record=RECORD)
    make_secrets(cluster.user, 3)

    with pytest.raises(ConnectionLost):
        delete(lost, 0)
    assert sent(lost) == []
    delete(lost, 0, 1, 2)  # the object that was reserved is not counted twice


def test_a_program_does_not_delete_its_record(shop: EmbeddedCluster) -> None:
    delete(shop, 0)

    with pytest.raises(DeletionBudgetExceeded, match="the program's deletion budgets are kept there"):
        shop.client.delete(CONFIG_MAPS, RECORD)
    with pytest.raises(DeletionBudgetExceeded, match="the program's deletion budgets are kept there"):
        shop.client.delete_collection(CONFIG_MAPS, "default")
    shop.client.delete_collection(CONFIG_MAPS, "default", label_selector="app=other")


def test_a_record_that_others_delete_opens_nothing(simulation: Simulation, shop: EmbeddedCluster) -> None:
    delete(shop, 0, 1)
    shop.user.delete(CONFIG_MAPS, RECORD)
    delete(shop, 2)
    shop.user.delete(CONFIG_MAPS, RECORD)
    shop.user.create(CONFIG_MAPS, {"metadata": {"name": RECORD.name}}, RECORD.namespace)
    simulation.advance(FRESH + 1)

    with pytest.raises(DeletionBudgetExceeded):
        delete(shop, 3)


def test_a_record_that_cannot_be_read_allows_nothing(shop: EmbeddedCluster) -> None:
    shop.user.create(CONFIG_MAPS, {"metadata": {"name": RECORD.name}, "data": {"secrets": "all"}}, RECORD.namespace)

    with pytest.raises(DeletionBudgetExceeded, match=r"configmaps default/shop-deletions, cannot be read: .*delete it"):
        delete(shop, 0)


def test_what_others_keep_in_the_record_stays(shop: EmbeddedCluster) -> None:
    metadata = {"name": RECORD.name, "labels": {"a": "b"}, "annotations": {"c": "d"}}
    shop.user.create(CONFIG_MAPS, {"metadata": metadata, "data": {"note": "hands off"}}, RECORD.namespace)

    delete(shop, 0)

    record = record_of(shop.user)
    assert (record["metadata"]["labels"]["a"], record["metadata"]["annotations"]["c"]) == ("b", "d")
    assert record["data"]["note"] == "hands off"


def test_a_namespace_that_does_not_exist_is_told(cluster: EmbeddedCluster) -> None:
    cluster.manager.deletions.limit(THREE, record=ObjectKey("a", "nowhere"))
    make_secrets(cluster.user, 1)

    with pytest.raises(NotFound, match="nowhere"):
        delete(cluster, 0)


# Where it is kept.


def test_the_record_is_called_after_the_lease(simulation: Simulation) -> None:
    config = LeaderElectionConfig(name="shop", namespace="here")
    with EmbeddedCluster(simulation.host("r0"), leader_election=config) as cluster:
        cluster.manager.deletions.limit(THREE)

        assert cluster.manager.deletions.key == ObjectKey("shop-deletions", "here")


def test_the_record_is_called_after_a_ring(cluster: EmbeddedCluster) -> None:
    cluster.manager.deletions.limit(THREE)
    cluster.manager.ring("shop", namespace="there")

    assert cluster.manager.deletions.key == ObjectKey("shop-deletions", "there")


def test_a_budget_without_a_place_is_refused_before_anything_is_deleted(cluster: EmbeddedCluster) -> None:
    cluster.manager.deletions.limit(THREE)
    cluster.manager.deletions.default = None
    make_secrets(cluster.user, 1)

    with pytest.raises(UsageError, match="deletion budgets need a ConfigMap"):
        delete(cluster, 0)
    with pytest.raises(UsageError, match="deletion budgets need a ConfigMap"):
        cluster.manager.run()


def test_a_kind_has_one_budget(shop: EmbeddedCluster) -> None:
    with pytest.raises(UsageError, match="secrets have a deletion budget already: 3 in 600 s"):
        shop.manager.deletions.limit(DeletionBudget(SECRETS, share=0.5, per=timedelta(hours=1)))
    with pytest.raises(UsageError, match="one record: default/shop-deletions, not a/b"):
        shop.manager.deletions.limit(DeletionBudget(PODS, most=1), record=ObjectKey("b", "a"))
