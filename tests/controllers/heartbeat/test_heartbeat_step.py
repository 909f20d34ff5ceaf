# SPDX-License-Identifier: Apache-2.0
"""`advance` goes through a pass, one answer at a time; it is pure, so no server and no time are needed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.objects import Cached, cached_from_bytes
from controllers.heartbeat.step import (
    LONGEST_PAUSE,
    TRIES,
    Answer,
    Ask,
    Heartbeat,
    LeaseFields,
    Part,
    Reply,
    advance,
    lease_to_write,
    next_renew_time,
)

DONE, MISSING, CONFLICT = Reply.DONE, Reply.MISSING, Reply.CONFLICT
WITHHELD, FAILED = Reply.WITHHELD, Reply.FAILED
FIELDS = LeaseFields("beat", "default", "me", 40)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_lease(version: int = 1, **spec: Any) -> Cached:
    metadata = {"name": "beat", "namespace": "default", "resourceVersion": str(version), "labels": {"a": "b"}}
    return cached_from_bytes(json.dumps({"metadata": metadata, "spec": spec}).encode())


KNOWN = Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=a_lease(), base=a_lease())


def one_pass(state: Heartbeat, *replies: Reply) -> tuple[str, int, list[float], Heartbeat]:
    """Return the requests (R, C, W), how often the hook is called, the pauses, and the state after a pass.

    Fails unless the pass uses all `replies`.
    """
    asked, hooks, pauses = "", 0, []
    left = list(replies)
    while True:
        asked += {Ask.READ: "R", Ask.CREATE: "C", Ask.RENEW: "W"}[state.ask]
        reply = left.pop(0)
        step = advance(state, Answer(reply, a_lease(len(left) + 2) if reply is DONE else None))
        state, hooks = step.state, hooks + step.failed_again
        pauses += [step.wait] if step.wait else []
        if step.pass_ends:
            assert not left, f"the pass ended before {left}"
            return asked, hooks, pauses, state


@pytest.mark.parametrize(
    ("state", "replies", "asked", "hooks"),
    [
        pytest.param(Heartbeat(), [MISSING, DONE], "RC", 0, id="A-05 made, and not renewed in the same pass"),
        pytest.param(KNOWN, [DONE], "W", 0, id="A-06 one request in the steady state"),
        pytest.param(Heartbeat(), [DONE, DONE], "RW", 0, id="A-08 found and renewed"),
        pytest.param(KNOWN, [FAILED, CONFLICT, DONE, DONE], "WWRW", 0, id="A-11 a conflict is no failure"),
        pytest.param(
            KNOWN, [FAILED, FAILED, CONFLICT, DONE, FAILED, DONE], "WWWRWW", 2, id="A-13 two repeated failures"
        ),
        pytest.param(KNOWN, [CONFLICT, MISSING, DONE, DONE], "WRCW", 0, id="A-15 deleted: made, then renewed"),
        pytest.param(Heartbeat(), [FAILED, DONE, DONE], "RRW", 0, id="reading again after a failure"),
        pytest.param(Heartbeat(), [MISSING, FAILED, DONE, DONE], "RCRW", 0, id="A-18 lost the race to make it"),
        pytest.param(Heartbeat(), [MISSING, WITHHELD], "RC", 0, id="A-19 the post-process forbids it"),
        pytest.param(KNOWN, [FAILED] * 5 + [DONE] + [FAILED] * 5, "WWWWWRWWWWW", 8, id="A-20 all in vain"),
        pytest.param(KNOWN, [FAILED] * 5 + [MISSING, DONE], "WWWWWRC", 4, id="gone after five failures: made"),
        pytest.param(KNOWN, [FAILED] * 5 + [DONE, DONE], "WWWWWRW", 4, id="five failures, then found and renewed"),
        pytest.param(KNOWN, [FAILED, DONE], "WW", 0, id="the second try succeeds"),
        pytest.param(
            KNOWN, [CONFLICT, MISSING, WITHHELD, FAILED, DONE], "WRCWW", 1, id="renewed from nothing after a conflict"
        ),
    ],
)
def test_a_pass_asks_what_upstream_asks(state: Heartbeat, replies: list[Reply], asked: str, hooks: int) -> None:
    found = one_pass(state, *replies)

    assert found[:2] == (asked, hooks)


@pytest.mark.scenario("A-12")
def test_conflicts_on_all_five_tries_end_the_renewal_without_a_call_of_the_hook() -> None:
    """Five conflicts cost five reads and no call of the hook; then the lease is read once more."""
    asked, hooks, _, _ = one_pass(KNOWN, *[CONFLICT, DONE] * 5, DONE, DONE)

    assert asked == "WR" * 5 + "R" + "W"
    assert hooks == 0


@pytest.mark.scenario("A-16")
def test_pauses_double_from_200_ms_to_7_s() -> None:
    """As long as the lease cannot be read, the pauses are 0.2, 0.4, … 6.4, 7, 7 s, without jitter."""
    _, _, pauses, _ = one_pass(Heartbeat(), *[FAILED] * 9, DONE, DONE)

    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 7.0, 7.0, 7.0]


def test_pauses_begin_anew_with_each_pass_and_each_conflict() -> None:
    _, _, pauses, state = one_pass(Heartbeat(), FAILED, FAILED, DONE, DONE)
    _, _, more, _ = one_pass(state, CONFLICT, FAILED, DONE, CONFLICT, FAILED, DONE, DONE)

    assert (pauses, more) == ([0.2, 0.4], [0.2, 0.2])


def test_a_server_that_asks_to_wait_gets_its_wait() -> None:
    step = advance(KNOWN, Answer(FAILED, retry_after=3.0))

    assert (step.wait, step.state.ask, step.pass_ends) == (3.0, Ask.RENEW, False)


def test_the_next_pass_builds_on_the_servers_last_answer() -> None:
    *_, state = one_pass(KNOWN, FAILED, DONE)

    assert state == Heartbeat(Ask.RENEW, Part.RENEW_KNOWN, latest=state.latest, base=state.latest)
    assert state.latest is not None
    assert state.latest.resource_version == "2"


def test_a_lease_that_was_found_but_not_renewed_is_where_the_next_pass_begins() -> None:
    *_, state = one_pass(Heartbeat(), DONE, *[FAILED] * 5)

    assert (state.ask, state.part) == (Ask.RENEW, Part.RENEW_KNOWN)
    assert state.latest is not None


@given(st.lists(st.sampled_from([DONE, MISSING, CONFLICT, WITHHELD, FAILED]), max_size=60))
def test_whatever_happens_a_pass_has_at_most_ten_renewals_and_eight_calls_of_the_hook(replies: list[Reply]) -> None:
    state, renewals, hooks = KNOWN, 0, 0
    for reply in replies:
        renewals += state.ask is Ask.RENEW
        step = advance(state, Answer(reply, a_lease() if reply is DONE else None))
        state, hooks = step.state, hooks + step.failed_again
        assert renewals <= 2 * TRIES
        assert hooks <= 2 * (TRIES - 1)
        assert 0 <= step.wait <= LONGEST_PAUSE
        if step.pass_ends:
            renewals = hooks = 0


@pytest.mark.scenario("HB-02")
@pytest.mark.scenario("A-23")
@pytest.mark.scenario("A-22")
def test_a_renewal_keeps_everything_but_its_time_and_the_duration() -> None:
    """A renewal keeps the fields that others have set on a lease, and does not change the object it is built on."""
    base = a_lease(holderIdentity="other", leaseDurationSeconds=40, leaseTransitions=3)
    before = base.raw

    lease = lease_to_write(base, LeaseFields("beat", "default", "me", 60), NOW)
    lease["metadata"]["labels"]["a"] = "changed"

    assert lease["spec"]["holderIdentity"] == "other"
    assert lease["spec"]["leaseTransitions"] == 3
    assert lease["spec"]["leaseDurationSeconds"] == 60
    assert lease["metadata"]["resourceVersion"] == "1"
    assert base.raw == before


def test_a_new_lease_says_four_things() -> None:
    lease = lease_to_write(None, FIELDS, NOW)

    assert lease == {
        "metadata": {"name": "beat", "namespace": "default"},
        "spec": {"holderIdentity": "me", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.000000Z"},
    }


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        pytest.param(None, NOW, id="first"),
        pytest.param(NOW - timedelta(seconds=10), NOW, id="later"),
        pytest.param(NOW, NOW, id="same instant"),
        pytest.param(NOW + timedelta(hours=1), NOW + timedelta(hours=1, microseconds=1), id="clock set back"),
    ],
)
def test_times_never_go_back(last: datetime | None, expected: datetime) -> None:
    assert next_renew_time(NOW, last) == expected
