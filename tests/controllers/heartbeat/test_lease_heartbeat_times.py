# SPDX-License-Identifier: Apache-2.0
"""The times that a lease heartbeat writes: their form, and that they never go back."""

from __future__ import annotations

import json

import pytest
from kit.controllers.beating import Beating

from apimachinery.errors import BadRequest
from apimachinery.log import text_of
from apimachinery.objects import microtime
from controller_runtime.api.resources import LEASES
from controller_runtime.testing.objects import a_lease
from controller_runtime.testing.simulation import Simulation


@pytest.mark.scenario("A-25")
@pytest.mark.scenario("A-26")
@pytest.mark.parametrize(
    ("clock", "fraction"),
    [
        pytest.param(0.123456789, ".123456Z", id="A-25 truncated, not rounded"),
        pytest.param(0.0, ".000000Z", id="A-26 a whole second"),
    ],
)
def test_times_are_written_with_six_digits(sim: Simulation, clock: float, fraction: str) -> None:
    """A renewTime has exactly six digits of fraction, cut off rather than rounded, zeros included."""
    beating = Beating(sim)
    sim.jump(beating.host, clock)

    beating.start()

    (_, _, post) = beating.asked[-1]
    assert json.loads(post.body)["spec"]["renewTime"].endswith(fraction)
    beating.end()


@pytest.mark.scenario("A-27")
def test_a_time_without_a_fraction_is_refused(sim: Simulation) -> None:
    """The server does not decode a renewTime that lacks its six digits."""
    beating = Beating(sim)

    with pytest.raises(BadRequest):
        beating.world.create(LEASES, a_lease("other", renew_time="2026-01-01T00:00:00Z"))


def test_a_clock_that_is_set_back_does_not_set_the_lease_back(sim: Simulation) -> None:
    beating = Beating(sim)
    beating.start()
    times = [beating.spec()["renewTime"]]

    sim.jump(beating.host, -3600.0)
    for _ in range(5):
        sim.advance(10.4)
        times.append(beating.spec()["renewTime"])

    assert times == sorted(set(times)), "each renewal is later than the last"
    beating.end()


def test_a_process_whose_clock_is_behind_the_one_before_does_not_set_the_lease_back(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    beating = Beating(sim)
    sim.jump(beating.host, 60.0)
    before = microtime(beating.host.now())
    beating.world.create(LEASES, a_lease("beat", holder="me", renew_time=before))
    sim.jump(beating.host, -60.0)

    beating.start(45.0)
    behind = beating.spec()["renewTime"]
    sim.advance(45.0)

    assert before < behind < microtime(beating.host.now())
    assert beating.spec()["renewTime"][:19] > behind[:19], "the clock has caught up"
    told = [text_of(record).partition(" lease=")[0] for record in caplog.records if record.levelname == "WARNING"]
    assert told == ["clock is behind the lease, renewing from its last time"]
    beating.end()


def test_a_lease_renewed_at_the_end_of_time_is_renewed_now(sim: Simulation) -> None:
    beating = Beating(sim)
    beating.world.create(LEASES, a_lease("beat", holder="me", renew_time="9999-12-31T23:59:59.999999Z"))

    beating.start()

    assert beating.spec()["renewTime"] == microtime(beating.host.now())
    beating.end()
