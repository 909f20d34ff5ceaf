# SPDX-License-Identifier: Apache-2.0
"""Candidates of a coordinated election, as values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from hypothesis import strategies as st

from controllers.election.strategy import OLDEST, Candidate

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def candidate(name: str, binary: str, emulation: str | None = None, **changes: Any) -> Candidate:
    emulated = binary if emulation is None else emulation
    return attrs.evolve(Candidate(name, binary, emulated, OLDEST, NOON, NOON), **changes)


def later(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


VERSIONS = st.sampled_from(["1.2.0", "1.19.0", "1.20.0", "v1.20", " 1.20.0 ", "1.20.0-rc.1", "1.x", "", "9" * 5000])
CANDIDATES = st.lists(
    st.builds(
        candidate,
        name=st.sampled_from("abcdefgh"),
        binary=VERSIONS,
        emulation=VERSIONS,
        created=st.integers(0, 2).map(later),
        strategy=st.sampled_from([OLDEST, "x.com/y"]),
    ),
    unique_by=lambda c: c.name,
)
