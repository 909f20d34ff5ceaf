# SPDX-License-Identifier: Apache-2.0
"""The election controller on a server with bad input: it reports it once, and other elections go on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from kit.controllers.electing import World
from kit.fault_runs.disk import Disk

from apimachinery.log import fields_of
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.testing.simulation import Simulation
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.election.strategy import STRATEGIES
from embedded_apiserver.server import APIServer

FOREIGN = "example.com/x"


@pytest.fixture
def world(sim: Simulation) -> Iterator[World]:
    world = World(sim)
    yield world
    world.end()


def told(caplog: pytest.LogCaptureFixture, reason: str) -> list[dict[str, Any]]:
    return [dict(fields_of(r)) for r in caplog.records if fields_of(r).get("reason") == reason]


def test_candidates_that_disagree_are_told_of_once_and_harm_no_other(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        world.candidate("a")
        world.candidate("b", strategy=FOREIGN)
        world.candidate("c", lease="other")
        for _ in range(20):
            world.sim.advance(1.0)
            for name in "abc":
                world.renew(name)

    assert [str(line["lease"]) for line in told(caplog, "StrategiesDisagree")] == ["default/lease"]
    assert ("StrategiesDisagree", "Lease", "lease") in world.events()
    assert world.holder("other") == "c"


def test_a_holder_that_is_no_candidate_is_told_of_and_asked_to_give_way(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.candidate("a")
    with caplog.at_level(logging.INFO):
        world.hold("stranger")
        world.sim.advance(10.0)

    spec = world.spec()
    assert spec is not None
    assert spec["preferredHolder"] == "a"
    assert len(told(caplog, "HolderIsNoCandidate")) == 1
    assert ("HolderIsNoCandidate", "Lease", "lease") in world.events()


def test_a_holder_that_withdraws_before_it_lets_go_is_nothing_to_tell(world: World) -> None:
    world.candidate("a")
    world.hold("a")
    world.candidate("b", "1.35.0")
    world.client.delete(LEASE_CANDIDATES, ObjectKey("a", "default"))
    world.sim.advance(1.0)
    world.hold("", strategy=None, preferredHolder=None)

    assert world.holder() == "b"
    assert world.events() == []


def test_what_was_mended_and_goes_wrong_again_is_news_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for _ in range(2):
            world.hold("stranger")
            world.candidate("a")
            world.sim.advance(11.0)
            world.hold("a")
            world.client.delete(LEASE_CANDIDATES, ObjectKey("a", "default"))
            world.sim.settle()

    assert len(told(caplog, "HolderIsNoCandidate")) == 2


def test_versions_that_cannot_be_read_are_told_of_on_the_candidate(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    """The embedded server refuses such versions, so they are put into its storage."""
    disk = Disk()
    world = World(sim, start=False)
    world.server = APIServer(world.host, journal=disk)
    world.client = Client(world.host, InProcessTransport(world.host, world.server))
    world.candidate("bad", "1.1.0")
    world.candidate("good")
    for (collection, key), stored in [*disk._objects.items()]:
        disk.write(collection, key, stored.version, stored.raw.replace(b"1.1.0", b"one"))
    world.server = APIServer(world.host, journal=disk)
    world.client = Client(world.host, InProcessTransport(world.host, world.server))

    with caplog.at_level(logging.INFO):
        world.start()
        world.sim.advance(20.0)

    assert world.holder() == "good"
    assert [line["candidate"] for line in told(caplog, "UnreadableVersion")] == ["bad"]
    assert ("UnreadableVersion", "LeaseCandidate", "bad") in world.events()
    world.end()


def test_a_strategy_can_be_added_by_its_name(sim: Simulation) -> None:
    strategies = {**STRATEGIES, FOREIGN: lambda candidates: max(c.name for c in candidates)}
    world = World(sim, lambda manager: lease_candidate_election(manager, strategies=strategies), start=False)
    for name in "abc":
        world.candidate(name, strategy=FOREIGN)

    world.start()

    assert world.holder() == "c"
    world.end()


def test_leases_that_are_no_elections_are_not_remembered(world: World) -> None:
    memory: Any = world.controller._reconciler.memory  # type: ignore[attr-defined]
    world.candidate("a")
    world.hold("b", lease="unrelated")
    assert memory.knows(ObjectKey("lease", "default"))

    world.client.delete(LEASE_CANDIDATES, ObjectKey("a", "default"))
    world.client.delete(LEASES, ObjectKey("lease", "default"))
    world.sim.settle()

    assert not memory._holders
    assert not memory._problems


def test_a_lease_is_watched_on_though_its_candidates_are_gone(world: World) -> None:
    world.candidate("a")
    world.client.delete(LEASE_CANDIDATES, ObjectKey("a", "default"))
    world.sim.advance(20.0)

    world.candidate("b")

    assert world.holder() == "b"
