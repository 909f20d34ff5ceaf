# SPDX-License-Identifier: Apache-2.0
"""A write is tried again after a conflict."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from apimachinery.errors import Cancelled, Conflict, Invalid
from apimachinery.stop import Stop
from controller_runtime.client.retry import ConflictRetry, retry_on_conflict
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


def failing(host: SimulatedHost, times: int, instants: list[float]) -> Callable[[], str]:
    """An attempt that meets so many conflicts, and records when it is made."""

    def attempt() -> str:
        instants.append(host.monotonic())
        if len(instants) <= times:
            raise Conflict(f"conflict {len(instants)}", code=409)
        return "done"

    return attempt


@pytest.mark.scenario("CF-01")
def test_it_is_tried_until_there_is_no_conflict(host: SimulatedHost) -> None:
    """After two conflicts the third try succeeds, and its answer is given."""
    instants: list[float] = []

    answer = retry_on_conflict(host, failing(host, 2, instants))

    assert (answer, len(instants)) == ("done", 3)


@pytest.mark.scenario("CF-01")
@pytest.mark.parametrize(
    ("retry", "delays"),
    [
        pytest.param(ConflictRetry.QUICK, [0.01] * 4, id="quick"),
        pytest.param(ConflictRetry.SHARED, [0.01, 0.05, 0.25], id="shared"),
    ],
)
def test_the_last_conflict_is_raised(host: SimulatedHost, retry: ConflictRetry, delays: list[float]) -> None:
    """It gives up after 5 tries 10 ms apart, or 4 with delays that grow fivefold, each a tenth longer at most."""
    instants: list[float] = []

    with pytest.raises(Conflict, match=f"conflict {len(delays) + 1}"):
        retry_on_conflict(host, failing(host, 9, instants), retry=retry)

    waited = [after - before for before, after in itertools.pairwise(instants)]
    assert len(waited) == len(delays)
    assert all(delay <= wait <= delay * 1.11 for wait, delay in zip(waited, delays, strict=True))


@pytest.mark.scenario("CF-01")
def test_any_other_error_is_raised_at_once(host: SimulatedHost) -> None:
    """An error that is no conflict ends it with the first try."""
    tries: list[int] = []

    def attempt() -> None:
        tries.append(1)
        raise Invalid("no", code=422)

    with pytest.raises(Invalid):
        retry_on_conflict(host, attempt)
    assert len(tries) == 1


@pytest.mark.scenario("CF-01")
def test_nothing_is_tried_once_cancelled(host: SimulatedHost) -> None:
    """If the stop was cancelled before, the attempt is not made; a stop that is merely set lets it through."""
    stop, instants = Stop(host), list[float]()

    stop.set()
    retry_on_conflict(host, failing(host, 1, instants), stop=stop)
    stop.cancel()
    with pytest.raises(Cancelled):
        retry_on_conflict(host, failing(host, 1, instants), stop=stop)

    assert len(instants) == 2


@pytest.mark.scenario("CF-01")
def test_cancelling_ends_the_wait(sim: Simulation, host: SimulatedHost) -> None:
    """A retry that is cancelled while it waits raises that at once, with the conflict as its cause."""
    stop, ended = Stop(host), list[tuple[float, Cancelled]]()

    def work() -> None:
        try:
            retry_on_conflict(host, failing(host, 9, []), retry=ConflictRetry.SHARED, stop=stop)
        except Cancelled as error:
            ended.append((host.monotonic(), error))

    host.spawn("work", work)
    sim.advance(0.1)
    cancelled_at = host.monotonic()
    stop.cancel()
    sim.settle()

    [(ended_at, error)] = ended
    assert ended_at - cancelled_at < 0.01
    assert isinstance(error.__cause__, Conflict)
