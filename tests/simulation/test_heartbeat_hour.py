# SPDX-License-Identifier: Apache-2.0
"""One hour of hollow nodes, whose requests a transport counts; `tox -e simulation` runs five thousand nodes."""

from __future__ import annotations

import attrs
import pytest

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Stream, Transport
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import Simulation
from controllers.hollow.nodes import HollowNodes
from embedded_apiserver.server import APIServer

HOUR = 3600.0
RENEWALS = range(346, 361)
"""Numbers of renewals of one lease in an hour: one every 10.0 to 10.4 s."""
POSTS = range(11, 13)
"""Numbers of posts of one status in an hour: one every 300 s."""

pytestmark = pytest.mark.once


@attrs.define
class Beats:
    """The number of writes of one object, and the shortest and longest seconds between two of them."""

    count: int = 0
    last: float | None = None
    shortest: float = HOUR
    longest: float = 0.0

    def beat(self, at: float) -> None:
        if self.last is not None:
            self.shortest = min(self.shortest, at - self.last)
            self.longest = max(self.longest, at - self.last)
        self.last = at
        self.count += 1


class CountingTransport:
    """A transport around another one that measures requests by method and path. Threads: those of one simulation."""

    def __init__(self, host: Host, inner: Transport) -> None:
        self.beats: dict[tuple[str, str], Beats] = {}
        self._host = host
        self._inner = inner

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        self.beats.setdefault((request.method, request.path), Beats()).beat(self._host.monotonic())
        return self._inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self._inner.stream(request, deadline)

    def close(self) -> None:
        self._inner.close()

    def of(self, method: str, kind: str) -> list[Beats]:
        return [beats for (asked, path), beats in self.beats.items() if asked == method and kind in path]


@pytest.mark.parametrize(
    "count", [20, pytest.param(5000, marks=[pytest.mark.long, pytest.mark.timeout(3000)])], ids=lambda count: str(count)
)
def test_in_an_hour_every_lease_is_renewed_every_10_seconds_and_nothing_else_is_asked(count: int) -> None:
    with Simulation(0, switch_chance=0.05) as sim:
        host = sim.host("hollow")
        server = APIServer(sim.host("server"))
        transport = CountingTransport(host, InProcessTransport(host, server))
        manager = Manager(host, transport)  # no `EmbeddedCluster`, which would keep two million requests
        # Answers take no time here, so one worker is enough; more would only make the simulation slower.
        manager.add(HollowNodes(host, manager.client, count, nodes=manager.informer(NODES), workers=1))
        stop = Stop(host)
        program = host.spawn("manager", lambda: manager.run(stop))
        sim.advance(15.0)
        transport.beats.clear()

        sim.advance(HOUR)

        stop.set()
        program.join_until(None)

    renewals, posts = transport.of("PUT", "/leases/"), transport.of("PATCH", "/nodes/")
    assert len(renewals) == len(posts) == count
    assert all(each.count in RENEWALS for each in renewals)
    assert min(each.shortest for each in renewals) >= 10.0
    assert max(each.longest for each in renewals) < 10.41
    assert all(each.count in POSTS for each in posts)
    assert len(transport.beats) == 2 * count, "nothing is read, and nothing made"
