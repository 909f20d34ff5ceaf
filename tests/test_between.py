# SPDX-License-Identifier: Apache-2.0
"""Tests with the marker `ends` are left out only where an older and a newer Python run them."""

from __future__ import annotations

import pytest
from kit.between import is_between


@pytest.mark.parametrize(
    ("environ", "minor", "installed", "expected"),
    [
        ({"BETWEEN": "1"}, 12, {"python3.11", "python3.12", "python3.13"}, True),
        ({"BETWEEN": "1"}, 12, {"python3.11", "python3.12", "python3.14"}, True),
        ({"BETWEEN": "1"}, 12, {"python3.12", "python3.13"}, False),
        ({"BETWEEN": "1"}, 12, {"python3.11", "python3.12"}, False),
        ({"BETWEEN": "1"}, 12, {"python3.10", "python3.12", "python3.13"}, False),
        ({}, 12, {"python3.11", "python3.12", "python3.13"}, False),
    ],
)
def test_tests_are_left_out_only_between_two_others(
    environ: dict[str, str], minor: int, installed: set[str], expected: bool
) -> None:
    assert is_between(environ, minor, lambda name: name if name in installed else None) is expected
