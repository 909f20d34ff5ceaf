# SPDX-License-Identifier: Apache-2.0
"""The accesses that were asked for and that roles lack, and those that they grant beyond them."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from controller_runtime.rights.access import Access


@attrs.frozen
class Comparison:
    """The differences between accesses that were asked for and accesses that are granted; both lists are ordered.

    Attributes:
        missing: Those asked for that no grant allows.
        unused: The grants that allow nothing that was asked for.
    """

    missing: list[Access]
    unused: list[Access]


def compared(asked: Iterable[Access], granted: Iterable[Access]) -> Comparison:
    """Compare what was asked for with what is granted. A grant that allows more than was asked for is used."""
    wanted, given = {*asked}, {*granted}
    return Comparison(
        missing=sorted(access for access in wanted if not any(grant.covers(access) for grant in given)),
        unused=sorted(grant for grant in given if not any(grant.covers(access) for access in wanted)),
    )
