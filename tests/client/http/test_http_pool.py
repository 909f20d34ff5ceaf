# SPDX-License-Identifier: Apache-2.0
"""Connections are kept after their exchange for a limited time, in a limited number, and for one identity."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest

from controller_runtime.client.http.connection import Connection, Exchange
from controller_runtime.client.http.pool import Pool
from controller_runtime.client.http.send_limit import SendLimit
from controller_runtime.testing.simulation import SimulatedHost, Simulation

Make = Callable[[], Connection]


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("r0")


@pytest.fixture
def pool(host: SimulatedHost) -> Iterator[Pool]:
    made = Pool(host)
    yield made
    made.close_idle()


@pytest.fixture
def used(host: SimulatedHost, pool: Pool) -> Iterator[Make]:
    """Makes connections on which an exchange is over."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def make() -> Connection:
            connection = Connection(host, "me")
            connection.begin(SendLimit.of(host, host.monotonic() + 60.0))
            connection.dial(socket.AF_INET, socket.SOCK_STREAM, 0, listener.getsockname())
            pool.check_out(connection)
            connection.exchange = Exchange.OVER
            return connection

        yield make


def test_the_latest_is_used_first(pool: Pool, used: Make) -> None:
    first, second = used(), used()
    pool.check_in(first)
    pool.check_in(second)

    assert [pool.take_idle("me"), pool.take_idle("me"), pool.take_idle("me")] == [second, first, None]
    first.close()
    second.close()


def test_what_was_idle_for_a_minute_is_not_used(sim: Simulation, pool: Pool, used: Make) -> None:
    connection = used()
    pool.check_in(connection)
    sim.advance(59.0)
    assert pool.take_idle("me") is connection

    pool.check_out(connection)
    pool.check_in(connection)
    sim.advance(61.0)

    assert pool.take_idle("me") is None


def test_what_was_made_for_another_is_not_used(pool: Pool, used: Make) -> None:
    pool.check_in(used())

    assert pool.take_idle("another") is None


@pytest.mark.parametrize("exchange", [Exchange.BEGUN, Exchange.SENT, Exchange.ANSWERING, Exchange.OUT_OF_STEP])
def test_what_is_not_over_is_not_kept(pool: Pool, used: Make, exchange: Exchange) -> None:
    connection = used()
    connection.exchange = exchange

    pool.check_in(connection)

    assert pool.take_idle("me") is None


def test_so_many_are_kept_at_most(pool: Pool, used: Make) -> None:
    connections = [used() for _ in range(40)]

    for connection in connections:
        pool.check_in(connection)

    idle = [found for _ in connections if (found := pool.take_idle("me")) is not None]
    assert len(idle) == 32
    for connection in idle:
        connection.close()
