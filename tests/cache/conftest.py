# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kit.cache.reflecting import Scene
from kit.cache.scripted import Act

from controller_runtime.testing.simulation import Simulation


@pytest.fixture
def scene(sim: Simulation) -> Iterator[Callable[..., Scene]]:
    """Makes a scene, and stops its reflector at the end of the test."""
    made: list[Scene] = []

    def make(*script: Act, **options: object) -> Scene:
        made.append(Scene(sim, *script, **options))  # type: ignore[arg-type]
        return made[-1]

    @sim.check_end
    def ends_cleanly() -> None:
        assert all(scene.stop.is_set() for scene in made)

    yield make
    for each in made:
        each.stop.set()
        assert each.thread.join_until(each.host.monotonic() + 1.0)
