# SPDX-License-Identifier: Apache-2.0
"""The lease heartbeat against the embedded server: every request it makes, and when."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.beating import CONFLICT, ERROR, EXISTS, TERMS, Beating, PostProcess, answered

from controller_runtime.api.objects import ObjectKey, microtime
from controller_runtime.api.resources import LEASES
from controller_runtime.core.errors import BadRequest
from controller_runtime.core.log import text_of
from controller_runtime.core.stop import spawn
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import CutReply, Delayed, LostReply, LostRequest, Refused
from controller_runtime.testing.objects import a_lease
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat, PostProcessFailure

UPSTREAM_1_29 = PostProcessFailure.BLOCKS_CREATE_AND_UPDATE
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


@pytest.mark.scenario("A-01")
def test_without_a_client_it_returns_at_once(sim: Simulation) -> None:
    """With nobody to ask, the run ends before any time has passed, and nothing is asked."""
    beating = Beating(sim, client=False)

    beating.start()

    assert beating.thread.join_until(beating.host.monotonic())
    assert beating.methods() == []


@pytest.mark.scenario("A-02")
def test_stopped_before_it_starts_it_asks_nothing(sim: Simulation) -> None:
    """A run whose stop is set already makes no request."""
    beating = Beating(sim, delete_on_start_and_stop=True)
    beating.stop.set()

    beating.start()

    assert beating.methods() == []
    beating.end()


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
    """The first pass reads and makes the lease as configured; every later one is a single update."""
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
    """A lease that is there is read and renewed; its holder stays, its duration becomes ours."""
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
    """A failed renewal is repeated, a conflict re-read first; the hook hears of repeated failures alone."""
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
    """The renewal of a lease that was deleted and made again meets a conflict, and is repeated on the new one."""
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
    """The renewal of a deleted lease meets a conflict; the lease is made, and the next try renews it."""
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
    """AlreadyExists on making the lease is followed by a pause of 0.2 s, a read, and a renewal."""
    beating = Beating(sim)
    beating.will("POST", EXISTS)

    beating.start(0.1)
    beating.world.create(LEASES, a_lease("beat", holder="winner"))
    sim.advance(1.0)

    assert beating.gaps() == pytest.approx([0.0, 0.2, 0.0])
    assert beating.methods() == ["GET", "POST", "GET", "PUT"]
    beating.end()


@pytest.mark.scenario("A-19")
@pytest.mark.parametrize("rule", PostProcessFailure, ids=lambda rule: rule.value)
def test_a_failing_post_process_keeps_the_lease_from_being_made(sim: Simulation, rule: PostProcessFailure) -> None:
    """A missing lease is read for once in each pass and not made, without any pause in between."""
    beating = Beating(sim, new_lease_post_process=PostProcess(1000), post_process_failure=rule)

    beating.start(25.0)

    assert beating.methods() == ["GET"] * 3
    assert beating.lease() is None
    beating.end()


@pytest.mark.scenario("A-20")
def test_a_failing_post_process_blocks_renewals_by_the_rule_of_1_29(sim: Simulation) -> None:
    """No renewal is sent; the hook hears of four failures, the lease is read, and of four more."""
    post_process = PostProcess(0)
    beating = Beating(sim, new_lease_post_process=post_process, post_process_failure=UPSTREAM_1_29)
    beating.start()
    beating.methods()
    post_process.failures = 1000

    sim.advance(10.4)

    assert beating.methods() == ["GET"]
    assert (beating.hooks, post_process.calls) == (8, 11)
    beating.end()


def test_a_failing_post_process_lets_renewals_through_by_the_older_rule(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    post_process = PostProcess(0)
    beating = Beating(sim, new_lease_post_process=post_process)
    beating.start()
    beating.world.patch(LEASES, LEASE, {"metadata": {"labels": None}})
    beating.methods()
    post_process.failures = 1000

    sim.advance(21.0)

    assert beating.methods() == ["PUT", "GET", "PUT", "PUT"], "the first meets the conflict with our patch"
    assert beating.hooks == 0
    lease = beating.lease()
    assert lease is not None
    assert lease["metadata"]["labels"] == {"edited": "yes"}, "it is sent as far as it was edited"
    assert caplog.text.count("WARNING") == 1, "told once"
    beating.end()


@pytest.mark.scenario("A-21")
def test_a_post_process_that_works_the_second_time_makes_the_lease_in_the_second_pass(sim: Simulation) -> None:
    """One failure of the post-process costs one pass."""
    beating = Beating(sim, new_lease_post_process=PostProcess(1))

    beating.start(9.0)
    assert beating.lease() is None

    sim.advance(2.0)
    assert beating.lease() is not None
    beating.end()


@pytest.mark.scenario("A-25")
@pytest.mark.scenario("A-26")
@pytest.mark.parametrize(
    ("clock", "fraction"),
    [
        pytest.param(0.123456789, ".123456Z", id="A-25 truncated, not rounded"),
        pytest.param(0.0, ".000000Z", id="A-26 a whole second"),
    ],
)
def test_times_are_written_with_six_digits(sim: Simulation, clock: float, fraction: str) -> None:
    """A renewTime has exactly six digits of fraction, cut off rather than rounded, zeros included."""
    beating = Beating(sim)
    sim.jump(beating.host, clock)

    beating.start()

    (_, _, post) = beating.asked[-1]
    assert json.loads(post.body)["spec"]["renewTime"].endswith(fraction)
    beating.end()


@pytest.mark.scenario("A-27")
def test_a_time_without_a_fraction_is_refused(sim: Simulation) -> None:
    """The server does not decode a renewTime that lacks its six digits."""
    beating = Beating(sim)

    with pytest.raises(BadRequest):
        beating.world.create(LEASES, a_lease("other", renew_time="2026-01-01T00:00:00Z"))


@pytest.mark.scenario("A-28")
@pytest.mark.scenario("A-30")
@pytest.mark.parametrize(
    ("stale", "fault"),
    [
        pytest.param(True, None, id="a stale lease is deleted"),
        pytest.param(False, None, id="nothing to delete"),
        pytest.param(True, ERROR, id="A-30 it cannot be deleted"),
    ],
)
def test_asked_to_it_deletes_the_lease_before_the_first_pass(sim: Simulation, stale: bool, fault: Any) -> None:
    """With deletion asked for, DELETE comes before the first read; how it ends does not matter."""
    beating = Beating(sim, delete_on_start_and_stop=True)
    if stale:
        beating.world.create(LEASES, a_lease("beat", holder="old"))
    beating.will("DELETE", fault)

    beating.start()

    assert beating.methods() == ["DELETE", "GET", "PUT" if fault else "POST"]
    assert beating.spec()["holderIdentity"] == ("old" if fault else "me")
    beating.end()


@pytest.mark.scenario("A-29")
def test_the_lease_is_deleted_at_the_end_after_the_renewal_in_hand(sim: Simulation) -> None:
    """Stopped while a renewal is under way, it deletes the lease after that has ended, and writes nothing any more."""
    beating = Beating(sim, delete_on_start_and_stop=True)
    beating.start()
    beating.methods()
    beating.will("PUT", Delayed(4.0))
    sim.advance(10.5)

    spawn(beating.host, beating.stop, "stopper", beating.stop.set)
    sim.advance(60.0)

    assert beating.gaps() == [pytest.approx(4.0, abs=0.5)]
    assert beating.methods() == ["PUT", "DELETE"]
    assert beating.lease() is None
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


def test_a_clock_that_is_set_back_does_not_set_the_lease_back(sim: Simulation) -> None:
    beating = Beating(sim)
    beating.start()
    times = [beating.spec()["renewTime"]]

    sim.jump(beating.host, -3600.0)
    for _ in range(5):
        sim.advance(10.4)
        times.append(beating.spec()["renewTime"])

    assert times == sorted(set(times)), "each renewal is later than the last"
    beating.end()


def test_a_process_whose_clock_is_behind_the_one_before_does_not_set_the_lease_back(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    beating = Beating(sim)
    sim.jump(beating.host, 60.0)
    before = microtime(beating.host.now())
    beating.world.create(LEASES, a_lease("beat", holder="me", renew_time=before))
    sim.jump(beating.host, -60.0)

    beating.start(45.0)
    behind = beating.spec()["renewTime"]
    sim.advance(45.0)

    assert before < behind < microtime(beating.host.now())
    assert beating.spec()["renewTime"][:19] > behind[:19], "the clock has caught up"
    told = [text_of(record).partition(" lease=")[0] for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["clock is behind the lease, renewing from its last time"]
    beating.end()


def test_a_lease_renewed_at_the_end_of_time_is_renewed_now(sim: Simulation) -> None:
    beating = Beating(sim)
    beating.world.create(LEASES, a_lease("beat", holder="me", renew_time="9999-12-31T23:59:59.999999Z"))

    beating.start()

    assert beating.spec()["renewTime"] == microtime(beating.host.now())
    beating.end()


def test_a_bug_in_a_hook_is_logged_and_the_lease_is_kept(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    def broken(lease: dict[str, Any]) -> None:
        if beating.host.now() < deadline:
            raise ZeroDivisionError("a bug")

    beating = Beating(sim, new_lease_post_process=broken)
    sim.advance(1.0)
    deadline = beating.host.now().replace(second=5)

    beating.start(20.0)

    assert "a bug" in caplog.text
    assert beating.lease() is not None
    beating.end()


def test_it_tells_once_that_the_lease_is_not_kept_and_once_that_it_is_again(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    beating = Beating(sim)
    beating.will("GET", *[ERROR] * 6)

    with caplog.at_level("INFO", logger="controllers"):
        beating.start(60.0)

    told = [text_of(record) for record in caplog.records if "lease is" in text_of(record)]
    assert [text.partition(" lease=")[0] for text in told] == ["lease is not kept", "lease is kept again"]
    beating.end()


def test_the_older_name_of_the_lease_is_the_holders(sim: Simulation) -> None:
    host = sim.host("h")

    heartbeat = LeaseHeartbeat(host, None, **{**TERMS, "lease_name": None})

    assert heartbeat.key == ObjectKey("me", "default")


def test_the_guides_code_runs_with_a_manager(sim: Simulation) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "heartbeat.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)

    with EmbeddedCluster(sim.host("guide")) as cluster:
        exec(code, {"manager": cluster.manager})
        cluster.start()
        sim.advance(11.0)

        lease = cluster.client.get(LEASES, ObjectKey("worker-7", "default"), dict)

    assert lease["spec"]["holderIdentity"] == "worker-7"
    assert cluster.manager.transport.counters().answers[("200", "PUT")] == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        pytest.param({"holder_identity": ""}, "needs a holder", id="no holder"),
        pytest.param({"holder_identity": "", "lease_name": None}, "no lease named ''|needs a holder", id="nothing"),
        pytest.param({"lease_namespace": ""}, "no namespace named ''", id="no namespace"),
        pytest.param({"lease_namespace": "a.b"}, "no namespace named 'a.b'", id="no label"),
        pytest.param({"lease_name": ""}, "no lease named ''", id="empty name"),
        pytest.param({"lease_name": "a/b"}, "no lease named 'a/b'", id="a path"),
        pytest.param({"lease_name": "x" * 254}, "no more than 253 bytes", id="long name"),
        pytest.param({"holder_identity": "Me_1", "lease_name": None}, "no lease named 'Me_1'", id="holder as a name"),
        pytest.param({"lease_duration_seconds": 0}, "must be positive and below", id="no duration"),
        pytest.param({"renew_interval": 0.0}, "must be positive and below", id="no interval"),
        pytest.param({"renew_interval": 40.0}, "must be positive and below", id="as long as the duration"),
        pytest.param({"renew_interval": float("nan")}, "must be positive and below", id="not a number"),
    ],
)
def test_what_makes_no_sense_is_refused(sim: Simulation, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LeaseHeartbeat(sim.host("h"), None, **{**TERMS, **wrong})


def test_a_holder_may_be_any_text_where_the_lease_has_a_name_of_its_own(sim: Simulation) -> None:
    heartbeat = LeaseHeartbeat(sim.host("h"), None, **{**TERMS, "holder_identity": "Me_1 (pid 7)"})

    assert heartbeat.key == LEASE
