# SPDX-License-Identifier: Apache-2.0
"""A limited number of pods of one node is evicted at the same time, and the others follow in order."""

from __future__ import annotations

import pytest

from apimachinery.objects import ObjectKey
from controller_runtime.testing.simulation import Simulation
from controllers.taint_eviction.node_limit import NodeLimit, RetryDelay

P, Q, R, S = (ObjectKey(name, "default") for name in "pqrs")


@pytest.fixture
def limit(sim: Simulation) -> NodeLimit:
    return NodeLimit(sim.host("controller"), 2)


def test_the_first_pods_of_a_node_are_admitted_and_the_others_follow_in_their_order(limit: NodeLimit) -> None:
    assert [limit.enter(pod, "n") for pod in (P, Q, R, S)] == [True, True, False, False]
    assert limit.leave(Q) == [R]
    assert limit.enter(R, "n")
    assert limit.leave(P) == [S]
    assert limit.leave(R) == limit.leave(S) == []


def test_nodes_do_not_share_a_limit(limit: NodeLimit) -> None:
    assert all([limit.enter(P, "a"), limit.enter(Q, "a"), limit.enter(R, "b"), limit.enter(S, "b")])


def test_a_pod_that_enters_again_keeps_its_place(limit: NodeLimit) -> None:
    for pod in (P, Q, R, S):
        limit.enter(pod, "n")

    assert not limit.enter(S, "n")
    assert limit.enter(P, "n")
    assert limit.leave(P) == [R]


def test_a_waiting_pod_that_leaves_admits_no_other(limit: NodeLimit) -> None:
    for pod in (P, Q, R, S):
        limit.enter(pod, "n")

    assert limit.leave(R) == []
    assert limit.leave(P) == [S]


def test_a_pod_in_no_queue_leaves_without_effect(limit: NodeLimit) -> None:
    assert limit.leave(P) == []


def test_a_pod_that_appears_on_another_node_keeps_its_place_until_it_leaves(limit: NodeLimit) -> None:
    for pod in (P, Q, R):
        limit.enter(pod, "a")

    assert not limit.enter(R, "b")
    assert limit.leave(P) == [R]
    assert limit.enter(R, "b")
    limit.leave(R)
    assert R not in limit


def test_the_failures_of_a_pod_are_forgotten_only_when_it_is_in_no_queue(limit: NodeLimit) -> None:
    delay = RetryDelay(limit)
    delay.when(P, 0.0)
    limit.enter(P, "n")

    delay.forget(P)
    assert delay.num_requeues(P) == 1

    limit.leave(P)
    delay.forget(P)
    assert delay.num_requeues(P) == 0
