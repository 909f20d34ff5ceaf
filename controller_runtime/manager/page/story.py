# SPDX-License-Identifier: Apache-2.0
"""The tables of one request's story: what caused its reconciles, what they read and wrote, and how they ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller_runtime.controller.reconciler import Request
from controller_runtime.controller.stories import Story
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.page.overview import last_reconciles
from controller_runtime.manager.page.tables import Cell, StatusRow, StatusTable, Wish, seconds
from controller_runtime.queue.causes import Causes


def story_tables(manager: Manager, stories: Sequence[Story], wish: Wish) -> Iterator[StatusTable]:
    """Yield the tables about the one request that the reader of the page asks for."""
    now = manager.host.monotonic()
    namespace, _, name = wish.request.rpartition("/")
    request = Request(name, namespace)
    asked = [one for one in manager.controllers if wish.controller in ("", one.name)]
    rows = []
    for controller in asked:
        found = controller.why(request)
        for turn in () if found is None else found.turns:
            cells = (controller.name, turn.state.name.lower(), seconds(now - turn.at), str(Causes(turn.causes)))
            rows.append(StatusRow(cells))
    yield StatusTable("Now and next", ("controller", "state", "for", "because"), rows)
    told = [one for one in stories if one.request == request and wish.controller in ("", one.controller)]
    yield last_reconciles(told, now, "Reconciles of this request")
    yield StatusTable(
        "Reads and writes",
        ("reconcile", "step", "what", "where", "result"),
        [row for one in told for row in _steps(one)],
        "Reads of caches, and requests of the manager's client.",
    )


def _steps(story: Story) -> Iterator[StatusRow]:
    for step in story.steps:
        cells: list[Cell] = [story.number, *map(str, step)]
        yield StatusRow(cells, is_bad=isinstance(step[3], int) and step[3] >= 400)
    if story.left_out:
        yield StatusRow((story.number, f"{story.left_out} more", "", "", ""))
