# SPDX-License-Identifier: Apache-2.0
"""The live view of a program."""

from __future__ import annotations

import io
import re
from typing import Literal

import pytest
from rich.console import Console
from rich.text import Text

from apimachinery.stop import Stop
from controller_runtime.program.kinds import KindCounts
from controller_runtime.program.live_view import LONGEST_PAUSE, REFRESH, SHARE, LiveView, pause_after, render
from controller_runtime.program.snapshot import ControllerStatus, Snapshot
from controller_runtime.testing.simulation import Simulation

CABINS = KindCounts("Cabin", 12, {"Ready": (10, 2, 0), "Heated": (0, 1, 11)})


class Panel:
    """A panel with one line."""

    covers = ()

    def fields(self) -> dict[str, object]:
        return {"guests": 7}

    def render(self) -> Text:
        return Text("guests  7")


def shown(before: Snapshot, now: Snapshot) -> str:
    out = io.StringIO()
    Console(file=out, width=80, force_terminal=False).print(render("cabins on embedded API server", before, now))
    return out.getvalue()


def on_a_terminal(sim: Simulation, snapshot: Snapshot, lines: list[str]) -> str:
    """Return what the view leaves on a terminal of 80 columns and 24 rows."""
    out, stop = io.StringIO(), Stop(sim.host("terminal"))
    stop.set()
    console = Console(file=out, width=80, height=24, force_terminal=False)
    view = LiveView(lambda: snapshot, lambda: lines, title="embedded server", clock=lambda: 0.0, console=console)
    view.run(stop)
    return out.getvalue()


RING = "cabins, epoch 3, slots: this replica 128, b 128"


def at(seconds: float, reconciles: int) -> Snapshot:
    events = ("Normal Heated cabin/alm: it is warm",)
    controllers = (ControllerStatus("cabins", reconciles, 1, 7),)
    return Snapshot(
        seconds,
        controllers,
        (CABINS, KindCounts("Lease", 3)),
        "host-a_1",
        events,
        (Panel(),),
        ring_lines=(RING,),
    )


def row(text: str, word: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.strip().startswith(word))
    return [part for part in line.split() if part.isdigit()]


@pytest.fixture
def text() -> str:
    return shown(at(10.0, 100), at(10.5, 150))


def test_the_live_view_shows_the_objects_of_each_kind_by_their_conditions(text: str) -> None:
    assert "Ready 10, not 2" in text
    assert row(text, "Cabin ")[0] == "12"
    assert row(text, "Lease ") == ["3"]


def test_the_live_view_shows_the_pace_of_each_controller(text: str) -> None:
    assert row(text, "cabins  ") == ["7", "150", "100", "1"]


def test_the_pace_after_a_reload_is_not_negative() -> None:
    assert row(shown(at(10.0, 100), at(10.5, 0)), "cabins  ") == ["7", "0", "0", "1"]


def test_the_live_view_shows_the_leader_the_panels_and_the_last_events(text: str) -> None:
    assert "leader  host-a_1" in text
    assert "ring    cabins, epoch 3, slots: this replica 128, b 128" in text
    assert "guests  7" in text
    assert "Heated cabin/alm" in text


def test_the_live_view_is_readable_at_80_columns(sim: Simulation) -> None:
    text = on_a_terminal(sim, at(10.0, 100), ["x" * 300])

    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" in text


def test_the_live_view_is_lower_than_the_terminal_and_has_room_for_the_last_lines(sim: Simulation) -> None:
    text = on_a_terminal(sim, at(10.0, 100), [f"line {number}" for number in range(30)])

    assert len(text.splitlines()) < 24
    assert "line 29" in text


def test_where_nothing_else_is_known_the_live_view_shows_the_controllers_alone() -> None:
    bare = Snapshot(1.0, (ControllerStatus("cabins", 1, 0, 0),))

    text = shown(bare, bare)

    assert "cabins" in text
    assert "kind" not in text
    assert "leader" not in text


LARGE = Snapshot(
    1.0,
    tuple(ControllerStatus(f"controller-{number}", 10_000 * number, number, 5000) for number in range(40)),
    tuple(KindCounts(f"Kind{number}", 50_000, {"Ready": (40_000, 9_000, 1_000)}) for number in range(40)),
    events=("Normal Heated cabin/" + "x" * 300,),
    rings=(("ring/work", 86),),
)


class Turns:
    """A stop that is set after some waits, and notes how long each was to be."""

    def __init__(self, turns: int) -> None:
        self.waits: list[float] = []
        self._turns = turns

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return len(self.waits) >= self._turns

    def is_set(self) -> bool:
        return False


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("colour", ["truecolor", None])
def test_a_large_program_fits_any_terminal_with_and_without_colours(
    width: int, colour: Literal["truecolor"] | None
) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, height=24, force_terminal=True, color_system=colour)
    LiveView(lambda: LARGE, list, title="large", clock=lambda: 0.0, console=console).run(Turns(1))  # type: ignore[arg-type]

    last = out.getvalue().rpartition("\x1b[1A")[2]
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last.replace("\r", "")).splitlines()
    assert max(map(len, lines)) <= width
    assert 20 < len(lines) < 24
    assert any(re.match(r"\d+ more rows", line) for line in lines)
    assert ("\x1b[31m" in out.getvalue()) is (colour is not None)


def test_a_picture_is_drawn_only_when_something_has_changed() -> None:
    shown = [at(1.0, 5), at(1.5, 6), at(2.0, 6), at(2.5, 6), at(3.0, 6), at(3.5, 7)]
    drawn: list[str] = []
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=False)
    view = LiveView(lambda: shown.pop(0), list, title="t", clock=lambda: 0.0, console=console)
    view._picture = lambda tables, lines: drawn.append("drawn") or Text("")  # type: ignore[method-assign,func-returns-value,assignment]

    view.run(Turns(5))  # type: ignore[arg-type]

    assert len(drawn) == 3, "the change, the rate that is zero again, and the end"


@pytest.mark.parametrize(("took", "pause"), [(0.0, REFRESH), (0.004, REFRESH), (0.02, 2.0), (0.2, LONGEST_PAUSE)])
def test_a_picture_that_takes_long_is_drawn_less_often(took: float, pause: float) -> None:
    assert pause_after(took) == pytest.approx(pause)
    assert took / (took + pause) <= 4 * SHARE


def test_the_view_waits_by_what_its_pictures_took() -> None:
    times = iter(number * 0.03 for number in range(100))
    turns = Turns(3)
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=False)
    LiveView(lambda: LARGE, list, title="t", clock=lambda: next(times), console=console).run(turns)  # type: ignore[arg-type]

    assert turns.waits == pytest.approx([REFRESH, 3.0, 3.0])
