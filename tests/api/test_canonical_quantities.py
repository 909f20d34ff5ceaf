# SPDX-License-Identifier: Apache-2.0
"""The spelling in which quantities are stored, as a real server answered it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.quantities import BINARY, canonical_quantity, parse_quantity

MILLI = -3
SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E", *BINARY[:3], "e3", "E-3")
texts = st.builds(
    "{}{}{}".format, st.integers(0, 10**9), st.sampled_from(("", ".", ".5", ".25", ".125")), st.sampled_from(SUFFIXES)
)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        *(("0.5", "500m"), (".5", "500m"), ("1.5", "1500m"), ("1.0", "1"), ("1500m", "1500m"), ("1000m", "1")),
        *(("100000", "100k"), ("1000k", "1M"), ("1024", "1024"), ("0", "0"), ("0m", "0"), ("0Ki", "0")),
        *(
            ("1024Mi", "1Gi"),
            ("2048Mi", "2Gi"),
            ("1000Ki", "1000Ki"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("187.5Ki", "192k"),
        ),
        *(("0.001Ki", "1024m"), ("8Ei", "9223372036854775807"), ("1e3", "1e3"), ("1E3", "1E3"), ("1e19", "10e18")),
        *(("100u", "100u"), ("0.0001", "100u"), ("0.1n", "1n"), ("+1", "+1"), ("5.", "5."), ("001", "001")),
        *(("1.500", "1.500"), ("0.500", "500m"), ("123456789123456789123", "123456789123456789123")),
    ],
)
def test_a_quantity_is_spelled_as_a_real_server_spells_it(sent: str, stored: str) -> None:
    assert canonical_quantity(sent) == stored


@pytest.mark.parametrize(
    ("sent", "stored"), [("0.0001", "1m"), ("1n", "1m"), ("100u", "1m"), ("0.1", "100m"), ("1.0001", "1001m")]
)
def test_amounts_of_resources_are_rounded_up_to_thousandths(sent: str, stored: str) -> None:
    assert canonical_quantity(sent, MILLI) == stored


@given(texts)
def test_the_spelling_is_stable_and_keeps_the_amount(text: str) -> None:
    stored = canonical_quantity(text)

    assert canonical_quantity(stored) == stored
    assert abs(parse_quantity(stored) - parse_quantity(text)) < Decimal("1e-9")


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        canonical_quantity("a lot")
