# SPDX-License-Identifier: Apache-2.0
"""Leadership is measured from when a write was sent, so a late answer does not extend it."""

from __future__ import annotations

import pytest
from kit.election_bench import Bench, Candidate

from apimachinery.errors import LeadershipLost
from controller_runtime.election.elector import Write
from controller_runtime.election.record import LeaseRecord
from controller_runtime.testing.faults import Refused
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    return Bench(sim)


def freeze_after(sim: Simulation, candidate: Candidate, write: Write, seconds: float, times: int = 1) -> Write:
    """Make the write, and freeze the host before it sees the answer."""
    left = [times]

    def late(record: LeaseRecord, deadline: float) -> None:
        write(record, deadline)
        if left[0] > 0:
            left[0] -= 1
            sim.pause(candidate.host, seconds)
            candidate.host.leaving("late answer")

    return late


def run(bench: Bench, candidate: Candidate) -> None:
    candidate.thread = candidate.host.spawn("elector", lambda: run_to_its_end(candidate))
    bench.sim.settle()


def run_to_its_end(candidate: Candidate) -> None:
    try:
        candidate.elector.run(candidate.stop)
    except LeadershipLost as error:
        candidate.outcome.fail(error)


def test_an_acquisition_that_is_answered_after_its_deadline_makes_no_leader(bench: Bench) -> None:
    a = bench.candidate("a")
    a.elector.lock.create = freeze_after(bench.sim, a, a.elector.lock.create, 12.0)  # type: ignore[method-assign]
    run(bench, a)

    bench.sim.advance(11.9)
    assert "leads" not in a.told
    assert a.elector.held is None

    bench.sim.advance(4.4)
    assert a.told[-1] == "leads"
    assert bench.spec["leaseTransitions"] == 1


def test_a_renewal_that_is_answered_after_the_deadline_renews_nothing(bench: Bench) -> None:
    a = bench.candidate("a")
    a.elector.lock.update = freeze_after(bench.sim, a, a.elector.lock.update, 12.0)  # type: ignore[method-assign]
    run(bench, a)

    bench.sim.advance(14.0)

    assert "answered too late" in str(a.outcome.failure)
    assert not a.elector.is_leader()


def test_a_leadership_counts_from_when_its_renewal_was_sent(bench: Bench) -> None:
    a = bench.candidate("a", lambda number, request: Refused() if number > 2 else None)
    a.elector.lock.update = freeze_after(bench.sim, a, a.elector.lock.update, 3.0)  # type: ignore[method-assign]
    run(bench, a)
    began = a.host.monotonic()

    bench.sim.advance(5.0)

    assert a.elector.held is not None
    assert a.elector.held.until == pytest.approx(began + 2.0 + 10.0, abs=0.01)


def test_a_loss_is_noticed_at_the_deadline_however_long_the_period(bench: Bench) -> None:
    a = bench.start("a", lambda number, request: Refused() if number > 1 else None, retry_period=4.0)

    bench.sim.advance(9.99)
    assert not a.ended
    bench.sim.advance(0.01)

    assert isinstance(a.outcome.failure, LeadershipLost)


def test_an_expired_lease_is_taken_when_it_expires_however_long_the_period(bench: Bench) -> None:
    bench.hold("other")
    a = bench.start("a", retry_period=8.0)

    bench.sim.advance(14.99)
    assert not a.elector.is_leader()
    bench.sim.advance(0.02)

    assert a.elector.is_leader()
