# SPDX-License-Identifier: Apache-2.0
"""The elector's loop: its requests, their times, and whether it leads."""

from __future__ import annotations

import pytest
from kit.election_bench import LEASE, Bench

from apimachinery.errors import LeadershipLost
from apimachinery.http import HTTPRequest
from controller_runtime.api.resources import LEASES
from controller_runtime.testing.faults import Fault, LostReply, LostRequest, Refused, scripted
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    return Bench(sim)


def after(seconds: float, sim: Simulation, fault: Fault) -> object:
    """Let all requests fail from now on."""

    def faults(number: int, request: HTTPRequest) -> Fault | None:
        return fault if sim.time >= seconds else None

    return faults


@pytest.mark.scenario("LE-01", "LE-07", "E-09")
def test_a_healthy_leader_makes_the_lease_and_then_only_writes_it(bench: Bench) -> None:
    """It reads the lease, creates it, then writes it once per retry period and does not read it."""
    a = bench.start("a")

    bench.sim.advance(4.5)

    assert a.verbs == ["GET", "POST", "PUT", "PUT"]
    assert [round(time, 3) for time, _ in a.calls] == [0.0, 0.0, 2.0, 4.0]
    assert a.elector.is_leader()
    assert bench.spec["leaseTransitions"] == 0
    assert a.told == ["sees 'a'", "leads"]


@pytest.mark.scenario("LE-08")
def test_a_conflict_is_followed_by_a_look_and_another_write(bench: Bench) -> None:
    """A label that another client sets costs one read, not the leadership."""
    a = bench.start("a")
    bench.sim.advance(2.5)
    bench.client.patch(LEASES, LEASE, {"metadata": {"labels": {"x": "y"}}})

    bench.sim.advance(4.0)

    assert a.verbs == ["GET", "POST", "PUT", "PUT", "GET", "PUT", "PUT"]
    assert a.elector.is_leader()
    assert bench.client.get(LEASES, LEASE, dict)["metadata"]["labels"] == {"x": "y"}


def test_a_renewal_keeps_what_does_not_change(bench: Bench) -> None:
    bench.hold("", transitions=7)
    a = bench.start("a")
    first = bench.spec

    bench.sim.advance(4.5)

    assert bench.spec["renewTime"] > first["renewTime"]
    assert {**bench.spec, "renewTime": ""} == {**first, "renewTime": ""}
    assert a.elector.held is not None
    assert a.elector.held.token == bench.spec["leaseTransitions"] == 8


@pytest.mark.scenario("E-04")
@pytest.mark.parametrize("seed", range(20))
def test_of_two_that_race_one_leads_and_the_other_knows_it(seed: int) -> None:
    """The slower replica gets AlreadyExists, reads the lease, and sees the holder."""
    with Simulation(seed) as sim:
        bench = Bench(sim)
        candidates = [bench.candidate(name) for name in "ab"]
        for each in candidates:
            each.thread = each.host.spawn("elector", lambda each=each: each.elector.run(each.stop))  # type: ignore[misc]

        sim.advance(1.0)

        assert sorted(each.elector.is_leader() for each in candidates) == [False, True]
        assert len({each.elector.leader for each in candidates}) == 1


@pytest.mark.scenario("E-06", "LE-20")
def test_a_candidate_whose_clock_is_a_year_ahead_takes_nothing(bench: Bench) -> None:
    """Only the time since a change was seen counts, by the clock that never jumps."""
    a, b = bench.start("a"), bench.start("b")

    for jump in (3600.0, -7200.0, 365 * 86400.0):
        bench.sim.jump(b.host, jump)
        bench.sim.advance(30.0)

    assert a.elector.is_leader()
    assert not b.elector.is_leader()


@pytest.mark.scenario("E-07")
def test_a_leader_that_dies_is_succeeded_after_its_lease(bench: Bench) -> None:
    """It does so soon after the lease's duration has passed since the last change that it saw, and not before."""
    a, b = bench.start("a"), bench.start("b")
    bench.sim.advance(21.0)
    bench.sim.crash(a.host)
    last_look = max(time for time, _ in b.calls)

    bench.sim.advance(last_look + 14.0 - bench.sim.time)
    assert not b.elector.is_leader()

    bench.sim.advance(1.0 + 2.0)
    assert b.elector.is_leader()
    assert bench.spec["leaseTransitions"] == 1


@pytest.mark.scenario("E-11")
@pytest.mark.elsewhere("kubernetes/client-go#1155")
def test_a_leader_that_reaches_nobody_tries_on_and_gives_up_in_time(bench: Bench) -> None:
    """It tries once per retry period until its deadline, counted from the last successful write; then it has lost."""
    a = bench.start("a", after(3.0, bench.sim, Refused()))

    bench.sim.advance(11.9)
    assert a.elector.is_leader()
    bench.sim.advance(0.2)

    assert [round(time, 3) for time, _ in a.calls] == [0.0, 0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert not a.elector.is_leader()
    assert a.elector.term.is_over()
    assert isinstance(a.outcome.failure, LeadershipLost)
    assert "connection refused" in str(a.outcome.failure)


def test_no_request_outlives_the_leadership_it_is_to_renew(bench: Bench) -> None:
    a = bench.start("a", after(3.0, bench.sim, LostRequest()))

    bench.sim.advance(12.0)

    assert [round(time, 3) for time, _ in a.calls] == [0.0, 0.0, 2.0, 4.0, 9.0]
    assert a.ended


def test_a_leadership_that_lapsed_stays_lost_though_the_renewal_succeeds(bench: Bench) -> None:
    a = bench.start("a")
    bench.sim.advance(3.0)

    bench.sim.pause(a.host, 20.0)
    bench.sim.advance(30.0)

    assert isinstance(a.outcome.failure, LeadershipLost)
    assert str(a.outcome.failure) == "lease default/program is lost: its deadline has passed"
    assert not a.elector.is_leader()
    assert bench.spec["holderIdentity"] == "a"


def test_an_acquisition_whose_answer_is_lost_is_taken_anew(bench: Bench) -> None:
    a = bench.start("a", scripted({1: LostReply()}))
    bench.sim.advance(0.5)
    assert not a.elector.is_leader()

    bench.sim.advance(5.0 + 2.0)

    assert a.elector.is_leader()
    assert bench.spec["leaseTransitions"] == 1


@pytest.mark.parametrize(
    "meddle",
    [
        pytest.param(lambda bench: bench.hold("other", transitions=9), id="taken"),
        pytest.param(lambda bench: bench.hold("", transitions=0), id="blanked"),
        pytest.param(lambda bench: bench.client.delete(LEASES, LEASE), id="deleted"),
    ],
)
def test_a_leader_whose_lease_was_meddled_with_has_lost_at_the_next_renewal(bench: Bench, meddle: object) -> None:
    a = bench.start("a")
    bench.sim.advance(1.0)
    meddle(bench)  # type: ignore[operator]

    bench.sim.advance(2.0)

    assert isinstance(a.outcome.failure, LeadershipLost)
    assert a.elector.term.is_over()


@pytest.mark.parametrize("is_deleted", [False, True], ids=["a restored backup", "a deleted lease"])
def test_a_fencing_token_is_given_twice_only_where_the_lease_went_back(bench: Bench, is_deleted: bool) -> None:
    a = bench.start("a")
    kept = bench.spec
    bench.sim.crash(a.host)
    b = bench.start("b")
    bench.sim.advance(20.0)
    grown = b.elector.held.token if b.elector.held else None
    bench.sim.crash(b.host)

    if is_deleted:
        bench.client.delete(LEASES, LEASE)
    else:
        bench.client.patch(LEASES, LEASE, {"spec": kept})
    c = bench.start("c")
    bench.sim.advance(20.0)

    assert (kept["leaseTransitions"], grown) == (0, 1)
    assert c.elector.held is not None
    assert c.elector.held.token == (0 if is_deleted else 1), "a token that another leader had"


@pytest.mark.scenario("LE-19", "E-12")
def test_who_is_stopped_before_leading_ends_once_and_writes_nothing(bench: Bench) -> None:
    """`run` ends, `on_leading` is not called, and the lease is left alone."""
    bench.hold("other")
    a = bench.start("a")

    a.stop.set()
    bench.sim.settle()

    assert a.ended
    assert a.outcome.failure is None
    assert a.told == ["sees 'other'"]
    assert a.verbs == ["GET"]


@pytest.mark.scenario("E-16")
def test_each_change_of_leader_is_told_once(bench: Bench) -> None:
    """If it sees the holders x, x, y and none, the callback gets x, y and the empty name."""
    a = bench.candidate("a")
    for holder in ("x", "x", "y", ""):
        bench.hold(holder)
        record = a.elector.lock.read(a.host.monotonic() + 1)
        a.elector._note(record)

    assert a.told == ["sees 'x'", "sees 'y'", "sees ''"]


def test_what_failed_last_is_known_until_something_succeeds(bench: Bench) -> None:
    a = bench.start("a", scripted({0: Refused()}))
    assert "connection refused" in a.elector.last_error

    bench.sim.advance(4.5)

    assert a.elector.last_error == ""
    assert a.elector.leader == "a"


@pytest.mark.scenario("E-25", "LE-16")
def test_a_leader_that_hangs_is_unhealthy_after_its_lease_and_a_tolerance(bench: Bench) -> None:
    """It is healthy until the lease's duration and 20 s after its last renewal; other electors always are."""
    b = bench.candidate("b")
    a = bench.start("a")
    bench.sim.stall(a.thread, 100.0)  # type: ignore[arg-type]

    bench.sim.advance(35.0)
    assert (a.elector.problem(), b.elector.problem()) == ("", "")
    bench.sim.advance(0.001)

    assert "default/program was not renewed for 35.0 s" in a.elector.problem()
    assert b.elector.problem() == ""


def test_a_lease_that_is_deleted_by_hand_gives_no_second_leader_while_the_first_one_is_cut_off(bench: Bench) -> None:
    a, b = bench.start("a"), bench.start("b")
    bench.sim.advance(1.0)
    bench.sim.pause(a.host, 60.0)  # it would go on with its work when it wakes before its deadline
    bench.client.delete(LEASES, LEASE)

    for _ in range(14):
        bench.sim.advance(1.0)
        assert not b.elector.is_leader()
    bench.sim.advance(5.0)
    assert b.elector.is_leader()
