# SPDX-License-Identifier: Apache-2.0
"""Finalizers whose functions are awaited: what holds for `Finalizers` holds for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import attrs
import msgspec
import pytest
from kit.coroutines import counters_of

from apimachinery.errors import TemporaryError, UsageError
from apimachinery.objects import ObjectKey, ObjectMeta, PartialObjectMetadata, meta
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.controller.async_finalizers import AsyncFinalizers
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.reconciler import AsyncReconciler, Request, Result
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node

A, B, OTHER = "example.com/a", "example.com/b", "example.com/other"
KEY = ObjectKey("a")
Finalize = Callable[[Any], Awaitable[None]]


@attrs.frozen
class Works(AsyncReconciler):
    """Notes the objects for which there is work to do."""

    finalizers: AsyncFinalizers[Any]
    nodes: Lister[Any]
    worked: list[str] = attrs.field(factory=list)

    async def reconcile(self, request: Request) -> Result:
        node = await self.finalizers.get(self.nodes, request)
        if node is not None:
            self.worked.append(meta(node).name)
        return Result()


@attrs.frozen
class Bench:
    """A controller of nodes whose finalizers are awaited."""

    simulation: Simulation
    cluster: EmbeddedCluster

    def run(self, *functions: tuple[str, Finalize], **options: Any) -> tuple[Works, Controller]:
        manager = self.cluster.manager
        finalizers = AsyncFinalizers(manager.async_client, NODES, dict)
        for name, function in functions:
            finalizers.register(name, function)
        works = Works(finalizers, manager.lister(NODES, dict))
        controller = Controller("works", works, **options).watch(NODES)
        manager.add(controller)
        self.cluster.start()
        return works, controller

    def held_by(self) -> list[str]:
        [node] = self.cluster.user.list(NODES, view=dict) or [{"metadata": {}}]
        return node["metadata"].get("finalizers", [])

    def create(self, *finalizers: str, **fields: Any) -> None:
        self.cluster.user.create(NODES, {"metadata": {"name": "a", "finalizers": [*finalizers]}, **fields})
        self.simulation.settle()

    def delete(self) -> None:
        self.cluster.user.delete(NODES, KEY)
        self.simulation.settle()


@pytest.fixture
def bench(simulation: Simulation, cluster: EmbeddedCluster) -> Bench:
    return Bench(simulation, cluster)


def sleeping(seconds: float, done: list[str]) -> Finalize:
    async def finalize(node: dict[str, Any]) -> None:
        await asyncio.sleep(seconds)
        done.append(meta(node).name)

    return finalize


def test_the_finalizer_is_on_the_object_before_the_work_and_off_after_the_coroutine_has_returned(bench: Bench) -> None:
    done: list[str] = []
    works, _ = bench.run((A, sleeping(10.0, done)))
    bench.create(OTHER)
    assert (bench.held_by(), works.worked) == ([OTHER, A], ["a", "a"])

    bench.delete()
    bench.simulation.advance(9.0)
    assert (done, bench.held_by()) == ([], [OTHER, A])
    bench.simulation.advance(2.0)

    assert (done, bench.held_by()) == (["a"], [OTHER])


def test_the_coroutines_of_many_objects_wait_at_the_same_time(bench: Bench) -> None:
    done: list[str] = []
    bench.run((A, sleeping(10.0, done)), workers=50)
    for number in range(50):
        bench.cluster.user.create(NODES, a_node(f"n{number}"))
    bench.simulation.settle()
    for number in range(50):
        bench.cluster.user.delete(NODES, ObjectKey(f"n{number}"))
    bench.simulation.advance(11.0)

    assert len(done) == 50
    assert bench.held_by() == []


def test_a_finalizer_that_raises_is_counted_and_retried_and_holds_the_object_alone(bench: Bench) -> None:
    done: list[str] = []
    fails = [True, True]

    async def fail(node: dict[str, Any]) -> None:
        if fails:
            fails.pop()
            raise TemporaryError("the service is down")

    _, controller = bench.run((A, fail), (B, sleeping(1.0, done)))
    bench.create()
    bench.cluster.user.delete(NODES, KEY)
    bench.simulation.advance(1.001)
    assert (done, bench.held_by()) == (["a"], [A])

    bench.simulation.advance(1.0)

    assert bench.cluster.user.list(NODES) == []
    assert counters_of(controller).outcomes[Outcome.ERROR] == 2


def test_several_that_fail_are_raised_together(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(node: dict[str, Any]) -> None:
        raise TemporaryError("down", requeue_after=1e6)

    _, controller = bench.run((A, fail), (B, fail))
    bench.create()
    bench.delete()

    assert (counters_of(controller).outcomes[Outcome.ERROR], bench.held_by()) == (1, [A, B])
    assert "finalizers failed (2 sub-exceptions): TemporaryError: down; TemporaryError: down" in caplog.text


def test_a_coroutine_is_cancelled_at_the_timeout_of_the_reconcile_and_its_finalizer_stays(bench: Bench) -> None:
    ended: list[str] = []

    async def hang(node: dict[str, Any]) -> None:
        try:
            await asyncio.sleep(1e6)
        finally:
            ended.append(meta(node).name)

    _, controller = bench.run((A, hang), reconcile_timeout=5.0)
    bench.create()
    bench.delete()
    bench.simulation.advance(5.5)

    assert ended == ["a"]
    assert bench.held_by() == [A]
    assert counters_of(controller).outcomes[Outcome.ERROR] == 1


def test_a_function_that_is_no_coroutine_is_an_error_and_its_finalizer_stays(bench: Bench) -> None:
    with bench.cluster.expect_panics(UsageError) as seen:
        bench.run((A, lambda node: None))  # type: ignore[arg-type, return-value]
        bench.create()
        bench.delete()

    assert str(seen[0].error).startswith(
        f"finalizer {A}: its function returned None, which cannot be awaited: write an"
    )
    assert bench.held_by() == [A]


class Provider(msgspec.Struct, rename={"id": "providerID"}):
    id: Literal["", "good"] = ""


class Strict(msgspec.Struct):
    """A view that cannot hold every node."""

    metadata: ObjectMeta
    spec: Provider = msgspec.field(default_factory=Provider)


def test_an_object_that_cannot_be_read_is_finalized_by_functions_of_its_metadata_alone(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    async def of_metadata(node: PartialObjectMetadata) -> None:
        done.append(node.metadata.name)

    manager = bench.cluster.manager
    finalizers = AsyncFinalizers(manager.async_client, NODES, Strict).register(B, sleeping(0.0, done))
    finalizers.register_for_metadata(A, of_metadata)
    manager.add(Controller("works", Works(finalizers, manager.lister(NODES, Strict))).watch(NODES))
    bench.cluster.start()
    bench.create(A, B, spec={"providerID": "bad"})
    bench.delete()

    assert (done, bench.held_by()) == (["a"], [B])
    assert f"{B} needs the whole object: mend the object" in caplog.text
