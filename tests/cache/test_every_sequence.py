# SPDX-License-Identifier: Apache-2.0
"""Any sequence of writes, cuts, forgotten versions and lists, against the real server core with a short memory.

After any sequence the copy ends equal to the server, and the reported changes add up to it.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from kit.cache.compressing import small_in_half
from kit.nodes import content, contents

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.decoding import Decoding
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.testing.faults import (
    Answered,
    CutReply,
    CutStream,
    Fault,
    FaultyTransport,
    Refused,
    SilentStream,
)
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

pytestmark = pytest.mark.ends

QUIET = 1200.0
"""Seconds without faults after which everything must be in step: the longest backoff and two silences."""

NAMES = st.sampled_from("abcd")


def answered(code: int, reason: str) -> Answered:
    body = f'{{"kind":"Status","apiVersion":"v1","reason":"{reason}","code":{code}}}'
    return Answered(HTTPResponse(code, {}, body.encode()))


FAULTS = st.one_of(
    st.sampled_from(
        [
            Refused(),
            CutReply(),
            answered(410, "Expired"),
            answered(429, "TooManyRequests"),
            answered(500, "InternalError"),
            answered(504, "Timeout"),
            answered(422, "Invalid"),
        ]
    ),
    st.integers(0, 3).map(CutStream),
    st.integers(0, 3).map(SilentStream),
)


class Ledger:
    """Adds up the reported changes."""

    def __init__(self) -> None:
        self.copy: dict[ObjectKey, Cached] = {}

    def __call__(self, delta: Delta) -> None:
        assert content(self.copy.get(delta.key)) == content(delta.old), "a gap or a repetition"
        assert delta.old is None or delta.new is None or delta.old.raw != delta.new.raw, "told of no change"
        if delta.new is None:
            del self.copy[delta.key]
        else:
            self.copy[delta.key] = delta.new


class CuttableTransport:
    """A transport whose streams can be cut while they are read."""

    def __init__(self, inner: Transport) -> None:
        self.request = inner.request
        self.close = inner.close
        self._inner = inner
        self._streams: list[CuttableStream] = []

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        self._streams.append(CuttableStream(self._inner.stream(request, deadline)))
        return self._streams[-1]

    def cut(self) -> None:
        for stream in self._streams:
            stream.is_cut = True
            stream.close()
        self._streams.clear()


class CuttableStream(Stream):
    """A stream of the transport that can be cut."""

    def __init__(self, inner: Stream) -> None:
        self.response = inner.response
        self.close = inner.close  # type: ignore[method-assign]
        self.is_cut = False
        self._inner = inner

    def read(self, deadline: float) -> list[bytes] | None:
        lines = self._inner.read(deadline)
        if self.is_cut:
            raise ConnectionLost("cut")
        return lines


class EverySequence(RuleBasedStateMachine):
    """A server, a cache that follows it, and a transport that fails on command."""

    @initialize(
        seed=st.integers(0, 1000),
        changes=st.sampled_from([1, 3, 1000]),
        streaming=st.booleans(),
        page=st.integers(1, 3),
    )
    def begin(self, seed: int, changes: int, streaming: bool, page: int) -> None:
        self.sim = Simulation(seed=seed)
        self.sim.__enter__()
        self.host = self.sim.host("r0")
        self.server = APIServer(self.sim.host("server"), history=History(changes=changes))
        straight = InProcessTransport(self.host, self.server)
        self.client = Client(self.host, straight)
        self.faults: list[Fault] = []
        self.streams = CuttableTransport(straight)
        broken = FaultyTransport(
            self.host, self.streams, lambda number, request: self.faults.pop(0) if self.faults else None
        )
        options = CacheOptions(streaming=streaming, compress=small_in_half(seed))
        self.informers = Informers(self.host, broken, options)
        self.informer = self.informers.of(Collection(NODES))
        self.informer.reflector._source = ListWatch(self.host, broken, Collection(NODES), page_size=page)
        self.stop = Stop(self.host)
        self.handler, self.subscriber, self.late = Ledger(), Ledger(), list[Ledger]()
        self.informer.add_handler(self.handler)
        self.informer.subscribe(self.subscriber, name="subscriber")
        self.informers.start(self.stop)
        self.version = ""

    @rule(name=NAMES)
    def put(self, name: str) -> None:
        if self.exists(name):
            labels = {"at": str(self.server.storage.version)}
            self.client.patch(NODES, ObjectKey(name), {"metadata": {"labels": labels}})
        else:
            self.client.create(NODES, {"metadata": {"name": name}})

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if self.exists(name):
            self.client.delete(NODES, ObjectKey(name))

    @rule(name=NAMES)
    def replace_by_another(self, name: str) -> None:
        self.delete(name)
        self.put(name)

    @rule(names=st.lists(NAMES, min_size=2, max_size=6))
    def miss_much(self, names: list[str]) -> None:
        """Write many times while no watch is open; with a short memory these are too many."""
        self.faults.append(Refused())
        self.streams.cut()
        for name in names:
            (self.delete if self.exists(name) else self.put)(name)

    @rule(faults=st.lists(FAULTS, min_size=1, max_size=4))
    def break_what_comes(self, faults: list[Fault]) -> None:
        self.faults += faults

    @rule(seconds=st.sampled_from([0.0, 0.5, 5.0, 70.0, 160.0, 700.0]))
    def pass_time(self, seconds: float) -> None:
        self.sim.advance(seconds)

    @rule()
    @precondition(lambda self: len(self.late) < 3)
    def come_late(self) -> None:
        self.late.append(Ledger())
        self.informer.add_handler(self.late[-1])

    @invariant()
    def never_back(self) -> None:
        if hasattr(self, "informer"):
            assert compare_versions(self.informer.store.version, self.version) >= 0
            self.version = self.informer.store.version
            assert self.stop.failure is None

    def exists(self, name: str) -> bool:
        return self.server.storage.get("nodes", name) is not None

    def teardown(self) -> None:
        if not hasattr(self, "sim"):
            return
        try:
            self.faults.clear()
            self.sim.advance(QUIET)
            held = {cached.key: cached for cached in self.informer.store.list()}
            assert {(c.name, c.uid, c.resource_version, c.raw) for c in held.values()} == self.served()
            for ledger in (self.handler, self.subscriber, *self.late):
                assert contents(ledger.copy.values()) == contents(held.values())
            assert self.informer.last_error == ""
        finally:
            self.stop.set()
            self.server.close()
            self.sim.__exit__(None, None, None)

    def served(self) -> set[tuple[Any, ...]]:
        answer = self.server.handle(HTTPRequest("GET", "/api/v1/nodes"))
        assert isinstance(answer, HTTPResponse)
        return {(c.name, c.uid, c.resource_version, c.raw) for c in Decoding(NODES).page(answer.body).items}


EverySequence.TestCase.settings = settings(deadline=None, max_examples=40, stateful_step_count=25)
TestEverySequence = EverySequence.TestCase
