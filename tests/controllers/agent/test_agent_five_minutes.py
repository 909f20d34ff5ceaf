# SPDX-License-Identifier: Apache-2.0
"""The requests of a node agent in its first five minutes, compared with those of a kubelet by B.4 and B.5."""

from __future__ import annotations

from itertools import pairwise

import attrs
import pytest
from kit.controllers.agent_bench import GI, NAME, AgentBench, Asked
from kit.controllers.beating import ERROR

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.testing.simulation import Simulation


@attrs.frozen
class Happening:
    """Something that happens to the node, its time, and the requests of the next round because of it."""

    at: float
    what: str
    asks: tuple[str, ...]


POST, READ = "PATCH nodes/status", "GET nodes"
SCRIPT = (
    Happening(35.0, "memory", (POST,)),
    Happening(65.0, "pod range", (POST,)),
    Happening(95.0, "label", (POST,)),
    Happening(125.0, "pressure", (POST,)),
    Happening(155.0, "one failure", (POST, READ, POST)),
    Happening(185.0, "five failures", (POST, *(READ, POST) * 4)),  # and once more in the round after it
    Happening(225.0, "foreign heartbeat", ()),
)


def happen(bench: AgentBench, what: str) -> None:
    """Let it happen now."""
    node = bench.node()
    match what:
        case "memory":
            bench.see(memory=16 * GI)
        case "pod range":
            node["spec"]["podCIDRs"] = ["10.1.0.0/24"]
            bench.world.update(NODES, node)
        case "label":
            bench.world.patch(NODES, ObjectKey(NAME), {"metadata": {"labels": {"kubernetes.io/arch": "wrong"}}})
        case "pressure":
            bench.see(disk_available=0)
        case "one failure" | "five failures":
            bench.see(cores=(bench.machine.cores or 0) + 1)
            bench.faults[POST].extend([ERROR] * (1 if what == "one failure" else 5))
        case "foreign heartbeat":
            node["status"]["conditions"][0]["lastHeartbeatTime"] = "2030-01-01T00:00:00Z"
            bench.world.update(NODES, node, subresource="status")


def between(asked: list[Asked], start: float, end: float) -> list[str]:
    return [each.what for each in asked if "leases" not in each.what and start <= each.at < end]


@pytest.mark.parametrize("seed", range(4))
def test_five_minutes_request_by_request(seed: int) -> None:
    with Simulation(seed) as sim:
        bench = AgentBench(sim, report_interval=100_000.0)  # no post but for a change
        bench.start()
        now = 0.0
        for each in SCRIPT:
            sim.advance(each.at - now)
            happen(bench, each.what)
            now = each.at
        sim.advance(300.0 - now)
        asked = bench.asked()
        bench.end()

    # Registered; read for its lease's owner, and once more unless the watch was faster; posted once.
    registered, *begun = between(asked, 0.0, 9.0)
    assert registered == "POST nodes"
    assert sorted(begun) in ([READ, READ, POST], [READ, POST])
    for each in SCRIPT:
        found = between(asked, each.at, each.at + 10.5)
        if each.what == "five failures":  # the round after the five succeeds at its first try
            found = between(asked, each.at, each.at + 25.0)
            assert found == [*each.asks, POST]
        else:
            assert found == [*each.asks], each.what
    quiet = [(15.0, 35.0), (46.0, 65.0), (76.0, 95.0), (106.0, 125.0), (136.0, 155.0), (211.0, 300.0)]
    assert [between(asked, *span) for span in quiet] == [[]] * len(quiet)


@pytest.mark.parametrize("seed", range(4))
def test_the_lease_is_renewed_by_one_request_every_ten_seconds(seed: int) -> None:
    with Simulation(seed) as sim:
        bench = AgentBench(sim)
        bench.start(300.0)
        leases = [each for each in bench.asked() if "leases" in each.what]
        bench.end()

    assert [each.what for each in leases[:2]] == ["GET leases", "POST leases"]
    assert leases[1].at == pytest.approx(0.1, abs=0.01)  # with the registration
    assert {each.what for each in leases[2:]} == {"PUT leases"}
    assert all(10.0 <= round(b.at - a.at, 3) <= 10.401 for a, b in pairwise(leases[1:]))  # it holds to the millisecond
    assert 28 <= len(leases[2:]) <= 29
