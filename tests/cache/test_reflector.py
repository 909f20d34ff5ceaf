# SPDX-License-Identifier: Apache-2.0
"""The reflector against a scripted server: what it asks, when, and what the store holds then."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from kit.nodes import bookmark_line, error_line, line, node
from kit.scripted import Act, Answer, Cut, End, Pause, Refused, ScriptedServer, failure, page, watched

from controller_runtime.api.resources import NODES
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.reflector import Reflector
from controller_runtime.cache.store import Store
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.reachable import ServerReachable
from controller_runtime.core.backoff import Backoff
from controller_runtime.core.stop import Stop
from controller_runtime.testing.simulation import Simulation

SYNCED = bookmark_line(5, ends_initial="true")
EXPIRED = failure(410, "Expired")
BUSY = failure(429, "TooManyRequests")


class Scene:
    """A reflector at work against a script."""

    def __init__(
        self, sim: Simulation, *script: Act, streaming: bool = True, page_size: int = 500, **options: float
    ) -> None:
        self.sim = sim
        self.host = sim.host("r0")
        self.server = ScriptedServer(self.host, *script)
        self.store = Store(self.host)
        source = ListWatch(self.host, self.server, NODES, page_size=page_size)
        patience = Patience(backoff=Backoff(**options))
        self.contact = ServerReachable(self.host)
        self.reflector = Reflector(
            self.host, source, self.store, streaming=streaming, patience=patience, contact=self.contact
        )
        self.stop = Stop(self.host)
        self.thread = self.host.spawn("reflector", lambda: self.reflector.run(self.stop))
        sim.settle()

    def then(self, *script: Act, seconds: float = 60.0) -> None:
        """Goes on like this, for so long."""
        self.server.then(*script)
        self.sim.advance(seconds)

    @property
    def held(self) -> dict[str, str]:
        """Name to version of what the store holds."""
        return {obj.name: obj.resource_version for obj in self.store.list()}


Make = Callable[..., Scene]


@pytest.fixture
def scene(sim: Simulation) -> Make:
    """Makes a scene whose end is a clean one."""
    made: list[Scene] = []

    def make(*script: Act, **options: object) -> Scene:
        made.append(Scene(sim, *script, **options))  # type: ignore[arg-type]
        return made[-1]

    @sim.check_end
    def ends_cleanly() -> None:
        assert all(scene.stop.is_set() for scene in made)

    yield make  # type: ignore[misc]
    for each in made:
        each.stop.set()
        assert each.thread.join_until(each.host.monotonic() + 1.0)


# The first list.


@pytest.mark.scenario("WL-05")
@pytest.mark.scenario("WL-12")
def test_streamed_list_is_complete_with_its_bookmark(scene: Make) -> None:
    """Two objects and the bookmark at 5: synced with one request, at the bookmark's version and not before."""
    s = scene(watched(line("ADDED", node("p1", 1)), Pause(1.0), line("ADDED", node("p2", 2)), SYNCED))
    assert (s.held, s.store.version) == ({}, "")

    s.sim.advance(1.0)

    assert (s.held, s.store.version, s.store.filled) == ({"p1": "1", "p2": "2"}, "5", True)
    assert s.server.questions == ["stream 0"]


@pytest.mark.scenario("WL-06")
def test_changes_before_the_bookmark_are_part_of_the_list(scene: Make) -> None:
    """p1, p2, p1 modified, p3 added and deleted, bookmark: the store holds the modified p1, and p2."""
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
    """One ADDED and no bookmark that says so: the store stays empty."""
    s = scene(watched(line("ADDED", node("p1", 1)), end), Refused(), Refused())

    assert (s.held, s.store.filled) == ({}, False)


@pytest.mark.scenario("WL-07")
def test_overloaded_server_is_asked_the_same_again(scene: Make) -> None:
    """Two 429, then success: three stream requests with the same parameters, no list."""
    s = scene(BUSY, BUSY, watched(SYNCED))

    s.sim.advance(60.0)

    assert s.server.questions == ["stream 0"] * 3
    same = [{**query, "timeoutSeconds": ""} for query in s.server.asked]
    assert same[0] == same[1] == same[2]
    assert s.store.filled


@pytest.mark.scenario("WL-08")
def test_streamed_list_that_breaks_is_begun_again(scene: Make) -> None:
    """A stream cut before its bookmark: the same request again, and what it had brought is forgotten."""
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
    """Any refusal but overload falls back in the same cycle: stream, list, watch."""
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
    assert s.reflector.idle == 1


@pytest.mark.scenario("RF-06")
def test_without_streaming_one_list_at_any_version_then_a_watch_with_bookmarks(scene: Make) -> None:
    """With streaming off: one list at "0" with limit 500, then a watch from its version, events in order."""
    changes = [line("MODIFIED", node("a", 2)), *(line("ADDED", node(f"n{v}", v)) for v in range(3, 7))]
    s = scene(page(1, node("a", 1)), watched(*changes), streaming=False)

    assert s.server.questions == ["list 0", "watch 1"]
    assert s.server.asked[0]["limit"] == "500"
    assert s.server.asked[1]["allowWatchBookmarks"] == "true"
    assert [*s.held.values()] == ["2", "3", "4", "5", "6"]


@pytest.mark.scenario("RF-15")
def test_every_page_has_the_limit(scene: Make) -> None:
    """Ten objects in three pages of four: each request has the limit, all ten arrive."""
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


# Watching.


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
    assert s.reflector.skipped == 1


@pytest.mark.scenario("RF-23")
def test_store_is_told_every_version_bookmarks_included(scene: Make) -> None:
    """ADD 10, MODIFY 20, BOOKMARK 30, DELETE 40: the store is told each."""
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
def test_watch_that_ends_is_resumed_at_the_last_version(scene: Make, end: Cut | End) -> None:
    """A stream that breaks after the sync: a plain watch from the last version, without initial events."""
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
    """A server that closes the watch of a forgotten version, and does not say so."""
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
    """Ten kills in a row, each followed by two refusals: the last one costs no more than the first."""
    kill = [watched(Pause(stands), Cut()), Refused(), Refused()]
    s = scene(page(5), *kill * 10, watched(), streaming=False)
    s.sim.advance(30 * 60.0 + 10 * stands)

    gaps = [later - earlier for earlier, later in pairwise(s.server.times[1:32])]
    waits = [gap - (stands if number % 3 == 0 else 0.0) for number, gap in enumerate(gaps)]
    assert s.server.questions[:32] == ["list 0"] + ["watch 5"] * 31
    assert latest / 2 < max(waits) <= latest


def test_server_that_is_back_but_has_forgotten_the_version_is_listed_soon(scene: Make) -> None:
    """Nine refusals make the delays long; the server's first word ends the waiting, as the last list is long ago."""
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
    """A 429 answer, then a stream whose first event is a 429: two waits, the list is not repeated."""
    s = scene(page(5), BUSY, watched(error_line(429, "TooManyRequests")), watched(End()), streaming=False)

    s.sim.advance(10.0)

    assert s.server.questions[:4] == ["list 0", "watch 5", "watch 5", "watch 5"]
    gaps = [later - earlier for earlier, later in pairwise(s.server.times[1:4])]
    assert 0.8 <= gaps[0] <= 1.6
    assert 1.6 <= gaps[1] <= 3.2


@pytest.mark.scenario("RF-12")
@pytest.mark.parametrize("act", [BUSY, Refused(), failure(503, "ServiceUnavailable")], ids=["429", "refused", "503"])
def test_server_that_is_down_or_busy_is_watched_again_and_never_listed(scene: Make, act: Act) -> None:
    """Four failures of the watch, then a good one: one list, five watches."""
    s = scene(page(5), *[act] * 4, watched(), streaming=False)

    s.sim.advance(100.0)

    assert s.server.questions == ["list 0"] + ["watch 5"] * 5


@pytest.mark.scenario("RF-08")
def test_delays_between_tries_double(scene: Make) -> None:
    """Refused five times with 1 ms doubling to 50 ms and jitter 1: between 31 and 62 ms in all."""
    s = scene(page(5), *[Refused()] * 5, watched(), streaming=False, initial=0.001, cap=0.05)

    s.sim.advance(1.0)

    assert 0.031 <= s.server.times[6] - s.server.times[1] <= 0.064


@pytest.mark.scenario("RF-09")
def test_delays_between_tries_stop_growing(scene: Make) -> None:
    """Refused 40 times: growth flattens at the cap."""
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
def test_silent_watch_is_given_up_and_opened_again_at_the_last_version(scene: Make) -> None:
    """A half-open connection: abandoned after the silence of bookmarks, counted, re-opened at the last version."""
    s = scene(watched(SYNCED, bookmark_line(9)), watched(bookmark_line(10)))

    s.sim.advance(149.9)
    assert s.server.questions == ["stream 0"]

    s.sim.advance(5.0)
    assert s.server.questions == ["stream 0", "watch 9"]
    assert s.reflector.idle == 1
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
    assert "cannot watch" in s.reflector.last_error
    assert 8 <= s.server.questions.count("list 7") <= 15


def test_bookmark_of_the_past_lists_again(scene: Make) -> None:
    """The server's data went back: waiting for it to reach our version would be waiting among the wrong objects."""
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


# Versions refused.


@pytest.mark.scenario("RF-28")
@pytest.mark.parametrize("gone", [EXPIRED, watched(error_line(410, "Expired"))], ids=["answer", "event"])
def test_expired_watch_lists_at_the_last_version_first(scene: Make, gone: Act) -> None:
    """A 410 at version n: the next list is at n; the most recent only if that is refused too."""
    s = scene(page(5), gone, EXPIRED, page(30, node("a", 20)), streaming=False)

    s.sim.advance(30.0)

    assert s.server.questions == ["list 0", "watch 5", "list 5", "list -", "watch 30"]
    assert s.held == {"a": "20"}


@pytest.mark.scenario("RF-18")
@pytest.mark.scenario("RF-19")
def test_refused_relist_asks_for_the_most_recent_state_at_once(scene: Make) -> None:
    """Lists at "0", "10", then "" without a wait; the store is replaced."""
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
    """Each of the three forms: an immediate retry with no version, and the next list starts from what was seen."""
    s = scene(page(20), EXPIRED, refusal, page(30), EXPIRED, page(40), streaming=False)
    s.sim.advance(30.0)

    lists = [question for question in s.server.questions if question.startswith("list")]
    assert lists == ["list 0", "list 20", "list -", "list 30"]
    assert s.server.times[3] == s.server.times[2]


@pytest.mark.scenario("RF-20")
@pytest.mark.scenario("PG-02")
def test_list_whose_continuation_expired_is_begun_again_by_pages(scene: Make) -> None:
    """Page 2 expires: the list is begun again, by pages and never unpaged, and all objects arrive."""
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

    assert 3 <= s.reflector.lists <= 12


def test_refused_again_and_again_it_waits_between_lists(scene: Make) -> None:
    s = scene(page(5), *[EXPIRED] * 50, streaming=False)

    s.sim.advance(60.0)

    assert len(s.server.asked) < 12


# Failing lists, odd objects, errors kept, stopping.


@pytest.mark.scenario("RF-07")
def test_six_cycles_on_one_store(scene: Make) -> None:
    """List and adds; relist with changes; list and watch errors in between; at each end the store is the server's."""
    s = scene(
        page(1),
        watched(line("ADDED", node("a", 2)), line("ADDED", node("b", 3)), error_line(410, "Expired")),
        streaming=False,
    )
    assert s.held == {"a": "2", "b": "3"}

    s.then(
        page(4, node("a", 2), node("b", 3)),
        watched(line("DELETED", node("a", 5)), line("ADDED", node("c", 6)), error_line(410, "Expired")),
        seconds=2.0,
    )
    assert s.held == {"b": "3", "c": "6"}

    s.then(failure(500, "InternalError", "list failed"), seconds=3.0)
    assert s.reflector.last_error == "list failed"

    s.then(page(7, node("c", 6)), failure(403, "Forbidden"), watched(line("ADDED", node("d", 8))))
    assert s.held == {"c": "6", "d": "8"}
    assert s.reflector.last_error == ""


def test_failing_list_is_repeated_with_growing_delays_and_its_error_is_kept(scene: Make) -> None:
    s = scene(*[failure(403, "Forbidden", "nodes is forbidden")] * 4, page(5), streaming=False)

    s.sim.advance(1.5)
    assert s.reflector.last_error == "nodes is forbidden"

    s.sim.advance(60.0)
    gaps = [later - earlier for earlier, later in pairwise(s.server.times[:5])]
    assert all(low <= gap <= 2 * low for gap, low in zip(gaps, [0.8, 1.6, 3.2, 6.4], strict=True))
    assert s.reflector.last_error == ""


def test_error_is_over_once_a_watch_is_open_however_quiet_it_is(scene: Make) -> None:
    s = scene(page(5), Refused(), Refused(), watched(), streaming=False)
    assert s.reflector.last_error == "connection refused"

    s.sim.advance(10.0)

    assert s.server.questions[-1] == "watch 5"
    assert s.reflector.last_error == ""


@pytest.mark.scenario("RF-26")
def test_table_in_answer_to_a_list_fails_it(scene: Make) -> None:
    """A Table is an error of the list, not an empty collection."""
    table = Answer(200, b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"rows":[]}')
    s = scene(table, page(5), streaming=False)

    assert not s.store.filled
    assert "Table" in s.reflector.last_error


def test_unreadable_objects_are_counted_and_skipped_wherever_they_come(scene: Make) -> None:
    nameless = {"metadata": {"uid": "nameless"}}
    s = scene(
        page(5, nameless, node("a", 4)),
        watched(line("ADDED", nameless), b"garbage", line("ADDED", node("b", 6))),
        streaming=False,
    )

    assert s.held == {"a": "4", "b": "6"}
    assert s.reflector.skipped == 3


def test_relist_keeps_the_objects_that_did_not_change(scene: Make) -> None:
    s = scene(page(5, node("a", 4)), EXPIRED, streaming=False)
    before = s.store.list()

    s.then(page(9, node("a", 4), node("b", 8)))

    assert s.store.list()[0] is before[0]
    assert len(s.store) == 2


@pytest.mark.scenario("RF-02")
def test_stop_ends_a_blocked_watch_at_once_and_closes_it(scene: Make, sim: Simulation) -> None:
    """Stopped in the middle of a live watch: what came before is in the store, the stream is closed, run returns."""
    s = scene(watched(SYNCED, line("ADDED", node("a", 6))))
    before = sim.time

    s.stop.set()
    sim.settle()

    assert s.thread.join_until(None)
    assert sim.time == before
    assert s.held == {"a": "6"}
    assert s.server.streams[0].closed
    assert s.reflector.last_error == ""


def test_stop_ends_a_wait_between_tries(scene: Make, sim: Simulation) -> None:
    s = scene(failure(403, "Forbidden", retry_after=3600), failure(403, "Forbidden", retry_after=3600))

    s.stop.set()
    sim.settle()

    assert s.thread.join_until(None)


# When others have reached the server.

STEADY: dict[str, float] = {"initial": 1.0, "factor": 10.0, "jitter": 0.0}
"""Waits for 1 s, 10 s, 30 s."""


def since_lost(s: Scene) -> list[float]:
    """When the watch was asked for, in seconds since the first time."""
    return [round(time - s.server.times[1], 3) for time in s.server.times[1:]]


def test_who_lost_the_server_goes_on_once_it_answers_others(scene: Make) -> None:
    s = scene(page(5), *[Refused()] * 2, watched(), streaming=False, **STEADY)
    s.sim.advance(3.0)
    assert since_lost(s) == [0.0, 1.0]

    s.contact.made()
    s.sim.settle()

    assert since_lost(s) == [0.0, 1.0, 3.0]


def test_who_lost_the_server_heeds_no_word_before_the_first_delay_is_over(scene: Make) -> None:
    s = scene(page(5), *[Refused()] * 2, watched(), streaming=False, **STEADY)
    s.sim.advance(1.5)

    s.contact.made()
    s.sim.advance(9.4)
    assert since_lost(s) == [0.0, 1.0]

    s.sim.advance(0.1)
    assert since_lost(s) == [0.0, 1.0, 11.0]


def test_a_server_that_answers_all_but_the_watch_is_asked_at_every_second_word(scene: Make) -> None:
    s = scene(page(5), *[Refused()] * 5, watched(), streaming=False, **STEADY)

    for _ in range(100):
        s.sim.advance(1.0)
        s.contact.made()

    assert since_lost(s) == [0.0, 1.0, 2.0, 32.0, 33.0, 63.0]


def test_who_was_refused_by_the_server_itself_waits_to_the_end(scene: Make) -> None:
    s = scene(page(5), BUSY, BUSY, watched(), streaming=False, **STEADY)
    s.sim.advance(5.0)

    s.contact.made()
    s.sim.settle()

    assert since_lost(s) == [0.0, 1.0]
