# SPDX-License-Identifier: Apache-2.0
"""Quantities are parsed to their value and written in one form."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.quantities import parse_quantity
from controllers.shared.quantities import format_bytes, format_count


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", "2"), ("500m", "0.5"), ("8Gi", 8 * 1024**3), ("1.5Ki", 1536), ("1k", 1000), ("1E", 10**18),
        ("1e3", 1000), ("1E-3", "0.001"), ("-1", -1), (".5", "0.5"), ("5.", 5), ("100n", "0.0000001"), ("0", 0),
    ],
)  # fmt: skip
def test_a_quantity_has_a_value(text: str, value: int | str) -> None:
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "x", "1x", "1 Gi", "Gi", "1ki", "--1", "1e", "1.2.3", "1Gi\n", "٣"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1, "1"), (1023, "1023"), (1024, "1Ki"), (24684092 * 1024, "24684092Ki"), (16 * 1024**3, "16Gi")],
)
def test_bytes_are_written_with_the_largest_suffix_that_is_exact(amount: int, text: str) -> None:
    assert format_bytes(amount) == text


@given(st.integers(min_value=0, max_value=2**63))
def test_bytes_are_read_as_they_were(amount: int) -> None:
    assert parse_quantity(format_bytes(amount)) == amount


@pytest.mark.parametrize(
    ("amount", "text"), [("2", "2"), ("1.9", "1900m"), ("0", "0"), ("0.0001", "1m"), ("1.0001", "1001m")]
)
def test_cores_are_written_in_thousandths_where_they_are_not_whole(amount: str, text: str) -> None:
    assert format_count(Decimal(amount)) == text
