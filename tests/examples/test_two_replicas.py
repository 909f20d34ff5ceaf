# SPDX-License-Identifier: Apache-2.0
"""The example of a failover, on simulated hosts."""

import pytest
from two_replicas import play

from controller_runtime.testing import Simulation


def test_the_second_replica_takes_over_when_the_first_stops(
    sim: Simulation, capsys: pytest.CaptureFixture[str]
) -> None:
    play(sim.host("replica-a"), sim.host("replica-b"))

    printed = [" ".join(line.split(" s  ")[1].split()) for line in capsys.readouterr().out.splitlines()]
    handover = printed.index("replica-a is asked to stop")
    assert printed[0] == "replica-a reconciles node-1"
    assert printed[1].startswith("replica-b waits: replica-a_")
    assert printed[handover - 1] == "replica-a reconciles node-2"
    assert sorted(printed[handover + 1 :]) == [
        "replica-b has stopped too",
        "replica-b reconciles node-1",
        "replica-b reconciles node-2",
        "replica-b reconciles node-3",
    ]
