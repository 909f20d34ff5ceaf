# SPDX-License-Identifier: Apache-2.0
"""The example of a ring, on simulated hosts, with its picture."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from shared_work import play

from controller_runtime.testing import Simulation


def test_replicas_that_come_and_go_share_all_slots(
    sim: Simulation, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    play([sim.host(f"replica-{letter}") for letter in "abc"], tmp_path / "ring.svg")

    told = [line.split(" s  ")[1] for line in capsys.readouterr().out.splitlines()]
    assert told == [
        "replica-a starts: replica-a 256, replica-b 0, replica-c 0",
        "replica-b joins: replica-a 128, replica-b 128, replica-c 0",
        told[2],
        "replica-b has stopped: replica-a 128, replica-b 0, replica-c 128",
    ]
    assert sorted(int(word) for word in told[2].replace(",", "").split() if word.isdigit()) == [85, 85, 86]
    shown = "".join(ElementTree.parse(tmp_path / "ring.svg").getroot().itertext())
    assert "replica-b has stopped" in shown
    assert "replica-c" in shown
