# SPDX-License-Identifier: Apache-2.0
"""The event loop of a simulated host: asyncio under virtual time, without anything that needs a real machine."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from apimachinery.errors import UsageError
from apimachinery.host import Host, Thread
from controller_runtime.testing.simulation import Hang, SimulatedHost, Simulation
from controller_runtime.testing.simulation.event_loop import REFUSED

HOUR = 3600.0


def run(host: Host, main: Callable[[], Coroutine[Any, Any, object]]) -> Thread:
    """Run a coroutine to its end, on a new thread with a loop of its own."""

    def work() -> None:
        with asyncio.Runner(loop_factory=host.new_event_loop) as runner:
            runner.run(main())

    return host.spawn("loop", work)


@pytest.mark.parametrize("seed", range(10))
def test_sleeps_timeouts_task_groups_queues_and_locks_work_in_virtual_time(seed: int) -> None:
    story: list[object] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        queue, lock = asyncio.Queue[int](), asyncio.Lock()

        async def produce() -> None:
            for number in range(3):
                await asyncio.sleep(HOUR)
                async with lock:
                    await queue.put(number)

        async def consume() -> None:
            for _ in range(3):
                story.append((await queue.get(), round(loop.time() - began)))

        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            group.create_task(consume())
        try:
            async with asyncio.timeout(HOUR):
                await asyncio.Event().wait()
        except TimeoutError:
            story.append(round(loop.time() - began))

    with Simulation(seed) as sim:
        run(sim.host("r0"), main)
        sim.advance(4 * HOUR)

    assert story == [(0, 3600), (1, 7200), (2, 10800), 14400]


def test_the_time_of_a_loop_is_that_of_its_host(sim: Simulation) -> None:
    """Also if the host's clock is fast: an hour of its clock is less of the simulation's."""
    host, slept = sim.host("r0", drift=100_000), []

    async def main() -> None:
        began = host.monotonic()
        await asyncio.sleep(1.1)
        slept.append((asyncio.get_running_loop().time() - began, host.monotonic() - began, sim.time))

    run(host, main)
    sim.advance(2.0)

    assert slept == [(pytest.approx(1.1), pytest.approx(1.1), pytest.approx(1.0))]


@pytest.mark.parametrize("seed", range(20))
def test_another_thread_wakes_the_loop(seed: int) -> None:
    woken: list[float] = []

    with Simulation(seed) as sim:
        host = sim.host("r0")

        async def main() -> None:
            event, loop = asyncio.Event(), asyncio.get_running_loop()
            host.spawn("other", lambda: loop.call_soon_threadsafe(event.set))
            await event.wait()
            woken.append(sim.time)

        run(host, main)
        sim.settle()

    assert woken == [0.0]


def digest(seed: int) -> str:
    with Simulation(seed) as sim:
        host = sim.host("r0")

        async def nap(seconds: float) -> None:
            await asyncio.sleep(seconds)
            host.leaving("nap")

        async def main() -> None:
            await asyncio.gather(*(nap(host.random.random()) for _ in range(10)))

        def other() -> None:
            for _ in range(10):
                host.leaving("other")

        run(host, main)
        host.spawn("other", other)
        sim.advance(2.0)
        return sim.digest


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_a_coroutine_that_never_waits_is_a_livelock() -> None:
    goes_on = [True]

    async def spin() -> None:
        while goes_on:  # noqa: ASYNC110  the defect that the simulation finds
            await asyncio.sleep(0)

    with Simulation(livelock_after=500) as sim:
        run(sim.host("r0"), spin)
        with pytest.raises(Hang, match="livelock"):
            sim.advance(1.0)
        goes_on.clear()


async def _connect() -> None:
    await asyncio.open_connection("localhost", 80)


async def _serve() -> None:
    await asyncio.start_server(lambda reader, writer: None, "localhost", 0)


async def _execute() -> None:
    await asyncio.create_subprocess_exec("true")


async def _shell() -> None:
    await asyncio.create_subprocess_shell("true")


async def _resolve() -> None:
    await asyncio.get_running_loop().getaddrinfo("localhost", 80)


async def _thread() -> None:
    await asyncio.to_thread(lambda: None)


async def _signal() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, lambda: None)


async def _receive() -> None:
    with socket.socket() as plain:
        await asyncio.get_running_loop().sock_recv(plain, 1)


@pytest.mark.parametrize(
    ("attempt", "name"),
    [
        (_connect, "open_connection"),
        (_serve, "start_server"),
        (_execute, "create_subprocess_exec"),
        (_shell, "create_subprocess_shell"),
        (_resolve, "getaddrinfo"),
        (_thread, "to_thread"),
        (_signal, "add_signal_handler"),
        (_receive, "sock_recv"),
    ],
)
def test_what_needs_a_real_machine_is_refused_by_its_name(
    sim: Simulation, attempt: Callable[[], Awaitable[None]], name: str
) -> None:
    refused: list[str] = []

    async def main() -> None:
        try:
            await attempt()
        except UsageError as error:
            refused.append(str(error))

    run(sim.host("r0"), main)
    sim.settle()

    (message,) = refused
    assert message.startswith(name)
    assert "needs a real machine: a simulation has no " in message


def test_every_method_that_asyncio_leaves_to_real_loops_is_refused(sim: Simulation) -> None:
    """A method that a real loop adds to the abstract one, and this loop does not have, has an entry in `REFUSED`."""
    loop = sim.host("r0").new_event_loop()
    real = asyncio.SelectorEventLoop
    external = {
        name
        for name in dir(asyncio.AbstractEventLoop)
        if not name.startswith("_")
        and name.startswith(("create_", "connect_", "sock_", "add_", "remove_", "subprocess_", "start_", "send", "get"))
        and getattr(real, name) is not getattr(asyncio.AbstractEventLoop, name)
    }
    plain = {"create_future", "create_task", "get_debug", "get_exception_handler", "get_task_factory"}

    assert external - plain <= set(REFUSED)
    assert all(getattr(type(loop), name).__name__ == name for name in REFUSED)
    loop.close()


def waiting(host: SimulatedHost, story: list[str]) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return a coroutine that waits in a child task forever, and notes what ends it."""

    async def wait(name: str) -> None:
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            story.append(f"{name}: {type(error).__name__}")
            raise

    async def main() -> None:
        child = asyncio.create_task(wait("child"))
        await wait("main")
        await child

    return main


@pytest.mark.parametrize("seed", range(10))
def test_a_crash_ends_every_coroutine_where_it_waits(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """And leaves nothing that the garbage collector would end later, in another test."""
    story: list[str] = []

    with Simulation(seed) as sim:
        host = sim.host("r0")
        run(host, waiting(host, story))
        sim.settle()
        sim.crash(host)
        sim.settle()
        assert sorted(story) == ["child: Crashed", "main: Crashed"]
        assert sim.threads() == []

    gc.collect()
    assert caplog.records == []


def crash_from_within() -> None:
    with Simulation() as sim:
        host = sim.host("r0")

        async def crash() -> None:
            sim.crash(host)

        async def main() -> None:
            task = asyncio.create_task(crash())
            await asyncio.sleep(3)
            await task

        run(host, main)
        sim.settle()


def test_a_coroutine_that_ends_its_own_host_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """As a call does that is the last one of its program; asyncio would report that nothing retrieved the error."""
    crash_from_within()
    gc.collect()
    assert caplog.records == []


def test_a_host_that_crashes_before_its_loop_has_run_leaves_nothing_to_close() -> None:
    """A loop of asyncio's own would warn when it is collected, which fails whatever test runs then."""
    with Simulation() as sim:
        host = sim.host("r0")
        loops = [host.new_event_loop()]
        host.spawn("loop", loops[0].run_forever)
        sim.crash(host)
        sim.settle()
        loops.clear()

    gc.collect()


def test_the_end_of_a_simulation_ends_its_coroutines(caplog: pytest.LogCaptureFixture) -> None:
    story: list[str] = []

    with Simulation() as sim:
        host = sim.host("r0")
        run(host, waiting(host, story))

    gc.collect()
    assert sorted(story) == ["child: Crashed", "main: Crashed"]
    assert caplog.records == []
