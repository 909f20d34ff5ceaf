# SPDX-License-Identifier: Apache-2.0
"""Threads that a reconcile makes itself send nothing after the membership; those of the runtime itself do."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator

import pytest
from kit.ring.ringing import JOIN, Replicas

from apimachinery.errors import ConnectionLost, LeadershipLost
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.testing.simulation import Simulation

KEY = ObjectKey("n07")


class Idle(Reconciler):
    def reconcile(self, request: Request) -> Result:
        return Result()


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(7) as sim:
        replicas = Replicas(sim)
        replicas.start("a")
        sim.advance(JOIN)
        yield replicas


def on_a_thread_of_its_own(replicas: Replicas, work: Callable[[], object]) -> list[object]:
    """Do some work as a thread of an executor does, which does not know the reconcile that it works for."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except (ConnectionLost, LeadershipLost) as error:
            outcome.append(error)

    contextvars.Context().run(replicas.hosts["a"].spawn, "executor", run)
    return outcome


def label(replicas: Replicas) -> None:
    replicas.managers["a"].client.patch(NODES, KEY, {"metadata": {"labels": {"by": "thread"}}})


def is_labelled(replicas: Replicas) -> bool:
    return replicas.user.get(NODES, KEY, dict)["metadata"]["labels"].get("by") == "thread"


def test_a_thread_of_a_reconcile_sends_nothing_once_the_membership_is_over(replicas: Replicas) -> None:
    replicas.rings["a"].ownership.end_all("its lease was deleted")

    outcome = on_a_thread_of_its_own(replicas, lambda: label(replicas))
    replicas.sim.advance(0.1)

    assert [type(each) for each in outcome] == [LeadershipLost]
    assert not is_labelled(replicas)


def test_a_thread_of_a_member_sends_its_requests(replicas: Replicas) -> None:
    on_a_thread_of_its_own(replicas, lambda: label(replicas))
    replicas.sim.advance(0.1)

    assert is_labelled(replicas)


@pytest.mark.parametrize("how", ["unbound", "a controller is not shared"])
def test_work_that_belongs_to_no_reconcile_is_left_alone_where_that_is_known(replicas: Replicas, how: str) -> None:
    ring, manager = replicas.rings["a"], replicas.managers["a"]
    if how != "unbound":
        manager.add(Controller("whole", Idle()).watch(NODES))
    ring.ownership.end_all("its lease was deleted")

    def work() -> None:
        if how == "unbound":
            with ring.unbound():
                label(replicas)
        else:
            label(replicas)

    on_a_thread_of_its_own(replicas, work)
    replicas.sim.advance(0.1)

    assert is_labelled(replicas)


def test_a_lost_answer_to_a_thread_keeps_the_slots_with_work_in_hand(replicas: Replicas) -> None:
    ring = replicas.rings["a"]
    turn = ring.ownership.turn(7)
    assert turn is not None
    replicas.network.cut("a", 3.0)
    on_a_thread_of_its_own(replicas, lambda: label_within(replicas, 1.0))
    replicas.sim.advance(1.5)
    ring.ownership.end(turn)

    assert ring.ownership.drained(1 << 7 | 1 << 8) == 1 << 8
    replicas.sim.advance(10.0)
    assert ring.ownership.drained(1 << 7) == 1 << 7


def label_within(replicas: Replicas, seconds: float) -> None:
    replicas.managers["a"].client.within(seconds).patch(NODES, KEY, {"metadata": {"labels": {"by": "thread"}}})
