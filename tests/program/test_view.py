# SPDX-License-Identifier: Apache-2.0
"""The log lines of a program, and the choice of its view."""

from __future__ import annotations

import itertools
import logging

import pytest

from apimachinery.stop import Stop, spawn
from controller_runtime.program.kinds import KindCounts
from controller_runtime.program.snapshot import ControllerStatus, Snapshot
from controller_runtime.program.view import LastLines, SpokenView, choose_view, reconciles, spoken, summary
from controller_runtime.testing.simulation import Simulation


def test_a_plain_line_tells_what_can_change() -> None:
    cabins = KindCounts("Cabin", 12, {"Ready": (10, 2, 0), "Heated": (1, 0, 11)})

    fields = summary(Snapshot(0.0, (ControllerStatus("c", 5, 2, 0),), (cabins,), "host-a"))

    assert fields == {"Cabin": 12, "Cabin_Ready": 10, "leader": "host-a", "c_errors": 2}


def test_a_plain_line_of_many_controllers_and_kinds_tells_what_there_is() -> None:
    controllers = tuple(ControllerStatus(f"c{number}", number, 2 * (number == 3), 0) for number in range(6))
    kinds = tuple(KindCounts(f"Kind{number}", number % 2, {}) for number in range(6))

    assert summary(Snapshot(0.0, controllers, kinds)) == {
        "Kind1": 1,
        "Kind3": 1,
        "Kind5": 1,
        "errors": 2,
        "c3_errors": 2,
    }
    assert reconciles(controllers) == {"reconciles": 15}
    assert reconciles(controllers[:2]) == {"c0_reconciles": 0, "c1_reconciles": 1}


def test_the_last_lines_are_kept_without_their_dates_and_tracebacks() -> None:
    kept = LastLines(size=2)

    for number in range(3):
        kept.emit(logging.LogRecord("x", logging.INFO, "", 0, f"line {number}\nmore", None, None))

    assert [line.rpartition(" line ")[2] for line in kept.lines()] == ["1", "2"]
    assert all(line[8:] == f" line {number}" for number, line in enumerate(kept.lines(), 1))


@pytest.mark.parametrize(
    ("asked", "text_log", "terminal", "rich", "live", "says"),
    [
        pytest.param(None, True, True, True, True, "", id="a terminal"),
        pytest.param(None, True, False, True, False, "", id="no terminal"),
        pytest.param(None, False, True, True, False, "", id="json or debug lines"),
        pytest.param(None, True, True, False, False, "", id="no rich"),
        pytest.param(False, True, True, True, False, "", id="declined"),
        pytest.param(True, False, True, True, True, "", id="asked for"),
        pytest.param(
            True,
            True,
            True,
            False,
            False,
            "instead: pip install ",
            id="asked without rich",
        ),
        pytest.param(True, True, False, True, False, "needs a terminal", id="asked without a terminal"),
    ],
)
def test_the_view_is_live_where_it_can_be_and_says_why_not_if_it_was_asked_for(
    asked: bool | None, text_log: bool, terminal: bool, rich: bool, live: bool, says: str
) -> None:
    chosen, why_not = choose_view(asked, text_log=text_log, terminal=terminal, rich=rich)

    assert chosen is live
    assert says in why_not
    assert bool(says) is bool(why_not)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({}, {"nodes": 3, "zone_a": "Normal"}, "nodes 3; zone a Normal."),
        ({"nodes": 3}, {"nodes": 3}, ""),
        ({"nodes": 3, "ready": 3}, {"nodes": 3, "ready": 1}, "ready 1, was 3."),
        ({"zone_c": "FullDisruption"}, {}, "zone c gone."),
    ],
)
def test_plain_lines_tell_what_has_changed_and_nothing_else(
    before: dict[str, object], now: dict[str, object], told: str
) -> None:
    assert spoken(before, now) == told


def test_plain_lines_come_at_most_every_three_seconds(sim: Simulation) -> None:
    host, lines = sim.host("here"), list[str]()
    stop, count = Stop(host), itertools.count()
    view = SpokenView(lambda: Snapshot(0.0, leader=f"leader-{next(count)}"), lines.append)
    spawn(host, stop, "view", lambda: view.run(stop))

    sim.advance(10.5)
    stop.set()
    sim.advance(1.0)

    assert lines == [
        "leader leader-0.", "leader leader-1, was leader-0.", "leader leader-2, was leader-1.",
        "leader leader-3, was leader-2.", "leader leader-4, was leader-3.",
    ]  # fmt: skip
