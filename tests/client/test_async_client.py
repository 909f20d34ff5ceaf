# SPDX-License-Identifier: Apache-2.0
"""The client of coroutines: the verbs of the synchronous one, on a bounded number of threads."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import typing
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest

from apimachinery.errors import AlreadyExists, Conflict, ConnectionLost, NotFound, ReconcileTimeout
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.client.async_client import AsyncClient
from controller_runtime.client.client import Client
from controller_runtime.client.create_or_patch import Change
from controller_runtime.client.deadlines import DeadlineTransport, reconcile_limit
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.request_threads import LINGER, Job, RequestThreads
from controller_runtime.core.deadline import deadline_scope
from controller_runtime.testing import a_node, a_pod
from controller_runtime.testing.faults import Delayed, Fault, Faults, FaultyTransport
from controller_runtime.testing.recording import RecordingTransport
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

A, B = ObjectKey("a"), ObjectKey("b")
Main = Callable[[], Awaitable[Any]]


@attrs.define
class Bench:
    """A server, a client of coroutines whose requests may have faults, and the results of coroutines."""

    sim: Simulation
    host: SimulatedHost
    user: Client
    client: AsyncClient
    sent: RecordingTransport
    results: list[Any] = attrs.field(factory=list)

    def begin(self, main: Main) -> None:
        """Run a coroutine on a thread of its own, and note what it returns or raises."""

        def work() -> None:
            with asyncio.Runner(loop_factory=self.host.new_event_loop) as runner:
                self.results.append(runner.run(note()))

        async def note() -> Any:
            try:
                return await main()
            except Exception as error:  # noqa: BLE001  the test looks at it
                return error

        self.host.spawn("loop", work)

    def run(self, main: Main, seconds: float = 60.0) -> Any:
        self.begin(main)
        self.sim.advance(seconds)
        return self.results.pop()


def bench_of(sim: Simulation, faults: Faults = lambda number, request: None, threads: int = 16) -> Bench:
    host = sim.host("r0")
    server = APIServer(host)
    sent = RecordingTransport(FaultyTransport(host, InProcessTransport(host, server), faults))
    client = Client(host, DeadlineTransport(sent, reconcile_limit(host)))
    user = Client(host, InProcessTransport(host, server))
    return Bench(sim, host, user, AsyncClient(client, RequestThreads(host, threads)), sent)


def slow(method: str, seconds: float) -> Faults:
    """Return faults by which the answers of one method take `seconds`."""

    def fault(number: int, request: HTTPRequest) -> Fault | None:
        return Delayed(seconds) if request.method == method else None

    return fault


PUBLIC = [name for name in dir(Client) if callable(getattr(Client, name)) and not name.startswith("_")]
PUBLIC.remove("from_kubeconfig")
OF_COROUTINES = {name: f"Async{name}" for name in ("Logs", "PortForward", "Session")}
COPIES = {"within", "until", "limited", "writing"}


@pytest.mark.parametrize("name", PUBLIC)
def test_each_method_of_the_client_is_one_of_the_async_client_with_the_same_signature(name: str) -> None:
    """Names, kinds, defaults and annotations of all arguments; and each overload."""
    plain, coroutine = getattr(Client, name), getattr(AsyncClient, name)
    forms = zip([plain, *typing.get_overloads(plain)], [coroutine, *typing.get_overloads(coroutine)], strict=True)

    for one, other in forms:
        mine, theirs = inspect.signature(one), inspect.signature(other)
        assert mine.parameters == theirs.parameters
        wanted = mine.return_annotation
        assert theirs.return_annotation == ("AsyncClient" if name in COPIES else OF_COROUTINES.get(wanted, wanted))
    assert inspect.iscoroutinefunction(coroutine) is (name not in {*COPIES, "port_forward"})


def test_the_async_client_adds_only_what_takes_a_client_elsewhere() -> None:
    added = {name for name in dir(AsyncClient) if not name.startswith("_")} - set(PUBLIC)

    assert added == {"create_or_patch", "retry_on_conflict", "call"}


def test_every_verb_does_what_the_synchronous_one_does(sim: Simulation) -> None:
    bench = bench_of(sim)
    client = bench.client.writing(field_manager="test")

    async def main() -> list[Any]:
        made = await client.create(NODES, a_node("a"))
        patched = await client.patch(NODES, A, {"metadata": {"labels": {"x": "1"}}})
        read = await client.get(NODES, A, dict)
        read["metadata"]["labels"]["x"] = "2"
        await client.update(NODES, read)
        await client.apply(NODES, {"metadata": {"name": "b", "labels": {"x": "2"}}}, force=True)
        found = await client.list(NODES, label_selector="x=2", view=dict)
        model = await client.get(NODES, A)
        await client.create(PODS, a_pod("p", node="a"), "default")
        await client.create_subresource(PODS, ObjectKey("p", "default"), "eviction")
        status = await client.get_subresource(NODES, A, "status")
        await client.delete(NODES, B)
        resource = await client.resource("node")
        await client.delete_collection(NODES, label_selector="x=2")
        names = [node["metadata"]["name"] for node in found]
        return [made.key, patched.key, names, model.metadata.name, status["kind"], resource.plural]

    assert bench.run(main) == [A, A, ["a", "b"], "a", "Node", "nodes"]
    assert bench.user.list(NODES) == []
    writes = [request for request in bench.sent.writes() if request.method in ("POST", "PATCH", "PUT")]
    assert all(("fieldManager", "test") in request.query for request in writes)


@pytest.mark.parametrize(
    ("attempt", "error"),
    [
        pytest.param(lambda client: client.get(NODES, B), NotFound, id="a read"),
        pytest.param(lambda client: client.create(NODES, a_node("a")), AlreadyExists, id="a write"),
        pytest.param(lambda client: client.call(lambda: 1 // 0), ZeroDivisionError, id="a function"),
        pytest.param(lambda client: client.call(lambda: next(iter(()))), RuntimeError, id="an end of iteration"),
    ],
)
def test_what_the_synchronous_call_raises_is_raised_where_it_is_awaited(
    sim: Simulation, attempt: Callable[[AsyncClient], Awaitable[Any]], error: type[Exception]
) -> None:
    bench = bench_of(sim)
    bench.user.create(NODES, a_node("a"))

    assert isinstance(bench.run(lambda: attempt(bench.client)), error)


@pytest.mark.parametrize("seed", range(10))
def test_a_slow_answer_keeps_no_other_coroutine_waiting(seed: int) -> None:
    """The list takes 10 s; meanwhile a sleep ends and another object is read."""
    with Simulation(seed) as sim:
        bench = bench_of(sim, lambda number, request: Delayed(10.0) if request.path.endswith("nodes") else None)
        bench.user.create(NODES, a_node("a"))
        ended: list[str] = []

        async def note(name: str, work: Awaitable[Any]) -> None:
            await work
            ended.append(name)

        async def main() -> None:
            await asyncio.gather(
                note("list", bench.client.list(NODES)),
                note("sleep", asyncio.sleep(5.0)),
                note("get", bench.client.get(NODES, A)),
            )

        bench.run(main)

        assert ended == ["get", "sleep", "list"]


def test_no_more_requests_are_sent_at_a_time_than_there_are_threads(sim: Simulation) -> None:
    """Seven answers of 1 s each on two threads take 4 s; no thread is left when they have come."""
    bench = bench_of(sim, slow("GET", 1.0), threads=2)
    most: list[int] = []

    async def main() -> float:
        began = bench.host.monotonic()
        await asyncio.gather(*(bench.client.list(NODES) for _ in range(7)), watch())
        return bench.host.monotonic() - began

    async def watch() -> None:
        for _ in range(3):
            await asyncio.sleep(0.5)
            most.append(sum("requests-" in name for name in sim.threads()))

    assert bench.run(main) == pytest.approx(4.0)
    assert most == [2, 2, 2]
    assert sim.threads() == []


def test_the_deadline_of_the_coroutine_bounds_its_requests(sim: Simulation) -> None:
    """A request in flight ends at the deadline, and a later one is not sent, though both are on other threads."""
    bench = bench_of(sim, slow("GET", 20.0))

    async def main() -> tuple[float, list[str]]:
        began = bench.host.monotonic()
        with deadline_scope(began + 5.0):
            errors = []
            for _ in range(2):
                try:
                    await bench.client.list(NODES)
                except (ConnectionLost, ReconcileTimeout) as error:
                    errors.append(type(error).__name__)
            return bench.host.monotonic() - began, errors

    assert bench.run(main) == (pytest.approx(5.0), ["ConnectionLost", "ReconcileTimeout"])
    assert len(bench.sent.requests) == 1


def test_each_call_has_the_context_of_its_coroutine_on_whatever_thread_it_runs(sim: Simulation) -> None:
    """All calls run on one thread, which was started in the context of the first."""
    bench, variable = bench_of(sim, threads=1), contextvars.ContextVar[int]("variable")

    async def look(number: int) -> int:
        variable.set(number)
        return await bench.client.call(variable.get)

    async def main() -> list[int]:
        return await asyncio.gather(*(look(number) for number in range(5)))

    assert bench.run(main) == [0, 1, 2, 3, 4]


def test_a_cancelled_read_is_abandoned(sim: Simulation) -> None:
    bench = bench_of(sim, slow("GET", 20.0))

    async def main() -> float:
        began = bench.host.monotonic()
        try:
            async with asyncio.timeout(1.0):
                await bench.client.list(NODES)
        except TimeoutError:
            return bench.host.monotonic() - began
        return 0.0

    assert bench.run(main) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(10))
def test_a_cancelled_write_that_was_sent_is_waited_for(seed: int) -> None:
    """Else it could be carried out during the next reconcile. More cancellations do not end the wait either."""
    with Simulation(seed) as sim:
        bench = bench_of(sim, slow("POST", 20.0))

        async def main() -> tuple[bool, float]:
            began = bench.host.monotonic()
            write = asyncio.create_task(bench.client.create(NODES, a_node("a")))
            for _ in range(3):
                await asyncio.sleep(1.0)
                write.cancel()
            await asyncio.wait([write])
            return write.cancelled(), bench.host.monotonic() - began

        assert bench.run(main) == (True, pytest.approx(20.0, abs=0.1))
        assert bench.user.get(NODES, A).metadata.name == "a"


def test_a_cancelled_write_that_waits_for_a_thread_is_not_sent(sim: Simulation) -> None:
    bench = bench_of(sim, slow("GET", 5.0), threads=1)

    async def main() -> float:
        read = asyncio.create_task(bench.client.list(NODES))
        await asyncio.sleep(1.0)
        began = bench.host.monotonic()
        write = asyncio.create_task(bench.client.create(NODES, a_node("a")))
        await asyncio.sleep(1.0)
        write.cancel()
        await asyncio.wait([write])
        took = bench.host.monotonic() - began
        await read
        return took

    assert bench.run(main) == pytest.approx(1.0)
    assert bench.sent.writes() == []


def test_an_answer_that_comes_after_the_end_of_its_loop_is_ignored(sim: Simulation) -> None:
    bench = bench_of(sim, slow("GET", 20.0))

    async def main() -> str:
        asyncio.create_task(bench.client.list(NODES))  # noqa: RUF006  it is meant to be left behind
        await asyncio.sleep(1.0)
        return "ended"

    assert bench.run(main) == "ended"
    assert sim.threads() == []


def test_create_or_patch_creates_then_patches_what_differs(sim: Simulation) -> None:
    bench = bench_of(sim)

    def label(value: str) -> Callable[[dict[str, Any]], None]:
        return lambda node: node["metadata"].setdefault("labels", {}).update(x=value)

    async def main() -> list[Change]:
        return [(await bench.client.create_or_patch(NODES, A, label(value))).change for value in ("1", "1", "2")]

    assert bench.run(main) == [Change.CREATED, Change.UNCHANGED, Change.UPDATED]


@pytest.mark.parametrize(("conflicts", "tries"), [(0, 1), (4, 5), (9, 5)])
def test_conflicts_are_retried_as_often_as_the_synchronous_function_does(
    sim: Simulation, conflicts: int, tries: int
) -> None:
    bench, tried = bench_of(sim), []

    async def attempt() -> str:
        tried.append(bench.host.monotonic())
        if len(tried) <= conflicts:
            raise Conflict("changed", code=409)
        return "written"

    ended = bench.run(lambda: bench.client.retry_on_conflict(attempt))

    assert len(tried) == tries
    assert ended == "written" if conflicts < 5 else isinstance(ended, Conflict)
    assert tried[-1] - tried[0] == pytest.approx(0.0105 * (tries - 1), rel=0.1)


@pytest.mark.parametrize("seed", range(10))
def test_a_thread_serves_many_calls_and_ends_when_there_are_none(seed: int) -> None:
    with Simulation(seed) as sim:
        bench = bench_of(sim)

        async def main() -> set[str]:
            names = set[str]()
            for _ in range(20):
                names.add(await bench.client.call(lambda: threading.current_thread().name))
                await asyncio.sleep(LINGER / 10)
            return names

        assert bench.run(main, LINGER * 20) == {"r0/requests-1"}
        assert sim.threads() == []


@pytest.mark.parametrize("seed", range(20))
def test_no_call_is_left_without_a_thread_however_the_threads_end(seed: int) -> None:
    """Calls come just as the threads that have waited for them are about to end."""
    with Simulation(seed) as sim:
        bench = bench_of(sim, threads=3)

        async def main() -> int:
            done = 0
            for _ in range(10):
                async with asyncio.TaskGroup() as group:
                    for _ in range(5):
                        group.create_task(bench.client.call(lambda: None))
                done += 5
                await asyncio.sleep(LINGER)
            return done

        assert bench.run(main) == 50


def test_threads_that_wait_for_work_end_when_they_are_joined(sim: Simulation) -> None:
    host = sim.host("r0")
    threads = RequestThreads(host)
    threads.submit(Job(lambda: None, lambda: None))
    sim.settle()

    assert threads.join_until(None) == []
    assert sim.time == 0.0


def test_there_must_be_a_thread(sim: Simulation) -> None:
    with pytest.raises(ValueError, match="must be at least 1"):
        RequestThreads(sim.host("r0"), 0)
