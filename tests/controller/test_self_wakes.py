# SPDX-License-Identifier: Apache-2.0
"""Controllers that wake themselves: how chains are counted, what breaks them, and where it is told."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from kubernetes.client import V1ConfigMap

from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result
from controller_runtime.controller.self_wakes import (
    MOST_RECONCILES,
    MOST_SECONDS,
    QUIET,
    WATCHED,
    next_chain,
    versions_of,
)
from controller_runtime.controller.written_fields import WrittenFields
from controller_runtime.core.written_versions import KEPT, Chain, WrittenVersions
from controller_runtime.manager.endpoints import debug_answer
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics
from controller_runtime.manager.page.overview import overview
from controller_runtime.queue.causes import MAX_CAUSES, MAX_COVERED, UNKNOWN
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing import ControllersWakeThemselves, EmbeddedCluster, Simulation

A = ObjectKey("a", "default")
NONE: frozenset[str] = frozenset()


def chains(lengths: dict[str, int]) -> Callable[[tuple[str, str], str], Chain | None]:
    return lambda key, version: Chain(lengths[version], 5.0, NONE) if version in lengths else None


@pytest.mark.parametrize(
    ("versions", "has_other", "length", "since"),
    [
        ([], False, 1, 9.0),
        (["1"], False, 5, 5.0),
        (["1", "2"], False, 3, 5.0),
        (["1", "foreign"], False, 1, 9.0),
        (["1"], True, 1, 9.0),
    ],
    ids=[
        "time alone begins one",
        "an own write goes on",
        "the shortest counts",
        "a change by others begins one",
        "so does any other cause",
    ],
)
def test_the_chain_of_a_reconcile(versions: list[str], has_other: bool, length: int, since: float) -> None:
    caused = [(("a", "default"), version) for version in versions]

    chain = next_chain(caused, has_other, chains({"1": 4, "2": 2}), "c", 9.0)

    assert chain == Chain(length, since, NONE)


def test_controllers_are_named_once_their_chain_is_watched() -> None:
    of = chains({"1": WATCHED - 2, "2": WATCHED - 1})

    assert next_chain([(("a", ""), "1")], False, of, "c", 9.0).controllers == NONE
    assert next_chain([(("a", ""), "2")], False, of, "c", 9.0).controllers == {"c"}


@pytest.mark.parametrize("text", ["requeue_after", "retry", "cancelled"])
def test_a_time_that_has_come_leaves_a_chain_alone(text: str) -> None:
    causes = [("pods changed", ("a", ""), "7", 1), (text, None, "", 1)]

    assert versions_of(causes, []) == ([(("a", ""), "7")], False)


def test_a_push_is_a_cause_of_its_own() -> None:
    assert versions_of([("pushed", None, "", 1)], []) == ([], True)


def test_a_deletion_is_known_by_the_object_alone() -> None:
    assert versions_of([("pods deleted", ("a", ""), "7", 1)], []) == ([(("a", ""), "")], False)


def queue_of(simulation: Simulation, *additions: tuple[str, str]) -> WorkQueue[str]:
    queue = WorkQueue[str](simulation.host("r0"))
    for text, version in additions:
        queue.add("item", cause=text, key=("a", "default"), version=version)
    queue.get()
    return queue


def test_a_cause_that_a_newer_one_covers_is_remembered(simulation: Simulation) -> None:
    queue = queue_of(simulation, ("pods changed", "1"), ("pods changed", "2"), ("pods changed", "2"))

    assert queue.covered("item") == [(("a", "default"), "1")]


def test_a_cause_for_which_there_is_no_room_is_remembered(simulation: Simulation) -> None:
    queue = queue_of(simulation, *((f"kind {number}", str(number)) for number in range(MAX_CAUSES + 1)))

    assert queue.covered("item") == [(("a", "default"), str(MAX_CAUSES))]


def test_of_too_many_causes_it_is_remembered_that_there_were_more(simulation: Simulation) -> None:
    queue = queue_of(simulation, *(("pods changed", str(number)) for number in range(MAX_COVERED + 3)))

    covered = queue.covered("item")
    assert (len(covered), covered[-1]) == (MAX_COVERED, UNKNOWN)
    assert covered[0] == (("a", "default"), "0")


def test_the_first_note_of_a_version_stays() -> None:
    own = WrittenVersions()
    own.note(("a", ""), "1", Chain(1, 0.0, NONE))
    own.note(("a", ""), "1", Chain(7, 0.0, NONE))

    chain = own.chain(("a", ""), "1")
    assert chain is not None
    assert (chain.length, own.chain(("a", ""), "2"), own.chain(("b", ""), "1")) == (1, None, None)


def test_old_versions_are_forgotten() -> None:
    own = WrittenVersions()
    for version in range(2 * KEPT + 1):
        own.note(("a", ""), str(version), Chain(1, 0.0, NONE))

    assert own.chain(("a", ""), str(KEPT - 1)) is None
    assert own.chain(("a", ""), str(KEPT)) is not None


def patch(body: Any) -> HTTPRequest:
    return HTTPRequest("PATCH", "/api/v1/namespaces/default/pods/a", (), {}, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("first", "second", "fields", "are_times"),
    [
        ({"data": {"seen": "1", "x": "1"}}, {"data": {"seen": "2", "x": "1"}}, (".data.seen",), False),
        (
            {"status": {"at": "2026-01-01T00:00:00Z"}},
            {"status": {"at": "2026-01-01T00:00:01Z"}},
            (".status.at",),
            True,
        ),
        ({"labels": {"a.b/c": "1"}}, {"labels": {"a.b/c": "2"}}, (".labels['a.b/c']",), False),
        (
            [{"op": "replace", "path": "/a/b", "value": 1}],
            [{"op": "replace", "path": "/a/b", "value": 2}],
            (".a.b",),
            False,
        ),
        ({"spec": {"n": 1}}, {"spec": {"n": 1}}, (".spec.n",), False),
        (
            {"metadata": {"resourceVersion": "1"}, "data": {"a": "1"}},
            {"metadata": {"resourceVersion": "2"}, "data": {"a": "2"}},
            (".data.a",),
            False,
        ),
        ({"l": [1, {"n": 1}]}, {"l": [1, {"n": 2}]}, (".l[1].n",), False),
    ],
    ids=["one of two", "times", "a name with dots", "operations", "the same", "what the server sets", "in a list"],
)
def test_the_fields_by_which_two_writes_differ(
    first: Any, second: Any, fields: tuple[str, ...], are_times: bool
) -> None:
    written = WrittenFields()
    written.changed(patch(first))

    assert written.changed(patch(second)) == (fields, are_times)


@pytest.mark.parametrize("body", [b"", b"not JSON", b"\xff", b"[" * 100_000])
def test_a_body_that_cannot_be_read_has_no_fields(body: bytes) -> None:
    assert WrittenFields().changed(HTTPRequest("PUT", "/api/v1/nodes/a", (), {}, body)) == ((), False)


@attrs.frozen
class Writing(Reconciler):
    """Patches its ConfigMap as often as it may, with the number of the patch."""

    client: Client
    most: int
    numbers: Any = attrs.field(factory=itertools.count)
    seconds: float = 0.0
    patch: Callable[[int], dict[str, Any]] = lambda number: {"data": {"seen": str(number)}}
    manager: Any = None

    def reconcile(self, request: Request) -> Result:
        if self.seconds:
            self.manager.stopping.wait(self.seconds)
        if (number := next(self.numbers)) < self.most:
            self.client.patch(CONFIG_MAPS, request, self.patch(number))
        return Result(requeue_after=60.0)


def started(
    simulation: Simulation,
    cluster: EmbeddedCluster,
    most: int,
    *,
    patch: Any = None,
    seconds: float = 0.0,
    **options: Any,
) -> Manager:
    def setup(manager: Manager) -> None:
        further = {} if patch is None else {"patch": patch}
        reconciler = Writing(manager.client, most, seconds=seconds, manager=manager, **further)
        manager.add(Controller("stamper", reconciler, **options).watch(CONFIG_MAPS))

    cluster.run(setup)
    cluster.user.create(CONFIG_MAPS, V1ConfigMap(metadata={"name": A.name, "namespace": A.namespace}))
    if seconds:
        simulation.advance(most * seconds + 1.0)
    else:
        simulation.settle()
    return cluster.manager


@pytest.mark.embedded_cluster(allow_panics=True)
def test_one_that_goes_on_is_told_of_with_controller_object_and_field(
    simulation: Simulation, cluster: EmbeddedCluster, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        manager = started(simulation, cluster, MOST_RECONCILES + 50)

    text = (
        "stamper wakes itself: 300 reconciles in a row, in 0 s, were caused by nothing but its own writes; the last "
        "one, of default/a, changed .data.seen of configmaps/default/a again: write only what must differ"
    )
    assert [str(each) for each in manager.self_wakes.found()] == [text]
    assert [record.getMessage().partition(" controller=")[0] for record in caplog.records] == [text]


def test_work_in_fewer_steps_is_quiet_and_not_counted(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    manager = started(simulation, cluster, WATCHED - 1)

    assert (manager.self_wakes.count("stamper"), manager.self_wakes.found()) == (0, [])


def test_a_watched_one_that_ends_is_counted_and_quiet(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    manager = started(simulation, cluster, WATCHED + 4)

    assert (manager.self_wakes.count("stamper"), manager.self_wakes.found()) == (5, [])


@pytest.mark.embedded_cluster(allow_panics=True)
def test_a_slow_one_is_told_of_by_time(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    manager = started(simulation, cluster, WATCHED + 10, seconds=2.0)

    [found] = manager.self_wakes.found()
    assert found.length == WATCHED
    assert found.seconds >= MOST_SECONDS


def test_a_controller_that_may_wake_itself_is_left_alone(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    manager = started(simulation, cluster, MOST_RECONCILES + 50, may_wake_itself=True)

    assert (manager.self_wakes.count("stamper"), manager.self_wakes.found()) == (0, [])


def test_one_in_which_others_take_part_is_quiet(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    def by_two(number: int) -> dict[str, Any]:
        cluster.user.patch(CONFIG_MAPS, A, {"data": {"user": str(number)}})
        return {"data": {"seen": str(number)}}

    manager = started(simulation, cluster, MOST_RECONCILES, patch=by_two)

    assert (manager.self_wakes.count("stamper"), manager.self_wakes.found()) == (0, [])


def test_writes_that_change_nothing_are_no_chain(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    def setup(manager: Manager) -> None:
        reconciler = Writing(manager.client, 1000, patch=lambda number: {"data": {"seen": "1"}})
        manager.add(Controller("stamper", reconciler).watch(CONFIG_MAPS).every(1.0, lambda: [A]))

    cluster.run(setup)
    cluster.user.create(CONFIG_MAPS, V1ConfigMap(metadata={"name": A.name, "namespace": A.namespace}))
    for number in range(60):
        cluster.user.patch(CONFIG_MAPS, A, {"data": {"user": str(number)}})
        simulation.advance(1.0)

    assert cluster.manager.self_wakes.count("stamper") == 0


@pytest.mark.embedded_cluster(allow_panics=True)
def test_the_same_is_told_again_after_an_hour_alone(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    most = int(QUIET / 10.0) + WATCHED
    manager = started(simulation, cluster, most, seconds=10.0)

    first, second = reversed(manager.self_wakes.found())
    assert (first.length, second.length) == (WATCHED, WATCHED + QUIET / 10.0)


@attrs.frozen
class Recreating(Reconciler):
    """Deletes a ConfigMap that is there, and makes one that is not."""

    client: Client
    numbers: Any = attrs.field(factory=itertools.count)

    def reconcile(self, request: Request) -> Result:
        number = next(self.numbers)
        if number > MOST_RECONCILES + 50:
            return Result()
        if number % 2 == 0:
            self.client.delete(CONFIG_MAPS, request)
        else:
            self.client.create(CONFIG_MAPS, V1ConfigMap(metadata={"name": A.name, "namespace": A.namespace}))
        return Result()


@pytest.mark.embedded_cluster(allow_panics=True)
def test_deletions_are_links_of_a_chain(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(lambda manager: manager.add(Controller("renewer", Recreating(manager.client)).watch(CONFIG_MAPS)))
    cluster.user.create(CONFIG_MAPS, V1ConfigMap(metadata={"name": A.name, "namespace": A.namespace}))
    simulation.settle()

    told = [(each.verb, each.length) for each in reversed(cluster.manager.self_wakes.found())]
    assert told == [("created", MOST_RECONCILES), ("deleted", MOST_RECONCILES + 1)]


@attrs.frozen
class AsyncWriting(AsyncReconciler):
    manager: Manager
    numbers: Any = attrs.field(factory=itertools.count)

    async def reconcile(self, request: Request) -> Result:
        if (number := next(self.numbers)) < MOST_RECONCILES + 10:
            await self.manager.async_client.patch(CONFIG_MAPS, request, {"data": {"seen": str(number)}})
        return Result()


@pytest.mark.embedded_cluster(allow_panics=True)
def test_coroutines_are_watched_as_well(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(lambda manager: manager.add(Controller("stamper", AsyncWriting(manager)).watch(CONFIG_MAPS)))
    cluster.user.create(CONFIG_MAPS, V1ConfigMap(metadata={"name": A.name, "namespace": A.namespace}))
    simulation.settle()

    assert [each.fields for each in cluster.manager.self_wakes.found()] == [(".data.seen",)]


@pytest.mark.embedded_cluster(allow_panics=True)
def test_metrics_page_and_debug_tell_of_it(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    manager = started(simulation, cluster, MOST_RECONCILES + 1)

    line = 'controller_runtime_reconcile_self_wakes_total{controller="stamper"} 282.0'
    assert line in Metrics(manager).text().decode()
    [table] = [table for table in overview(manager, []) if table.title == "Wake themselves"]
    assert [row.cells for row in table.rows] == [("stamper", "default/a", "configmaps/default/a", ".data.seen", 300)]
    answer = debug_answer(manager)(HTTPRequest("GET", "/debug/why", (("request", "default/a"),)), True)
    assert json.loads(answer.body)["self_wakes"] == [str(manager.self_wakes.found()[0])]


def test_one_that_comes_after_a_look_fails_the_test_as_well(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.raise_panics()
    started(simulation, cluster, MOST_RECONCILES + 50)

    with pytest.raises(ControllersWakeThemselves, match=r"changed \.data\.seen of configmaps/default/a"):
        cluster.raise_panics()
    cluster.raise_panics()


@pytest.mark.embedded_cluster(allow_panics=True)
def test_a_write_that_changes_nothing_at_the_end_of_a_chain_is_not_told_of(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    last = MOST_RECONCILES + 10

    manager = started(simulation, cluster, last + 1, patch=lambda n: {"data": {"seen": str(min(n, last - 1))}})

    assert [each.fields for each in manager.self_wakes.found()] == [(".data.seen",)]
    assert manager.self_wakes.count("stamper") == last - WATCHED + 1
