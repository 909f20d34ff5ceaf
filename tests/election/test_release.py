# SPDX-License-Identifier: Apache-2.0
"""Giving the lease back: only if it is ours at that moment, and only once we lead no more."""

from __future__ import annotations

import pytest
from kit.election_bench import LEASE, Bench, Candidate

from apimachinery.errors import LeadershipLost, NotFound
from apimachinery.http import HTTPRequest
from controller_runtime.api.resources import LEASES
from controller_runtime.testing.faults import Fault, LostRequest
from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    return Bench(sim)


def stopped(bench: Bench, candidate: Candidate, seconds: float = 0.0) -> Candidate:
    candidate.stop.set()
    bench.sim.advance(seconds)
    assert candidate.ended
    return candidate


@pytest.mark.scenario("LE-11", "LE-12", "E-13")
def test_a_stopped_leader_blanks_its_lease_after_a_fresh_look(bench: Bench) -> None:
    """It is blanked even if the object was written meanwhile; the next replica leads at its next look."""
    a = bench.start("a")
    b = bench.start("b")
    bench.client.patch(LEASES, LEASE, {"metadata": {"labels": {"x": "y"}}})

    stopped(bench, a)

    assert a.verbs[-2:] == ["GET", "PUT"]
    assert (bench.spec["holderIdentity"], bench.spec["leaseDurationSeconds"]) == ("", 1)
    assert bench.spec["leaseTransitions"] == 0
    assert not a.elector.is_leader()
    assert a.elector.term is None
    bench.sim.advance(2.0)
    assert b.elector.is_leader()
    assert bench.spec["leaseTransitions"] == 1


@pytest.mark.scenario("LE-11", "E-15")
def test_a_lease_that_is_gone_is_not_made_again(bench: Bench) -> None:
    """Release writes nothing if there is no lease."""
    a = bench.start("a")
    bench.client.delete(LEASES, LEASE)

    stopped(bench, a)

    with pytest.raises(NotFound):
        bench.client.get(LEASES, LEASE, dict)


@pytest.mark.scenario("LE-13")
@pytest.mark.elsewhere("kubernetes/client-go#1289")
def test_a_release_that_conflicts_is_tried_again(bench: Bench) -> None:
    """If another client writes between its read and its write, it reads again."""
    touched: list[str] = []

    def touch_once(number: int, request: HTTPRequest) -> Fault | None:
        if request.method == "PUT" and not touched:
            touched.append(request.path)
            bench.client.patch(LEASES, LEASE, {"metadata": {"labels": {"x": "y"}}})
        return None

    a = bench.start("a", touch_once)

    stopped(bench, a)

    assert a.verbs == ["GET", "POST", "GET", "PUT", "GET", "PUT"]
    assert bench.spec["holderIdentity"] == ""


@pytest.mark.scenario("LE-14")
@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_a_leader_stopped_while_a_request_hangs_still_releases(bench: Bench, method: str) -> None:
    """The hanging request ends at its own deadline; then the lease is given back, and `run` ends once."""
    hung: list[str] = []

    def hang_once(number: int, request: HTTPRequest) -> Fault | None:
        if number > 1 and request.method == method and not hung:
            hung.append(method)
            return LostRequest()
        return None

    a = bench.start("a", hang_once)
    bench.client.patch(LEASES, LEASE, {"metadata": {"labels": {"x": "y"}}})  # the renewal will have to look
    bench.sim.advance(2.5)
    assert hung

    stopped(bench, a, 5.0)

    assert bench.spec["holderIdentity"] == ""
    assert a.outcome.failure is None


@pytest.mark.scenario("E-14")
def test_without_release_the_lease_keeps_its_holder(bench: Bench) -> None:
    """Without a release the lease keeps naming its dead holder, and the others wait for its whole duration."""
    a = bench.start("a", release_on_stop=False)

    stopped(bench, a)

    assert bench.spec["holderIdentity"] == "a"


def test_a_cancelled_leader_leaves_its_lease_to_expire(bench: Bench) -> None:
    a = bench.start("a")

    a.stop.cancel()
    bench.sim.settle()

    assert a.ended
    assert bench.spec["holderIdentity"] == "a"
    bench.sim.advance(10.0)
    assert a.elector.term.is_over()


@pytest.mark.scenario("LE-21")
def test_a_late_release_leaves_the_successors_lease_alone(bench: Bench) -> None:
    """A replica that is stopped while it is frozen, and thawed when another leads, leaves the other's lease alone."""
    a = bench.start("a")
    b = bench.start("b")
    bench.sim.pause(a.host, 20.0)
    a.stop.set()

    bench.sim.advance(25.0)

    assert b.elector.is_leader()
    assert bench.spec["holderIdentity"] == "b"
    assert isinstance(a.outcome.failure, LeadershipLost)


def test_a_release_that_finds_another_holder_writes_nothing(bench: Bench) -> None:
    a = bench.start("a")
    bench.hold("other", transitions=5)

    stopped(bench, a)

    assert bench.spec["holderIdentity"] == "other"
    assert a.verbs[-1] == "GET"


@pytest.mark.parametrize("seed", range(20))
def test_a_release_cannot_blank_what_was_taken_between_its_look_and_its_write(seed: int) -> None:
    with Simulation(seed) as sim:
        bench = Bench(sim)

        def usurp(number: int, request: HTTPRequest) -> Fault | None:
            if number > 1 and request.method == "PUT":
                bench.hold("other", transitions=5)
            return None

        a = bench.start("a", usurp)
        stopped(bench, a)

        assert bench.spec["holderIdentity"] == "other"
