# SPDX-License-Identifier: Apache-2.0
"""Timelines: what is noted, how it is drawn, and `--plot FILE` of a program."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.errors import UsageError
from controller_runtime.program.plan import ProgramOptions, plan_program
from controller_runtime.program.snapshot import ControllerStatus, Snapshot
from controller_runtime.program.timeline import MOST_CHANGES, MOST_LANES, Timeline
from controller_runtime.program.timeline_svg import LEFT, RIGHT, WIDTH, drawn, step_of
from controller_runtime.testing.simulation import Simulation

SVG = "{http://www.w3.org/2000/svg}"


def rectangles(text: str) -> dict[str, tuple[float, float]]:
    """Return where each bar begins and ends, by the text that it tells."""
    found = {}
    for group in ElementTree.fromstring(text).iter(f"{SVG}g"):
        bar = group.find(f"{SVG}rect")
        if bar is not None:
            left = float(bar.attrib["x"])
            found["".join(group.find(f"{SVG}title").itertext())] = (left, left + float(bar.attrib["width"]))  # type: ignore[union-attr]
    return found


def test_a_state_is_a_bar_as_long_as_it_lasted(sim: Simulation) -> None:
    timeline = Timeline(sim.host("here"))
    timeline.note({"leader": "a"})
    sim.advance(10.0)
    timeline.note({"leader": "a"})
    timeline.note({"leader": None})
    sim.advance(10.0)
    timeline.note({"leader": "b"})
    sim.advance(20.0)

    bars = rectangles(timeline.svg("t"))

    width = WIDTH - LEFT - RIGHT
    assert bars["a, 0 s to 10 s"] == pytest.approx((LEFT, LEFT + width / 4), abs=0.2)
    assert bars["b, 20 s to 40 s"] == pytest.approx((LEFT + width / 2, WIDTH - RIGHT), abs=0.2)


def test_numbers_are_a_line_and_what_happened_is_a_dot(sim: Simulation) -> None:
    timeline = Timeline(sim.host("here"))
    timeline.note({"nodes_ready": 3})
    sim.advance(5.0)
    timeline.mark("a node fails <&>")
    timeline.note({"nodes_ready": 2})
    sim.advance(5.0)

    text = timeline.svg("Nodes & zones")

    assert re.search(r'<path d="M210,[\d.]+H573L573,[\d.]+H936"', text)
    assert "5 s: a node fails &lt;&amp;&gt;" in text
    assert "nodes ready" in text
    assert ElementTree.fromstring(text).find(f"{SVG}title").text == "Nodes & zones"  # type: ignore[union-attr]


def test_a_fact_that_is_not_told_any_more_ends(sim: Simulation) -> None:
    timeline = Timeline(sim.host("here"))
    timeline.note_all({"zone_a": "FullDisruption"})
    sim.advance(5.0)
    timeline.note_all({})
    sim.advance(5.0)

    assert [*rectangles(timeline.svg("t"))] == ["FullDisruption, 0 s to 5 s"]


def test_a_program_is_noted_as_its_log_line_tells_it_with_each_event_once(sim: Simulation) -> None:
    shown = [
        Snapshot(0.0, (ControllerStatus("cabins", 1, 0, 0),), leader="a", events=("one", "two")),
        Snapshot(
            1.0, (ControllerStatus("cabins", 1, 2, 0),), leader="b", events=("two", "three"), rings=(("ring/w", 9),)
        ),
    ]
    timeline = Timeline(sim.host("here"))
    take = timeline.noting(lambda: shown.pop(0))
    take()
    sim.advance(1.0)
    take()
    sim.advance(1.0)

    text = timeline.svg("t")

    assert [*rectangles(text)] == ["a, 0 s to 1 s", "b, 1 s to 2 s"]
    assert all(text.count(f": {word}<") == 1 for word in ("one", "two", "three"))
    assert "cabins errors" in text
    assert "ring/w slots" in text


def test_lanes_and_changes_are_bounded_and_the_picture_says_so(sim: Simulation) -> None:
    timeline = Timeline(sim.host("here"))
    for number in range(MOST_CHANGES + 5):
        timeline.note({"state": f"s{number}"})
    for number in range(MOST_LANES + 5):
        timeline.note({f"lane {number}": 1})

    assert f"{5 + 6} changes are not drawn" in timeline.svg("t")


def test_an_empty_timeline_is_a_picture_too(sim: Simulation) -> None:
    assert ElementTree.fromstring(Timeline(sim.host("here")).svg("nothing")) is not None


values = st.one_of(st.none(), st.text(max_size=8), st.integers(-1000, 1000), st.floats(-1e6, 1e6))


@given(
    st.lists(
        st.tuples(st.text(max_size=5), st.lists(st.tuples(st.floats(0, 100), values), min_size=1, max_size=5)),
        max_size=4,
    ),
    st.lists(st.tuples(st.floats(0, 100), st.text(max_size=5)), max_size=4),
)
def test_any_texts_and_numbers_make_well_formed_pictures(
    lanes: list[tuple[str, list[tuple[float, object]]]], marks: list[tuple[float, str]]
) -> None:
    shown = [
        (name, all(isinstance(v, int | float) for _, v in changes), sorted(changes, key=lambda c: c[0]))
        for name, changes in lanes
    ]

    ElementTree.fromstring(drawn("t", shown, marks, 100.0))


@pytest.mark.parametrize(
    ("end", "step"), [(0.001, 0.0002), (2.2, 0.5), (10, 2), (30, 5), (300, 60), (86400, 21600), (1e7, 2e6)]
)
def test_the_grid_has_round_steps(end: float, step: float) -> None:
    assert step_of(end) == pytest.approx(step)


def test_a_file_that_cannot_be_written_is_one_line(sim: Simulation, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot write the timeline to .*: Is a directory"):
        Timeline(sim.host("here")).write(tmp_path, "t")
    with pytest.raises(UsageError, match="there is no folder"):
        plan_program(ProgramOptions(embedded=True, plot=tmp_path / "no" / "a.svg"), in_pod=False, lease_name="x")
