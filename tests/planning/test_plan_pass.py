# SPDX-License-Identifier: Apache-2.0
"""One pass reconciles each object once, keeps what would be written, and calls nothing outside."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from kit.planning.bench import PlanBench

from apimachinery.errors import ControllerRuntimeError, TemporaryError
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime import (
    AsyncReconciler,
    Client,
    Controller,
    Delta,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    is_planning,
)
from controller_runtime.client.transport import TransportWrapper
from controller_runtime.planning.overlay import BlindSpot
from controller_runtime.planning.report import PlanOutput, PlanReport
from controller_runtime.planning.transport import PlanTransport
from controller_runtime.resources import CONFIG_MAPS, NODES, Resource
from controller_runtime.testing import InProcessTransport, Simulation
from embedded_apiserver import APIServer


class Doing(Reconciler):
    def __init__(self, do: Callable[[Request], object]) -> None:
        self._do = do

    def reconcile(self, request: Request) -> Result:
        result = self._do(request)
        return result if isinstance(result, Result) else Result()


def setup_of(do: Callable[[Manager, Request], object], name: str = "c") -> Callable[[Manager], None]:
    def setup(manager: Manager) -> None:
        manager.add(Controller(name, Doing(lambda request: do(manager, request))).watch(CONFIG_MAPS))

    return setup


def create(bench: PlanBench, *names: str) -> None:
    for name in names:
        bench.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})


def label(manager: Manager, request: Request, value: str = "1") -> None:
    manager.client.patch(CONFIG_MAPS, request, {"metadata": {"labels": {"seen": value}}})


def text(report: PlanReport) -> str:
    return report.show(PlanOutput.DIFF)


@pytest.fixture
def bucket() -> Iterator[socket.socket]:
    """A service outside, which would delete a bucket if it were called."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def is_untouched(bucket: socket.socket) -> bool:
    bucket.setblocking(False)
    try:
        bucket.accept()[0].close()
    except BlockingIOError:
        return True
    return False


def test_each_object_is_reconciled_once_and_nothing_is_written(bench: PlanBench) -> None:
    create(bench, "a", "b")
    before, seen = bench.server.storage.version, []

    def reconcile(manager: Manager, request: Request) -> Result:
        seen.append((request.name, is_planning()))
        label(manager, request)
        return Result(requeue_after=0.0)

    report = bench.plan(setup_of(reconcile))

    assert seen == [("a", True), ("b", True)]
    assert not is_planning()
    assert bench.server.storage.version == before
    assert [(each.action.value, each.name) for each in report.differences] == [("update", "a"), ("update", "b")]
    assert report.status == 3
    assert "c            ConfigMap   0        2        0" in text(report)
    assert "# later: c default/a: asks to be called again in 0 s" in text(report)


def test_a_program_that_would_write_nothing_has_status_zero(bench: PlanBench) -> None:
    create(bench, "a")

    report = bench.plan(setup_of(lambda manager, request: manager.client.patch(CONFIG_MAPS, request, {})))

    assert (report.status, report.differences, report.only_times) == (0, [], 1)
    assert text(report).startswith("plan: 0 to create, 0 to update, 0 to delete; 1 reconcile, 0 failed, 0 not planned")


def test_a_plan_in_which_no_controller_found_an_object_says_so(bench: PlanBench) -> None:
    report = bench.plan(setup_of(lambda manager, request: None))

    assert report.status == 0
    assert "0 reconciles, 0 failed, 0 not planned; no controller found an object:" in text(report)


def test_later_reads_of_the_pass_see_what_was_planned_through_caches_and_indices(bench: PlanBench) -> None:
    create(bench, "a", "b")
    seen: dict[str, Any] = {}

    def setup(manager: Manager) -> None:
        lister = manager.lister(CONFIG_MAPS, dict)
        manager.informer(CONFIG_MAPS).add_index(
            "seen", lambda cached: [cached.meta.labels["seen"]] if cached.meta.labels else []
        )

        def reconcile(request: Request) -> None:
            seen[request.name] = [item["metadata"]["name"] for item in lister.by_index("seen", "1")]
            label(manager, request)
            made = {"metadata": {"name": f"of-{request.name}", "namespace": "default"}}
            manager.client.create(CONFIG_MAPS, made)
            seen[f"made {request.name}"] = lister.get(ObjectKey(f"of-{request.name}", "default")) is not None

        manager.add(Controller("c", Doing(reconcile)).watch(CONFIG_MAPS))

    report = bench.plan(setup)

    assert seen == {"a": [], "made a": True, "b": ["a"], "made b": True}
    assert [each.name for each in report.differences] == ["a", "b", "of-a", "of-b"]


@pytest.mark.parametrize("divided", [False, True])
def test_the_work_that_replicas_share_by_a_ring_is_planned_whole(bench: PlanBench, divided: bool) -> None:
    create(bench, "a", "b")

    def setup(manager: Manager) -> None:
        ring = manager.ring("work", namespace="default")
        if divided:
            ring.divide(CONFIG_MAPS)
        lister = manager.lister(CONFIG_MAPS)
        controller = Controller("c", Doing(lambda request: lister.get(request) and label(manager, request)))
        ring.share(controller.watch(CONFIG_MAPS).shareable(lister))
        manager.add(controller)

    report = bench.plan(setup)

    assert ([each.name for each in report.differences], report.status) == (["a", "b"], 3)


def test_what_was_only_planned_is_reconciled_in_no_pass_and_that_is_said(bench: PlanBench) -> None:
    create(bench, "a")
    seen = []

    def reconcile(manager: Manager, request: Request) -> None:
        seen.append(request.name)
        with suppress(ControllerRuntimeError):
            manager.client.create(CONFIG_MAPS, {"metadata": {"name": "child", "namespace": "default"}})

    def setup(manager: Manager) -> None:
        for name in ("first", "second"):
            setup_of(reconcile, name)(manager)

    report = bench.plan(setup)

    assert seen == ["a", "a"]
    [child] = report.differences
    assert child.blind == ((BlindSpot.CHILDREN, "first, second will reconcile it once it exists"),)
    assert "# not seen (children): first, second will reconcile it once it exists" in text(report)


def test_the_bucket_is_still_there(bench: PlanBench, bucket: socket.socket) -> None:
    """Writes before the call are planned; those that rest on its failure are not, whatever the operator catches."""
    create(bench, "a")

    def reconcile(manager: Manager, request: Request) -> None:
        label(manager, request)
        try:
            socket.create_connection(bucket.getsockname()).close()
        finally:
            manager.client.patch(CONFIG_MAPS, request, {"data": {"bucket": "gone"}})

    report = bench.plan(setup_of(reconcile))

    assert is_untouched(bucket)
    port = bucket.getsockname()[1]
    assert f"# not planned: c default/a: calls 127.0.0.1:{port}; --allow-outside 127.0.0.1 opens it" in text(report)
    assert report.document()["notPlanned"][0] == {
        "controller": "c", "namespace": "default", "name": "a", "why": f"calls 127.0.0.1:{port}",
    }  # fmt: skip
    [difference] = report.differences
    assert difference.after is not None
    assert (difference.after["metadata"]["labels"], "data" in difference.after) == ({"seen": "1"}, False)
    assert (report.status, report.result.failures) == (3, [])


def test_a_call_by_a_pool_of_threads_counts_for_the_reconcile_that_runs(
    bench: PlanBench, bucket: socket.socket
) -> None:
    create(bench, "a", "b")

    def reconcile(manager: Manager, request: Request) -> None:
        if request.name == "a":
            with ThreadPoolExecutor() as pool:
                pool.submit(lambda: socket.create_connection(bucket.getsockname())).exception()
        label(manager, request)

    report = bench.plan(setup_of(reconcile))

    assert is_untouched(bucket)
    assert [work.request.name for work, _ in report.result.refused if work.request] == ["a"]
    assert [each.name for each in report.differences] == ["b"]


def test_a_plan_of_which_nothing_could_be_made_is_not_an_empty_one(bench: PlanBench, bucket: socket.socket) -> None:
    create(bench, "a")

    report = bench.plan(setup_of(lambda manager, request: socket.create_connection(bucket.getsockname())))

    assert (report.status, report.differences) == (3, [])


def test_one_host_can_be_opened(bench: PlanBench, bucket: socket.socket) -> None:
    create(bench, "a")

    report = bench.plan(
        setup_of(lambda manager, request: socket.create_connection(bucket.getsockname()).close()),
        allowed=["127.0.0.1"],
    )

    assert not is_untouched(bucket)
    assert report.status == 0


def test_a_setup_that_calls_outside_says_what_opens_it(bench: PlanBench, bucket: socket.socket) -> None:
    def setup(manager: Manager) -> None:
        socket.create_connection(bucket.getsockname())

    with pytest.raises(ControllerRuntimeError, match=r"setup calls 127\.0\.0\.1:\d+, .*--allow-outside 127\.0\.0\.1 "):
        bench.plan(setup)
    assert is_untouched(bucket)


def test_coroutines_are_planned_together_and_closed(bench: PlanBench, bucket: socket.socket) -> None:
    create(bench, "a", "b", "c")
    log: list[str] = []

    class Waiting(AsyncReconciler):
        def __init__(self, manager: Manager) -> None:
            self._client = manager.async_client

        async def reconcile(self, request: Request) -> Result:
            log.append("begins")
            await asyncio.sleep(5.0)
            if request.name == "b":
                socket.create_connection(bucket.getsockname())
            await self._client.patch(CONFIG_MAPS, request, {"data": {"x": "1"}})
            log.append("ends")
            return Result()

        async def close(self) -> None:
            log.append("closed")

    def setup(manager: Manager) -> None:
        manager.add(Controller("c", Waiting(manager), workers=3).watch(CONFIG_MAPS))

    report = bench.plan(setup)

    assert log == ["begins"] * 3 + ["ends"] * 2 + ["closed"]
    assert [each.name for each in report.differences] == ["a", "c"]
    assert [work.request.name for work, _ in report.result.refused if work.request] == ["b"]
    assert is_untouched(bucket)


def test_errors_are_listed_and_the_status_is_one(bench: PlanBench) -> None:
    create(bench, "bug", "later", "wrong")

    def reconcile(manager: Manager, request: Request) -> object:
        match request.name:
            case "bug":
                raise KeyError("x")
            case "later":
                raise TemporaryError("not ready")
        return manager.client.patch(CONFIG_MAPS, request, {"metadata": {"labels": {"no label!": ""}}})

    report = bench.plan(setup_of(reconcile))

    assert report.status == 1
    assert [str(each.work) for each in report.result.failures] == ["c default/bug", "c default/wrong"]
    assert report.result.failures[0].error == "KeyError: 'x'"
    assert [why for _, why in report.result.later] == ["TemporaryError: not ready"]


def test_a_mapper_that_fails_is_an_error_and_other_objects_are_planned(bench: PlanBench) -> None:
    create(bench, "a", "b")

    def of(delta: Delta) -> list[Request]:
        if delta.key.name == "a":
            raise KeyError("no owner")
        return [delta.key]

    def setup(manager: Manager) -> None:
        manager.add(Controller("c", Doing(lambda request: label(manager, request))).watch(CONFIG_MAPS, map=of))

    report = bench.plan(setup)

    assert [each.error for each in report.result.failures] == ["default/a: KeyError: 'no owner'"]
    assert [each.name for each in report.differences] == ["b"]


def test_followers_and_periods_have_their_requests_and_predicates_are_asked(bench: PlanBench) -> None:
    create(bench, "a", "b")
    seen: list[str] = []
    followed: list[str] = []

    def callback(delta: Delta) -> list[Request]:
        followed.append(delta.key.name)
        return []

    def setup(manager: Manager) -> None:
        controller = Controller("c", Doing(lambda request: seen.append(request.name)))
        controller.follow(CONFIG_MAPS, callback).every(3600.0, lambda: [Request("period")])
        manager.add(controller.watch(CONFIG_MAPS, lambda delta: delta.key.name == "b"))

    bench.plan(setup)

    assert (followed, seen) == (["a", "b"], ["period", "b"])


def test_what_met_a_conflict_is_tried_once_more(bench: PlanBench) -> None:
    """Beside a version that runs, an object may change between the read and the write."""
    create(bench, "a")
    tries: list[str] = []

    def setup(manager: Manager) -> None:
        lister = manager.lister(CONFIG_MAPS, dict)

        def reconcile(request: Request) -> None:
            found = lister.get(request)
            assert found is not None
            tries.append(found["metadata"]["resourceVersion"])
            if len(tries) == 1:
                bench.user.patch(CONFIG_MAPS, request, {"data": {"theirs": "1"}})
            metadata = {"resourceVersion": tries[-1], "labels": {"ours": "1"}}
            manager.client.patch(CONFIG_MAPS, request, {"metadata": metadata})

        manager.add(Controller("c", Doing(reconcile)).watch(CONFIG_MAPS))

    report = bench.plan(setup)

    assert len({*tries}) == 2
    assert (report.status, len(report.differences)) == (3, 1)


def test_a_plan_that_is_stopped_wakes_its_reconciler_and_is_none(bench: PlanBench) -> None:
    create(bench, "a", "b")
    seen = []

    def reconcile(manager: Manager, request: Request) -> None:
        seen.append(request.name)
        manager.stopping.wait_until(None)

    with pytest.raises(ControllerRuntimeError, match="stopped before every object was reconciled"):
        bench.plan(setup_of(reconcile), stop_after=3)
    assert seen == ["a"]


def test_a_kind_that_is_not_served_is_one_line(bench: PlanBench) -> None:
    cabins: Resource[Any] = Resource("example.com", "v1", "Cabin", "cabins")

    def setup(manager: Manager) -> None:
        manager.add(Controller("c", Doing(lambda request: None)).watch(cabins))

    with pytest.raises(
        ControllerRuntimeError, match=r"cabins\.example\.com cannot be planned, .*apply their definition"
    ):
        bench.plan(setup)


def test_events_and_runnables_are_no_part_of_a_plan_and_the_second_is_said(bench: PlanBench) -> None:
    create(bench, "a")

    class Loop:
        name = "loop"

        def run(self, stop: Any) -> None:
            raise AssertionError("a plan runs no runnable")

    def setup(manager: Manager) -> None:
        recorder = manager.recorder("c")
        manager.add(Loop())

        def reconcile(request: Request) -> None:
            recorder.event(manager.client.get(CONFIG_MAPS, request, dict), "Normal", "Seen", "x", resource=CONFIG_MAPS)

        manager.add(Controller("c", Doing(reconcile)).watch(CONFIG_MAPS))

    report = bench.plan(setup)

    assert not any(request.method == "POST" for request in bench.requests)
    assert report.result.not_run == ["loop runs beside the controllers"]
    assert "not run: loop runs beside the controllers" in text(report)


def test_the_json_of_a_plan_has_each_object_and_the_sums(bench: PlanBench) -> None:
    create(bench, "a")
    report = bench.plan(setup_of(label))

    document = json.loads(report.show(PlanOutput.JSON))

    [change] = document["changes"]
    assert (change["action"], change["kind"], change["namespace"], change["name"]) == (
        "update", "ConfigMap", "default", "a",
    )  # fmt: skip
    assert change["by"] == [{"controller": "c", "namespace": "default", "name": "a"}]
    assert change["patch"] == {"metadata": {"labels": {"seen": "1"}}}
    assert change["unseen"] == [{"what": "follow-ups", "text": "c will reconcile it again"}]
    assert document["summary"] == {
        "byControllerAndKind": [{"controller": "c", "kind": "ConfigMap", "create": 0, "update": 1, "delete": 0}],
        "reconciles": {"c": 1},
        "unseen": {"follow-ups": 1},
        "onlyTimes": 0,
    }


class RefusingWebhook(TransportWrapper):
    """Answers each dry run as a server does whose webhook has side effects."""

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method in ("GET", "HEAD"):
            return self.inner.request(request, deadline)
        message = 'admission webhook "bills.example.com" does not support dry run'
        body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "BadRequest", "message": message}
        return HTTPResponse(400, {"content-type": "application/json"}, json.dumps({**body, "code": 400}).encode())


def test_a_webhook_that_refuses_dry_runs_leaves_the_write_planned_and_unchecked(sim: Simulation) -> None:
    host = sim.host("here")
    real = InProcessTransport(host, APIServer(host))
    Client(host, real).create(NODES, {"metadata": {"name": "n"}})
    Client(host, real).create(NODES, {"metadata": {"name": "m"}})
    transport = PlanTransport(host, RefusingWebhook(real))
    client = Client(host, transport)

    client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    client.patch(NODES, ObjectKey("n"), {"metadata": {"labels": {"l": "1"}}})
    client.delete(NODES, ObjectKey("m"))

    assert client.get(NODES, ObjectKey("n"), dict)["metadata"]["labels"]["l"] == "1"
    for planned in transport.overlay.all():
        spots = dict(planned.blind)
        assert "bills.example.com" in spots[BlindSpot.WEBHOOK]
