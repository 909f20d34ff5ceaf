# SPDX-License-Identifier: Apache-2.0
"""The one switch: what each end of a reconcile does to the queue, the counters and the log."""

from __future__ import annotations

import logging
import random

import pytest

from controller_runtime.api.objects import ObjectKey
from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.outcome import settle
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.core.errors import Cancelled, Conflict, ConnectionLost, TerminalError, TooManyRequests
from controller_runtime.core.log import fields_of, text_of
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import Simulation

NODE = ObjectKey("node-1")


@pytest.fixture
def queue(sim: Simulation) -> WorkQueue[Request]:
    """A queue whose one request is held, after two failures."""
    queue: WorkQueue[Request] = WorkQueue(sim.host("r0"), limiter=ItemExponential(1.0, 1000.0))
    for seconds in (1.0, 2.0):
        queue.add_rate_limited(NODE, cause="retry")
        sim.advance(seconds)
        assert queue.get() == NODE
        if seconds < 2.0:
            queue.done(NODE)
    return queue


def end(queue: WorkQueue[Request], how: Result | Exception) -> Outcome:
    outcome = settle(queue, NODE, how, 0.25, random.Random(0))
    queue.done(NODE)
    return outcome


def seconds_until_next(sim: Simulation, queue: WorkQueue[Request]) -> float | None:
    """When the request comes again, to a quarter of a second; None if it does not within a minute."""
    for quarter in range(240):
        if len(queue):
            return quarter / 4
        sim.advance(0.25)
    return None


@pytest.mark.scenario("CT-01")
@pytest.mark.scenario("CT-05")
@pytest.mark.scenario("CT-02")
@pytest.mark.parametrize(
    ("how", "outcome", "again", "failures"),
    [
        pytest.param(Result(), Outcome.SUCCESS, None, 0, id="success"),
        pytest.param(Result(7.5), Outcome.REQUEUE_AFTER, 7.5, 0, id="requeue after"),
        pytest.param(Result(0.0), Outcome.REQUEUE_AFTER, 0.0, 0, id="requeue at once"),
        pytest.param(Conflict("old", code=409), Outcome.ERROR, 4.0, 3, id="error of the API"),
        pytest.param(ConnectionLost("cut"), Outcome.ERROR, 4.0, 3, id="no answer"),
        pytest.param(TooManyRequests("busy", code=429, retry_after=9.0), Outcome.ERROR, 9.0, 3, id="retry after"),
        pytest.param(TooManyRequests("busy", code=429, retry_after=1.0), Outcome.ERROR, 4.0, 3, id="short retry after"),
        pytest.param(ZeroDivisionError("bug"), Outcome.PANIC, 4.0, 3, id="bug"),
        pytest.param(TerminalError("hopeless"), Outcome.TERMINAL_ERROR, None, 0, id="terminal error"),
        pytest.param(Cancelled("stop"), Outcome.CANCELLED, 4.0, 3, id="cancelled for no reason"),
    ],
)
def test_each_end_has_its_consequences(
    sim: Simulation,
    queue: WorkQueue[Request],
    how: Result | Exception,
    outcome: Outcome,
    again: float | None,
    failures: int,
) -> None:
    """Success forgets, a delay forgets and comes back then, an error backs off, a terminal one is over."""
    assert end(queue, how) is outcome

    assert queue.num_requeues(NODE) == failures
    assert seconds_until_next(sim, queue) == again


def test_a_delay_is_stretched_by_its_jitter(sim: Simulation, queue: WorkQueue[Request]) -> None:
    end(queue, Result(10.0, jitter=1.0))

    comes = seconds_until_next(sim, queue)

    assert comes is not None
    assert 10.0 < comes <= 20.0


@pytest.mark.scenario("CT-07")
@pytest.mark.parametrize(
    "how", [pytest.param(Conflict("old", code=409), id="error"), pytest.param(Result(1.0), id="later")]
)
def test_a_request_comes_back_in_the_band_it_came_from(sim: Simulation, how: Result | Exception) -> None:
    """What was low is low when it is retried or requeued."""
    queue: WorkQueue[Request] = WorkQueue(sim.host("r0"))
    queue.add(NODE, low=True)
    queue.get()

    end(queue, how)
    sim.advance(1.0)

    assert (queue.counters().low_depth, queue.counters().depth) == (1, 0)


@pytest.mark.parametrize(
    ("how", "level", "message"),
    [
        pytest.param(Result(), logging.DEBUG, "reconciled", id="success"),
        pytest.param(Result(1.0), logging.DEBUG, "reconciled", id="requeue after"),
        pytest.param(Cancelled("stop"), logging.DEBUG, "reconcile cancelled", id="cancelled"),
        pytest.param(ConnectionLost("cut"), logging.WARNING, "reconcile failed", id="error"),
        pytest.param(TerminalError("no"), logging.WARNING, "reconcile failed for good", id="terminal error"),
        pytest.param(ZeroDivisionError("bug"), logging.ERROR, "reconcile raised", id="bug"),
    ],
)
def test_each_end_is_one_line_with_why_it_ran(
    queue: WorkQueue[Request], caplog: pytest.LogCaptureFixture, how: Result | Exception, level: int, message: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        end(queue, how)

    (record,) = caplog.records
    assert (record.levelno, text_of(record)) == (level, message)
    assert (fields_of(record)["causes"], fields_of(record)["took"]) == ("retry", 0.25)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        pytest.param("no answer", "ConnectionLost: no answer (caused by OSError: refused)", id="what it does not say"),
        pytest.param("no answer: refused", "ConnectionLost: no answer: refused", id="what it says itself"),
    ],
)
def test_the_line_of_a_failure_names_what_caused_it_once(
    queue: WorkQueue[Request], caplog: pytest.LogCaptureFixture, message: str, said: str
) -> None:
    error = ConnectionLost(message)
    error.__cause__ = OSError("refused")

    end(queue, error)

    assert fields_of(caplog.records[0])["error"] == said
