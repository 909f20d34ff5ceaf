# SPDX-License-Identifier: Apache-2.0
"""What becomes of connections after their exchange: kept for a while, so many at most, and for whom they were made."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from controller_runtime.client.http.connection import Connection, Exchange
from controller_runtime.client.http.pool import Pool
from controller_runtime.testing.simulation import SimulatedHost, Simulation

Make = Callable[[], Connection]


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def pool(host: SimulatedHost) -> Iterator[Pool]:
    made = Pool(host)
    yield made
    made.close_kept()


@pytest.fixture
def used(host: SimulatedHost, pool: Pool) -> Iterator[Make]:
    """Makes connections on which an exchange is over."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def make() -> Connection:
            connection = Connection(host, "me")
            connection.begin(host.monotonic() + 60.0)
            connection.dial(socket.AF_INET, socket.SOCK_STREAM, 0, listener.getsockname())
            pool.take_in_hand(connection)
            connection.exchange = Exchange.OVER
            return connection

        yield make


def test_the_latest_is_used_first(pool: Pool, used: Make) -> None:
    first, second = used(), used()
    pool.give_back(first)
    pool.give_back(second)

    assert [pool.kept("me"), pool.kept("me"), pool.kept("me")] == [second, first, None]
    first.close()
    second.close()


def test_what_was_idle_for_a_minute_is_not_used(sim: Simulation, pool: Pool, used: Make) -> None:
    connection = used()
    pool.give_back(connection)
    sim.advance(59.0)
    assert pool.kept("me") is connection

    pool.take_in_hand(connection)
    pool.give_back(connection)
    sim.advance(61.0)

    assert pool.kept("me") is None


def test_what_was_made_for_another_is_not_used(pool: Pool, used: Make) -> None:
    pool.give_back(used())

    assert pool.kept("another") is None


@pytest.mark.parametrize("exchange", [Exchange.BEGUN, Exchange.SENT, Exchange.HEARD, Exchange.OUT_OF_STEP])
def test_what_is_not_over_is_not_kept(pool: Pool, used: Make, exchange: Exchange) -> None:
    connection = used()
    connection.exchange = exchange

    pool.give_back(connection)

    assert pool.kept("me") is None


def test_so_many_are_kept_at_most(pool: Pool, used: Make) -> None:
    connections = [used() for _ in range(40)]

    for connection in connections:
        pool.give_back(connection)

    kept = [found for _ in connections if (found := pool.kept("me")) is not None]
    assert len(kept) == 32
    for connection in kept:
        connection.close()
