# SPDX-License-Identifier: Apache-2.0
"""How a reflector lists: streamed or by pages, from where, and what a broken list leaves behind."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.cache.reflecting import Scene
from kit.cache.scripted import Act, Cut, End, Pause, Refused, failure, page, watched
from kit.nodes import bookmark_line, error_line, line, node

SYNCED = bookmark_line(5, ends_initial="true")
EXPIRED = failure(410, "Expired")
BUSY = failure(429, "TooManyRequests")
Make = Callable[..., Scene]


@pytest.mark.scenario("WL-05")
@pytest.mark.scenario("WL-12")
def test_streamed_list_is_complete_with_its_bookmark(scene: Make) -> None:
    """After two objects and the bookmark at 5 it is synced, with one request and at the bookmark's version."""
    s = scene(watched(line("ADDED", node("p1", 1)), Pause(1.0), line("ADDED", node("p2", 2)), SYNCED))
    assert (s.held, s.store.version) == ({}, "")

    s.sim.advance(1.0)

    assert (s.held, s.store.version, s.store.filled) == ({"p1": "1", "p2": "2"}, "5", True)
    assert s.server.questions == ["stream 0"]


@pytest.mark.scenario("WL-06")
def test_changes_before_the_bookmark_are_part_of_the_list(scene: Make) -> None:
    """After p1, p2, p1 modified, p3 added and deleted, and the bookmark, the store holds the modified p1, and p2."""
    s = scene(
        watched(
            line("ADDED", node("p1", 1)),
            line("ADDED", node("p2", 2)),
            line("MODIFIED", node("p1", 3)),
            line("ADDED", node("p3", 4)),
            line("DELETED", node("p3", 5)),
            SYNCED,
        )
    )

    assert s.held == {"p1": "3", "p2": "2"}


@pytest.mark.scenario("WL-02")
@pytest.mark.parametrize("end", [End(), Cut(), bookmark_line(5), bookmark_line(5, ends_initial="false")])
def test_streamed_list_without_its_bookmark_fills_nothing(scene: Make, end: End | Cut | bytes) -> None:
    """The store stays empty after one ADDED without the bookmark that ends the list."""
    s = scene(watched(line("ADDED", node("p1", 1)), end), Refused(), Refused())

    assert (s.held, s.store.filled) == ({}, False)


@pytest.mark.parametrize(
    ("streaming", "script", "questions"),
    [
        pytest.param(True, [watched(SYNCED, Cut()), Refused(), EXPIRED], ["stream -", "watch 5"], id="streamed"),
        pytest.param(False, [page(5), EXPIRED, page(7)], ["list -", "watch 5", "list 5", "watch 7"], id="pages"),
        pytest.param(True, [failure(422, "Invalid"), page(5)], ["stream -", "list -", "watch 5"], id="not streamed"),
    ],
)
def test_the_first_list_asks_for_the_most_recent_state_unless_any_is_asked_for(
    scene: Make, streaming: bool, script: list[Act], questions: list[str]
) -> None:
    s = scene(*script, streaming=streaming, any_version=False)

    s.sim.advance(5.0)

    assert s.server.questions[: len(questions)] == questions


@pytest.mark.scenario("WL-07")
def test_overloaded_server_is_asked_the_same_again(scene: Make) -> None:
    """Two 429 and then a success make three stream requests with the same parameters, and no list."""
    s = scene(BUSY, BUSY, watched(SYNCED))

    s.sim.advance(60.0)

    assert s.server.questions == ["stream 0"] * 3
    same = [{**query, "timeoutSeconds": ""} for query in s.server.asked]
    assert same[0] == same[1] == same[2]
    assert s.store.filled


@pytest.mark.scenario("WL-08")
def test_streamed_list_that_breaks_is_begun_again(scene: Make) -> None:
    """After a cut before the bookmark, the same request is made again, and the objects of the first are dropped."""
    s = scene(watched(line("ADDED", node("gone", 1)), Cut()), watched(line("ADDED", node("p2", 2)), SYNCED))

    s.sim.advance(60.0)

    assert s.server.questions == ["stream 0", "stream 0"]
    assert s.held == {"p2": "2"}


@pytest.mark.scenario("WL-04")
@pytest.mark.scenario("WL-01")
@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(failure(422, "Invalid"), id="invalid"),
        pytest.param(failure(400, "BadRequest"), id="bad request"),
        pytest.param(failure(500, "InternalError"), id="internal error"),
        pytest.param(failure(403, "Forbidden"), id="forbidden"),
        pytest.param(watched(line("ADDED", node("a", 1)), End()), id="ended without a bookmark"),
        pytest.param(watched(error_line(500, "InternalError")), id="error on the stream"),
    ],
)
def test_server_that_does_not_stream_lists_is_listed_at_once(scene: Make, refusal: Act) -> None:
    """Any refusal but overload falls back in the same cycle: it makes a stream, a list and a watch."""
    s = scene(refusal, page(7, node("a", 6)), watched(line("ADDED", node("b", 8))))

    assert s.server.questions == ["stream 0", "list 0", "watch 7"]
    assert s.held == {"a": "6", "b": "8"}


@pytest.mark.parametrize(
    ("midway", "then"),
    [
        pytest.param(error_line(429, "TooManyRequests"), ["stream 0"], id="overloaded"),
        pytest.param(error_line(503, "ServiceUnavailable"), ["stream 0"], id="down"),
        pytest.param(error_line(410, "Expired"), ["stream -"], id="expired"),
        pytest.param(error_line(504, "Timeout"), ["stream 0"], id="out of time"),
        pytest.param(error_line(500, "InternalError"), ["list 0", "watch 7"], id="broken"),
    ],
)
def test_streamed_list_that_is_refused_midway_fills_nothing_and_begins_again(
    scene: Make, midway: bytes, then: list[str]
) -> None:
    again = page(7) if then[0].startswith("list") else watched(line("ADDED", node("b", 6)), SYNCED)
    s = scene(watched(line("ADDED", node("a", 1)), midway), again)
    s.sim.advance(5.0)

    assert s.server.questions == ["stream 0", *then]
    assert "a" not in s.held
    assert s.store.filled


def test_streamed_list_that_falls_silent_is_listed_instead(scene: Make) -> None:
    s = scene(watched(line("ADDED", node("a", 1))), page(7), watched())

    s.sim.advance(30.0)

    assert s.server.questions == ["stream 0", "list 0", "watch 7"]
    assert s.reflector.liveness.idle == 1


@pytest.mark.scenario("RF-06")
def test_without_streaming_one_list_at_any_version_then_a_watch_with_bookmarks(scene: Make) -> None:
    """With streaming off, one list at "0" with limit 500 is made, then a watch from its version, in order."""
    changes = [line("MODIFIED", node("a", 2)), *(line("ADDED", node(f"n{v}", v)) for v in range(3, 7))]
    s = scene(page(1, node("a", 1)), watched(*changes), streaming=False)

    assert s.server.questions == ["list 0", "watch 1"]
    assert s.server.asked[0]["limit"] == "500"
    assert s.server.asked[1]["allowWatchBookmarks"] == "true"
    assert [*s.held.values()] == ["2", "3", "4", "5", "6"]


@pytest.mark.scenario("RF-15")
def test_every_page_has_the_limit(scene: Make) -> None:
    """Ten objects come in three pages of four: each request has the limit, and all ten arrive."""
    nodes = [node(f"n{i}", i + 1) for i in range(10)]
    script = [page(20, *nodes[:4], more="A"), page(20, *nodes[4:8], more="B"), page(20, *nodes[8:])]
    s = scene(*script, streaming=False, page_size=4)

    assert s.server.questions == ["list 0", "list >A", "list >B", "watch 20"]
    assert {query.get("limit") for query in s.server.asked[:3]} == {"4"}
    assert len(s.held) == 10


def test_version_of_a_list_is_that_of_its_first_page(scene: Make) -> None:
    s = scene(page(10, node("a", 5), more="A"), page(12, node("b", 6)), watched(), streaming=False)

    s.sim.advance(1.0)

    assert s.server.questions == ["list 0", "list >A", "watch 10"]


@pytest.mark.scenario("RF-16")
def test_later_list_is_at_the_last_version_or_newer_and_by_pages_as_well(scene: Make) -> None:
    """A list again at "10" has a limit, and says that it means not older, which a limit would not mean by itself."""
    s = scene(page(10, node("a", 5)), EXPIRED, page(30, node("a", 20)), streaming=False)
    s.sim.advance(30.0)

    assert s.server.asked[2] == {"limit": "500", "resourceVersion": "10", "resourceVersionMatch": "NotOlderThan"}
    assert s.held == {"a": "20"}
