# SPDX-License-Identifier: Apache-2.0
"""The effect of each end of a reconcile on the queue, the metrics and the log."""

from __future__ import annotations

import logging
import random

import pytest

from apimachinery.errors import (
    APIError,
    Cancelled,
    Conflict,
    ConnectionLost,
    TemporaryError,
    TerminalError,
    TooManyRequests,
    UsageError,
)
from apimachinery.log import fields_of, text_of
from apimachinery.objects import ObjectKey
from controller_runtime.controller.counters import Outcome
from controller_runtime.controller.outcome import is_bug, outcome_of, retry_after, settle
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.queue.rate_limiters import ItemExponential
from controller_runtime.queue.workqueue import WorkQueue
from controller_runtime.testing.simulation import Simulation

NODE = ObjectKey("node-1")


def caused(error: Exception, cause: Exception) -> Exception:
    """Return the error of `raise error from cause`."""
    error.__cause__ = cause
    return error


@pytest.fixture
def queue(sim: Simulation) -> WorkQueue[Request]:
    """Return a queue whose only request is being processed, after two failures."""
    queue: WorkQueue[Request] = WorkQueue(sim.host("r0"), limiter=ItemExponential(1.0, 1000.0))
    for seconds in (1.0, 2.0):
        queue.add_rate_limited(NODE, cause="retry")
        sim.advance(seconds)
        assert queue.get() == NODE
        if seconds < 2.0:
            queue.done(NODE)
    return queue


def end(queue: WorkQueue[Request], how: Result | Exception) -> Outcome:
    outcome = settle(queue, NODE, how, 0.25, random.Random(0), causes=queue.causes(NODE))
    queue.done(NODE)
    return outcome


def seconds_until_next(sim: Simulation, queue: WorkQueue[Request]) -> float | None:
    """Return when the request is ready again, to a quarter of a second; None if it is not within a minute."""
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
        pytest.param(TemporaryError("down"), Outcome.ERROR, 4.0, 3, id="outside"),
        pytest.param(TemporaryError("busy", requeue_after=7.5), Outcome.ERROR, 7.5, 2, id="outside, later"),
        pytest.param(TemporaryError("busy", requeue_after=0.0), Outcome.ERROR, 0.0, 2, id="outside, at once"),
        pytest.param(
            ExceptionGroup("g", [TemporaryError("a", requeue_after=6.0), TemporaryError("b", requeue_after=8.0)]),
            Outcome.ERROR,
            8.0,
            2,
            id="outside, the latest of a group",
        ),
        pytest.param(
            ExceptionGroup("g", [TemporaryError("a", requeue_after=6.0), Conflict("old", code=409)]),
            Outcome.ERROR,
            6.0,
            3,
            id="outside, beside an error without a delay",
        ),
        pytest.param(
            caused(ZeroDivisionError("bug"), TemporaryError("a", requeue_after=6.0)),
            Outcome.PANIC,
            6.0,
            2,
            id="bug that is raised from a temporary error",
        ),
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
    """Success and requeue_after forget the failures, an error backs off, and a terminal one is not retried."""
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
    """A request of the low band stays in it when it is retried or requeued."""
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
        pytest.param(TemporaryError("down"), logging.WARNING, "reconcile failed", id="outside"),
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
    assert (str(fields_of(record)["causes"]), fields_of(record)["took"]) == ("retry", 0.25)


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


def handled(error: Exception, context: Exception) -> Exception:
    """Return the error of `raise error` while `context` is handled."""
    error.__context__ = context
    return error


def member_of_its_cause(member: Exception, other: Exception) -> Exception:
    """Return the error of `raise group.exceptions[0] from group`."""
    return caused(member, ExceptionGroup("both", [member, other]))


def conflict() -> APIError:
    return Conflict("old", code=409)


def busy(seconds: float) -> APIError:
    return TooManyRequests("busy", code=429, retry_after=seconds)


@pytest.mark.scenario("CT-05")
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        pytest.param(TerminalError("no"), Outcome.TERMINAL_ERROR, id="terminal"),
        pytest.param(caused(ValueError("spec"), TerminalError("no")), Outcome.TERMINAL_ERROR, id="cause"),
        pytest.param(caused(conflict(), TerminalError("no")), Outcome.TERMINAL_ERROR, id="cause of an expected error"),
        pytest.param(
            caused(ValueError("outer"), caused(KeyError("inner"), TerminalError("no"))),
            Outcome.TERMINAL_ERROR,
            id="cause of a cause",
        ),
        pytest.param(caused(TerminalError("no"), conflict()), Outcome.TERMINAL_ERROR, id="terminal with a cause"),
        pytest.param(handled(ValueError("bug"), TerminalError("no")), Outcome.PANIC, id="context alone"),
        pytest.param(handled(conflict(), TerminalError("no")), Outcome.ERROR, id="context of an expected error"),
        pytest.param(ExceptionGroup("g", [TerminalError("no")]), Outcome.TERMINAL_ERROR, id="group of one"),
        pytest.param(
            ExceptionGroup("g", [TerminalError("a"), caused(ValueError("b"), TerminalError("c"))]),
            Outcome.TERMINAL_ERROR,
            id="group of terminal errors",
        ),
        pytest.param(
            ExceptionGroup("g", [ExceptionGroup("h", [TerminalError("a")]), TerminalError("b")]),
            Outcome.TERMINAL_ERROR,
            id="group in a group",
        ),
        pytest.param(
            caused(ValueError("spec"), ExceptionGroup("g", [TerminalError("a")])),
            Outcome.TERMINAL_ERROR,
            id="group as a cause",
        ),
        pytest.param(ExceptionGroup("g", [TerminalError("a"), conflict()]), Outcome.ERROR, id="beside an expected one"),
        pytest.param(ExceptionGroup("g", [TerminalError("a"), KeyError("b")]), Outcome.PANIC, id="beside a bug"),
        pytest.param(
            caused(ExceptionGroup("g", [conflict()]), TerminalError("no")), Outcome.TERMINAL_ERROR, id="group's cause"
        ),
        pytest.param(ExceptionGroup("g", [conflict(), ConnectionLost("cut")]), Outcome.ERROR, id="expected errors"),
        pytest.param(ExceptionGroup("g", [conflict(), KeyError("b")]), Outcome.PANIC, id="a bug beside another"),
        pytest.param(caused(KeyError("b"), conflict()), Outcome.PANIC, id="bug with an expected cause"),
        pytest.param(caused(ValueError("v"), Cancelled("stop")), Outcome.CANCELLED, id="cancelled as a cause"),
        pytest.param(ExceptionGroup("g", [Cancelled("a"), Cancelled("b")]), Outcome.CANCELLED, id="all cancelled"),
        pytest.param(ExceptionGroup("g", [Cancelled("a"), conflict()]), Outcome.ERROR, id="cancelled in part"),
        pytest.param(member_of_its_cause(conflict(), TerminalError("no")), Outcome.ERROR, id="raised from its group"),
        pytest.param(SystemExit(caused(ValueError("v"), TerminalError("no"))), Outcome.PANIC, id="an argument alone"),
    ],
)
def test_what_an_error_counts_as(error: BaseException, outcome: Outcome) -> None:
    """Causes and members of groups count; an error that was merely handled at the same time does not."""
    assert outcome_of(error) is outcome


def during(error: Exception, handled: Exception, *, is_hidden: bool = False) -> Exception:
    """Return the error of `raise error` while another is handled; hidden: of `raise error from None`."""
    error.__context__, error.__suppress_context__ = handled, is_hidden
    return error


MISUSE = UsageError("a mistake")


@pytest.mark.parametrize(
    ("error", "outcome", "bug"),
    [
        pytest.param(MISUSE, Outcome.PANIC, True, id="itself"),
        pytest.param(ExceptionGroup("g", [conflict(), MISUSE]), Outcome.PANIC, True, id="member"),
        pytest.param(caused(conflict(), MISUSE), Outcome.PANIC, True, id="cause"),
        pytest.param(
            caused(conflict(), ExceptionGroup("g", [caused(conflict(), MISUSE)])), Outcome.PANIC, True, id="far"
        ),
        pytest.param(during(conflict(), MISUSE), Outcome.PANIC, True, id="context"),
        pytest.param(
            caused(during(conflict(), MISUSE), TimeoutError()), Outcome.PANIC, True, id="context beside a cause"
        ),
        pytest.param(during(conflict(), MISUSE, is_hidden=True), Outcome.ERROR, False, id="from None"),
        pytest.param(caused(TerminalError("no"), MISUSE), Outcome.TERMINAL_ERROR, True, id="terminal"),
        pytest.param(during(Cancelled("stop"), MISUSE), Outcome.CANCELLED, True, id="cancelled"),
        pytest.param(during(conflict(), KeyError()), Outcome.ERROR, False, id="another context"),
        pytest.param(caused(conflict(), KeyError()), Outcome.ERROR, False, id="another cause"),
        pytest.param(KeyError(), Outcome.PANIC, True, id="unexpected"),
        pytest.param(conflict(), Outcome.ERROR, False, id="expected"),
    ],
)
def test_a_mistake_of_the_program_is_a_bug_whatever_wraps_it(error: Exception, outcome: Outcome, bug: bool) -> None:
    assert (outcome_of(error), is_bug(error)) == (outcome, bug)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        pytest.param(busy(9.0), 9.0, id="itself"),
        pytest.param(conflict(), 0.0, id="none"),
        pytest.param(ValueError("v"), 0.0, id="no error of the API"),
        pytest.param(caused(ValueError("v"), busy(9.0)), 9.0, id="cause"),
        pytest.param(caused(busy(2.0), busy(9.0)), 9.0, id="the longer of two"),
        pytest.param(ExceptionGroup("g", [busy(2.0), caused(KeyError("k"), busy(9.0)), busy(3.0)]), 9.0, id="members"),
        pytest.param(handled(ValueError("v"), busy(9.0)), 0.0, id="context alone"),
        pytest.param(member_of_its_cause(busy(2.0), busy(9.0)), 9.0, id="raised from its group"),
    ],
)
def test_the_longest_wait_that_a_server_asked_for_counts(error: BaseException, seconds: float) -> None:
    assert retry_after(error) == seconds


@pytest.mark.parametrize(
    ("how", "outcome", "again", "failures"),
    [
        pytest.param(caused(ValueError("spec"), TerminalError("no")), Outcome.TERMINAL_ERROR, None, 0, id="terminal"),
        pytest.param(caused(ValueError("v"), busy(9.0)), Outcome.PANIC, 9.0, 3, id="retry after of a cause"),
        pytest.param(ExceptionGroup("g", [conflict(), busy(9.0)]), Outcome.ERROR, 9.0, 3, id="retry after of a member"),
    ],
)
def test_a_wrapped_error_has_the_consequences_of_what_it_wraps(
    sim: Simulation, queue: WorkQueue[Request], how: Exception, outcome: Outcome, again: float | None, failures: int
) -> None:
    assert end(queue, how) is outcome

    assert queue.num_requeues(NODE) == failures
    assert seconds_until_next(sim, queue) == again


def test_the_line_of_a_group_names_its_first_members(
    queue: WorkQueue[Request], caplog: pytest.LogCaptureFixture
) -> None:
    end(queue, ExceptionGroup("parts", [ConnectionLost(f"part {n}") for n in range(6)]))

    said = str(fields_of(caplog.records[0])["error"])
    assert "ConnectionLost: part 0; ConnectionLost: part 1" in said
    assert ("part 3" in said, "part 4" in said) == (True, False)


def test_errors_that_cause_each_other_end_in_one_line(
    queue: WorkQueue[Request], caplog: pytest.LogCaptureFixture
) -> None:
    first, second = ConnectionLost("first"), ConnectionLost("second")
    first.__cause__, second.__cause__ = second, first

    assert end(queue, first) is Outcome.ERROR

    assert fields_of(caplog.records[0])["error"] == "ConnectionLost: first (caused by ConnectionLost: second)"


def test_a_long_chain_of_causes_is_one_short_line(queue: WorkQueue[Request], caplog: pytest.LogCaptureFixture) -> None:
    """A loop that raises each failure from the one before makes such a chain."""
    error = ConnectionLost("try 0")
    for n in range(1, 5000):
        later = ConnectionLost(f"try {n}")
        later.__cause__ = error
        error = later

    assert end(queue, error) is Outcome.ERROR

    assert len(str(fields_of(caplog.records[0])["error"])) < 500
