# SPDX-License-Identifier: Apache-2.0
"""An event that happens once, and a wait for it that can be given up."""

from __future__ import annotations

import gc
import weakref

import pytest

from apimachinery.stop import Stop
from controller_runtime.cache.latch import Latch
from controller_runtime.testing.simulation import SimulatedHost, Simulation


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.mark.parametrize("how", ["set", "given up", "out of time"])
def test_a_wait_leaves_nothing_at_the_stop(host: SimulatedHost, how: str) -> None:
    """A program has one stop for as long as it runs, and waits for many caches that come and go."""
    stop, latch = Stop(host), Latch(host, "synced")
    if how == "set":
        latch.set()
    if how == "given up":
        latch.give_up()

    assert latch.wait(stop, host.monotonic() + 1.0) is (how == "set")

    reference = weakref.ref(latch)
    del latch
    gc.collect()
    assert reference() is None


def test_what_happened_before_it_was_given_up_has_happened(host: SimulatedHost) -> None:
    latch = Latch(host, "synced")
    latch.set()
    latch.give_up()

    assert latch.wait(Stop(host), None)
