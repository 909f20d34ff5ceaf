# SPDX-License-Identifier: Apache-2.0
"""For how long a pod tolerates the taints of its node, and when it has to leave."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.taint_eviction.toleration import (
    AT_ONCE,
    NO_EXECUTE,
    Taint,
    Toleration,
    leaves_at,
    tolerated_seconds,
    were_added_again,
)

TAINT = Taint("k", NO_EXECUTE, "v")
OTHER = Taint("other", NO_EXECUTE)
FOR_EVER = math.inf
NOW = 1000.0


def tolerates(seconds: int | None = None, key: str = "k", operator: str = "Exists", **others: str) -> Toleration:
    return Toleration(key, operator, toleration_seconds=seconds, **others)


@pytest.mark.parametrize(
    ("toleration", "matches"),
    [
        pytest.param(Toleration("k", "Exists"), True, id="every effect"),
        pytest.param(Toleration("k", "Exists", effect=NO_EXECUTE), True, id="this effect"),
        pytest.param(Toleration("k", "Exists", effect="NoSchedule"), False, id="another effect"),
        pytest.param(Toleration("", "Exists"), True, id="every key"),
        pytest.param(Toleration("other", "Exists"), False, id="another key"),
        pytest.param(Toleration("k", "Exists", "another"), True, id="Exists ignores the value"),
        pytest.param(Toleration("k", "Equal", "v"), True, id="Equal, its value"),
        pytest.param(Toleration("k", "Equal", "z"), False, id="Equal, another value"),
        pytest.param(Toleration("k", "", "v"), True, id="no operator is Equal"),
        pytest.param(Toleration("k", ""), False, id="no operator and no value"),
        pytest.param(Toleration("k", "Lt", "v"), False, id="Lt is behind a gate"),
        pytest.param(Toleration("k", "exists"), False, id="an operator that nobody knows"),
    ],
)
def test_a_toleration_matches_by_effect_key_and_value(toleration: Toleration, matches: bool) -> None:
    assert toleration.matches(TAINT) is matches


@pytest.mark.parametrize(
    ("taints", "tolerations", "seconds"),
    [
        pytest.param([], [], FOR_EVER, id="no taints"),
        pytest.param([TAINT], [], AT_ONCE, id="not tolerated"),
        pytest.param([TAINT], [tolerates()], FOR_EVER, id="tolerated for ever"),
        pytest.param([TAINT], [tolerates(30)], 30.0, id="for a while"),
        pytest.param([TAINT], [tolerates(0)], 0.0, id="zero"),
        pytest.param([TAINT], [tolerates(-5)], 0.0, id="negative is zero"),
        pytest.param([TAINT], [tolerates(90), tolerates(10)], 90.0, id="the first that matches counts"),
        pytest.param([TAINT], [tolerates(), tolerates(10)], FOR_EVER, id="though it be for ever"),
        pytest.param([TAINT, OTHER], [tolerates(50), tolerates(25, "other")], 25.0, id="the shortest of those used"),
        pytest.param(
            [TAINT, OTHER], [tolerates(50), tolerates(None, "other")], 50.0, id="for ever is not the shortest"
        ),
        pytest.param([TAINT, OTHER], [tolerates(50)], AT_ONCE, id="one of two is not tolerated"),
        pytest.param([TAINT, OTHER], [Toleration("", "Exists")], FOR_EVER, id="one for all"),
    ],
)
def test_patience_is_the_shortest_of_the_tolerations_used(
    taints: list[Taint], tolerations: list[Toleration], seconds: float
) -> None:
    assert tolerated_seconds(taints, tolerations) == seconds


@pytest.mark.parametrize(
    ("taints", "tolerations", "before", "at"),
    [
        pytest.param([], [], NOW + 5, None, id="no taint any more"),
        pytest.param([TAINT], [], None, AT_ONCE, id="not tolerated"),
        pytest.param([TAINT], [], NOW + 5, AT_ONCE, id="not tolerated any more"),
        pytest.param([TAINT], [tolerates()], NOW + 5, None, id="tolerated for ever now"),
        pytest.param([TAINT], [tolerates(30)], None, NOW + 30, id="seen first"),
        pytest.param([TAINT], [tolerates(1000)], NOW + 5, NOW + 5, id="longer changes nothing"),
        pytest.param([TAINT], [tolerates(1)], NOW + 5, NOW + 5, id="nor does shorter"),
        pytest.param([TAINT], [tolerates(0)], NOW + 5, NOW + 5, id="nor does zero"),
        pytest.param([TAINT], [tolerates(0)], None, NOW, id="zero is now"),
        pytest.param(None, [], None, None, id="no such node"),
        pytest.param(None, [], NOW + 5, NOW + 5, id="the node has gone meanwhile"),
    ],
)
@pytest.mark.scenario("F-42")
@pytest.mark.scenario("F-44")
def test_when_a_pod_has_to_leave(
    taints: list[Taint] | None, tolerations: list[Toleration], before: float | None, at: float | None
) -> None:
    """A running countdown ignores changed tolerations, but a pod that tolerates no longer leaves at once."""
    assert leaves_at(taints, tolerations, before, NOW) == at


def added(key: str, at: str | None = None) -> Taint:
    return Taint(key, NO_EXECUTE, time_added=at)


EARLY, LATE = "2026-01-01T09:59:59Z", "2026-01-01T10:00:00Z"


@pytest.mark.parametrize(
    ("before", "taints", "again"),
    [
        pytest.param([added("k", EARLY)], [added("k", LATE)], True, id="added later"),
        pytest.param([added("k", EARLY)], [added("k", EARLY)], False, id="the same"),
        pytest.param([added("k", LATE)], [added("k", EARLY)], False, id="an older look"),
        pytest.param([added("k")], [added("k", LATE)], False, id="nobody had said when"),
        pytest.param([added("k", EARLY)], [added("k")], False, id="nobody says when"),
        pytest.param([added("k", EARLY)], [added("other", LATE)], False, id="another in its place"),
        pytest.param([added("k", EARLY)], [added("k", LATE), added("other", LATE)], True, id="with another"),
        pytest.param(
            [added("k", EARLY), added("other", EARLY)],
            [added("k", LATE), added("other", EARLY)],
            False,
            id="one stayed",
        ),
        pytest.param([added("k", EARLY)], [], False, id="gone"),
        pytest.param([], [added("k", LATE)], False, id="the first"),
    ],
)
def test_taints_that_were_added_later_have_been_gone(before: list[Taint], taints: list[Taint], again: bool) -> None:
    assert were_added_again(before, taints) is again


KEYS = st.sampled_from(["", "a", "b"])
TAINTS = st.lists(st.builds(Taint, KEYS.filter(bool), st.just(NO_EXECUTE), st.sampled_from(["", "v"])), max_size=4)
TOLERATIONS = st.lists(
    st.builds(
        Toleration,
        KEYS,
        st.sampled_from(["", "Equal", "Exists", "Gt", "?"]),
        st.sampled_from(["", "v"]),
        st.sampled_from(["", NO_EXECUTE, "NoSchedule"]),
        st.none() | st.integers(-(2**63), 2**63 - 1),
    ),
    max_size=4,
)


@given(TAINTS, TOLERATIONS, st.none() | st.floats(0, 2000))
def test_nobody_leaves_without_a_taint_and_the_tolerant_stay(
    taints: list[Taint], tolerations: list[Toleration], before: float | None
) -> None:
    everything = Toleration("", "Exists")

    assert leaves_at([], tolerations, before, NOW) is None
    assert leaves_at(taints, [everything, *tolerations], before, NOW) is None


@given(TAINTS, TAINTS, TOLERATIONS)
def test_more_taints_never_give_more_time(
    more: list[Taint], taints: list[Taint], tolerations: list[Toleration]
) -> None:
    assert tolerated_seconds([*taints, *more], tolerations) <= tolerated_seconds(taints, tolerations)
