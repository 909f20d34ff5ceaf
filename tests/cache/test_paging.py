# SPDX-License-Identifier: Apache-2.0
"""Whole lists by pages: all objects come, in order, and no page is requested that is not used."""

from __future__ import annotations

import itertools

import pytest
from kit.cache.model import ModelServer

from apimachinery.errors import Expired
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.testing.simulation import Simulation


def served(sim: Simulation, count: int, page_size: int) -> tuple[ModelServer, ListWatch]:
    host = sim.host("r0")
    server = ModelServer(host)
    for index in range(count):
        server.put(f"n{index:03}")
    return server, ListWatch(host, server, Collection(NODES), page_size=page_size)


@pytest.mark.scenario("PG-01")
@pytest.mark.parametrize(("count", "pages"), [(0, 1), (9, 1), (10, 1), (11, 2), (21, 3)])
def test_all_objects_arrive_in_order_in_as_few_pages_as_hold_them(sim: Simulation, count: int, pages: int) -> None:
    """With pages of 10, lists of 0, 9, 10, 11 and 21 objects are complete, and only the last two are paged."""
    _, source = served(sim, count, 10)

    found = [*source.pages()]

    assert [obj.name for page in found for obj in page.items] == [f"n{index:03}" for index in range(count)]
    assert len(found) == pages
    assert len({page.version for page in found}) == 1


@pytest.mark.scenario("PG-04")
def test_no_page_is_asked_for_before_it_is_used(sim: Simulation) -> None:
    """A consumer that stops mid-way has received the objects before once, in order, and causes no further request."""
    server, source = served(sim, 50, 10)

    found = [*itertools.islice(source.pages(), 2)]
    server.refuses.append(410)

    assert [obj.name for page in found for obj in page.items] == [f"n{index:03}" for index in range(20)]
    assert server.refuses == [410]


def test_list_whose_beginning_was_forgotten_says_so(sim: Simulation) -> None:
    server, source = served(sim, 20, 10)
    pages = source.pages()
    next(pages)

    server.put("later")
    server.compacted = server.version

    with pytest.raises(Expired):
        next(pages)
