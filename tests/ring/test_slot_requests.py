# SPDX-License-Identifier: Apache-2.0
"""Slots that a member takes are requested on a thread of their own, however many objects they have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.ring.ringing import JOIN, OBJECTS, Replicas

from apimachinery.errors import UsageError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Store
from controller_runtime.ring.requests import following
from controller_runtime.ring.slots import ALL, SLOTS
from controller_runtime.testing.simulation import Simulation

KEY_COST = 1.0
"""Seconds for each key: the walk of all takes six times the deadline of a membership."""


@given(st.sets(st.integers(0, SLOTS - 1), min_size=1), st.integers(0, SLOTS))
def test_the_next_slot_is_the_first_one_from_a_start_on_and_then_the_first_of_all(slots: set[int], start: int) -> None:
    rest = [slot for slot in slots if slot >= start] or [*slots]
    assert following(sum(1 << slot for slot in slots), start) == min(rest)
    assert following(0, start) is None


def test_a_take_that_lasts_longer_than_the_deadline_does_not_end_the_membership(sim: Simulation) -> None:
    replicas = Replicas(sim)
    ring = replicas.start("a", key_cost=KEY_COST)
    sim.advance(JOIN)
    term = ring.ownership.term
    assert ring.ownership.owned == ALL

    for _ in range(OBJECTS):
        sim.advance(KEY_COST)
        assert ring.ownership.owned == ALL

    assert ring.ownership.term is term
    assert {name for _, name in replicas.log} == {f"n{number:02d}" for number in range(OBJECTS)}


class Recorded(Lister[dict[str, Any]]):
    """Records the slots whose keys are read."""

    def __init__(self, lister: Lister[dict[str, Any]]) -> None:
        super().__init__(lister.source, NODES, dict)
        self.slots: list[int] = []

    def keys_by_index(self, name: str, value: str) -> list[ObjectKey]:
        self.slots.append(int(value))
        return super().keys_by_index(name, value)


def test_a_take_after_a_lost_membership_goes_on_where_the_last_one_stopped(sim: Simulation) -> None:
    replicas = Replicas(sim)
    ring = replicas.start("a", key_cost=KEY_COST)
    read = Recorded(replicas.managers["a"].lister(NODES, dict))
    ring.requests(read)
    sim.advance(JOIN)
    before = len(read.slots)
    assert 0 < before < SLOTS / 2

    sim.pause(replicas.hosts["a"], 16.0)  # its lease is over, and its first slots need a reconcile again
    sim.advance(16.0 + JOIN + OBJECTS * KEY_COST * 2)

    assert read.slots == [*range(SLOTS), *range(before)] or read.slots == [*range(SLOTS), *range(before + 1)]


def test_a_lister_of_another_manager_is_refused(sim: Simulation) -> None:
    ring = Replicas(sim).start("a")

    with pytest.raises(UsageError, match="needs a lister of its own manager"):
        ring.requests(Lister(Store(sim.host("b")), NODES, dict))
