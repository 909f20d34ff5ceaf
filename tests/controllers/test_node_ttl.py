# SPDX-License-Identifier: Apache-2.0
"""The decisions of the node TTL controller, without threads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.objects import ObjectKey, Received
from apimachinery.system import SystemHost
from controller_runtime.cache.store import Delta
from controllers.node_ttl import STEPS, ClusterSize, advance, parse_ttl

SOME = Received(b"{}", "some", "", "", "1")
ADD, CHANGE, DELETE = Delta(None, SOME), Delta(SOME, SOME), Delta(SOME, None)
ALL_NODES = [ObjectKey("a"), ObjectKey("b")]


def cluster_of(nodes: int, *, lazy: bool = False) -> ClusterSize:
    size = ClusterSize(SystemHost(), lambda: ALL_NODES, lazy=lazy)
    for _ in range(nodes):
        size.observe(Delta(None, SOME, initial=True))
    return size


@pytest.mark.scenario("C-01")
@pytest.mark.scenario("C-04")
@pytest.mark.parametrize(
    ("nodes", "before", "after"),
    [
        pytest.param(100, 0, 15, id="100 to 101"),
        pytest.param(500, 15, 30, id="500 to 501"),
        pytest.param(1000, 30, 60, id="1000 to 1001"),
        pytest.param(2000, 60, 300, id="2000 to 2001"),
    ],
)
def test_advice_rises_when_the_cluster_outgrows_its_step(nodes: int, before: int, after: int) -> None:
    """The advice rises with the first node above a step's upper end: 100, 500, 1000, 2000."""
    size = cluster_of(nodes)
    assert size.ttl() == before

    size.observe(ADD)

    assert size.ttl() == after


@pytest.mark.scenario("C-05")
@pytest.mark.parametrize(
    ("risen_to", "nodes", "before", "after"),
    [
        pytest.param(101, 90, 15, 0, id="90 to 89"),
        pytest.param(501, 450, 30, 15, id="450 to 449"),
        pytest.param(1001, 900, 60, 30, id="900 to 899"),
        pytest.param(2001, 1800, 300, 60, id="1800 to 1799"),
    ],
)
def test_advice_falls_when_the_cluster_shrinks_below_its_step(
    risen_to: int, nodes: int, before: int, after: int
) -> None:
    """The advice falls with the first node below a step's lower end: 90, 450, 900, 1800."""
    size = cluster_of(risen_to)
    for _ in range(risen_to - nodes):
        size.observe(DELETE)
    assert size.ttl() == before

    size.observe(DELETE)

    assert size.ttl() == after


@pytest.mark.scenario("C-02")
def test_advice_stays_when_the_cluster_is_back_at_the_upper_end() -> None:
    """One node deleted from 101 leaves the advice at 15 s."""
    size = cluster_of(101)

    size.observe(DELETE)

    assert size.ttl() == 15


@pytest.mark.scenario("C-06")
def test_an_excursion_over_a_boundary_is_remembered() -> None:
    """95, 105, 95 nodes end with the advice 15 s; 95 throughout with 0."""
    size = cluster_of(95)
    assert size.ttl() == 0

    for delta in [ADD] * 10 + [DELETE] * 10:
        size.observe(delta)

    assert size.nodes == 95
    assert size.ttl() == 15


def test_a_changed_node_is_looked_at_and_not_counted() -> None:
    size = cluster_of(100)

    concerned = list(size.observe(CHANGE))

    assert concerned == [ObjectKey("some")]
    assert size.nodes == 100


def test_a_change_of_step_concerns_every_node() -> None:
    size = cluster_of(100)

    assert list(size.observe(ADD)) == [*ALL_NODES, ObjectKey("some")]


def test_a_shrinking_step_concerns_every_node_that_is_left() -> None:
    size = cluster_of(101)
    for _ in range(11):
        assert list(size.observe(DELETE)) == []

    assert list(size.observe(DELETE)) == ALL_NODES


def test_in_upstreams_mode_a_change_of_step_concerns_the_added_node_alone() -> None:
    size = cluster_of(100, lazy=True)

    assert list(size.observe(ADD)) == [ObjectKey("some")]


@pytest.mark.scenario("C-11")
@pytest.mark.scenario("C-12")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("15", 15, id="plain"),
        pytest.param("+15", 15, id="plus"),
        pytest.param("015", 15, id="leading zero"),
        pytest.param("-1", -1, id="negative"),
        pytest.param("0000000000000000000000015", 15, id="many zeros"),
        pytest.param("9223372036854775807", 2**63 - 1, id="largest"),
        pytest.param("-9223372036854775808", -(2**63), id="smallest"),
        pytest.param("9223372036854775808", None, id="beyond 64 bits"),
        pytest.param("99999999999999999999", None, id="twenty nines"),
        pytest.param("9" * 5000, None, id="five thousand nines"),
        pytest.param(None, None, id="missing"),
        pytest.param("", None, id="empty"),
        pytest.param(" 15", None, id="space before"),
        pytest.param("15\n", None, id="newline after"),
        pytest.param("1_5", None, id="underscore"),
        pytest.param("15.0", None, id="fraction"),
        pytest.param("٣", None, id="digits of another script"),
        pytest.param("+-1", None, id="two signs"),
    ],
)
def test_the_annotation_is_read_as_a_strict_64_bit_integer(text: str | None, value: int | None) -> None:
    """The annotation is plain digits with at most one sign; everything else counts as missing."""
    assert parse_ttl(text) == value


@given(st.integers(0, len(STEPS) - 1), st.integers(0, 5000))
def test_a_step_always_contains_the_cluster_it_is_for(step: int, nodes: int) -> None:
    after = advance(step, nodes)

    assert STEPS[after].at_least <= nodes <= STEPS[after].at_most
    assert advance(after, nodes) == after


@given(st.lists(st.sampled_from([1, -1]), max_size=400))
def test_one_node_at_a_time_moves_the_advice_by_at_most_one_step(changes: list[int]) -> None:
    step, nodes = 0, 95
    for change in changes:
        nodes = max(0, nodes + change)
        after = advance(step, nodes)
        assert abs(after - step) <= 1
        step = after
