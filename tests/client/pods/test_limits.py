# SPDX-License-Identifier: Apache-2.0
"""Sessions are held to the limits of requests: leadership, deadlines and faults. Their rights are recorded."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest
from kit.apiserver.talking import Talking
from kit.client.entered import KEY
from kubernetes.client import Configuration

from apimachinery.errors import ConnectionLost, LeadershipLost, ReconcileTimeout, StreamIdle, UsageError
from apimachinery.http import HTTPRequest
from apimachinery.system import SystemHost
from controller_runtime.client.async_client import AsyncClient
from controller_runtime.client.client import Client
from controller_runtime.client.deadlines import DeadlineTransport, reconcile_limit
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.core.deadline import deadline_scope
from controller_runtime.pods import Output
from controller_runtime.rights.asked import asked_by
from controller_runtime.testing.faults import CutStream, Fault, FaultyTransport, Refused, SilentStream
from controller_runtime.testing.recording import RecordingTransport
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.programs import Process, Program


@attrs.define
class Leadership:
    """A leadership that a test prolongs and ends."""

    until: float

    def limit(self, request: HTTPRequest) -> float:
        if self.until < 0:
            raise LeadershipLost(f"{request.method} {request.path} was not sent: leadership is lost")
        return self.until


def answer(process: Process) -> None:
    for line in process.stdin:
        process.log(line.decode())
        process.stdout.write(line)


@pytest.fixture
def host(talking: Talking) -> SimulatedHost:
    assert isinstance(talking.host, SimulatedHost)
    return talking.host


@pytest.fixture
def talking(sim: Simulation) -> Talking:
    talking = Talking(sim.host("server"))
    talking.server.programs["c"] = Program(answer, ports={80: answer})
    return talking


def test_no_message_leaves_after_the_leadership(talking: Talking, host: SimulatedHost) -> None:
    leadership = Leadership(host.monotonic() + 10)
    client = Client(host, DeadlineTransport(talking.transport, leadership.limit))
    session = client.open_exec(KEY, ["cat"])
    session.write("one\n")
    assert session.read() == Output("stdout", b"one\n")

    leadership.until = -1

    with pytest.raises(LeadershipLost):
        session.write("two\n")
    with pytest.raises(LeadershipLost):
        session.read()
    assert [*client_of(talking).logs(KEY)] == ["one"]
    with pytest.raises(LeadershipLost):
        client.exec(KEY, ["true"])


def client_of(talking: Talking) -> Client:
    return Client(talking.host, talking.transport)


def test_a_session_outlives_a_leadership_that_is_prolonged(
    sim: Simulation, talking: Talking, host: SimulatedHost
) -> None:
    leadership = Leadership(host.monotonic() + 10)
    talking.server.programs["c"] = lambda process: process.wait(25)

    client = Client(host, DeadlineTransport(talking.transport, leadership.limit))
    codes: list[int] = []
    host.spawn("leader", lambda: codes.append(client.exec(KEY, ["x"]).exit_code))

    for _ in range(5):
        sim.advance(5)
        leadership.until = host.monotonic() + 10
    sim.advance(1)

    assert codes == [0]


def test_a_session_ends_with_the_leadership_while_it_waits(talking: Talking, host: SimulatedHost) -> None:
    talking.server.programs["c"] = lambda process: process.wait(1e6)
    end = host.monotonic() + 10

    def limit(request: HTTPRequest) -> float:
        if host.monotonic() >= end:
            raise LeadershipLost("over")
        return end

    with pytest.raises(LeadershipLost):
        Client(host, DeadlineTransport(talking.transport, limit)).exec(KEY, ["sleep"], within=1000)
    assert host.monotonic() == pytest.approx(end, abs=0.01)


def test_a_command_is_over_by_the_deadline_of_its_reconcile(talking: Talking, host: SimulatedHost) -> None:
    talking.server.programs["c"] = lambda process: process.wait(1e6)
    talking.server.programs.log("p", "one")
    client = Client(host, DeadlineTransport(talking.transport, reconcile_limit(host)))

    with deadline_scope(host.monotonic() + 5), pytest.raises(ReconcileTimeout):
        client.exec(KEY, ["sleep"], within=1000)
    with deadline_scope(host.monotonic() + 5), pytest.raises(StreamIdle):
        [*client.logs(KEY, follow=True)]


@pytest.mark.parametrize("fault", [CutStream(0), CutStream(1), SilentStream(0), SilentStream(1), Refused()])
def test_no_fault_of_the_connection_is_taken_for_success(talking: Talking, host: SimulatedHost, fault: Fault) -> None:
    talking.server.programs["c"] = lambda process: process.stdout.write("out") and 0
    client = Client(host, FaultyTransport(host, talking.transport, lambda number, request: fault))

    with pytest.raises(ConnectionLost):
        client.exec(KEY, ["x"])


def test_a_stream_counts_as_a_write_and_needs_two_verbs(talking: Talking, host: SimulatedHost) -> None:
    recording = RecordingTransport(talking.transport, [])
    client = Client(host, recording)
    client.exec(KEY, ["x"])
    client.logs(KEY).close()
    client.attach(KEY).close()
    client.port_forward(KEY, 80).connect().close()

    asked = [[f"{one.verb} {one.resource}" for one in asked_by(request)] for request in recording.requests]
    assert asked == [
        ["get pods/exec", "create pods/exec"],
        ["get pods/log"],
        ["get pods/attach", "create pods/attach"],
        ["get pods/portforward", "create pods/portforward"],
    ]
    assert len(recording.writes()) == 3


def run(host: SimulatedHost, main: Callable[[], Awaitable[Any]]) -> Any:
    """Return the result of a coroutine on a thread of its own."""
    results: list[Any] = []

    async def whole() -> Any:
        return await main()

    def work() -> None:
        with asyncio.Runner(loop_factory=host.new_event_loop) as runner:
            results.append(runner.run(whole()))

    host.spawn("coroutines", work).join_until(None)
    return results[0]


def test_coroutines_enter_pods(talking: Talking, host: SimulatedHost) -> None:
    client = AsyncClient(client_of(talking))

    async def main() -> list[object]:
        result = await client.exec(KEY, ["cat"], stdin="a\n")
        heard: list[object] = [result.stdout]
        async with await client.open_exec(KEY, ["cat"]) as session:
            await session.write("b\n")
            heard.append(await session.read())
            await session.resize(80, 24)
            await session.close_stdin()
            heard += [output async for output in session]
            heard.append(session.exit_code)
        async with await client.attach(KEY) as attached:
            heard.append(await attached.read())
        async with await client.port_forward(KEY, 80).connect() as connection:
            await connection.sendall(b"c\n")
            heard.append(await connection.recv(10))
        heard += [line async for line in await client.logs(KEY, tail=2)]
        return heard

    assert run(host, main) == [b"a\n", Output("stdout", b"b\n"), 0, None, b"c\n", "b", "c"]


def test_a_coroutine_that_is_cancelled_closes_its_session(talking: Talking, host: SimulatedHost) -> None:
    client = AsyncClient(client_of(talking))

    async def main() -> tuple[object, ...]:
        session = await client.open_exec(KEY, ["cat"])
        reading = asyncio.ensure_future(session.read())
        await asyncio.sleep(1)
        reading.cancel()
        return await asyncio.gather(reading, session.write("x"), return_exceptions=True)

    cancelled, error = run(host, main)
    assert isinstance(cancelled, asyncio.CancelledError)
    assert isinstance(error, ConnectionLost)


def test_a_stream_over_http_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wsproto", None)
    host = SystemHost()
    client = Client(host, HTTPTransport(host, Configuration(host="http://127.0.0.1:9")))

    with pytest.raises(UsageError, match=r"^a stream to a pod over HTTP needs wsproto: pip install .*\[exec\]"):
        client.exec(KEY, ["x"])
