# SPDX-License-Identifier: Apache-2.0
"""Coordinated election under random faults, also if the elector dies at any write; planted bugs are found.

`tox -e simulation` runs more seeds.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from kit.fault_runs.drawing import PROFILES
from kit.simulation import coordinated_run
from kit.simulation.coordinated_run import run

from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from controller_runtime.election import elector
from controller_runtime.election.candidate import LeaseCandidate
from controller_runtime.election.decision import Action, HeldLease, Sighting, decide_coordinated
from controller_runtime.testing.simulation.system_faults import FaultKind, SystemFault
from controllers.election import next_action
from controllers.election.lease_candidate_election import LeaseCandidateElection
from controllers.election.next_action import Lease

WEATHERS = tuple(PROFILES)


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.mark.parametrize("seed", range(20))
def test_one_leads_at_most_and_one_leads_in_the_end(seed: int) -> None:
    outcome = run(seed, profile=WEATHERS[seed % len(WEATHERS)])

    assert outcome.message == ""


CHURN = (
    SystemFault(FaultKind.CRASH, "c0", 20.0, 5.0),
    SystemFault(FaultKind.CRASH, "c1", 20.0, 45.0),
    SystemFault(FaultKind.STOP, "c2", 70.0, 2.0),
)


@pytest.mark.parametrize("write", [1, 2, 3, 5, 8, 13, 21, 34])
def test_who_elects_may_die_at_any_write(write: int) -> None:
    outcome = run(3, script=CHURN, die_at_write=write, seconds=200.0)

    assert outcome.message == ""


BEHIND = tuple(SystemFault(FaultKind.JUMP, name, 20.0, -7200.0) for name in coordinated_run.CANDIDATES)
STANDSTILLS = tuple(
    SystemFault(kind, name, 30.0 + 15 * i + late, seconds)
    for i, restarted in enumerate(coordinated_run.CANDIDATES)
    for name in coordinated_run.CANDIDATES
    for kind, late, seconds in [(FaultKind.STOP, 0.0, 0.5) if name == restarted else (FaultKind.PAUSE, 1.0, 7.0)]
)
"""One candidate is restarted while the others are frozen for less than their leadership lasts."""


@pytest.mark.parametrize("seed", range(4))
def test_leaders_whose_clocks_are_behind_are_not_succeeded_while_they_lead(seed: int) -> None:
    assert run(seed, script=(*BEHIND, *STANDSTILLS), seconds=160.0).message == ""


def test_an_election_that_believes_wall_clocks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_the_wall(self: Lease, now: datetime) -> bool:
        return self.renewed is None or self.renewed + timedelta(seconds=self.duration or 0) < now

    monkeypatch.setattr(Lease, "has_expired", by_the_wall)

    found = (run(seed, script=(*BEHIND, *STANDSTILLS), seconds=100.0).invariant for seed in range(30))

    assert "one leader at most" in found


LATE = tuple(
    SystemFault(FaultKind.SLOW_REPLY, name, call, seconds)
    for names, seconds in [(coordinated_run.ELECTORS, 12.0), (coordinated_run.CANDIDATES, 17.0)]
    for name in names
    for call in range(2)
)
"""All watches are late throughout, by more than an answer takes."""

pytestmark = pytest.mark.once


@pytest.mark.parametrize("seed", range(4))
def test_one_is_elected_though_all_watches_are_late(seed: int) -> None:
    assert run(seed, script=LATE, seconds=260.0).message == ""


def test_an_election_that_believes_its_cache_and_stamps_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def cached(self: LeaseCandidateElection, key: ObjectKey) -> object:
        candidates = self.candidates.list(key.namespace)
        return self.leases.get(key), {view.metadata.name: view for view in candidates if view.lease == key}

    monkeypatch.setattr(next_action, "SEEN", 0.0)
    monkeypatch.setattr(LeaseCandidateElection, "_live", cached)

    assert run(0, script=LATE, seconds=260.0).invariant == "converges"


def test_an_elector_that_never_gives_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stubborn(seen: Sighting, identity: str, held: HeldLease | None, now: float) -> Action:
        decided = decide_coordinated(seen, identity, held, now)
        return Action.RENEW if decided is Action.YIELD else decided

    monkeypatch.setattr(elector, "decide_coordinated", stubborn)

    restarts = tuple(
        SystemFault(FaultKind.STOP, name, 30.0 + 15 * i, 1.0) for i, name in enumerate(coordinated_run.CANDIDATES)
    )

    found = (run(seed, script=restarts, seconds=120.0).invariant for seed in range(20))

    assert "converges" in found


@pytest.mark.parametrize("heard", [pytest.param(next_action.SEEN, id="seen"), pytest.param(0.0, id="read")])
def test_candidates_that_answer_by_their_own_clocks_are_seen_to(heard: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other implementations do that; an election that trusted only their timestamps would be found wrong."""
    write = LeaseCandidate._write

    def by_its_own(self: LeaseCandidate, renewed: datetime) -> None:
        host: Host = self._host
        write(self, host.now())

    monkeypatch.setattr(LeaseCandidate, "_write", by_its_own)
    monkeypatch.setattr(next_action, "SEEN", heard)
    behind = tuple(SystemFault(FaultKind.JUMP, name, 5.0, -7200.0) for name in coordinated_run.CANDIDATES)
    found = [run(1, script=(*behind, *all_but(name)), seconds=130.0).invariant for name in coordinated_run.CANDIDATES]

    assert bool({*found} & {"converges", "a leader within the bound"}) is (heard == 0.0)


@pytest.mark.parametrize("name", coordinated_run.CANDIDATES)
def test_the_last_one_leads_though_its_clock_is_wrong(name: str) -> None:
    behind = tuple(SystemFault(FaultKind.JUMP, each, 5.0, -7200.0) for each in coordinated_run.CANDIDATES)

    assert run(1, script=(*behind, *all_but(name)), seconds=130.0).message == ""


def all_but(name: str) -> tuple[SystemFault, ...]:
    return tuple(
        SystemFault(FaultKind.CRASH, other, 20.0, 600.0) for other in coordinated_run.CANDIDATES if other != name
    )
