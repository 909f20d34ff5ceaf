# SPDX-License-Identifier: Apache-2.0
"""The versions that a reflector asks for after the server refused one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.cache.reflecting import Scene
from kit.cache.scripted import Act, Answer, failure, page, watched
from kit.nodes import bookmark_line, error_line, line, node

SYNCED = bookmark_line(5, ends_initial="true")
EXPIRED = failure(410, "Expired")
Make = Callable[..., Scene]


@pytest.mark.scenario("RF-28")
@pytest.mark.parametrize("gone", [EXPIRED, watched(error_line(410, "Expired"))], ids=["answer", "event"])
@pytest.mark.elsewhere("apache/airflow#21087")
def test_expired_watch_lists_at_the_last_version_first(scene: Make, gone: Act) -> None:
    """After a 410 at version n the next list is at n; it asks for the most recent only if that is refused too."""
    s = scene(page(5), gone, EXPIRED, page(30, node("a", 20)), streaming=False)

    s.sim.advance(30.0)

    assert s.server.questions == ["list 0", "watch 5", "list 5", "list -", "watch 30"]
    assert s.held == {"a": "20"}


@pytest.mark.scenario("RF-18")
@pytest.mark.scenario("RF-19")
def test_refused_relist_asks_for_the_most_recent_state_at_once(scene: Make) -> None:
    """Lists are made at "0", "10" and "" without a wait, and the store is replaced."""
    s = scene(page(10, node("a", 5)), EXPIRED, EXPIRED, page(30, node("b", 20)), streaming=False)
    s.sim.advance(30.0)

    assert [question for question in s.server.questions if question.startswith("list")] == [
        "list 0",
        "list 10",
        "list -",
    ]
    assert s.server.times[3] == s.server.times[2]
    assert s.held == {"b": "20"}


@pytest.mark.scenario("RF-21")
@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(failure(504, "Timeout", causes=[{"reason": "ResourceVersionTooLarge"}]), id="cause"),
        pytest.param(failure(504, "Timeout", causes=[{"message": "Too large resource version"}]), id="cause's message"),
        pytest.param(failure(504, "Timeout", "Too large resource version: 20, current: 10"), id="message"),
    ],
)
def test_version_too_large_asks_for_the_most_recent_state_at_once(scene: Make, refusal: Answer) -> None:
    """Each of the three forms is retried at once with no version, and the next list starts from the version seen."""
    s = scene(page(20), EXPIRED, refusal, page(30), EXPIRED, page(40), streaming=False)
    s.sim.advance(30.0)

    lists = [question for question in s.server.questions if question.startswith("list")]
    assert lists == ["list 0", "list 20", "list -", "list 30"]
    assert s.server.times[3] == s.server.times[2]


@pytest.mark.scenario("RF-20")
@pytest.mark.scenario("PG-02")
def test_list_whose_continuation_expired_is_begun_again_by_pages(scene: Make) -> None:
    """When page 2 expires, the list is begun again, by pages and never unpaged, and all objects arrive."""
    nodes = [node(f"n{i}", i + 1) for i in range(8)]
    again = [page(20, *nodes[:4], more="B"), page(20, *nodes[4:])]
    s = scene(page(10, *nodes[:4], more="A"), EXPIRED, *again, streaming=False, page_size=4)

    assert s.server.questions == ["list 0", "list >A", "list -", "list >B", "watch 20"]
    assert all(query["limit"] == "4" for query in s.server.asked[:4])
    assert len(s.held) == 8


def test_streamed_relist_begins_at_the_last_version(scene: Make) -> None:
    s = scene(watched(SYNCED, error_line(410, "Expired")), EXPIRED, watched(line("ADDED", node("a", 8)), SYNCED))

    s.sim.advance(30.0)

    assert s.server.questions == ["stream 0", "stream 5", "stream -"]
    assert s.held == {"a": "8"}


def test_a_watch_that_meets_what_the_server_cannot_read_lists_next(scene: Make) -> None:
    """A deletion whose object cannot be decoded is an ERROR event, and would be one in the next watch too."""
    unreadable = watched(error_line(500, "StorageReadError"))
    s = scene(page(5, node("a", 3), node("b", 4)), unreadable, page(9, node("a", 3)), watched(), streaming=False)

    s.sim.advance(3.0)

    assert s.server.questions == ["list 0", "watch 5", "list 5", "watch 9"]
    assert s.held == {"a": "3"}


def test_what_the_server_can_never_read_is_listed_ever_more_rarely(scene: Make) -> None:
    script = [each for n in range(60) for each in (watched(error_line(500, "StorageReadError")), page(5))]
    s = scene(page(5), *script, streaming=False)

    s.sim.advance(120.0)

    assert 3 <= s.reflector.liveness.lists <= 12


def test_refused_again_and_again_it_waits_between_lists(scene: Make) -> None:
    s = scene(page(5), *[EXPIRED] * 50, streaming=False)

    s.sim.advance(60.0)

    assert len(s.server.asked) < 12
