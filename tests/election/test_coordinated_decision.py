# SPDX-License-Identifier: Apache-2.0
"""Decisions about a lease whose holder a coordinator names, and the configurations for it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controller_runtime.election import config as config_module
from controller_runtime.election.config import Candidacy, LeaderElectionConfig
from controller_runtime.election.decision import Action, HeldLease, Sighting, decide_coordinated, is_vacant
from controller_runtime.election.record import LeaseRecord

NOW = 1000.0
MINE = LeaseRecord("me", 15, "", "later", 4, "OldestEmulationVersion")
THEIRS = attrs.evolve(MINE, holder="other")


@pytest.mark.scenario("E-19", "E-20", "E-22", "LE-09")
@pytest.mark.parametrize(
    ("record", "seen_at", "step"),
    [
        pytest.param(None, NOW, Action.WAIT, id="E-19 no lease: never made"),
        pytest.param(THEIRS, NOW, Action.WAIT, id="LE-09 another's"),
        pytest.param(THEIRS, NOW - 100, Action.WAIT, id="another's, expired: never taken"),
        pytest.param(attrs.evolve(MINE, holder=""), NOW, Action.WAIT, id="nobody's: never taken"),
        pytest.param(MINE, NOW - 5, Action.TAKE, id="E-20 given to us"),
        pytest.param(MINE, NOW - 15, Action.TAKE, id="alive to the last instant"),
        pytest.param(MINE, NOW - 15.1, Action.GIVE_BACK, id="E-22 given to us, and not begun in time"),
        pytest.param(attrs.evolve(MINE, preferred="b"), NOW, Action.GIVE_BACK, id="another is preferred already"),
    ],
)
def test_who_does_not_lead_begins_when_it_is_named(record: LeaseRecord | None, seen_at: float, step: Action) -> None:
    """No replica creates or takes a lease by itself; one that was named too late gives it back."""
    assert decide_coordinated(Sighting(record, seen_at), "me", None, NOW) is step


@pytest.mark.scenario("E-21", "LE-09")
@pytest.mark.parametrize(
    ("record", "until", "step"),
    [
        pytest.param(MINE, NOW + 1, Action.RENEW, id="ours"),
        pytest.param(MINE, NOW, Action.LOST, id="past the deadline"),
        pytest.param(THEIRS, NOW + 1, Action.LOST, id="taken"),
        pytest.param(None, NOW + 1, Action.LOST, id="deleted"),
        pytest.param(attrs.evolve(MINE, preferred="b"), NOW + 1, Action.YIELD, id="E-21 another is preferred"),
        pytest.param(attrs.evolve(MINE, preferred="me"), NOW + 1, Action.YIELD, id="even if that is ourselves"),
        pytest.param(attrs.evolve(MINE, preferred="b"), NOW, Action.LOST, id="preferred, and too late"),
    ],
)
def test_who_leads_renews_or_gives_way(record: LeaseRecord | None, until: float, step: Action) -> None:
    """Any preferred holder ends the leadership."""
    assert decide_coordinated(Sighting(record, NOW), "me", HeldLease(4, until), NOW) is step


def test_when_nobody_leads() -> None:
    assert is_vacant(Sighting(None, NOW), NOW)
    assert is_vacant(Sighting(attrs.evolve(MINE, holder=""), NOW), NOW)
    assert is_vacant(Sighting(THEIRS, NOW - 15), NOW)
    assert not is_vacant(Sighting(THEIRS, NOW - 14), NOW)


def test_versions_are_made_of_three_numbers_and_emulate_what_they_are() -> None:
    assert Candidacy(binary_version="v1.36").binary_version == "1.36.0"
    assert Candidacy(binary_version="1.36.2").emulation_version == "1.36.2"
    assert Candidacy(binary_version="1.36.2", emulation_version="1.35").emulation_version == "1.35.0"
    assert Candidacy().binary_version.count(".") == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param({"binary_version": "new"}, r"binary_version \('new'\) must be a version", id="none"),
        pytest.param(
            {"binary_version": "1.35", "emulation_version": "1.36"},
            r"emulation_version \(1.36.0\) must not be newer than binary_version \(1.35.0\)",
            id="newer",
        ),
        pytest.param({"strategy": ""}, "strategy must not be empty", id="no strategy"),
    ],
)
def test_a_candidacy_that_no_server_would_take_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Candidacy(**changes)


def test_an_identity_has_to_be_fit_for_a_name() -> None:
    with pytest.raises(ValueError, match="identity 'a/b' cannot be the name of a candidate"):
        LeaderElectionConfig(name="x", namespace="y", identity="a/b", coordinated=Candidacy(binary_version="1.0"))


def test_a_package_that_does_not_know_its_version_asks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_module, "__version__", "unreleased")

    with pytest.raises(ValueError, match=r"binary_version must be given: .*\(unreleased\) is not a version"):
        Candidacy()
    assert Candidacy(binary_version="1.0").binary_version == "1.0.0"
