# SPDX-License-Identifier: Apache-2.0
"""The judge of the trial of real processes: which claims overlap, and which writes began outside their intervals."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from kit.ring.ring_trial_judge import Fault, Stored, Verdict, Write, intervals, judged, overlaps, read

from controller_runtime.ring.by import RingBy
from controller_runtime.ring.division import slot_of_key
from controller_runtime.ring.records import CLAIM, Claim

DEADLINE = 4.0
SLOT = slot_of_key(RingBy.NAME, "", "n00")
ALL = (1 << 256) - 1
OTHERS = ALL & ~(1 << SLOT)
# The process `one` owns all slots from 100 on, and its deadline passes; `two` owns them from 110 on.
CLAIMS = [
    Stored(1, 100.0, 99.9, "one", "ring-one-1", ALL),
    Stored(2, 102.0, 101.9, "one", "ring-one-1", ALL),
    Stored(3, 110.0, 109.9, "two", "ring-two-1", ALL),
]
WRITE = Write(101.0, 100.9, "one", "n00", (7, 1), 200)
OWNERS = Write(110.5, 110.4, "two", "n00", (7, 2), 200)
FROZEN = Fault("freeze", "one", 105.0, 112.0)


def test_a_claim_lasts_until_its_deadline_or_until_a_smaller_one() -> None:
    assert intervals(CLAIMS, DEADLINE)["one", SLOT] == [(100.0, 105.9)]

    given_back = [*CLAIMS[:2], Stored(4, 103.0, 102.9, "one", "ring-one-1", OTHERS)]
    assert intervals(given_back, DEADLINE)["one", SLOT] == [(100.0, 103.0)]


def test_claims_of_two_leases_overlap_only_before_both_deadlines() -> None:
    late = attrs.evolve(CLAIMS[2], at=105.0, sent_at=104.9)

    assert overlaps(CLAIMS, DEADLINE) == []
    assert overlaps([*CLAIMS[:2], late], DEADLINE) == ["version 3: ring-two-1 claims 256 slots of ring-one-1"]
    assert overlaps([*CLAIMS[:2], attrs.evolve(late, sent_at=100.0)], DEADLINE) == []  # it lands after its deadline


@pytest.mark.parametrize(
    ("write", "faults", "verdict"),
    [
        pytest.param(WRITE, [], Verdict.INSIDE, id="in its interval"),
        pytest.param(
            attrs.evolve(WRITE, at=111.0), [Fault("cut", "one", 100.0, 110.9)], Verdict.LATE, id="held back by a cut"
        ),
        pytest.param(attrs.evolve(WRITE, at=111.5), [], Verdict.WRONG, id="late without a cut"),
        pytest.param(attrs.evolve(WRITE, at=106.7, begun=105.8), [], Verdict.LATE, id="on its way at its deadline"),
        pytest.param(attrs.evolve(WRITE, at=106.1, begun=106.0), [], Verdict.WRONG, id="begun after its deadline"),
        pytest.param(
            attrs.evolve(WRITE, at=112.5, begun=112.4), [FROZEN], Verdict.STOPPED, id="stopped, smaller token"
        ),
        pytest.param(
            attrs.evolve(WRITE, at=112.5, begun=112.4, order=(7, 3), code=409),
            [FROZEN],
            Verdict.STOPPED,
            id="stopped, and refused",
        ),
        pytest.param(
            attrs.evolve(WRITE, at=112.5, begun=112.4, order=(7, 2)),
            [FROZEN],
            Verdict.WRONG,
            id="stopped, with the token of the owner",
        ),
        pytest.param(
            attrs.evolve(WRITE, at=112.5, begun=112.4), [], Verdict.WRONG, id="a smaller token, but it was not stopped"
        ),
        pytest.param(
            attrs.evolve(WRITE, at=116.0, begun=115.9),
            [FROZEN],
            Verdict.WRONG,
            id="it goes on long after it was stopped",
        ),
        pytest.param(
            attrs.evolve(WRITE, at=112.5, begun=112.4),
            [attrs.evolve(FROZEN, process="two")],
            Verdict.WRONG,
            id="another process was stopped",
        ),
    ],
)
def test_a_write_outside_its_interval_needs_a_reason(write: Write, faults: list[Fault], verdict: Verdict) -> None:
    in_order = sorted([OWNERS, write], key=lambda each: each.at)

    assert dict(judged(in_order, CLAIMS, faults, DEADLINE))[write] is verdict


def test_a_write_of_a_stopped_process_is_no_harm_before_another_has_begun() -> None:
    write = attrs.evolve(WRITE, at=109.0, begun=108.9)

    assert [*judged([write], CLAIMS, [attrs.evolve(FROZEN, ended=108.8)], DEADLINE)] == [(write, Verdict.UNFOLLOWED)]


def test_a_write_that_a_server_which_stood_still_takes_later_is_late() -> None:
    late = attrs.evolve(WRITE, at=108.0, begun=103.0)
    others = [attrs.evolve(WRITE, node="n01", at=at, begun=at) for at in (105.5, 106.2)]

    assert dict(judged([late], CLAIMS, [], DEADLINE))[late] is Verdict.LATE
    assert dict(judged([*others, late], CLAIMS, [], DEADLINE))[late] is Verdict.WRONG


def test_the_audit_log_has_claims_and_writes(tmp_path: Path) -> None:
    lease = {
        "metadata": {"name": "ring-one-1", "resourceVersion": "9", "annotations": {CLAIM: Claim(1, 3).to_text()}},
        "spec": {"renewTime": "2026-01-01T00:00:01.500000Z"},
    }
    common = {"stage": "ResponseComplete", "requestReceivedTimestamp": "2026-01-01T00:00:02.000000Z"}
    events = [
        {
            "objectRef": {"resource": "leases"},
            "verb": "update",
            "responseStatus": {"code": 200},
            "responseObject": lease,
        },
        {"objectRef": {"resource": "leases"}, "verb": "update", "responseStatus": {"code": 409}},
        {
            "objectRef": {"resource": "nodes", "name": "n00"},
            "verb": "patch",
            "responseStatus": {"code": 200},
            "requestObject": {"metadata": {"annotations": {"signed": "one 1767225601.25 7 1"}}},
        },
    ]
    log = tmp_path / "audit.log"
    log.write_text("\n".join(json.dumps(common | event) for event in events))

    claims, writes = read(log, ["one", "two"])

    assert claims == [Stored(9, 1767225602.0, 1767225601.5, "one", "ring-one-1", 3)]
    assert writes == [Write(1767225602.0, 1767225601.25, "one", "n00", (7, 1), 200)]
