# SPDX-License-Identifier: Apache-2.0
"""Work that follows from changes: on one thread at a time, and never before the last change."""

from __future__ import annotations

import pytest

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.storage.settling import Settling


@pytest.mark.parametrize("seed", range(20))
def test_one_thread_at_a_time_acts_until_all_changes_are_acted_on(seed: int) -> None:
    with Simulation(seed, switch_chance=0.5) as sim:
        host = sim.host("server")
        lock, state = host.lock("state"), {"changes": 0, "seen": 0, "acting": 0, "acts": 0}

        def act() -> None:
            state["acting"] += 1
            assert state["acting"] == 1, "two threads act at a time"
            with lock:  # a place where another thread may go on
                found = state["changes"]
            with lock:
                state["seen"] = found
            state["acting"] -= 1
            state["acts"] += 1

        settling = Settling(host, "settling", act)

        def change() -> None:
            for _ in range(3):
                with lock:
                    state["changes"] += 1
                settling.settle()

        for number in range(3):
            host.spawn(f"writer-{number}", change)
        sim.settle()

        assert state["seen"] == state["changes"] == 9
        assert 1 <= state["acts"] <= 9


def test_an_act_that_reports_a_change_is_followed_by_another_one(sim: Simulation) -> None:
    acts = list[int]()

    def act() -> None:
        acts.append(len(acts))
        if len(acts) < 3:
            settling.settle()
            assert len(acts) == acts[-1] + 1, "it is not called inside itself"

    settling = Settling(sim.host("server"), "settling", act)
    settling.settle()

    assert acts == [0, 1, 2]


def test_an_error_reaches_the_thread_that_acts_and_the_next_report_acts_again(sim: Simulation) -> None:
    errors = [ValueError("full"), None]

    def act() -> None:
        if (error := errors.pop(0)) is not None:
            raise error

    settling = Settling(sim.host("server"), "settling", act)

    with pytest.raises(ValueError, match="full"):
        settling.settle()
    settling.settle()

    assert not errors
