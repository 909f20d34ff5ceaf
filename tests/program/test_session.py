# SPDX-License-Identifier: Apache-2.0
"""A command asks its API server for its version: `reach` gives up, `await_server` waits, refusals are final."""

from __future__ import annotations

import pytest
from kit.controllers.beating import answered

from apimachinery.errors import ConnectionLost, ControllerRuntimeError, UsageError
from apimachinery.stop import Stop, spawn
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.manager.manager import Manager
from controller_runtime.program.session import ANSWER_TIMEOUT, RETRY, await_server, reach
from controller_runtime.testing.faults import Fault, FaultyTransport, LostRequest, Refused
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

NOT_YET = answered(503, "ServiceUnavailable")
BUSY = answered(429, "TooManyRequests", details={"retryAfterSeconds": 30})
UNAUTHORIZED = answered(401, "Unauthorized", message="Unauthorized")


class Command:
    """A command that starts; the requests to its API server meet `faults`, in their order, and then none."""

    def __init__(self, sim: Simulation, *faults: Fault) -> None:
        self.host = sim.host("command")
        self.faults = list(faults)
        self.then_asked = 0
        inner = InProcessTransport(self.host, APIServer(self.host))
        transport = FaultyTransport(self.host, inner, lambda *_: self.faults.pop(0) if self.faults else None)
        self.manager = Manager(self.host, transport)
        self.stop = Stop(self.host)

    def wait(self) -> float:
        """Wait for the server, and return the seconds that took."""
        began = self.host.monotonic()
        await_server(self.manager, self.stop, self._then)
        return self.host.monotonic() - began

    def run(self) -> None:
        self.wait()

    def _then(self) -> None:
        self.then_asked += 1


@pytest.mark.parametrize(
    ("faults", "seconds"),
    [
        pytest.param([], (0.0, 0.0), id="nobody waits for a server that answers"),
        pytest.param([Refused()] * 3, (3.5, 4.2), id="refused"),
        pytest.param([NOT_YET], (0.5, 0.6), id="not ready"),
        pytest.param([BUSY], (30.0, 30.0), id="asks for patience"),
        pytest.param([LostRequest()], (ANSWER_TIMEOUT + 0.5, ANSWER_TIMEOUT + 0.6), id="silent"),
        pytest.param([Refused()] * 100, (660.0, 840.0), id="for as long as it takes"),
    ],
)
def test_a_server_that_is_away_is_waited_for_with_one_warning(
    sim: Simulation, faults: list[Fault], seconds: tuple[float, float], caplog: pytest.LogCaptureFixture
) -> None:
    command = Command(sim, *faults)

    with caplog.at_level("INFO", logger="controller_runtime"):
        took = command.wait()

    assert seconds[0] - 1e-6 <= took <= seconds[1] + 1e-6
    assert command.then_asked == 1
    assert [record.levelname for record in caplog.records] == (["WARNING", "INFO"] if faults else [])


def test_a_server_that_goes_between_two_questions_is_asked_both_again(sim: Simulation) -> None:
    command = Command(sim)
    away = [ConnectionLost("cut")]

    def then() -> None:
        if away:
            raise away.pop()
        command.then_asked += 1

    await_server(command.manager, command.stop, then)

    assert command.then_asked == 1
    assert command.manager.transport.counters().answers == {("200", "GET"): 2}


@pytest.mark.parametrize("wait", [True, False], ids=["who waits", "who gives up"])
def test_credentials_that_are_refused_are_final(sim: Simulation, wait: bool) -> None:
    command = Command(sim, UNAUTHORIZED)

    with pytest.raises(ControllerRuntimeError, match=r"refuses .*check the credentials"):
        command.wait() if wait else reach(command.manager, command.stop)


def test_what_the_second_question_refuses_is_final(sim: Simulation) -> None:
    command = Command(sim)

    def refuse() -> None:
        raise UsageError("no")

    with pytest.raises(UsageError, match="no"):
        await_server(command.manager, command.stop, refuse)


@pytest.mark.parametrize("fault", [Refused(), NOT_YET], ids=["refused", "not ready"])
def test_who_does_not_wait_gives_up_with_a_reason(sim: Simulation, fault: Fault) -> None:
    command = Command(sim, fault)

    with pytest.raises(ControllerRuntimeError, match=r"cannot reach the API server: .*check that it runs"):
        reach(command.manager, command.stop)


def test_a_wait_ends_at_once_when_asked_to_stop(sim: Simulation) -> None:
    command = Command(sim, *[Refused()] * 1000)
    thread = spawn(command.host, command.stop, "waiting", command.run)
    sim.advance(100.0 + RETRY.cap / 2)
    before = command.host.monotonic()

    command.stop.set()

    assert thread.join_until(None)
    assert command.host.monotonic() == before
    assert command.then_asked == 0
