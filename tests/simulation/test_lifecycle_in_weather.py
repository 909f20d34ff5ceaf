# SPDX-License-Identifier: Apache-2.0
"""Node lifecycle and taint eviction under random faults: live nodes stay, dead ones go, planted bugs are found.

`tox -e simulation` runs a thousand seeds.
"""

from __future__ import annotations

from typing import Any

import pytest
from kit.fault_runs.drawing import script_to_json
from kit.simulation import planted_lifecycle
from kit.simulation.lifecycle_run import CONTROLLERS, KUBELETS, NAMES, SERVER, run

from controller_runtime.testing.simulation.system_faults import FaultKind, Script, SystemFault
from controllers.node_lifecycle import monitor, node_lifecycle
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.node_lifecycle import NodeLifecycle
from controllers.node_lifecycle.zones import ZonePolicy
from controllers.taint_eviction import taint_eviction
from controllers.taint_eviction.taint_eviction import TaintEviction

pytestmark = pytest.mark.once

SEEDS = 20


@pytest.fixture(autouse=True)
def _quietly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


def weathered(seed: int) -> str:
    """Return the violations, and the script to repeat them; empty if there are none."""
    outcome = run(seed)
    return f"{outcome.message}\nseed {seed}, {script_to_json(outcome.script)}" if outcome.invariant else ""


# 311: the controllers freeze while they hold an answer that is a minute old when they go on.
@pytest.mark.parametrize("seed", [*range(SEEDS), 311])
def test_who_renews_is_not_evicted_and_the_pods_of_the_dead_go_in_time(seed: int) -> None:
    assert weathered(seed) == ""


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_it_holds_for_a_thousand_seeds() -> None:
    assert [failed for seed in range(SEEDS, 1000) if (failed := weathered(seed))] == []


DEAD = NAMES[1]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            (SystemFault(FaultKind.PAUSE, DEAD, 20.0, 80.0), SystemFault(FaultKind.CRASH, CONTROLLERS, 52.0, 2.0)),
            id="the controllers are killed while a node is evicted",
        ),
        pytest.param(
            (SystemFault(FaultKind.PAUSE, CONTROLLERS, 20.0, 80.0),), id="the controllers frozen for three graces"
        ),
        pytest.param((SystemFault(FaultKind.CRASH, SERVER, 20.0, 80.0),), id="the server away for three graces"),
        pytest.param((SystemFault(FaultKind.CUT, KUBELETS, 20.0, 80.0),), id="all nodes cut off"),
        pytest.param(
            (SystemFault(FaultKind.CUT, KUBELETS, 20.0, 80.0), SystemFault(FaultKind.CUT, CONTROLLERS, 20.0, 80.0)),
            id="the network away",
        ),
        pytest.param((SystemFault(FaultKind.JUMP, KUBELETS, 40.0, -7200.0),), id="the clocks of all nodes set back"),
        pytest.param((SystemFault(FaultKind.JUMP, CONTROLLERS, 40.0, 7200.0),), id="the controllers' clock set ahead"),
    ],
)
def test_it_holds_in_kept_scripts(script: Script) -> None:
    assert run(0, script=script).message == ""


def plant(monkeypatch: pytest.MonkeyPatch, *parts: tuple[Any, str, Any]) -> None:
    for owner, name, planted in parts:
        monkeypatch.setattr(owner, name, planted)


ALIVE, OUTAGE, BACK, IN_TIME = (
    "who lives is not evicted", "silence of all evicts nobody", "who is back is well", "pods of the dead go in time",
)  # fmt: skip
PLANTED = planted_lifecycle


@pytest.mark.parametrize(
    ("parts", "invariant", "seeds"),
    [
        pytest.param(
            [(Monitor, "health", PLANTED.believes_clocks), (Monitor, "renewed", PLANTED.believes_clocks_again)],
            ALIVE,
            2,
            id="judges by the times in leases",
        ),
        pytest.param([(monitor, "first_seen", PLANTED.no_fresh_grace)], ALIVE, 20, id="no fresh grace"),
        pytest.param(
            [(NodeLifecycle, "_health_at_server", PLANTED.believes_its_cache)], ALIVE, 2, id="believes its cache"
        ),
        pytest.param([(ZonePolicy, "are_all_silent", PLANTED.sees_no_outage)], OUTAGE, 1, id="sees no outage"),
        pytest.param([(node_lifecycle, "eviction", PLANTED.taints_are_for_ever)], BACK, 2, id="taints stay"),
        pytest.param([(TaintEviction, "_live_taints", PLANTED.cached_taints)], ALIVE, 10, id="deletes by its cache"),
        pytest.param([(taint_eviction, "leaves_at", PLANTED.counts_anew)], IN_TIME, 1, id="counts anew"),
    ],
)
def test_controllers_that_are_wrong_are_found_within_so_many_seeds(
    monkeypatch: pytest.MonkeyPatch, parts: list[tuple[Any, str, Any]], invariant: str, seeds: int
) -> None:
    plant(monkeypatch, *parts)

    found = next((outcome.invariant for seed in range(seeds) if (outcome := run(seed)).invariant), "")

    assert found == invariant


def test_the_same_seed_is_the_same_run() -> None:
    assert run(4) == run(4)
