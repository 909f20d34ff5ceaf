# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of controllers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.noting import Bench

from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def bench(sim: Simulation) -> Iterator[Bench]:
    """Return a server with all that a controller needs to start; it is stopped at the end."""
    bench = Bench.on(sim)
    yield bench
    bench.end()
