# SPDX-License-Identifier: Apache-2.0
"""The example of a component that renews its own lease, on a simulated host."""

import pytest
from heartbeat import play

from controller_runtime.testing import Simulation


def test_the_lease_is_made_renewed_made_again_and_taken_along(
    sim: Simulation, capsys: pytest.CaptureFixture[str]
) -> None:
    play(sim.host("worker"))

    printed = {line[:22].strip(): line[23:] for line in capsys.readouterr().out.splitlines()}
    assert list(printed) == ["created at once", "renewed", "deleted by a client", "created again", "after the end"]
    made, renewed, gone, again, after = printed.values()
    assert made.startswith("worker-7_")
    assert made.partition(",")[0] == renewed.partition(",")[0] == again.partition(",")[0]
    assert made < renewed < again, "the times grow"
    assert gone == after == "no lease"
