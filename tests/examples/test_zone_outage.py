# SPDX-License-Identifier: Apache-2.0
"""The example of outages, on a simulated host and with fewer nodes."""

import pytest
from zone_outage import play

from controller_runtime.testing import Simulation


def test_nodes_racks_and_zones_die_and_return(sim: Simulation, capsys: pytest.CaptureFixture[str]) -> None:
    play(sim.host("outage"), nodes=30)

    printed = capsys.readouterr().out
    assert "still not" not in printed
    assert "ready 29/30, unknown 1, evicting 1; pods ready 58, going 2" in printed
    assert "zone-c FullDisruption" in printed
    assert "ready 0/30, unknown 30, evicting 0" in printed
    assert printed.splitlines()[-1].endswith("done")
