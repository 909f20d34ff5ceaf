# SPDX-License-Identifier: Apache-2.0
"""Watches and their readers: wake-ups, bookmarks, and the ends of a watch."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from kit.apiserver.asking import LEASES, Asking, events, lease, version

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History


def versions(told: list[dict[str, Any]]) -> list[int]:
    return [version(event["object"]) for event in told]


@pytest.mark.scenario("H-60")
def test_watch_ends_cleanly_when_its_time_is_up(sim: Simulation, ask: Asking) -> None:
    """After `timeoutSeconds` the stream is over, without an error."""
    watch = ask.watch(LEASES, timeoutSeconds=5)
    watch.take()

    sim.advance(4.9)
    assert watch.take() == ([], False)
    assert watch.next_wake() == pytest.approx(0.1)

    sim.advance(0.1)
    assert watch.take() == ([], True)
    assert watch.take() == ([], True)


def test_watch_without_a_limit_lasts_half_an_hour_to_an_hour(sim: Simulation, ask: Asking) -> None:
    spans = []
    for _ in range(20):
        watch = ask.watch(LEASES)
        watch.take()
        spans.append(watch.next_wake() or 0.0)

    assert len(set(spans)) > 1
    assert all(1800 <= span <= 3600 for span in spans)


@pytest.mark.scenario("H-61")
def test_quiet_watch_gets_a_bookmark_each_minute(sim: Simulation, ask: Asking) -> None:
    """A bookmark has the present version of the storage, which writes to other kinds have raised."""
    watch = ask.watch(LEASES, allowWatchBookmarks="true")
    events(watch)
    ask.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})

    told = []
    for _ in range(2):
        assert watch.next_wake() == pytest.approx(60)
        sim.advance(60)
        told += events(watch)

    assert [event["type"] for event in told] == ["BOOKMARK", "BOOKMARK"]
    assert versions(told) == [ask.server.storage.version] * 2


def test_watch_of_a_version_that_is_yet_to_come_hears_nothing_before(sim: Simulation, ask: Asking) -> None:
    """A watch from a version that does not exist yet gets no bookmark: it would claim that version."""
    coming = ask.server.storage.version + 2
    watch = ask.watch(LEASES, allowWatchBookmarks="true", resourceVersion=coming)
    sim.advance(61)
    assert events(watch) == []
    assert watch.next_wake() == pytest.approx(60)

    for name in "abc":
        ask.ok("POST", LEASES, lease(name))
    sim.advance(61)

    assert [event["type"] for event in events(watch)] == ["ADDED", "BOOKMARK"]


def test_last_bookmark_comes_shortly_before_the_end(sim: Simulation, ask: Asking) -> None:
    watch = ask.watch(LEASES, allowWatchBookmarks="true", timeoutSeconds=30)
    events(watch)

    assert watch.next_wake() == pytest.approx(28)
    sim.advance(28)

    assert [event["type"] for event in events(watch)] == ["BOOKMARK"]
    assert watch.next_wake() == pytest.approx(2)


def test_version_that_is_forgotten_ends_the_watch_with_an_error(sim: Simulation) -> None:
    ask = Asking(APIServer(sim.host("forgetful"), history=History(changes=2)))
    first, *later = [version(ask.ok("POST", LEASES, lease(name))) for name in "abcd"]

    lines, over = ask.watch(LEASES, resourceVersion=first).take()

    message = f"too old resource version: {first} ({later[0]})"
    assert over
    assert f'"message":"{message}","reason":"Expired","code":410'.encode() in lines[0]


def test_reader_that_is_too_slow_is_told_so(sim: Simulation) -> None:
    ask = Asking(APIServer(sim.host("forgetful"), history=History(changes=2)))
    watch = ask.watch(LEASES)
    events(watch)
    for name in "abcd":
        ask.ok("POST", LEASES, lease(name))

    lines, over = watch.take()

    assert over
    assert b'"code":410' in lines[-1]


def test_reader_of_an_empty_collection_is_told_of_its_first_object(sim: Simulation) -> None:
    server = APIServer(sim.host("apiserver"))
    told: list[str] = []
    watch = server.handle(HTTPRequest("GET", LEASES, (("watch", "1"),)), lambda: told.append("ready"))
    assert not isinstance(watch, HTTPResponse)
    assert watch.take() == ([], False)

    Asking(server).ok("POST", LEASES, lease("a"))

    assert told == ["ready"]


def test_bookmark_waits_for_its_turn(sim: Simulation, ask: Asking) -> None:
    watch = ask.watch(LEASES, allowWatchBookmarks="true")
    events(watch)
    ask.ok("POST", LEASES, lease("a"))
    sim.advance(60)

    assert [len(watch.take(1)[0]) for _ in range(3)] == [1, 1, 0]


def test_nothing_is_taken_twice_and_no_more_than_asked(ask: Asking) -> None:
    for name in "abc":
        ask.ok("POST", LEASES, lease(name))
    watch = ask.watch(LEASES, allowWatchBookmarks="true")
    sizes = [len(watch.take(2)[0]) for _ in range(3)]
    for name in "def":
        ask.ok("POST", LEASES, lease(name))

    assert sizes == [2, 2, 0]
    assert [len(watch.take(2)[0]) for _ in range(3)] == [2, 1, 0]


def test_watchers_share_the_bytes_of_a_line(ask: Asking) -> None:
    watches = [ask.watch(LEASES) for _ in range(2)]
    for watch in watches:
        watch.take()

    ask.ok("POST", LEASES, lease("a"))
    (one,), (other,) = (watch.take()[0] for watch in watches)

    assert one is other


def test_reader_is_told_with_no_lock_held(sim: Simulation) -> None:
    server = APIServer(sim.host("apiserver"))
    ask = Asking(server)
    told: list[int] = []
    watch = server.handle(
        HTTPRequest("GET", LEASES, (("watch", "1"),)), lambda: told.append(ask("GET", f"{LEASES}/a")[0])
    )
    assert not isinstance(watch, HTTPResponse)
    watch.take()

    ask.ok("POST", LEASES, lease("a"))
    ask.ok("POST", LEASES, lease("b"))

    assert told == [200]


def test_closed_watch_is_over(ask: Asking) -> None:
    watch = ask.watch(LEASES)

    watch.close()
    watch.close()

    assert watch.take() == ([], True)


def test_stopping_server_ends_its_watches(sim: Simulation) -> None:
    server = APIServer(sim.host("apiserver"))
    told: list[str] = []
    watch = server.handle(HTTPRequest("GET", LEASES, (("watch", "1"),)), lambda: told.append("ready"))
    assert not isinstance(watch, HTTPResponse)
    watch.take()
    watch.take()

    server.close()

    assert told == ["ready"]
    assert watch.take() == ([], True)


def test_watch_without_a_reader_is_refused(ask: Asking) -> None:
    assert ask("GET", LEASES, watch="1")[0] == 400


class Reader:
    """A reader of a watch on a thread of its own, which reads each time `on_ready` is called."""

    def __init__(self, host: Host, server: APIServer) -> None:
        self._condition = host.condition("reader")
        self._ready = True
        self.told: list[dict[str, Any]] = []
        watch = server.handle(HTTPRequest("GET", LEASES, (("watch", "1"),)), self._on_ready)
        assert not isinstance(watch, HTTPResponse)
        self._watch = watch

    def _on_ready(self) -> None:
        with self._condition:
            self._ready = True
            self._condition.notify_all()

    def read(self, count: int) -> None:
        while len(self.told) < count:
            with self._condition:
                while not self._ready:
                    self._condition.wait_until(None)
                self._ready = False
            self.told += events(self._watch)


@pytest.mark.parametrize("seed", range(20))
def test_reader_misses_nothing_of_concurrent_writers(seed: int) -> None:
    with Simulation(seed=seed, switch_chance=0.5) as sim:
        host = sim.host("apiserver")
        server = APIServer(host)
        reader = Reader(host, server)

        def write(writer: int) -> None:
            for number in range(5):
                Asking(server).ok("POST", LEASES, lease(f"l{writer}-{number}"))

        thread = host.spawn("reader", lambda: reader.read(20))
        for writer in range(4):
            host.spawn(f"writer-{writer}", functools.partial(write, writer))
        sim.settle()

        assert thread.join_until(host.monotonic())
        assert versions(reader.told) == sorted(set(versions(reader.told)))
