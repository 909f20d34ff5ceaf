# SPDX-License-Identifier: Apache-2.0
"""Two members that believe at once that they publish cannot both: an assignment is written over the one it follows."""

from __future__ import annotations

from functools import partial

import pytest

from apimachinery.errors import AlreadyExists, Conflict
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import TransportWrapper
from controller_runtime.ring.assignment import NOBODY
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.member import RingMember
from controller_runtime.ring.objects import RingObjects
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.publisher import RESTS
from controller_runtime.ring.records import Assignment
from controller_runtime.ring.slots import ALL, SLOTS
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

CONFIG = RingConfig(name="ring", namespace="default")
NOTHING = Assignment(0, (NOBODY,) * SLOTS, (0,) * SLOTS)


def publishers(sim: Simulation) -> tuple[SimulatedHost, list[RingObjects]]:
    """Return a host, and two members on it that reach one server."""
    host, server = sim.host("r0"), APIServer(sim.host("server"))
    clients = [Client(host, InProcessTransport(host, server)) for _ in range(2)]
    configs = [RingConfig(name="ring", namespace="default", identity=name) for name in ("a", "b")]
    return host, [RingObjects(host, client, config) for client, config in zip(clients, configs, strict=True)]


def test_of_two_that_publish_at_once_one_is_refused_and_the_other_is_followed(sim: Simulation) -> None:
    host, (first, second) = publishers(sim)
    deadline = host.monotonic() + 10.0
    seen = [each.read_ring(deadline) for each in (first, second)]
    first.publish(seen[0], NOTHING.followed_by(("a",) * SLOTS), deadline)
    with pytest.raises(AlreadyExists):
        second.publish(seen[1], NOTHING.followed_by(("b",) * SLOTS), deadline)

    seen = [each.read_ring(deadline) for each in (first, second)]
    assert seen[0].assignment is not None
    following = [seen[0].assignment.followed_by((name,) * SLOTS) for name in ("a", "b")]
    second.publish(seen[1], following[1], deadline)
    with pytest.raises(Conflict):
        first.publish(seen[0], following[0], deadline)

    found = first.read_ring(deadline).assignment
    assert found is not None
    assert (found.epoch, {*found.owners}) == (2, {"b"})


def test_a_renewal_counts_as_one_although_a_restored_server_gives_its_version_again(sim: Simulation) -> None:
    _, (first, _) = publishers(sim)
    lease = {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"renewTime": "1", "leaseDurationSeconds": 15}}

    seen = first.sighting("b", lease, 100.0)
    same = seen.again(first.sighting("b", lease, 110.0))
    renewed = seen.again(first.sighting("b", {**lease, "spec": {**lease["spec"], "renewTime": "2"}}, 110.0))

    assert (same.seen_at, renewed.seen_at) == (100.0, 110.0)


def test_an_assignment_that_is_made_again_has_a_greater_incarnation_although_the_wall_clock_was_set_back(
    sim: Simulation,
) -> None:
    host, (first, _) = publishers(sim)
    deadline = host.monotonic() + 10.0
    sim.jump(host, 86_400.0)
    first.publish(first.read_ring(deadline), NOTHING.followed_by(("a",) * SLOTS), deadline)
    before = first.read_ring(deadline).assignment
    assert before is not None

    sim.jump(host, -86_400.0)
    client = Client(host, first._client.transport)
    client.delete(CONFIG_MAPS, CONFIG.map_key)
    first.publish(first.read_ring(deadline), NOTHING.followed_by(("a",) * SLOTS), deadline)

    after = first.read_ring(deadline).assignment
    assert after is not None
    assert after.uid != before.uid
    assert after.incarnation > before.incarnation


class Refusing(TransportWrapper):
    """A transport of which a policy refuses each write of the assignment."""

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method in ("PUT", "POST") and "/configmaps" in request.path:
            return HTTPResponse(403, {}, b'{"kind":"Status","reason":"Forbidden","code":403,"message":"no"}')
        return self.inner.request(request, deadline)


def test_a_member_that_cannot_publish_leaves_it_to_the_next_one(sim: Simulation) -> None:
    """The first by name would else keep all others waiting for their slots."""
    handler, owned = APIServer(sim.host("server")), {}
    for name in ("a", "b"):
        host, wrap = sim.host(name), Refusing if name == "a" else TransportWrapper
        owned[name] = Ownership(host)
        config = RingConfig(name="ring", namespace="default", identity=name)
        member = RingMember(host, Client(host, wrap(InProcessTransport(host, handler))), config, owned[name])
        host.spawn("member", partial(member.run, Stop(host)))

    sim.advance(2 * CONFIG.lease_duration)
    assert not owned["b"].owned
    sim.advance(CONFIG.lease_duration)
    assert owned["b"].owned == ALL
    sim.advance(RESTS * CONFIG.lease_duration)
    assert owned["a"].owned | owned["b"].owned == ALL
