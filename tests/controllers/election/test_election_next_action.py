# SPDX-License-Identifier: Apache-2.0
"""The decision table of an election, row by row, from values alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.controllers.candidates import CANDIDATES, NOON, candidate, later

from apimachinery.objects import microtime
from controllers.election.next_action import Decision, Lease, Liveness, decide, liveness
from controllers.election.next_action import ElectionAction as Action
from controllers.election.strategy import OLDEST, STRATEGIES, Candidate

FOREIGN = "example.com/x"


def fresh(name: str, version: str = "1.20.0", **changes: Any) -> Candidate:
    return candidate(name, version, **{"renewed": later(-1), **changes})


def unasked(name: str, version: str = "1.20.0", age: float = 10.0, **changes: Any) -> Candidate:
    return candidate(name, version, **{"renewed": later(-age), **changes})


def waiting(name: str, version: str = "1.20.0") -> Candidate:
    return candidate(name, version, renewed=later(-20), pinged=later(-2))


def silent(name: str, version: str = "1.20.0") -> Candidate:
    return candidate(name, version, renewed=later(-20), pinged=later(-10))


def held(holder: str, **changes: Any) -> Lease:
    lease = Lease(holder=holder, strategy=OLDEST, duration=15, renewed=later(-1), unchanged_for=1.0)
    return attrs.evolve(lease, **changes)


def expired(holder: str, **changes: Any) -> Lease:
    return held(holder, **{"unchanged_for": 15.1, "renewed": later(-16), **changes})


def elected(name: str) -> dict[str, Any]:
    return {"holderIdentity": name, "leaseDurationSeconds": 5, "renewTime": microtime(NOON)}


TAKEN = {"acquireTime": None, "preferredHolder": None}

ROWS = [
    pytest.param(None, [], Action.NOTHING, {}, None, id="D-01 CE-01 nobody, no lease"),
    pytest.param(expired("x"), [], Action.NOTHING, {}, None, id="D-02 CE-01 nobody, expired lease"),
    pytest.param(
        None, [fresh("a")], Action.ELECT, {**elected("a"), "strategy": OLDEST}, 5.0, id="CE-02 one fresh, no lease"
    ),
    pytest.param(None, [unasked("a")], Action.PING, {"a"}, 5.0, id="D-04 CE-07 one stale, no lease"),
    pytest.param(
        None,
        [candidate("a", "1.20.0", renewed=later(-0.9), pinged=later(-1))],
        Action.ELECT,
        {**elected("a"), "strategy": OLDEST},
        5.0,
        id="D-05 it answered",
    ),
    pytest.param(None, [silent("a")], Action.NOTHING, {}, 5.0, id="D-06 CE-06 it did not answer"),
    pytest.param(None, [fresh("a"), unasked("b")], Action.PING, {"b"}, 5.0, id="D-07 a fresh and a stale one"),
    pytest.param(None, [fresh("a"), waiting("b")], Action.WAIT, {}, 5.0, id="D-08 CE-08 a fresh and an asked one"),
    pytest.param(
        None,
        [fresh("a"), silent("b", "1.19.0")],
        Action.ELECT,
        {**elected("a"), "strategy": OLDEST},
        5.0,
        id="D-09 CE-04 the better one is silent",
    ),
    pytest.param(
        held("a"),
        [fresh("a"), fresh("b", "1.19.0")],
        Action.PREFER,
        {"preferredHolder": "b"},
        5.0,
        id="D-10 a better one",
    ),
    pytest.param(
        held("", preferred="b"),
        [fresh("a"), fresh("b", "1.19.0")],
        Action.ELECT,
        {**elected("b"), **TAKEN},
        5.0,
        id="D-11 the holder gave way",
    ),
    pytest.param(
        expired("x"), [fresh("a")], Action.ELECT, {**elected("a"), **TAKEN}, 5.0, id="D-12 CE-05 a stranger's expired"
    ),
    pytest.param(expired("a"), [fresh("a")], Action.NOTHING, {}, 5.0, id="D-13 its own expired"),
    pytest.param(held("a"), [fresh("a"), fresh("b", "1.21.0")], Action.NOTHING, {}, 5.0, id="D-14 the best leads"),
    pytest.param(
        held("a"),
        [unasked("a"), unasked("b", "1.21.0", 901)],
        Action.PING,
        {"a", "b"},
        5.0,
        id="D-15 over a quarter hour",
    ),
    pytest.param(held("a"), [unasked("a", age=900)], Action.NOTHING, {}, 5.0, id="a quarter of an hour exactly"),
    pytest.param(None, [unasked("a", age=1801)], Action.NOTHING, {}, None, id="D-16 over half an hour"),
    pytest.param(None, [unasked("a", age=1800)], Action.PING, {"a"}, 5.0, id="half an hour exactly"),
    pytest.param(
        None,
        [fresh("a", strategy=FOREIGN)],
        Action.ELECT,
        {"strategy": FOREIGN, "leaseDurationSeconds": 5, "renewTime": microtime(NOON)},
        5.0,
        id="D-25 a foreign strategy",
    ),
    pytest.param(
        held("", strategy=FOREIGN), [fresh("a", strategy=FOREIGN)], Action.NOTHING, {}, 5.0, id="D-26 no further write"
    ),
    pytest.param(
        expired("x"),
        [fresh("a", strategy=FOREIGN)],
        Action.RECORD,
        {"strategy": FOREIGN},
        5.0,
        id="D-27 CE-09 expired, foreign",
    ),
    pytest.param(
        Lease(),
        [fresh("a")],
        Action.ELECT,
        {**elected("a"), **TAKEN, "strategy": OLDEST},
        5.0,
        id="D-28 CE-14 a lease that says nothing",
    ),
    pytest.param(
        held("", strategy=""),
        [fresh("a")],
        Action.ELECT,
        {**elected("a"), **TAKEN, "strategy": OLDEST},
        5.0,
        id="released by a holder that dropped the strategy",
    ),
    pytest.param(
        held("a", preferred="b"), [fresh("a"), fresh("b", "1.19.0")], Action.NOTHING, {}, 5.0, id="preferred already"
    ),
    pytest.param(
        held("a", preferred="b"), [fresh("a")], Action.NOTHING, {}, 5.0, id="a preference that lost its reason stays"
    ),
    pytest.param(
        held("a", strategy=""), [fresh("a")], Action.NOTHING, {}, 5.0, id="E6 strategy edited, nothing needed"
    ),
    pytest.param(
        expired("a", strategy=""), [fresh("a")], Action.RECORD, {"strategy": OLDEST}, 5.0, id="E6 repaired when expired"
    ),
    pytest.param(
        held("a"),
        [fresh("a"), fresh("b", "1.20.0", strategy=FOREIGN)],
        Action.NOTHING,
        {},
        5.0,
        id="disagreeing, a healthy leader",
    ),
    pytest.param(
        None, [fresh("a"), fresh("b", "1.20.0", strategy=FOREIGN)], Action.NOTHING, {}, 5.0, id="disagreeing, no lease"
    ),
    pytest.param(None, [fresh("a", "nonsense")], Action.NOTHING, {}, 5.0, id="versions nobody can read"),
    pytest.param(None, [fresh("a", strategy="Newest")], Action.NOTHING, {}, 5.0, id="a strategy nobody could write"),
]


@pytest.mark.scenario("CE-01", "CE-02", "CE-04", "CE-05", "CE-06", "CE-07", "CE-08", "CE-09", "CE-14")
@pytest.mark.scenario("D-01", "D-02", "D-04", "D-05", "D-06", "D-07", "D-08", "D-09", "D-10", "D-11")
@pytest.mark.scenario("D-12", "D-13", "D-14", "D-15", "D-16", "D-25", "D-26", "D-27", "D-28")
@pytest.mark.parametrize(("lease", "candidates", "act", "what", "again"), ROWS)
def test_one_step(
    lease: Lease | None, candidates: list[Candidate], act: Action, what: dict[str, Any] | set[str], again: float | None
) -> None:
    """The action, its candidates or fields, and the time of the next step do not depend on the order of candidates."""
    decision = decide(lease, candidates, NOON)

    assert (decision.action, decision.again) == (act, again)
    assert (set(decision.names) if act is Action.PING else decision.spec) == what
    assert decide(lease, list(reversed(candidates)), NOON) == decision


@pytest.mark.parametrize(
    ("lease", "candidates", "reasons"),
    [
        pytest.param(held("a"), [fresh("a"), fresh("b", "x")], {("UnreadableVersion", "b")}, id="unreadable"),
        pytest.param(None, [silent("a")], {("NoCandidateAnswers", "")}, id="all silent"),
        pytest.param(
            held("a"), [fresh("a"), fresh("b", strategy=FOREIGN)], {("StrategiesDisagree", "")}, id="conflict"
        ),
        pytest.param(held(""), [fresh("a", strategy=FOREIGN)], {("ForeignStrategy", "")}, id="foreign"),
        pytest.param(held("x"), [fresh("a")], {("HolderIsNoCandidate", "")}, id="a stranger by hand"),
        pytest.param(None, [fresh("a", "x")], {("UnreadableVersion", "a"), ("NobodyCanLead", "")}, id="nobody can"),
        pytest.param(held("a"), [fresh("a"), fresh("b")], set(), id="all is well"),
    ],
)
def test_what_is_wrong_is_named(lease: Lease | None, candidates: list[Candidate], reasons: set[object]) -> None:
    decision = decide(lease, candidates, NOON)

    assert {(problem.reason, problem.candidate) for problem in decision.problems} == reasons


def test_a_strategy_of_ones_own_elects_by_its_name() -> None:
    strategies = {**STRATEGIES, FOREIGN: lambda candidates: max(c.name for c in candidates)}
    candidates = [fresh(name, strategy=FOREIGN) for name in "abc"]

    decision = decide(None, candidates, NOON, strategies)

    assert decision.spec == {**elected("c"), "strategy": FOREIGN}
    assert decision.problems == ()


@pytest.mark.parametrize(
    ("renewed", "pinged", "expected"),
    [
        pytest.param(-4.9, None, Liveness.LIVES, id="just renewed"),
        pytest.param(-5, None, Liveness.UNKNOWN, id="5 s ago"),
        pytest.param(-6, -5.5, Liveness.SILENT, id="asked, no answer, too late"),
        pytest.param(-6, -4.9, Liveness.ASKED, id="asked, may still answer"),
        pytest.param(-4.5, -4.9, Liveness.LIVES, id="asked, has answered"),
        pytest.param(-2, -1, Liveness.ASKED, id="asked though fresh"),
        pytest.param(-6, -6, Liveness.UNKNOWN, id="answered once, long ago"),
        pytest.param(60, None, Liveness.UNKNOWN, id="a clock that is ahead"),
        pytest.param(60, -1, Liveness.ASKED, id="ahead, asked"),
        pytest.param(60, -6, Liveness.SILENT, id="ahead, no answer"),
        pytest.param(60, -15, Liveness.UNKNOWN, id="ahead, asked again"),
        pytest.param(-20, 60, Liveness.UNKNOWN, id="asked by a controller whose clock was ahead"),
        pytest.param(10**10, None, Liveness.UNKNOWN, id="centuries ahead"),
        pytest.param(5, None, Liveness.LIVES, id="5 s ahead"),
        pytest.param(-20, 5, Liveness.ASKED, id="asked by a clock 5 s ahead"),
        pytest.param(-6, -5, Liveness.SILENT, id="asked 5 s ago, no answer"),
        pytest.param(-5, -5, Liveness.SILENT, id="asked and renewed at once, 5 s ago"),
    ],
)
def test_what_is_known_of_a_candidate(renewed: float, pinged: float | None, expected: Liveness) -> None:
    asked = None if pinged is None else later(pinged)

    assert liveness(candidate("a", "1.20.0", renewed=later(renewed), pinged=asked), NOON) is expected


@pytest.mark.parametrize("clock", [-1200, -60, 0, 60, 10**10])
@pytest.mark.parametrize("pinged", [None, -1, -6, -60])
def test_who_was_seen_to_renew_itself_lives_whatever_its_clock_says(clock: float, pinged: float | None) -> None:
    asked = None if pinged is None else later(pinged)
    seen = candidate("a", "1.20.0", renewed=later(clock), pinged=asked, seen_ago=9.9)

    assert liveness(seen, NOON) is Liveness.LIVES
    assert liveness(attrs.evolve(seen, seen_ago=10.0, renewed=later(-20)), NOON) is not Liveness.LIVES


def test_a_step_later_there_is_still_a_vote_on_who_answered_while_another_did_not() -> None:
    late = candidate("a", "1.19.0", renewed=later(-20), pinged=later(-20), seen_ago=5.1)
    silent = candidate("b", "1.20.0", renewed=later(-20), pinged=later(-5.1))

    assert decide(None, [late, silent], NOON).spec["holderIdentity"] == "a"


@pytest.mark.parametrize(
    ("changes", "has_expired"),
    [
        pytest.param({"unchanged_for": 15.0}, False, id="exactly its duration"),
        pytest.param({"unchanged_for": 15.1}, True, id="longer"),
        pytest.param({"unchanged_for": 0.0, "renewed": later(-600)}, False, id="it looks old, but was not watched"),
        pytest.param({"unchanged_for": 0.0, "renewed": later(-1816)}, True, id="older than any clock is wrong"),
        pytest.param({"renewed": later(3600)}, False, id="from the future"),
        pytest.param({"unchanged_for": 16.0, "renewed": later(3600)}, True, id="from the future, and dead"),
        pytest.param({"renewed": None}, True, id="without a time"),
        pytest.param({"duration": None}, True, id="without a duration"),
    ],
)
def test_when_a_lease_has_expired(changes: dict[str, Any], has_expired: bool) -> None:
    assert held("a", **changes).has_expired(NOON) is has_expired


LEASES = st.none() | st.builds(
    Lease,
    holder=st.sampled_from(["", "a", "b", "x"]),
    preferred=st.sampled_from(["", "a", "b", "x"]),
    strategy=st.sampled_from(["", OLDEST, FOREIGN]),
    duration=st.sampled_from([None, 5, 15]),
    renewed=st.none() | st.integers(-20, 20).map(later),
    unchanged_for=st.floats(0, 20),
)


@st.composite
def anybody(draw: st.DrawFn) -> list[Candidate]:
    stamps = st.integers(-2000, 20).map(later)
    found = draw(CANDIDATES)
    return [attrs.evolve(c, renewed=draw(stamps), pinged=draw(st.none() | stamps)) for c in found]


@given(LEASES, anybody(), st.randoms(use_true_random=False))
def test_a_step_does_not_depend_on_the_order(lease: Lease | None, found: list[Candidate], chance: Any) -> None:
    assert decide(lease, chance.sample(found, len(found)), NOON) == decide(lease, found, NOON)


@given(LEASES, anybody())
def test_a_step_repeated_changes_nothing(lease: Lease | None, found: list[Candidate]) -> None:
    first = decide(lease, found, NOON)

    second = decide(*after(first, lease, found), NOON)

    assert second.action in (Action.NOTHING, Action.WAIT)


def after(decision: Decision, lease: Lease | None, found: list[Candidate]) -> tuple[Lease | None, list[Candidate]]:
    """Return the lease and the candidates after a decision was carried out, in the same instant."""
    asked = [attrs.evolve(c, pinged=NOON) if c.name in decision.names else c for c in found]
    spec = decision.spec
    if not spec:
        return lease, asked
    before = lease if lease is not None else Lease()
    is_renewed = "renewTime" in spec
    return Lease(
        holder=spec.get("holderIdentity", before.holder),
        preferred=spec.get("preferredHolder", before.preferred) or "",
        strategy=spec.get("strategy", before.strategy),
        duration=spec.get("leaseDurationSeconds", before.duration),
        renewed=NOON if is_renewed else before.renewed,
        unchanged_for=0.0,
    ), asked


@given(anybody(), st.timedeltas(timedelta(0), timedelta(minutes=20)))
def test_nobody_is_elected_who_has_not_answered(found: list[Candidate], passed: timedelta) -> None:
    decision = decide(None, found, NOON + passed)

    if holder := decision.spec.get("holderIdentity"):
        (chosen,) = (c for c in found if c.name == holder)
        assert liveness(chosen, NOON + passed) is Liveness.LIVES
        assert chosen.is_valid
