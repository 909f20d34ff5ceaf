# SPDX-License-Identifier: Apache-2.0
"""Histograms count by inclusive upper bounds."""

from __future__ import annotations

import functools
import operator

from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.core.counters import Histogram

values = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.1, 1.0, 10.0]))


def test_a_value_on_a_bound_counts_below_it() -> None:
    histogram = Histogram([0.1, 1.0])

    for value in (0.1, 0.5, 1.0, 1.1):
        histogram.observe(value)

    assert histogram.counts == [1, 2, 1]
    assert histogram.cumulative() == [1, 3, 4]


def test_a_histogram_that_saw_nothing_is_all_zero() -> None:
    histogram = Histogram([1.0])

    assert (histogram.count, histogram.total, histogram.cumulative()) == (0, 0.0, [0, 0])


@given(values)
def test_cumulative_counts_are_what_a_look_at_all_values_would_give(observed: list[float]) -> None:
    histogram = Histogram([0.1, 1.0, 10.0])

    for value in observed:
        histogram.observe(value)

    at_most = [sum(value <= bound for value in observed) for bound in histogram.bounds]
    assert histogram.cumulative() == [*at_most, len(observed)]
    assert histogram.count == len(observed)
    # `sum` is not used, because it adds more exactly from Python 3.12 on.
    assert histogram.total == functools.reduce(operator.add, observed, 0.0)


def test_a_copy_has_all_that_was_seen_and_sees_nothing_more() -> None:
    histogram = Histogram([1.0])
    histogram.observe(0.5)

    copy = histogram.copy()
    histogram.observe(2.0)

    assert (copy.count, copy.total, copy.cumulative()) == (1, 0.5, [1, 1])
