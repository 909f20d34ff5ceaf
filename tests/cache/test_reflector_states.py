# SPDX-License-Identifier: Apache-2.0
"""The reflector is the state machine that its guide draws."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from kit.cache.reflecting import Scene
from kit.cache.scripted import Act, Cut, End, Pause, Refused, failure, page, watched
from kit.nodes import bookmark_line, error_line, line, node

from controller_runtime.cache.reflector import Reflector
from controller_runtime.cache.state import TRANSITIONS, Listing, Receiving, Resuming, State, Streaming, Watching

DIAGRAM = (Path(__file__).resolve().parents[2] / "docs" / "pictures" / "diagram-reflector-states.svg").read_text(
    "utf-8"
)
SYNCED = bookmark_line(5, ends_initial="true")
EXPIRED = failure(410, "Expired")
FORBIDDEN = failure(403, "Forbidden")
Change = tuple[type[State], type[State]]

FIRST_LIST = {(Listing, Resuming), (Resuming, Watching)}
FIRST_STREAM = {(Streaming, Receiving), (Receiving, Watching)}


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> set[Change]:
    """Return the changes of state that reflectors of the test have made."""
    seen: set[Change] = set()
    enter = Reflector._enter

    def noted(self: Reflector, state: State) -> None:
        seen.add((type(self.state), type(state)))
        enter(self, state)

    monkeypatch.setattr(Reflector, "_enter", noted)
    return seen


def test_the_diagram_of_the_guide_tells_exactly_the_changes_there_are() -> None:
    arrows = re.findall(r"^    (\w+) --&gt; (\w+):", DIAGRAM, re.MULTILINE)

    assert sorted(arrows) == sorted((before.__name__, after.__name__) for before, after in TRANSITIONS)


PATHS: list[tuple[bool, list[Act], set[Change]]] = [
    (False, [page(5), watched()], FIRST_LIST),
    (False, [FORBIDDEN, page(5), watched()], {(Listing, Listing), *FIRST_LIST}),
    (True, [watched(SYNCED)], FIRST_STREAM),
    (True, [Refused(), watched(SYNCED)], {(Streaming, Streaming), *FIRST_STREAM}),
    (True, [failure(400, "BadRequest"), page(5), watched()], {(Streaming, Listing), *FIRST_LIST}),
    (True, [watched(Cut()), watched(SYNCED)], {(Receiving, Streaming), *FIRST_STREAM}),
    (
        True,
        [watched(End()), page(5), watched()],
        {(Streaming, Receiving), (Receiving, Listing), *FIRST_LIST},
    ),
    (False, [page(5), watched(Pause(2.0), End()), watched()], {*FIRST_LIST, (Watching, Resuming)}),
    (False, [page(5), Refused(), watched()], {*FIRST_LIST, (Resuming, Resuming)}),
    (
        False,
        [page(5), Refused(), watched(line("ADDED", node("a", 6)))],
        {*FIRST_LIST, (Resuming, Resuming), (Watching, Watching)},
    ),
    (False, [page(5), EXPIRED, page(6), watched()], {*FIRST_LIST, (Resuming, Listing)}),
    (False, [page(5), watched(error_line(410, "Expired")), page(6), watched()], {*FIRST_LIST, (Watching, Listing)}),
    (
        True,
        [watched(SYNCED, Cut()), EXPIRED, watched(SYNCED)],
        {*FIRST_STREAM, (Watching, Resuming), (Resuming, Streaming)},
    ),
    (True, [watched(SYNCED, error_line(410, "Expired")), watched(SYNCED)], {*FIRST_STREAM, (Watching, Streaming)}),
]


@pytest.mark.parametrize(("streaming", "script", "made"), PATHS, ids=range(len(PATHS)))
def test_a_reflector_makes_the_changes_of_its_path_and_no_others(
    scene: Callable[..., Scene], changes: set[Change], streaming: bool, script: list[Act], made: set[Change]
) -> None:
    s = scene(*script, streaming=streaming)
    s.sim.advance(20.0)

    assert isinstance(s.reflector.state, Watching)
    assert changes == made


def test_every_change_of_the_diagram_is_on_a_path_here() -> None:
    assert set[Change]().union(*(made for _, _, made in PATHS)) == TRANSITIONS


def test_a_refused_version_is_remembered_until_a_list_has_come(scene: Callable[..., Scene]) -> None:
    s = scene(page(5), EXPIRED, EXPIRED, FORBIDDEN, streaming=False)
    s.sim.advance(1.7)
    assert s.reflector.state == Listing(most_recent=True)

    s.then(page(9), watched())

    assert isinstance(s.reflector.state, Watching)
