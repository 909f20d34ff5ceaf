# SPDX-License-Identifier: Apache-2.0
"""The results that a reconcile may return."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_runtime.controller.reconciler import Reconciler, Result


@given(st.floats(0.0, 1000.0), st.floats(0.0, 1.0), st.integers())
def test_jitter_stretches_a_delay_by_at_most_its_part(requeue_after: float, jitter: float, seed: int) -> None:
    delay = Result(requeue_after, jitter).delay(random.Random(seed))

    assert requeue_after <= delay <= requeue_after * (1.0 + jitter)


@pytest.mark.parametrize(
    ("requeue_after", "jitter", "text"),
    [
        pytest.param(float("nan"), 0.0, "requeue_after", id="not a number"),
        pytest.param(float("inf"), 0.0, "requeue_after", id="never"),
        pytest.param(1.0, -0.1, "jitter", id="negative jitter"),
        pytest.param(1.0, float("nan"), "jitter", id="jitter that is no number"),
    ],
)
def test_results_that_make_no_sense_are_refused(requeue_after: float, jitter: float, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Result(requeue_after, jitter)


def test_a_reconciler_must_reconcile() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Reconciler()  # type: ignore[abstract]


def test_without_a_next_look_there_is_no_delay() -> None:
    assert Result().delay(random.Random(0)) == 0.0
