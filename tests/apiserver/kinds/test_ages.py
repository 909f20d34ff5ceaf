# SPDX-License-Identifier: Apache-2.0
"""The short form of durations and ages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_apiserver.kinds.ages import age, short_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        pytest.param(-5, "<invalid>", id="far in the future"),
        pytest.param(-1.9, "0s", id="clocks differ a little"),
        pytest.param(0, "0s", id="now"),
        pytest.param(119.9, "119s", id="below two minutes"),
        pytest.param(2 * MINUTE, "2m", id="two minutes"),
        pytest.param(9 * MINUTE + 59, "9m59s", id="below ten minutes"),
        pytest.param(10 * MINUTE + 59, "10m", id="ten minutes"),
        pytest.param(3 * HOUR - 1, "179m", id="below three hours"),
        pytest.param(3 * HOUR + 5 * MINUTE, "3h5m", id="three hours"),
        pytest.param(8 * HOUR + 59 * MINUTE, "8h", id="eight hours"),
        pytest.param(48 * HOUR - 1, "47h", id="below two days"),
        pytest.param(2 * DAY + 3 * HOUR, "2d3h", id="two days"),
        pytest.param(8 * DAY + 23 * HOUR, "8d", id="eight days"),
        pytest.param(2 * YEAR - 1, "729d", id="below two years"),
        pytest.param(2 * YEAR + 3 * DAY, "2y3d", id="two years"),
        pytest.param(8 * YEAR + 300 * DAY, "8y", id="eight years"),
    ],
)
def test_a_duration_is_short(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text


@given(st.floats(min_value=0, max_value=1e10))
def test_no_duration_needs_more_than_six_characters(seconds: float) -> None:
    assert len(short_duration(seconds)) <= 6


def test_an_age_is_told_from_either_kind_of_time() -> None:
    now = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)

    assert age("2026-01-01T00:00:00Z", now) == "60s"
    assert age("2026-01-01T00:00:30.500000Z", now) == "29s"
    assert age(None, now) == "<unknown>"
