# SPDX-License-Identifier: Apache-2.0
"""Lists without an end: how often they are asked for, how much is kept of them, and what is said of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from kit.cache.scripted import Act, failure, page, watched
from kit.cache.wrong_server import Program, WrongServer, most_in_a_minute
from kit.nodes import line, node

from apimachinery.errors import DecodeError
from controller_runtime.api.resources import NODES
from controller_runtime.cache.patience import Patience
from controller_runtime.client.client import Client
from controller_runtime.client.paging import ListBounds
from controller_runtime.testing.simulation import Simulation

BOUNDS = ListBounds(objects=50, size=100_000, short_pages=2.0, empty_pages=20)
TEN_MINUTES = 600.0


def paged(page_of: Callable[[int], Act]) -> Callable[[str, int], Act]:
    """Refuse streams, and answer lists with this."""
    return lambda kind, number: page_of(number) if kind == "list" else failure(422, "Invalid", "no streamed lists")


@pytest.mark.parametrize(
    ("page_of", "told"),
    [
        pytest.param(
            lambda n: page(9, node(f"n{n}", n), more=f"token-{n}"), "it has more than 50 objects", id="one more object"
        ),
        pytest.param(
            lambda n: page(9, node(f"n{n}", n, note="x" * 20_000), more=f"token-{n}"),
            "it has more than 100000 bytes",
            id="one large object",
        ),
        pytest.param(
            lambda n: page(9, node(f"n{n % 3}", n), more=f"token-{n}"),
            "a page has only objects of earlier pages",
            id="the same three objects",
        ),
        pytest.param(lambda n: page(9, more=f"token-{n}"), "21 pages in a row are empty", id="nothing"),
        pytest.param(
            lambda n: page(9, node(f"n{n}", n), more="token"),
            "continues with its own continue token",
            id="the same token",
        ),
        pytest.param(
            lambda n: page(9, *(node(f"n{n}-{i}", n) for i in range(51))), "it has more than 50 objects", id="one page"
        ),
    ],
)
def test_pages_without_end_are_asked_for_slowly_and_given_up(
    page_of: Callable[[int], Act], told: str, sim: Simulation
) -> None:
    program = Program(sim, paged(page_of), Patience(lists=BOUNDS))

    sim.advance(TEN_MINUTES)

    assert told in program.informer.last_error
    assert told in program.problem
    assert len(program.informer.store) == 0
    assert most_in_a_minute(program.server.times) <= 60 * BOUNDS.short_pages
    lists = [
        (time, "continue" in asked)
        for time, asked in zip(program.server.times, program.server.asked, strict=True)
        if "limit" in asked
    ]
    begun = [time for time, goes_on in lists if not goes_on]
    assert all(later - earlier >= 0.5 for (earlier, _), (later, _) in itertools.pairwise(lists))
    assert all(later - earlier >= 30.0 for earlier, later in itertools.pairwise(begun[8:])), "a pause between two lists"


def _endless() -> Iterator[bytes]:
    return (line("ADDED", node(f"n{number}", number)) for number in range(1, 1000))


def test_a_streamed_list_that_never_ends_is_given_up_and_listed_by_pages(sim: Simulation) -> None:
    def behave(kind: str, number: int) -> Act:
        return watched(*_endless()) if kind == "stream" else page(9, node("a", 9)) if kind == "list" else watched()

    program = Program(sim, behave, Patience(lists=BOUNDS))
    sim.advance(1.0)

    assert program.server.questions == ["stream -", "list -", "watch 9"]
    assert [cached.name for cached in program.informer.store.list()] == ["a"]


def test_a_streamed_list_that_changes_one_object_without_end_is_given_up_too(sim: Simulation) -> None:
    def behave(kind: str, number: int) -> Act:
        changes = (line("MODIFIED", node("a", version)) for version in range(1, 1000))
        return watched(*changes) if kind == "stream" else page(9, node("a", 9)) if kind == "list" else watched()

    program = Program(sim, behave, Patience(lists=BOUNDS))
    sim.advance(1.0)

    assert program.server.questions == ["stream -", "list -", "watch 9"]


def test_a_list_of_a_client_is_bounded_too(sim: Simulation) -> None:
    host = sim.host("r0")
    server = WrongServer(host, lambda kind, n: page(9, node(f"n{n}", n), more=f"token-{n}"))

    with pytest.raises(DecodeError, match="it has more than 50 objects"):
        Client(host, server, list_bounds=BOUNDS).list(NODES)

    assert (len(server.times), sim.time) == (51, 25.0)
