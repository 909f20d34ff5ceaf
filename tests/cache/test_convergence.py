# SPDX-License-Identifier: Apache-2.0
"""The copy ends equal to the server after any sequence of faults, and the reported changes add up to it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.cache.compressing import small_in_half
from kit.cache.model import ModelServer, State
from kit.nodes import content, contents

from apimachinery.objects import Cached, ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.api.versions import compare_versions
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.store import Delta
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.testing.simulation import Simulation

QUIET = 1200.0
"""Seconds without faults after which everything must be in step: the longest backoff and two silences."""

NAMES = st.sampled_from("abcde")
BREAKS = st.tuples(st.integers(0, 4), st.sampled_from([0, 410, 429, 500]))
ACTS = st.one_of(
    st.tuples(st.just("put"), NAMES),
    st.tuples(st.just("delete"), NAMES),
    st.tuples(st.just("spoil"), NAMES),
    st.tuples(st.just("miss"), st.tuples(st.lists(NAMES, min_size=1, max_size=4), st.booleans())),
    st.tuples(st.just("refuse"), st.sampled_from([0, 410, 422, 429, 500])),
    st.tuples(st.just("break"), BREAKS),
    st.tuples(st.just("pass"), st.sampled_from([0.0, 0.5, 2.0, 5.0, 100.0, 700.0])),
    st.tuples(st.sampled_from(["cut", "compact", "deaf"]), st.none()),
)


class Ledger:
    """Adds up the reported changes; each must begin where the last one ended."""

    def __init__(self) -> None:
        self.copy: dict[ObjectKey, Cached] = {}

    def __call__(self, delta: Delta) -> None:
        assert content(self.copy.get(delta.key)) == content(delta.old), "a gap or a repetition"
        assert delta.old is None or delta.new is None or delta.old.raw != delta.new.raw, "told of no change"
        if delta.new is None:
            del self.copy[delta.key]
        else:
            self.copy[delta.key] = delta.new


def act(server: ModelServer, sim: Simulation, what: str, how: object) -> None:
    match what, how:
        case "put", str(name):
            server.put(name)
        case "delete", str(name):
            server.delete(name)
        case "spoil", str(name):
            server.spoil(name)
        case "miss", (list(names), bool(forgets)):  # changes while no watch is open
            server.cut()
            for name in names:
                (server.delete if name in server.present else server.put)(name)
            server.compacted = server.version if forgets else server.compacted
        case "break", (int(after), int(code)):
            server.breaks.append((after, code))
        case "refuse", int(code):
            server.refuses.append(code)
        case "pass", float(seconds):
            sim.advance(seconds)
        case "compact", _:
            server.compacted = server.version
        case "deaf", _:
            server.deaf = not server.deaf
        case _:
            server.cut()


def held(informer: Informer) -> State:
    return {obj.name: int(obj.resource_version) for obj in informer.store.list()}


def of_those_that_can_be_read(server: ModelServer, state: State) -> State:
    return {name: v for name, v in state.items() if (name, server.present.get(name)) not in server.unreadable}


def play(seed: int, acts: list[tuple[str, object]], *, streaming: bool, go_back: int = 0) -> None:
    with Simulation(seed=seed) as sim:
        host = sim.host("r0")
        server = ModelServer(host)
        source = ListWatch(host, server, Collection(NODES), page_size=2)
        informer = Informer(host, source, CacheOptions(streaming=streaming, compress=small_in_half(seed)))
        stop = Stop(host)
        early, late, slow = Ledger(), Ledger(), Ledger()
        informer.add_handler(early)
        informer.subscribe(slow, name="slow")
        thread = host.spawn("reflector", lambda: informer.run(stop))
        versions = [""]

        @sim.check
        def version_never_goes_back() -> None:
            assert go_back or compare_versions(informer.store.version, versions[-1]) >= 0
            versions[-1] = informer.store.version

        for what, how in acts:
            act(server, sim, what, how)
        informer.add_handler(late)
        server.deaf = False
        if go_back:
            sim.advance(QUIET)
            server.restore(max(min(server.states), server.version - go_back))
        sim.advance(QUIET)

        assert of_those_that_can_be_read(server, held(informer)) == of_those_that_can_be_read(server, server.present)
        if server.mend():
            sim.advance(QUIET)
        assert held(informer) == server.present
        for ledger in (early, late, slow):
            assert contents(ledger.copy.values()) == contents(informer.store.list())
        stop.set()
        sim.settle()
        assert thread.join_until(None)


@pytest.mark.scenario("SI-23")
@settings(deadline=None, max_examples=150)
@given(seed=st.integers(0, 1000), acts=st.lists(ACTS, max_size=25), streaming=st.booleans())
def test_copy_ends_equal_to_the_server_and_the_deltas_add_up_to_it(
    seed: int, acts: list[tuple[str, object]], streaming: bool
) -> None:
    """The store ends equal to the source after cuts, errors, refusals, compactions, silences and garbage."""
    play(seed, acts, streaming=streaming)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 1000), acts=st.lists(ACTS, max_size=15), streaming=st.booleans(), go_back=st.integers(1, 9))
def test_copy_follows_a_server_whose_data_went_back(
    seed: int, acts: list[tuple[str, object]], streaming: bool, go_back: int
) -> None:
    play(seed, acts, streaming=streaming, go_back=go_back)
