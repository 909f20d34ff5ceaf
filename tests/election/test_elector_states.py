# SPDX-License-Identifier: Apache-2.0
"""The elector is the state machine that its guide draws."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.election_bench import LEASE, Bench, Candidate

from controller_runtime.api.resources import LEASES
from controller_runtime.election import elector as elector_module
from controller_runtime.election.config import Candidacy
from controller_runtime.election.state import TRANSITIONS, Ended, Leading, Resigned, State, Waiting, Yielding
from controller_runtime.testing.simulation import Simulation

DIAGRAM = (Path(__file__).resolve().parents[2] / "docs" / "pictures" / "diagram-elector-states.svg").read_text("utf-8")
Change = tuple[type[State], type[State]]


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> set[Change]:
    """Return the changes of state that electors make during the test."""
    seen: set[Change] = set()
    enter = elector_module.LeaderElector._enter

    def noted(self: elector_module.LeaderElector, state: State) -> None:
        seen.add((type(self.state), type(state)))
        enter(self, state)

    monkeypatch.setattr(elector_module.LeaderElector, "_enter", noted)
    return seen


@pytest.fixture
def bench(sim: Simulation) -> Bench:
    return Bench(sim)


def end(bench: Bench, candidate: Candidate) -> None:
    candidate.stop.set()
    bench.sim.advance(2.0)
    assert candidate.ended


def test_the_diagram_of_the_guide_tells_exactly_the_changes_there_are() -> None:
    arrows = re.findall(r"^    (\w+) --&gt; (\w+):", DIAGRAM, re.MULTILINE)

    assert sorted(arrows) == sorted((before.__name__, after.__name__) for before, after in TRANSITIONS)


def test_an_elector_that_is_stopped_while_it_waits_ends(bench: Bench, changes: set[Change]) -> None:
    bench.hold("somebody else")
    waiting = bench.start("a")

    end(bench, waiting)

    assert changes == {(Waiting, Ended)}


def test_an_elector_that_is_stopped_while_it_leads_resigns_and_ends(bench: Bench, changes: set[Change]) -> None:
    leader = bench.start("a")
    assert isinstance(leader.elector.state, Leading)

    end(bench, leader)

    assert changes == {(Waiting, Leading), (Leading, Resigned), (Resigned, Ended)}
    assert leader.elector.term is None


def test_an_elector_that_loses_the_lease_ends_with_its_term(bench: Bench, changes: set[Change]) -> None:
    leader = bench.start("a")
    bench.hold("somebody else", transitions=5)

    bench.sim.advance(10.0)

    assert changes == {(Waiting, Leading), (Leading, Ended)}
    assert leader.elector.term is not None, "the fence stays closed"
    assert leader.elector.term.is_over()


@pytest.mark.parametrize(
    ("stopped", "last"),
    [
        pytest.param(True, {(Yielding, Resigned), (Resigned, Ended)}, id="the work ends in time"),
        pytest.param(False, {(Yielding, Ended)}, id="the deadline passes first"),
    ],
)
def test_an_elector_that_shall_give_way_yields_first(
    bench: Bench, changes: set[Change], stopped: bool, last: set[Change]
) -> None:
    bench.hold("a")
    leader = bench.start("a", coordinated=Candidacy(binary_version="1.0.0"))
    assert isinstance(leader.elector.state, Leading)

    bench.client.patch(LEASES, LEASE, {"spec": {"preferredHolder": "b", "strategy": "OldestEmulationVersion"}})
    bench.sim.advance(3.0)
    assert isinstance(leader.elector.state, Yielding)
    if stopped:
        end(bench, leader)
    bench.sim.advance(15.0)

    assert changes == {(Waiting, Leading), (Leading, Yielding), *last}


def test_every_change_of_the_diagram_is_tested_here() -> None:
    tested = {
        (Waiting, Ended), (Waiting, Leading), (Leading, Resigned), (Resigned, Ended), (Leading, Ended),
        (Leading, Yielding), (Yielding, Resigned), (Yielding, Ended),
    }  # fmt: skip

    assert tested == TRANSITIONS
