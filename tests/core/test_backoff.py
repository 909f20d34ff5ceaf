# SPDX-License-Identifier: Apache-2.0
"""Delays grow up to a cap, are jittered, and start again after success."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.core.backoff import Backoff, Retrying

PLAIN = Backoff(initial=1.0, factor=2.0, cap=10.0, jitter=0.0, forgotten_after=5.0)

backoffs = st.builds(
    lambda initial, factor, growth, jitter: Backoff(
        initial=initial, factor=factor, cap=initial * growth, jitter=jitter
    ),
    initial=st.floats(0.001, 100),
    factor=st.floats(1, 1e6),
    growth=st.floats(1, 1e6),
    jitter=st.floats(0, 5),
)


@pytest.mark.parametrize(("failures", "delay"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (10_000, 10.0)])
def test_delays_double_up_to_the_cap(failures: int, delay: float) -> None:
    assert PLAIN.delay(failures, random.Random(0)) == delay


@given(backoffs, st.integers(1, 1_000_000), st.integers())
def test_every_delay_lies_between_the_initial_one_and_the_stretched_cap(
    backoff: Backoff, failures: int, seed: int
) -> None:
    delay = backoff.delay(failures, random.Random(seed))

    assert backoff.initial <= delay <= backoff.cap * (1 + backoff.jitter)


@given(backoffs, st.integers(1, 10_000), st.integers())
def test_with_the_same_chance_another_failure_never_shortens_the_delay(
    backoff: Backoff, failures: int, seed: int
) -> None:
    earlier, later = (backoff.delay(n, random.Random(seed)) for n in (failures, failures + 1))

    assert later >= earlier


def test_jitter_spreads_the_delays() -> None:
    chance = random.Random(0)

    delays = [Backoff().delay(1, chance) for _ in range(100)]

    assert len(set(delays)) == 100
    assert max(delays) > 1.5 * 0.8


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"initial": 0.0}, id="no initial delay"),
        pytest.param({"factor": 0.9}, id="shrinking"),
        pytest.param({"jitter": -0.1}, id="negative jitter"),
    ],
)
def test_a_backoff_that_could_spin_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Backoff(**wrong)


def test_a_cap_below_the_initial_delay_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"cap \(1\.0\) must be at least initial \(2\.0\)"):
        Backoff(initial=2.0, cap=1.0)


def test_failures_in_a_row_lengthen_the_delay() -> None:
    retrying = Retrying(PLAIN, random.Random(0))

    assert [retrying.next_delay() for _ in range(3)] == [1.0, 2.0, 4.0]
    assert retrying.failures == 3


@pytest.mark.parametrize(
    ("failures", "worked", "delay"),
    [
        pytest.param(1, 4.9, 2.0, id="not yet long enough"),
        pytest.param(1, 5.0, 1.0, id="long enough"),
        pytest.param(4, 7.9, 10.0, id="shorter than the last delay"),
        pytest.param(4, 8.0, 1.0, id="as long as the last delay"),
    ],
)
def test_failures_are_forgotten_once_things_have_worked(failures: int, worked: float, delay: float) -> None:
    retrying = Retrying(PLAIN, random.Random(0))
    for _ in range(failures):
        retrying.next_delay()

    retrying.worked(worked)

    assert retrying.next_delay() == delay


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50), st.integers())
def test_nobody_is_asked_more_often_than_the_delays_allow(worked: list[float], seed: int) -> None:
    retrying = Retrying(Backoff(), random.Random(seed))
    before = 0.0

    for seconds in worked:
        retrying.worked(seconds)
        delay = retrying.next_delay()
        assert delay >= before / 2 or seconds >= before, "sooner again, though it worked for less than the last wait"
        before = delay
