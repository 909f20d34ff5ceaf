# SPDX-License-Identifier: Apache-2.0
"""The lease heartbeat against the embedded server: the requests it makes, and when it makes them."""

from __future__ import annotations

from typing import Any

import pytest
from kit.controllers.beating import CONFLICT, ERROR, EXISTS, Beating, answered

from apimachinery.log import text_of
from apimachinery.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASES
from controller_runtime.testing.faults import CutReply, Delayed, LostReply, LostRequest, Refused
from controller_runtime.testing.objects import a_lease
from controller_runtime.testing.simulation import Simulation

LEASE = ObjectKey("beat", "default")


@pytest.mark.parametrize(
    ("exists", "methods"),
    [pytest.param(True, ["GET", "PUT"], id="renewed"), pytest.param(False, ["GET", "POST"], id="made")],
)
def test_the_write_follows_the_read_that_it_is_built_on_in_the_same_turn(
    sim: Simulation, exists: bool, methods: list[str]
) -> None:
    beating = Beating(sim)
    if exists:
        beating.world.create(LEASES, {"metadata": {"name": "beat", "namespace": "default"}})

    result = beating.heartbeat.reconcile(LEASE)

    assert beating.methods() == methods
    assert result.requeue_after == 10.0


def test_after_a_conflict_the_read_and_the_next_try_are_one_turn(sim: Simulation) -> None:
    beating = Beating(sim)
    beating.heartbeat.reconcile(LEASE)
    beating.methods()
    beating.will("PUT", CONFLICT)

    turns = []
    for _ in range(2):
        beating.heartbeat.reconcile(LEASE)
        turns.append(beating.methods())

    assert turns == [["PUT"], ["GET", "PUT"]]


@pytest.mark.parametrize("reads", [[ERROR], [Refused()], [LostReply()]])
def test_no_write_follows_a_read_that_failed(sim: Simulation, reads: list[Any]) -> None:
    beating = Beating(sim)
    beating.will("GET", *reads)

    result = beating.heartbeat.reconcile(LEASE)

    assert beating.methods() == ["GET"]
    assert result.requeue_after == 0.2


def test_stopped_during_a_wait_it_ends_at_once_and_leaves_the_lease(sim: Simulation) -> None:
    beating = Beating(sim)
    beating.start(5.0)
    before = beating.host.monotonic()

    beating.end()

    assert beating.host.monotonic() == before
    assert beating.lease() is not None
    assert beating.methods() == ["GET", "POST"]


@pytest.mark.scenario("A-04")
def test_the_interval_begins_when_a_pass_ends(sim: Simulation) -> None:
    """A pass that takes 3 s puts 13.0 to 13.4 s between its start and the next one's."""
    beating = Beating(sim)
    beating.start()
    beating.methods()
    beating.will("PUT", Delayed(3.0))

    sim.advance(30.0)

    (gap,) = beating.gaps()
    assert 13.0 <= gap < 13.4
    beating.end()


def test_renewals_are_10_to_10_4_seconds_apart_and_not_all_alike(sim: Simulation) -> None:
    beating = Beating(sim)

    beating.start(600.0)

    gaps = beating.gaps()[1:]
    assert len(gaps) >= 57
    assert all(10.0 <= gap < 10.4 for gap in gaps)
    assert len({round(gap, 3) for gap in gaps}) > 30
    beating.end()


@pytest.mark.scenario("HB-04")
@pytest.mark.scenario("A-05")
@pytest.mark.scenario("A-06")
@pytest.mark.scenario("A-07")
def test_it_makes_the_lease_and_then_renews_it_with_one_request_each_time(sim: Simulation) -> None:
    """The first pass reads and creates the lease as configured; each later one is a single update."""
    beating = Beating(sim)

    beating.start()
    assert beating.methods() == ["GET", "POST"]
    assert beating.spec() == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 40,
        "renewTime": microtime(beating.host.now()),
    }

    sim.advance(25.0)
    assert beating.methods() == ["PUT", "PUT"]
    beating.end()


@pytest.mark.scenario("A-08")
@pytest.mark.scenario("A-09")
def test_a_lease_of_somebody_else_is_renewed_and_stays_theirs(sim: Simulation) -> None:
    """A lease that exists is read and renewed; its holder stays, its duration becomes ours."""
    beating = Beating(sim, lease_duration_seconds=60)
    beating.world.create(LEASES, a_lease("beat", holder="other", duration=40))

    beating.start()

    assert beating.methods() == ["GET", "PUT"]
    assert (beating.spec()["holderIdentity"], beating.spec()["leaseDurationSeconds"]) == ("other", 60)
    beating.end()


@pytest.mark.scenario("A-22")
def test_what_others_put_on_the_lease_stays(sim: Simulation) -> None:
    """Labels and annotations of a lease are unchanged after it was renewed."""
    beating = Beating(sim)
    metadata = {"labels": {"l": "1"}, "annotations": {"a": "2"}}
    beating.world.create(LEASES, {"metadata": {"name": "beat", "namespace": "default", **metadata}})

    beating.start(11.0)

    lease = beating.lease()
    assert lease is not None
    assert {name: lease["metadata"][name] for name in metadata} == metadata
    beating.end()


@pytest.mark.scenario("A-11")
@pytest.mark.scenario("A-13")
@pytest.mark.parametrize(
    ("faults", "asked", "hooks"),
    [
        pytest.param([ERROR, CONFLICT, None], ["PUT", "PUT", "GET", "PUT"], 0, id="A-11"),
        pytest.param([ERROR, ERROR, CONFLICT, ERROR, None], ["PUT"] * 3 + ["GET"] + ["PUT"] * 2, 2, id="A-13"),
        pytest.param([ERROR] * 5, ["PUT"] * 5 + ["GET", "PUT"], 4, id="five failures"),
        pytest.param([EXISTS] * 3, ["PUT"] * 4, 2, id="AlreadyExists is no conflict of versions"),
        pytest.param([answered(404, "NotFound")], ["PUT"] * 2, 0, id="a NotFound is a failure like others"),
    ],
)
def test_renewals_that_fail_are_tried_again_at_once(
    sim: Simulation, faults: list[Any], asked: list[str], hooks: int
) -> None:
    """A failed renewal is repeated, after a conflict on a new read; the hook is called for repeated failures only."""
    beating = Beating(sim)
    beating.start()
    beating.methods()
    beating.will("PUT", *faults)

    sim.advance(10.4)

    assert sum(beating.gaps()) == 0.0
    assert (beating.methods(), beating.hooks) == (asked, hooks)
    beating.end()


@pytest.mark.scenario("A-12")
def test_five_conflicts_cost_five_reads_and_no_call_of_the_hook(sim: Simulation) -> None:
    """Conflicts on all five tries: five reads, no hook; the pass then reads and renews once more."""
    beating = Beating(sim)
    beating.start()
    beating.methods()
    beating.will("PUT", *[CONFLICT] * 5)

    sim.advance(10.4)

    assert beating.methods() == ["PUT", "GET"] * 5 + ["GET", "PUT"]
    assert beating.hooks == 0
    beating.end()


@pytest.mark.scenario("A-14")
def test_a_lease_made_anew_by_others_is_renewed_in_the_same_pass(sim: Simulation) -> None:
    """The renewal of a lease that was deleted and created again meets a conflict, and is repeated on the new one."""
    beating = Beating(sim)
    beating.start()
    beating.methods()
    beating.world.delete(LEASES, LEASE)
    beating.world.create(LEASES, a_lease("beat", holder="other"))

    sim.advance(10.4)

    assert beating.methods() == ["PUT", "GET", "PUT"]
    assert beating.spec()["holderIdentity"] == "other"
    beating.end()


@pytest.mark.scenario("HB-04")
@pytest.mark.scenario("A-15")
def test_a_deleted_lease_is_made_again_and_renewed_in_the_same_pass(sim: Simulation) -> None:
    """The renewal of a deleted lease meets a conflict; the lease is created, and the next try renews it."""
    beating = Beating(sim)
    beating.start()
    beating.methods()
    beating.world.delete(LEASES, LEASE)

    sim.advance(10.4)

    assert beating.methods() == ["PUT", "GET", "POST", "PUT"]
    beating.end()


@pytest.mark.scenario("A-16")
@pytest.mark.scenario("HB-05")
def test_while_the_lease_cannot_be_read_the_pauses_grow_to_7_seconds(sim: Simulation) -> None:
    """Reads that fail are 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7, 7 s apart, without jitter."""
    beating = Beating(sim)
    beating.will("GET", *[ERROR] * 100)

    beating.start(30.0)

    assert beating.gaps() == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0, 7.0])
    before = beating.host.monotonic()
    beating.end()
    assert beating.host.monotonic() == before, "a stop does not wait for a pause to end"


@pytest.mark.parametrize(("asked", "waited"), [(3, 3.0), (86400, 10.0)], ids=["3 s", "a day: one interval at most"])
def test_a_server_that_asks_for_patience_gets_it(sim: Simulation, asked: int, waited: float) -> None:
    beating = Beating(sim)
    beating.will("GET", answered(429, "TooManyRequests", details={"retryAfterSeconds": asked}))

    beating.start(11.0)

    assert beating.gaps()[0] == pytest.approx(waited)
    beating.end()


@pytest.mark.scenario("A-18")
def test_a_lost_race_for_the_lease_is_read_again_200_ms_later(sim: Simulation) -> None:
    """AlreadyExists for the creation of the lease is followed by a pause of 0.2 s, a read, and a renewal."""
    beating = Beating(sim)
    beating.will("POST", EXISTS)

    beating.start(0.1)
    beating.world.create(LEASES, a_lease("beat", holder="winner"))
    sim.advance(1.0)

    assert beating.gaps() == pytest.approx([0.0, 0.2, 0.0])
    assert beating.methods() == ["GET", "POST", "GET", "PUT"]
    beating.end()


def test_a_lost_reply_is_found_out_by_a_conflict_and_costs_no_call_of_the_hook(sim: Simulation) -> None:
    beating = Beating(sim)
    beating.start()
    beating.methods()
    beating.will("PUT", LostReply())

    sim.advance(16.0)

    assert beating.methods() == ["PUT", "PUT", "GET", "PUT"]
    assert beating.hooks == 0
    beating.end()


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(10))
def test_after_any_faults_the_lease_is_renewed_within_one_interval_and_its_time_never_goes_back(seed: int) -> None:
    with Simulation(seed) as sim:
        beating = Beating(sim, request_timeout=3.0)
        kinds = [ERROR, CONFLICT, EXISTS, Refused(), CutReply(), LostReply(), LostRequest(), None]
        for method in ("GET", "POST", "PUT"):
            beating.will(method, *beating.host.random.choices(kinds, k=100))
        times: list[str] = []
        beating.start()

        for _ in range(120):
            sim.advance(1.0)
            times += [beating.spec()["renewTime"]] if beating.lease() is not None else []
        beating.faults.clear()
        healed_at = microtime(beating.host.now())
        sim.advance(10.4)

        assert times == sorted(times)
        assert beating.spec()["renewTime"] > healed_at
        beating.end()


def test_it_tells_once_that_the_lease_is_not_kept_and_once_that_it_is_again(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    beating = Beating(sim)
    beating.will("GET", *[ERROR] * 6)

    with caplog.at_level("INFO", logger="controllers"):
        beating.start(60.0)

    told = [text_of(record) for record in caplog.records if "lease is" in text_of(record)]
    assert [text.partition(" lease=")[0] for text in told] == ["lease is not renewed", "lease is renewed again"]
    beating.end()
