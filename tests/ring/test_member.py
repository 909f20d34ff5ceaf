# SPDX-License-Identifier: Apache-2.0
"""A member on a server that answers late, loses answers, or shows what somebody else wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.client.transport import Transport, TransportWrapper
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.member import RingMember
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.records import CLAIM, RING_LABEL, Assignment, Claim, annotations_of
from controller_runtime.ring.slots import ALL, SLOTS
from controller_runtime.ring.token import RingToken
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from embedded_apiserver.server import APIServer

CONFIG = RingConfig(name="ring", namespace="default", identity="me")
READY = 20.0


class Weather(TransportWrapper):
    """A transport with an accident: a function that is called around each update and each deletion of the lease."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.accident: Callable[[Callable[[], HTTPResponse]], HTTPResponse] = lambda send: send()

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        if request.method in ("PUT", "DELETE") and "/leases/" in request.path:
            return self.accident(lambda: self.inner.request(request, deadline))
        return self.inner.request(request, deadline)


@attrs.define
class Bench:
    sim: Simulation
    host: SimulatedHost
    weather: Weather
    member: RingMember
    ownership: Ownership
    user: Client
    stop: Stop


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Simulation(3) as sim:
        server, host, user = sim.host("server"), sim.host("me"), sim.host("user")
        api = APIServer(server)
        weather = Weather(InProcessTransport(host, api))
        ownership = Ownership(host)
        member = RingMember(host, Client(host, weather), CONFIG, ownership)
        stop = Stop(host)
        host.spawn("member", lambda: member.run(stop))
        sim.advance(READY)
        assert ownership.owned == ALL
        yield Bench(sim, host, weather, member, ownership, Client(user, InProcessTransport(user, api)), stop)


def token(bench: Bench) -> RingToken | None:
    """Return the token with which work for one slot would begin."""
    turn = bench.ownership.turn(7)
    if turn is None:
        return None
    bench.ownership.end(turn)
    return turn.token


def lose_answers(send: Callable[[], HTTPResponse]) -> HTTPResponse:
    send()
    raise ConnectionLost("no answer in time")


def test_renewals_that_land_count_although_their_answers_are_lost(bench: Bench) -> None:
    bench.weather.accident = lose_answers

    bench.sim.advance(60.0)

    assert bench.ownership.owned == ALL
    while not bench.member.last_error:  # each second turn reads that the write before has landed
        bench.sim.advance(0.5)
    assert bench.member.last_error == "no answer in time"


def test_a_member_that_leaves_says_so_and_leaves_its_lease_to_others(bench: Bench) -> None:
    bench.stop.set()
    bench.sim.advance(5.0)

    (lease,) = bench.user.list(LEASES, "default", view=dict)
    assert Claim.from_text(annotations_of(lease)[CLAIM]).has_left
    assert bench.sim.threads(bench.host) == []


def test_a_member_that_leaves_claims_the_slots_with_work_in_hand_until_it_ends(bench: Bench) -> None:
    turn = bench.ownership.turn(7)
    assert turn is not None

    bench.stop.set()
    bench.sim.advance(5.0)
    (lease,) = bench.user.list(LEASES, "default", view=dict)
    claim = Claim.from_text(annotations_of(lease)[CLAIM])
    assert (claim.slots, claim.is_leaving) == (1 << 7, True)
    bench.ownership.end(turn)
    bench.sim.advance(5.0)
    (lease,) = bench.user.list(LEASES, "default", view=dict)
    assert Claim.from_text(annotations_of(lease)[CLAIM]).has_left


def test_a_renewal_of_an_ended_membership_that_lands_late_gives_the_new_one_nothing(bench: Bench) -> None:
    late: list[Callable[[], HTTPResponse]] = []

    def keep(send: Callable[[], HTTPResponse]) -> HTTPResponse:
        late.append(send)
        raise ConnectionLost("no answer in time")

    bench.weather.accident = keep
    while not late:
        bench.sim.advance(0.1)
    bench.user.delete(CONFIG_MAPS, CONFIG.map_key)
    while bench.ownership.owned:
        bench.sim.advance(0.1)
    late[0]()

    for _ in range(40):
        bench.sim.advance(0.1)
        assert (bench.member.state.text, bench.ownership.owned) == ("new", 0)


def test_a_slot_that_is_given_back_while_it_drains_is_owned_again(bench: Bench) -> None:
    turn, ring = bench.ownership.turn(7), CONFIG.map_key
    assert turn is not None
    given = Assignment.of(bench.user.get(CONFIG_MAPS, ring, dict)["data"], "uid")
    me, alive = bench.member.identity, Claim(epoch=9, is_ready=True).to_text()
    other = {"metadata": {"name": "aaa", "labels": {RING_LABEL: "ring"}, "annotations": {CLAIM: alive}}}
    spec = {"holderIdentity": "aaa", "leaseDurationSeconds": 3600, "renewTime": "2026-01-01T00:00:00.000000Z"}
    bench.user.create(LEASES, {**other, "spec": spec}, "default")  # it publishes, being the first by name
    away = given.followed_by(("aaa",) * 128 + (me,) * 128)
    bench.user.patch(CONFIG_MAPS, ring, {"data": away.data()})
    bench.sim.advance(3.0)
    assert not bench.ownership.owns(7)

    bench.user.patch(CONFIG_MAPS, ring, {"data": away.followed_by((me,) * SLOTS).data()})
    bench.sim.advance(3.0)
    assert bench.ownership.owns(7)


def test_a_slot_comes_back_only_when_its_claim_is_stored_although_an_older_write_that_drops_it_lands_late(
    bench: Bench,
) -> None:
    """Step by step: drop a slot, lose the answer; be given it back; then the first write lands."""
    late: list[Callable[[], HTTPResponse]] = []

    def keep(send: Callable[[], HTTPResponse]) -> HTTPResponse:
        late.append(send)
        raise ConnectionLost("no answer in time")

    def land_the_older_first(send: Callable[[], HTTPResponse]) -> HTTPResponse:
        late.pop(0)()
        bench.weather.accident = keep
        return send()

    me, ring, alive = bench.member.identity, CONFIG.map_key, Claim(epoch=9, is_ready=True).to_text()
    other = {"metadata": {"name": "aaa", "labels": {RING_LABEL: "ring"}, "annotations": {CLAIM: alive}}}
    spec = {"holderIdentity": "aaa", "leaseDurationSeconds": 3600, "renewTime": "2026-01-01T00:00:00.000000Z"}
    bench.user.create(LEASES, {**other, "spec": spec}, "default")  # it publishes, being the first by name
    data = bench.user.get(CONFIG_MAPS, ring, dict)["data"]
    given = Assignment.of(data, "uid")
    away = given.followed_by(("aaa",) * 128 + (me,) * 128)
    bench.weather.accident = keep
    bench.user.patch(CONFIG_MAPS, ring, {"data": away.data()})
    while not late:
        bench.sim.advance(0.1)
    del late[1:]
    bench.weather.accident = land_the_older_first
    bench.user.patch(CONFIG_MAPS, ring, {"data": away.followed_by((me,) * SLOTS).data()})

    for _ in range(80):
        bench.sim.advance(0.05)
        stored = bench.user.get(LEASES, ObjectKey(bench.member.identity, "default"), dict)
        claimed = Claim.from_text(annotations_of(stored)[CLAIM]).slots
        assert not bench.ownership.owned & ~claimed, "it owns what its stored lease does not claim"
    assert late, "the sequence did not come to its end"


def test_the_deadline_counts_from_when_a_renewal_was_sent(bench: Bench) -> None:
    sent = []

    def late_and_the_last(send: Callable[[], HTTPResponse]) -> HTTPResponse:
        if sent:
            raise ConnectionLost("refused")
        sent.append(bench.host.monotonic())
        answer = send()
        Stop(bench.host).wait(2.0)
        return answer

    bench.weather.accident = late_and_the_last
    while bench.ownership.owned:
        bench.sim.advance(0.1)

    assert bench.host.monotonic() - sent[0] == pytest.approx(CONFIG.renew_deadline, abs=0.2)


def test_an_assignment_that_cannot_be_read_is_replaced_and_nothing_is_lost(bench: Bench) -> None:
    bench.user.patch(CONFIG_MAPS, CONFIG.map_key, {"data": {"owners": "?"}})

    bench.sim.advance(3.0)

    assert bench.ownership.owned == ALL
    data: dict[str, Any] = bench.user.get(CONFIG_MAPS, CONFIG.map_key, dict)["data"]
    assert data["epoch"] == "2"


def test_what_others_add_to_the_lease_stays_there_and_does_no_harm(bench: Bench) -> None:
    lease = ObjectKey(bench.member.identity, "default")
    bench.user.patch(LEASES, lease, {"metadata": {"annotations": {"somebody": "was here"}}})

    bench.sim.advance(15.0)

    assert bench.ownership.owned == ALL
    assert annotations_of(bench.user.get(LEASES, lease, dict))["somebody"] == "was here"


@pytest.mark.parametrize("what", ["the ring", "the lease", "the claim", "an older lease", "an older assignment"])
@pytest.mark.scenario("RG-08")
def test_a_server_that_shows_something_else_ends_the_membership_until_a_lease_has_passed(
    bench: Bench, what: str
) -> None:
    lease, ring = ObjectKey(bench.member.identity, "default"), CONFIG.map_key
    before = token(bench)
    match what:
        case "the ring":
            bench.user.delete(CONFIG_MAPS, ring)
        case "the lease":
            bench.user.delete(LEASES, lease)
        case "an older lease":  # as after a restored backup: with the claim, and the stamp of an earlier renewal
            older = bench.user.get(LEASES, lease, dict)
            bench.sim.advance(5.0)
            assert bench.user.get(LEASES, lease, dict)["spec"] != older["spec"]
            bench.user.patch(LEASES, lease, {"spec": older["spec"]})
        case "an older assignment":
            bench.user.patch(CONFIG_MAPS, ring, {"data": Assignment(0, ("",) * SLOTS, (0,) * SLOTS).data()})
        case _:
            bench.user.patch(LEASES, lease, {"metadata": {"annotations": {CLAIM: None}}})

    bench.sim.advance(2.5)
    assert bench.ownership.owned == 0
    bench.sim.advance(11.0)
    assert bench.ownership.owned == 0
    bench.sim.advance(READY)
    assert bench.ownership.owned == ALL
    after = token(bench)
    assert before is not None
    assert after is not None
    assert after.order > before.order
    assert after.incarnation > before.incarnation
    settled = str(token(bench))
    bench.sim.advance(READY)
    assert str(token(bench)) == settled, "each look publishes again"


def test_a_member_whose_machine_was_suspended_beyond_its_deadline_owns_nothing_when_it_wakes(bench: Bench) -> None:
    term, began = bench.ownership.term, bench.host.monotonic()

    bench.sim.suspend(bench.host, CONFIG.renew_deadline)
    bench.sim.advance(CONFIG.renew_deadline)

    assert bench.host.monotonic() - began < 0.1
    assert bench.ownership.owned == 0
    bench.sim.advance(READY)
    assert bench.ownership.term is not term
    assert bench.ownership.owned == ALL


@pytest.mark.parametrize(
    ("seconds", "begins_again"),
    [
        pytest.param(5.5, True, id="further than the margin between a deadline and a lease"),
        pytest.param(4.5, False, id="less far than that"),
        pytest.param(-3600.0, False, id="backwards"),
    ],
)
def test_a_member_begins_again_once_its_wall_clock_ran_ahead(bench: Bench, seconds: float, begins_again: bool) -> None:
    """A virtual machine that was paused shows it by its wall clock alone, once that was set right."""
    term = bench.ownership.term

    bench.sim.jump(bench.host, seconds)
    bench.sim.advance(2 * CONFIG.retry_period)

    assert (bench.ownership.term is not term) == begins_again
    bench.sim.advance(CONFIG.lease_duration + CONFIG.retry_period)
    assert bench.ownership.owned == ALL, "a clock that was set stops a ring for one lease"
