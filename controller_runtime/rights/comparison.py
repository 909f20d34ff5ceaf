# SPDX-License-Identifier: Apache-2.0
"""Compares the accesses that requests needed with those that roles grant."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from controller_runtime.rights.access import Access


@attrs.frozen
class Comparison:
    """The differences between needed and granted accesses; both lists are sorted.

    Attributes:
        missing: The needed accesses that are not granted.
        unused: The granted accesses that allow no needed one.
    """

    missing: list[Access]
    unused: list[Access]


def compared(asked: Iterable[Access], granted: Iterable[Access]) -> Comparison:
    """Compare needed accesses with granted ones. A grant that allows more than is needed counts as used."""
    wanted, given = {*asked}, {*granted}
    return Comparison(
        missing=sorted(access for access in wanted if not any(grant.covers(access) for grant in given)),
        unused=sorted(grant for grant in given if not any(grant.covers(access) for access in wanted)),
    )
