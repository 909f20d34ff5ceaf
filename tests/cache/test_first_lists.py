# SPDX-License-Identifier: Apache-2.0
"""First lists where memory is short: one after another, the largest last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Received
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS, SECRETS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NAMESPACES, NODES, Resource
from controller_runtime.cache.first_lists import TURN, Expected, in_turn, is_short, size_of
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.client.client import Client
from controller_runtime.client.decoding import Page
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream, TransportWrapper
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.storage.history import History

GIB = 1024**3
ONE = Received(b"12345", "a", "", "u", "1")


@pytest.mark.parametrize(("limit", "short"), [(None, False), (GIB, False), (GIB - 1, True), (GIB // 8, True)])
def test_memory_is_short_where_one_cache_is_worth_a_warning_sooner_than_usual(limit: int | None, short: bool) -> None:
    assert is_short(limit) is short


@given(st.lists(st.none() | st.integers(0, 10), max_size=8))
def test_the_largest_comes_last_and_what_is_unknown_after_it(sizes: list[int | None]) -> None:
    order = in_turn(Expected(place, size) for place, size in enumerate(sizes))
    assert sorted(order) == [*range(len(sizes))]
    ordered = [sizes[place] for place in order]
    known = [size for size in ordered if size is not None]
    assert ordered == sorted(known) + [None] * (len(ordered) - len(known))


@pytest.mark.parametrize(
    ("page", "size"),
    [
        (Page([], [], "1", ""), 0),
        (Page([ONE], [], "1", ""), 5),
        (Page([ONE], [], "1", "next", remaining=9), 50),
        (Page([ONE], [], "1", "next"), None),  # there are selectors
    ],
)
def test_the_size_of_a_collection_follows_from_its_first_object_and_the_number_of_others(
    page: Page, size: int | None
) -> None:
    assert size_of(page) == size


class Order(TransportWrapper):
    """Notes the kinds in the order in which their first lists begin, and those that were not filled by then."""

    def __init__(self, inner: InProcessTransport, stuck: str) -> None:
        super().__init__(inner)
        self.informers: Informers | None = None
        self.begun: list[tuple[str, float]] = []
        self.overlapped: list[str] = []
        self._stuck = stuck

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Pass on the question for the size, and the list of a kind that is not stuck."""
        if ("limit", "1") not in request.query:
            self._begin(request)
        return super().request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """Pass on the watch of a kind that is not stuck."""
        self._begin(request)
        return super().stream(request, deadline)

    def _begin(self, request: HTTPRequest) -> None:
        name = request.path.rpartition("/")[2]
        assert self.informers is not None
        if name not in [other for other, _ in self.begun]:
            filled = {each.resource.plural for each in self.informers if each.has_synced()}
            self.overlapped += [other for other, _ in self.begun if other not in filled]
            self.begun.append((name, self.inner.host.monotonic()))  # type: ignore[attr-defined]
        if name == self._stuck:
            raise ConnectionLost("stuck")


class Scene:
    """Some config maps, fewer Secrets and one node at a server, cached in that order by one program."""

    def __init__(self, sim: Simulation, *, one_by_one: bool, stuck: str = "") -> None:
        self.sim, host = sim, sim.host("r0")
        self.server = APIServer(sim.host("server"), history=History(changes=100))
        user = Client(host, InProcessTransport(host, self.server))
        user.create(NAMESPACES, {"metadata": {"name": "x"}})
        kinds: tuple[tuple[Resource[Any], int], ...] = ((CONFIG_MAPS, 30), (SECRETS, 5), (NODES, 1))
        for resource, count in kinds:
            for number in range(count):
                user.create(resource, {"metadata": {"name": f"m{number}", "namespace": "x"[: resource.namespaced]}})
        self.order, self.stop = Order(InProcessTransport(host, self.server), stuck), Stop(host)
        self.order.inner.host = host  # type: ignore[attr-defined]
        self.informers = Informers(host, self.order, CacheOptions(one_by_one=one_by_one))
        self.order.informers = self.informers
        for resource, _ in kinds:
            self.informers.of(Collection(resource))
        self.informers.start(self.stop)

    def end(self, seconds: float) -> None:
        self.sim.advance(seconds)
        self.stop.set()
        self.sim.settle()
        assert self.informers.join_until(None) == []
        self.server.close()


SEEDS = pytest.mark.parametrize("seed", range(3))


@pytest.fixture
def seeded(seed: int) -> Iterator[Simulation]:
    with Simulation(seed=seed) as sim:
        yield sim


@SEEDS
def test_a_list_begins_when_the_one_before_has_come_and_the_largest_is_the_last(seeded: Simulation) -> None:
    it = Scene(seeded, one_by_one=True)
    it.end(1.0)
    assert [name for name, _ in it.order.begun] == ["nodes", "secrets", "configmaps"]
    assert it.order.overlapped == []
    assert all(each.has_synced() for each in it.informers)


def test_where_memory_is_not_short_all_begin_as_they_were_asked_for(sim: Simulation) -> None:
    it = Scene(sim, one_by_one=False, stuck="configmaps")
    it.end(1.0)
    assert sorted(name for name, _ in it.order.begun) == ["configmaps", "nodes", "secrets"]
    assert {each.resource.plural for each in it.informers if each.has_synced()} == {"nodes", "secrets"}


def test_a_cache_that_does_not_fill_holds_up_the_others_for_a_while(sim: Simulation) -> None:
    it = Scene(sim, one_by_one=True, stuck="secrets")
    it.end(TURN + 1.0)
    (_, _), (stuck, began), (after, later) = it.order.begun
    assert (stuck, after) == ("secrets", "configmaps")
    assert TURN <= later - began < TURN + 1.0
    assert it.order.overlapped == ["secrets"]


def test_a_cache_that_is_released_holds_up_no_other(sim: Simulation) -> None:
    it = Scene(sim, one_by_one=True, stuck="secrets")
    sim.advance(1.0)
    it.informers.release(next(each for each in it.informers if each.resource == SECRETS))
    it.end(3.0)
    assert [name for name, _ in it.order.begun] == ["nodes", "secrets", "configmaps"]


def test_a_program_that_stops_meanwhile_ends(sim: Simulation) -> None:
    it = Scene(sim, one_by_one=True, stuck="nodes")
    it.end(1.0)
    assert [name for name, _ in it.order.begun] == ["nodes"]
