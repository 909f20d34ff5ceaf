# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the controller's room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.noting import Bench

from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def bench(sim: Simulation) -> Iterator[Bench]:
    """A server and all that a controller needs to start; stopped in the end."""
    bench = Bench.on(sim)
    yield bench
    bench.end()
