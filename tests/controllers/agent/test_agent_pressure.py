# SPDX-License-Identifier: Apache-2.0
"""Thresholds of pressure: their notation, when they are crossed, and how long the pressure then counts."""

from __future__ import annotations

from decimal import Decimal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.controllers.agent_bench import MACHINE

from apimachinery.errors import UsageError
from controllers.agent.conditions import with_pressure
from controllers.agent.machine import Machine
from controllers.agent.pressure import DEFAULTS, Signal, Threshold, is_short, last_short, parse_thresholds, pressures

MEBIBYTE = 1024**2


def test_thresholds_are_read_as_a_kubelet_reads_them() -> None:
    assert parse_thresholds("memory.available<100Mi, nodefs.inodesFree<5%,pid.available<10") == (
        Threshold(Signal.MEMORY, Decimal(100 * MEBIBYTE)),
        Threshold(Signal.INODES, Decimal("0.05"), is_share=True),
        Threshold(Signal.TASKS, Decimal(10)),
    )
    assert parse_thresholds("") == ()


@pytest.mark.parametrize(
    "text",
    ["memory", "memory.available", "memory.available<", "memory.available<x", "memory.available<101%",
     "memory.available<-1", "memory.available>1", "imagefs.available<15%", "swap<1"],
)  # fmt: skip
def test_what_is_no_threshold_is_named(text: str) -> None:
    with pytest.raises(UsageError, match=r"--eviction-hard: .* is not a threshold such as"):
        parse_thresholds(text)


def test_a_signal_has_one_threshold() -> None:
    with pytest.raises(UsageError, match=r"pid\.available is given twice"):
        parse_thresholds("pid.available<1,pid.available<2")


@pytest.mark.scenario("B-21")
def test_as_much_as_the_threshold_is_enough_and_a_byte_less_is_not() -> None:
    """Memory at exactly the threshold is no pressure; one byte below it is, with its reason and a new transition."""
    (threshold,) = parse_thresholds("memory.available<100Mi")
    before = with_pressure([], "MemoryPressure", False, "2026-01-01T00:00:00Z")

    enough = is_short(attrs.evolve(MACHINE, memory_available=100 * MEBIBYTE), threshold)
    short = is_short(attrs.evolve(MACHINE, memory_available=100 * MEBIBYTE - 1), threshold)

    assert (enough, short) == (False, True)
    assert with_pressure(before, "MemoryPressure", short, "2026-01-01T00:00:10Z") == [
        {
            "type": "MemoryPressure",
            "status": "True",
            "reason": "KubeletHasInsufficientMemory",
            "message": "less memory is available than the threshold",
            "lastTransitionTime": "2026-01-01T00:00:10Z",
            "lastHeartbeatTime": "2026-01-01T00:00:10Z",
        }
    ]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        pytest.param({"memory_available": 100 * MEBIBYTE - 1}, "MemoryPressure", id="memory"),
        pytest.param({"disk_available": 10 * 1024**3 - 1}, "DiskPressure", id="disk"),
        pytest.param({"inodes_available": 49_999}, "DiskPressure", id="inodes"),
        pytest.param({}, None, id="none"),
        pytest.param({"tasks": 32768}, None, id="processes have no threshold by default"),
    ],
)
def test_the_defaults_are_a_kubelets(changes: dict[str, int], kind: str | None) -> None:
    machine = attrs.evolve(MACHINE, **changes)

    found = pressures(machine, last_short(machine, DEFAULTS, {}, 0.0), 0.0)

    assert [name for name, held in found.items() if held] == ([kind] if kind else [])


def test_processes_are_counted_against_their_limit() -> None:
    machine = attrs.evolve(MACHINE, tasks=95, tasks_limit=100)

    assert is_short(machine, parse_thresholds("pid.available<6%")[0])
    assert not is_short(machine, parse_thresholds("pid.available<5%")[0])


@pytest.mark.parametrize(
    ("later", "held"),
    [(0.0, True), (299.9, True), (300.0, False), (-5.0, True)],
    ids=["at once", "short of five minutes", "five minutes", "a clock set back"],
)
def test_pressure_holds_for_five_minutes_after_it_was_seen(later: float, held: bool) -> None:
    assert pressures(MACHINE, {"DiskPressure": 1000.0}, 1000.0 + later)["DiskPressure"] is held


def test_without_a_hold_pressure_is_what_is_seen_now() -> None:
    assert pressures(MACHINE, {"DiskPressure": 5.0}, 5.0, hold=0.0)["DiskPressure"] is True
    assert pressures(MACHINE, {"DiskPressure": 5.0}, 5.1, hold=0.0)["DiskPressure"] is False


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_pressure_is_seen_exactly_where_less_is_left(available: int, amount: int) -> None:
    machine = attrs.evolve(MACHINE, memory_available=available)

    assert is_short(machine, Threshold(Signal.MEMORY, Decimal(amount))) is (amount > available)


def test_on_a_system_that_does_not_tell_nothing_is_claimed() -> None:
    machine = Machine(system="plan9", architecture="amd64", memory=1, memory_available=1)

    found = pressures(machine, last_short(machine, DEFAULTS, {}, 0.0), 0.0)

    assert found == {"MemoryPressure": True, "DiskPressure": None, "PIDPressure": None}
    (condition,) = with_pressure([], "DiskPressure", None, "2026-01-01T00:00:00Z")
    assert (condition["status"], condition["reason"]) == ("Unknown", "NotObserved")
