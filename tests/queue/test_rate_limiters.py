# SPDX-License-Identifier: Apache-2.0
"""Rate limiters: the delays for given failures and times."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.queue.rate_limiters import Bucket, ItemExponential, ItemFastSlow, MaxOf, MaxWait, RateLimiter


def waits(limiter: RateLimiter, item: str, times: int, now: float = 0.0) -> list[float]:
    return [limiter.when(item, now) for _ in range(times)]


@pytest.mark.scenario("RL-01")
def test_each_item_doubles_on_its_own_until_it_is_forgotten() -> None:
    """The delay doubles per item, is counted per item, and starts again after forget."""
    limiter = ItemExponential(0.001, 1.0)

    assert waits(limiter, "a", 5) == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert waits(limiter, "b", 2) == [0.001, 0.002]
    assert (limiter.num_requeues("a"), limiter.num_requeues("b")) == (5, 2)

    limiter.forget("a")

    assert limiter.num_requeues("a") == 0
    assert limiter.when("a", 0.0) == 0.001


@pytest.mark.scenario("RL-02")
@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param(5, 0.032, id="below the cap"),
        pytest.param(1000, 1000.0, id="far beyond what a float can hold"),
        pytest.param(5000, 1000.0, id="beyond the largest exponent"),
    ],
)
def test_growth_ends_at_the_cap_without_overflow(failures: int, expected: float) -> None:
    """After many failures the delay is exactly the cap."""
    limiter = ItemExponential(0.001, 1000.0)

    waits(limiter, "a", failures)

    assert limiter.when("a", 0.0) == expected


@pytest.mark.scenario("RL-04")
def test_the_first_tries_are_fast_and_the_rest_are_slow() -> None:
    """Three fast tries are followed by slow ones; another item starts fast; `forget` starts again."""
    limiter = ItemFastSlow(0.005, 10.0, 3)

    assert waits(limiter, "a", 5) == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.num_requeues("a") == 5
    assert limiter.when("b", 0.0) == 0.005

    limiter.forget("a")

    assert limiter.when("a", 0.0) == 0.005


@pytest.mark.scenario("RL-05")
def test_the_slowest_member_decides() -> None:
    """The longest delay and the largest count win, and `forget` reaches every limiter."""
    limiter = MaxOf(ItemFastSlow(0.005, 3.0, 3), ItemExponential(0.001, 1.0))

    assert waits(limiter, "a", 5) == [0.005, 0.005, 0.005, 3.0, 3.0]
    assert limiter.num_requeues("a") == 5

    limiter.forget("a")

    assert limiter.num_requeues("a") == 0
    assert waits(limiter, "a", 3) == [0.005, 0.005, 0.005]


@pytest.mark.scenario("RL-06")
def test_no_wait_is_longer_than_the_longest() -> None:
    """The delay of 1000 s is cut off at 500 s."""
    limiter = MaxWait(ItemFastSlow(0.005, 1000.0, 100), 500.0)

    assert waits(limiter, "a", 102) == [0.005] * 100 + [500.0] * 2
    assert limiter.num_requeues("a") == 102


@pytest.mark.scenario("RL-07")
def test_a_burst_passes_and_the_next_item_waits_for_its_token() -> None:
    """With client-go's classic limiter, 100 items wait 5 ms each and the next one 100 ms."""
    limiter = MaxOf(ItemExponential(), Bucket())

    assert [limiter.when(n, 0.0) for n in range(100)] == [0.005] * 100
    assert limiter.when("one more", 0.0) == pytest.approx(0.1)
    assert limiter.when("and one more", 0.0) == pytest.approx(0.2)


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=60), st.integers(1, 5), st.floats(0.5, 20.0))
def test_a_bucket_never_lets_more_than_burst_and_rate_through(steps: list[float], burst: int, rate: float) -> None:
    bucket, now, passes = Bucket(rate, burst), 0.0, []

    for step in steps:
        now += step
        passes.append(now + bucket.when("a", now))

    for first in range(len(passes)):
        for last in range(first, len(passes)):
            assert last - first + 1 <= burst + rate * (passes[last] - passes[first]) + 1e-6


@pytest.mark.parametrize(
    ("make", "text"),
    [
        pytest.param(lambda: ItemExponential(0.0, 1.0), "base", id="no base"),
        pytest.param(lambda: ItemExponential(2.0, 1.0), "at most cap", id="cap below base"),
        pytest.param(lambda: Bucket(0.0, 1), "rate", id="no rate"),
        pytest.param(lambda: Bucket(1.0, 0), "burst", id="no burst"),
        pytest.param(lambda: MaxOf(), "at least one", id="no members"),
    ],
)
def test_limits_that_make_no_sense_are_refused(make: Callable[[], RateLimiter], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()
