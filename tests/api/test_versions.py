# SPDX-License-Identifier: Apache-2.0
"""Resource versions: which of two is newer."""

from __future__ import annotations

import pytest

from controller_runtime.api.versions import compare_versions, newest


@pytest.mark.scenario("RC-01")
@pytest.mark.parametrize(
    ("older", "newer"),
    [
        pytest.param("9", "10", id="by number, not by text"),
        pytest.param("", "0", id="none is the oldest"),
        pytest.param("0", "1", id="any"),
        pytest.param("1" * 39 + "8", "1" * 39 + "9", id="longer than any integer of a machine"),
        pytest.param("9" * 39, "1" + "0" * 39, id="a digit more"),
    ],
)
def test_versions_are_compared_as_the_numbers_that_they_are(older: str, newer: str) -> None:
    """Numbers of any length, by length and then by text; the empty version is the oldest."""
    assert compare_versions(older, newer) < 0 < compare_versions(newer, older)
    assert newest(older, newer) == newest(newer, older) == newer
    assert compare_versions(newer, newer) == 0
