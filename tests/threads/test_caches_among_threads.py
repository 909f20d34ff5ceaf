# SPDX-License-Identifier: Apache-2.0
"""Reads of a cache, handlers and subscriptions, while another thread changes the cache."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from kit.crowd import SECONDS, together
from kit.nodes import added, cached, deleted, modified

from apimachinery.objects import Cached, ObjectKey, labels_of
from apimachinery.system import SystemHost
from controller_runtime.cache.delivery import Delivery
from controller_runtime.cache.relisting import RelistRequest
from controller_runtime.cache.store import Delta, Store
from controller_runtime.cache.union import Peers, Union

pytestmark = pytest.mark.ends

NAMES, CHANGES, READERS = [f"n{number}" for number in range(30)], 1_500, 4
ZONES = ("a", "b", "c")


def zones_of(obj: Cached) -> list[str]:
    return [labels_of(obj)["zone"]]


class Changing:
    """One writer of a store, as a reflector is one: it changes single objects, and now and then takes a whole list."""

    def __init__(self, host: SystemHost, peers: Peers | None = None) -> None:
        self.store = Store(host)
        self.store.add_index("zone", zones_of)
        self.delivery = Delivery(host, self.store, "nodes", peers)
        self.is_over = False

    def write(self, seed: int = 0) -> None:
        try:
            self._write(seed)
        finally:
            self.is_over = True

    def _write(self, seed: int) -> None:
        chance, version = random.Random(seed), 0
        held: dict[str, Cached] = {}
        for _ in range(CHANGES):
            version, name = version + 1, chance.choice(NAMES)
            new = cached(name, version, zone=chance.choice(ZONES))
            if chance.random() < 0.02:
                self.delivery.replace({each.plain_key: each for each in held.values()}, str(version))
            elif name in held and chance.random() < 0.3:
                self.delivery.apply(deleted(new))
                del held[name]
            else:
                self.delivery.apply(modified(new) if name in held else added(new))
                held[name] = new

    def read(self) -> None:
        before = 0
        while not self.is_over:
            version = int(self.store.version or 0)
            assert version >= before, "a cache goes back"
            before = version
            listed = self.store.list()
            assert len({each.plain_key for each in listed}) == len(listed)
            zone = random.choice(ZONES)
            assert all(zones_of(each) == [zone] for each in self.store.by_index("zone", zone))
            found = self.store.get(ObjectKey(random.choice(NAMES)))
            assert found is None or found.resource_version
            assert 0 <= len(self.store) <= len(NAMES)


class Mirror:
    """The state that follows from the deltas of one handler."""

    def __init__(self) -> None:
        self.objects: dict[str, Cached] = {}
        self.stays = True

    def take(self, delta: Delta) -> None:
        if delta.new is None:
            del self.objects[delta.object.name]
        else:
            assert delta.initial or (delta.old is None) == (delta.object.name not in self.objects)
            self.objects[delta.object.name] = delta.new


def test_reads_are_whole_and_handlers_miss_nothing_while_the_cache_changes() -> None:
    changing, mirrors = Changing(SystemHost()), list[tuple[Mirror, Callable[[], None]]]()

    def come_and_go() -> None:
        while not changing.is_over:
            mirror = Mirror()
            remove = changing.delivery.add(mirror.take, lambda: None)
            if random.random() < 0.5:
                remove()
            elif len(mirrors) < 20:
                mirrors.append((mirror, remove))
            else:
                remove()

    together(changing.write, *[changing.read] * READERS, come_and_go)

    held = {each.name: each for each in changing.store.list()}
    assert mirrors
    assert all(mirror.objects == held for mirror, _ in mirrors)


def test_stores_that_share_objects_change_and_are_read_at_the_same_time() -> None:
    host = SystemHost()
    peers = Peers(host)
    both = [Changing(host, peers) for _ in range(2)]
    peers.stores = tuple(each.store for each in both)
    union = Union(host, peers.stores)

    def read() -> None:
        while not all(each.is_over for each in both):
            listed = union.list()
            assert len({each.plain_key for each in listed}) == len(listed)
            union.get(ObjectKey(random.choice(NAMES)))
            union.by_index("zone", random.choice(ZONES))

    together(*(partial(each.write, 7) for each in both), read, both[0].read, both[1].read)

    first, second = ({each.name: each for each in one.store.list()} for one in both)
    assert first.keys() == second.keys()
    assert all(first[name].raw == second[name].raw for name in first)


class Stream:
    """A watch that knows whether it was closed."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_a_reason_to_list_again_is_found_or_closes_the_stream_and_is_not_overwritten() -> None:
    host = SystemHost()
    asked: list[Any] = [RelistRequest(host) for _ in range(500)]
    streams, found, step = [Stream() for _ in asked], list[bool](), threading.Barrier(3)

    def watch() -> None:
        for each, stream in zip(asked, streams, strict=True):
            step.wait(SECONDS)
            each.follow(stream)
            found.append(bool(each.why))

    def make(why: str) -> None:
        for each in asked:
            step.wait(SECONDS)
            each.make(why)

    together(watch, partial(make, "an audit"), partial(make, ""))

    assert all(is_found or stream.is_closed for is_found, stream in zip(found, streams, strict=True))
    assert {each.take() for each in asked} == {"an audit"}
    assert not any(bool(each.why) for each in asked)
