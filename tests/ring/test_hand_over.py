# SPDX-License-Identifier: Apache-2.0
"""Slots change hands while work goes on: how long they have no owner, in messages of a network in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.ring.ringing import JOIN, Replicas

from controller_runtime.api.resources import NODES
from controller_runtime.ring.slots import ALL, slots_in
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once

MESSAGE = 0.01
"""Seconds that a message takes on average, up to half as much more or less: 20 ms for a request and its answer."""
STEP = 0.002
MESSAGES = 12
"""Messages of a hand-over: the write that drops a slot, its event, two reads with their answers, the write that takes
the slot, and its answer. These are eight, and each may take half as long again."""
RETRY = 2.0


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(5) as sim:
        yield Replicas(sim, latency=MESSAGE)


def owned(replicas: Replicas) -> int:
    """Return the slots that have an owner at work; none has two."""
    replicas.owners()
    together = 0
    for name, ring in replicas.rings.items():
        if not replicas.hosts[name].crashed:
            together |= ring.ownership.owned
    return together


def longest_gap(replicas: Replicas, seconds: float) -> float:
    """Let time pass, and return for how long a slot had no owner at most."""
    since: dict[int, float] = {}
    longest, until = 0.0, replicas.sim.time + seconds
    while replicas.sim.time < until:
        replicas.sim.advance(STEP)
        free = ALL & ~owned(replicas)
        since = {slot: since.get(slot, replicas.sim.time) for slot in slots_in(free)}
        longest = max([longest, *(replicas.sim.time - begun for begun in since.values())])
    return longest


def started(replicas: Replicas, names: str) -> None:
    for name in names:
        replicas.start(name)
    replicas.sim.advance(JOIN)


def stop(replicas: Replicas, name: str) -> None:
    replicas.hosts[name].spawn("signal", replicas.stops[name].set)


@pytest.mark.parametrize("name", ["a", "c"], ids=["the publisher", "another member"])
def test_a_slot_of_a_replica_that_stops_has_no_owner_for_the_messages_of_one_turn(
    replicas: Replicas, name: str
) -> None:
    started(replicas, "abc")
    stop(replicas, name)

    assert 0.0 < longest_gap(replicas, 1.0) <= MESSAGES * MESSAGE
    assert owned(replicas) == ALL
    assert not replicas.rings[name].ownership.owned


def test_a_replica_that_stops_reconciles_changes_until_others_own_its_slots(replicas: Replicas) -> None:
    started(replicas, "abc")
    key = replicas.owned_by("b")
    replicas.log.clear()
    stop(replicas, "b")
    replicas.sim.advance(MESSAGE)
    replicas.user.patch(NODES, key, {"metadata": {"labels": {"at": "stop"}}})
    replicas.sim.advance(4 * MESSAGE)

    assert replicas.log == [("b", key.name)]
    replicas.sim.advance(2 * RETRY)
    assert replicas.sim.threads(replicas.hosts["b"]) == []


def test_a_replica_without_a_successor_stops_at_once(replicas: Replicas) -> None:
    started(replicas, "a")
    stop(replicas, "a")
    replicas.sim.advance(0.2)

    assert replicas.sim.threads(replicas.hosts["a"]) == []


def test_all_replicas_can_stop_at_once(replicas: Replicas) -> None:
    started(replicas, "abc")
    for name in "abc":
        stop(replicas, name)
    replicas.sim.advance(1.0)

    assert [replicas.sim.threads(replicas.hosts[name]) for name in "abc"] == [[], [], []]


def test_a_replica_that_stops_waits_for_silent_successors_for_one_retry_period(replicas: Replicas) -> None:
    started(replicas, "ab")
    replicas.network.cut("a", 60.0)
    stop(replicas, "b")

    replicas.sim.advance(RETRY - 0.1)
    assert replicas.rings["b"].ownership.owned
    replicas.sim.advance(0.3)
    assert replicas.sim.threads(replicas.hosts["b"]) == []


def test_a_second_request_to_stop_ends_the_wait_for_successors(replicas: Replicas) -> None:
    started(replicas, "ab")
    replicas.network.cut("a", 60.0)
    stop(replicas, "b")
    replicas.sim.advance(0.2)
    replicas.hosts["b"].spawn("signal", replicas.stops["b"].cancel)
    replicas.sim.advance(0.1)

    assert not replicas.rings["b"].ownership.owned


def test_slots_stay_with_a_living_owner_while_a_dead_member_does_not_follow(replicas: Replicas) -> None:
    started(replicas, "abc")
    replicas.start("d")
    replicas.sim.advance(15.0 - 2 * RETRY)
    replicas.sim.crash(replicas.hosts["c"])
    before = owned(replicas)

    replicas.sim.advance(3 * RETRY)
    assert replicas.rings["a"].member.epoch > 0
    assert owned(replicas) == before
