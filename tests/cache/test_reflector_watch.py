# SPDX-License-Identifier: Apache-2.0
"""Watches of a reflector: the events it applies, where it resumes, how long it waits, and when it lists."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from kit.cache.reflecting import Scene
from kit.cache.scripted import Act, Cut, End, Pause, Refused, failure, page, watched
from kit.nodes import bookmark_line, error_line, line, node

SYNCED = bookmark_line(5, ends_initial="true")
EXPIRED = failure(410, "Expired")
BUSY = failure(429, "TooManyRequests")
Make = Callable[..., Scene]


@pytest.mark.scenario("RF-05")
def test_watch_events_change_the_store_and_a_foreign_object_is_ignored(scene: Make) -> None:
    """A foreign object is ignored; the version to go on from is that of the last event, not the highest."""
    pod = {**node("pod", 3), "kind": "Pod"}
    events = [
        line("ADDED", pod),
        line("DELETED", node("foo", 4)),
        line("MODIFIED", node("bar", 55)),
        line("ADDED", node("baz", 32)),
    ]
    s = scene(watched(line("ADDED", node("foo", 1)), SYNCED, *events, End()))
    s.sim.advance(1.0)

    assert s.held == {"bar": "55", "baz": "32"}
    assert s.server.questions == ["stream 0", "watch 32"]
    assert s.reflector.liveness.skipped == 1


@pytest.mark.scenario("RF-23")
def test_store_is_told_every_version_bookmarks_included(scene: Make) -> None:
    """The store is passed each of ADD 10, MODIFY 20, BOOKMARK 30 and DELETE 40."""
    steps = [
        line("ADDED", node("a", 10)),
        line("MODIFIED", node("a", 20)),
        bookmark_line(30),
        line("DELETED", node("a", 40)),
    ]
    s = scene(watched(SYNCED, *(part for step in steps for part in (Pause(1.0), step))))
    told = []

    for _ in steps:
        s.sim.advance(1.0)
        told.append(s.store.version)

    assert told == ["10", "20", "30", "40"]


@pytest.mark.scenario("RF-29")
def test_initial_objects_do_not_move_the_version(scene: Make) -> None:
    """Synthetic ADDED at 7, 3 and 9 do not move the version; the bookmark and then MODIFIED 12 do."""
    initial = [line("ADDED", node(name, version)) for name, version in [("a", 7), ("b", 3), ("c", 9)]]
    s = scene(
        watched(
            *initial, Pause(1.0), bookmark_line(9, ends_initial="true"), Pause(1.0), line("MODIFIED", node("a", 12))
        )
    )
    versions = [s.store.version]

    for _ in range(2):
        s.sim.advance(1.0)
        versions.append(s.store.version)

    assert versions == ["", "9", "12"]


@pytest.mark.scenario("WL-09")
@pytest.mark.parametrize("end", [Cut(), End()])
@pytest.mark.elsewhere("kubernetes-client/python#124")
def test_watch_that_ends_is_resumed_at_the_last_version(scene: Make, end: Cut | End) -> None:
    """After a stream breaks behind the sync, a plain watch begins at the last version, without initial events."""
    s = scene(watched(SYNCED, line("ADDED", node("a", 6)), end), watched(line("ADDED", node("b", 7))))

    s.sim.advance(60.0)

    assert s.server.questions == ["stream 0", "watch 6"]
    assert s.held == {"a": "6", "b": "7"}


@pytest.mark.scenario("RF-04")
@pytest.mark.parametrize(
    ("steps", "waits"),
    [
        pytest.param([End()], True, id="nothing"),
        pytest.param([bookmark_line(5), End()], True, id="nothing new"),
        pytest.param([b"garbage", End()], True, id="nothing readable"),
        pytest.param([bookmark_line(6), End()], False, id="one event"),
        pytest.param([Pause(1.0), End()], False, id="nothing for a second"),
    ],
)
def test_watch_that_ends_at_once_without_a_word_counts_as_an_error(
    scene: Make, steps: list[bytes | End | Pause], waits: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A very short watch is an error if nothing new arrived within a second; else the next begins after that second."""
    s = scene(watched(SYNCED, End()), watched(*steps))
    s.sim.advance(30.0)

    first, second = s.server.times[1:]
    assert second - first >= 0.8 if waits else second - first == pytest.approx(1.0)
    assert bool(caplog.records) == waits


def test_watches_that_end_at_once_again_and_again_list_after_the_second_and_wait_longer_each_time(scene: Make) -> None:
    """A watch of a forgotten version may be closed by a server that does not say why."""
    cycle = [page(9, node("a", 8)), watched(End()), watched(End())]
    s = scene(page(5), watched(End()), watched(End()), *cycle * 5, streaming=False)
    s.sim.advance(200.0)

    assert s.server.questions[:5] == ["list 0", "watch 5", "watch 5", "list 5", "watch 9"]
    assert s.held == {"a": "8"}
    assert len(s.server.asked) < 16


@pytest.mark.parametrize(
    ("stands", "latest"),
    [
        pytest.param(9.0, 60.0, id="never long enough"),
        pytest.param(20.0, 7.0, id="every 20 s"),
        pytest.param(100.0, 7.0, id="every 100 s"),
    ],
)
def test_server_that_is_killed_again_and_again_is_found_as_soon_as_after_the_first_time(
    scene: Make, stands: float, latest: float
) -> None:
    """After ten kills in a row, each followed by two refusals, the last one costs no more than the first."""
    kill = [watched(Pause(stands), Cut()), Refused(), Refused()]
    s = scene(page(5), *kill * 10, watched(), streaming=False)
    s.sim.advance(30 * 60.0 + 10 * stands)

    gaps = [later - earlier for earlier, later in pairwise(s.server.times[1:32])]
    waits = [gap - (stands if number % 3 == 0 else 0.0) for number, gap in enumerate(gaps)]
    assert s.server.questions[:32] == ["list 0"] + ["watch 5"] * 31
    assert latest / 2 < max(waits) <= latest


def test_server_that_is_back_but_has_forgotten_the_version_is_listed_soon(scene: Make) -> None:
    """Nine refusals make the delays long; the server's first answer ends the wait, as the last list is long ago."""
    s = scene(page(5), *[Refused()] * 9, EXPIRED, page(30, node("a", 20)), watched(), streaming=False)

    s.sim.advance(400.0)

    assert s.server.questions[10:13] == ["watch 5", "list 5", "watch 30"]
    assert 0.8 <= s.server.times[11] - s.server.times[10] <= 1.6
    assert s.server.times[10] - s.server.times[9] >= 30.0


def test_server_that_forgets_the_version_of_each_list_is_listed_less_and_less(scene: Make) -> None:
    s = scene(page(5), *[EXPIRED, page(5)] * 10, streaming=False)

    s.sim.advance(400.0)

    lists = [at for at, question in zip(s.server.times, s.server.questions, strict=True) if question[:4] == "list"]
    assert [later - earlier for earlier, later in pairwise(lists[6:10])] == [pytest.approx(45.0, abs=15.0)] * 3


@pytest.mark.scenario("RF-11")
def test_overload_in_two_forms_waits_twice_and_does_not_list(scene: Make) -> None:
    """After a 429 answer and a stream whose first event is a 429 there are two waits, and no second list."""
    s = scene(page(5), BUSY, watched(error_line(429, "TooManyRequests")), watched(End()), streaming=False)

    s.sim.advance(10.0)

    assert s.server.questions[:4] == ["list 0", "watch 5", "watch 5", "watch 5"]
    gaps = [later - earlier for earlier, later in pairwise(s.server.times[1:4])]
    assert 0.8 <= gaps[0] <= 1.6
    assert 1.6 <= gaps[1] <= 3.2


@pytest.mark.scenario("RF-12")
@pytest.mark.parametrize("act", [BUSY, Refused(), failure(503, "ServiceUnavailable")], ids=["429", "refused", "503"])
def test_server_that_is_down_or_busy_is_watched_again_and_never_listed(scene: Make, act: Act) -> None:
    """Four failures of the watch and then a good one make one list and five watches."""
    s = scene(page(5), *[act] * 4, watched(), streaming=False)

    s.sim.advance(100.0)

    assert s.server.questions == ["list 0"] + ["watch 5"] * 5


@pytest.mark.scenario("RF-08")
def test_delays_between_tries_double(scene: Make) -> None:
    """When it is refused five times with 1 ms doubling to 50 ms and jitter 1, it waits 31 to 62 ms in all."""
    s = scene(page(5), *[Refused()] * 5, watched(), streaming=False, initial=0.001, cap=0.05)

    s.sim.advance(1.0)

    assert 0.031 <= s.server.times[6] - s.server.times[1] <= 0.064


@pytest.mark.scenario("RF-09")
def test_delays_between_tries_stop_growing(scene: Make) -> None:
    """The delay stops growing at its cap when 40 requests in a row are refused."""
    s = scene(page(5), *[Refused()] * 40, watched(), streaming=False, initial=0.001, cap=0.05)

    s.sim.advance(10.0)

    assert 34 * 0.05 <= s.server.times[41] - s.server.times[1] <= 40 * 0.1


def test_server_may_ask_for_a_longer_delay(scene: Make) -> None:
    s = scene(page(5), failure(429, "TooManyRequests", retry_after=20), watched(), streaming=False)

    s.sim.advance(19.9)
    assert len(s.server.asked) == 2

    s.sim.advance(0.1)
    assert s.server.questions == ["list 0", "watch 5", "watch 5"]


@pytest.mark.scenario("RF-22")
def test_watches_ask_for_an_end_in_five_to_ten_minutes(scene: Make) -> None:
    """The seconds asked for are random between five and ten minutes."""
    s = scene(watched(SYNCED, End()), *(watched(bookmark_line(version), End()) for version in range(6, 56)))
    s.sim.advance(60.0)

    asked = [int(query["timeoutSeconds"]) for query in s.server.asked]
    assert len(asked) > 50
    assert 300 <= min(asked) < 330
    assert 570 < max(asked) <= 600


@pytest.mark.scenario("RF-30")
@pytest.mark.elsewhere("nolar/kopf#585")
def test_silent_watch_is_given_up_and_opened_again_at_the_last_version(scene: Make) -> None:
    """A half-open connection is abandoned after a silence, counted, and opened again at the last version."""
    s = scene(watched(SYNCED, bookmark_line(9)), watched(bookmark_line(10)))

    s.sim.advance(149.9)
    assert s.server.questions == ["stream 0"]

    s.sim.advance(5.0)
    assert s.server.questions == ["stream 0", "watch 9"]
    assert s.reflector.liveness.idle == 1
    assert s.server.streams[0].closed


def test_silence_is_not_work_that_shortens_the_delays(scene: Make) -> None:
    s = scene(page(5), *[watched(), watched(), page(5)] * 6, streaming=False)

    s.sim.advance(3000.0)

    waits = [later - earlier - 150.0 for earlier, later in pairwise(s.server.times[1:3] + s.server.times[16:18])]
    assert waits[0] <= 1.6
    assert waits[2] >= 30.0


def test_watch_that_outlives_its_end_is_given_up(scene: Make) -> None:
    chatter = [part for _ in range(100) for part in (Pause(100.0), bookmark_line(6))]
    s = scene(watched(SYNCED, *chatter))

    s.sim.advance(610.0)

    assert s.server.questions[:2] == ["stream 0", "watch 6"]


def test_second_silence_in_a_row_asks_whether_the_version_still_means_anything(scene: Make) -> None:
    too_large = failure(504, "Timeout", "Timeout: Too large resource version: 900, current: 40")
    s = scene(
        page(900, node("lost", 900)), watched(), watched(), too_large, page(40, node("kept", 30)), streaming=False
    )

    s.sim.advance(400.0)

    assert s.server.questions == ["list 0", "watch 900", "watch 900", "list 900", "list -", "watch 40"]
    assert s.held == {"kept": "30"}
    assert s.store.version == "40"


def test_without_the_right_to_watch_it_lists_again_and_again_and_says_why(scene: Make) -> None:
    forbidden = failure(403, "Forbidden", 'nodes is forbidden: User "u" cannot watch resource "nodes"')
    s = scene(page(5), *[forbidden, forbidden, page(7, node("a", 6))] * 20, streaming=False)

    s.sim.advance(600.0)

    assert s.held == {"a": "6"}
    assert "cannot watch" in s.reflector.liveness.last_error
    assert 8 <= s.server.questions.count("list 7") <= 15


def test_bookmark_of_the_past_lists_again(scene: Make) -> None:
    """When the server's data went back, a wait for our version would be a wait among the wrong objects."""
    too_large = failure(504, "Timeout", "Timeout: Too large resource version: 900, current: 40")
    s = scene(page(900, node("lost", 900)), watched(bookmark_line(40)), too_large, page(41), streaming=False)

    s.sim.advance(10.0)

    assert s.server.questions == ["list 0", "watch 900", "list 900", "list -", "watch 41"]
    assert (s.held, s.store.version, s.store.resets) == ({}, "41", 1)


def test_silences_with_a_word_between_them_do_not_list(scene: Make) -> None:
    s = scene(page(5), watched(), watched(bookmark_line(6)), watched(bookmark_line(7)), streaming=False)

    s.sim.advance(500.0)

    assert s.server.questions == ["list 0", "watch 5", "watch 5", "watch 6", "watch 7"]


@pytest.mark.parametrize("act", [failure(500, "InternalError"), watched(error_line(500, "InternalError"))])
def test_second_internal_error_in_a_row_lists(scene: Make, act: Act) -> None:
    s = scene(page(5), act, act, page(6), streaming=False)

    s.sim.advance(30.0)

    assert s.server.questions[:5] == ["list 0", "watch 5", "watch 5", "list 5", "watch 6"]
