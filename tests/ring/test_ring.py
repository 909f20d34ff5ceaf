# SPDX-License-Identifier: Apache-2.0
"""Managers that share their work by a ring: each object is reconciled by one of them, whoever comes, goes or dies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kit.ring.ringing import JOIN, OBJECTS, Replicas

from apimachinery.errors import LeadershipLost, UsageError
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, NAMESPACES, NODES
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.body_requests import BodyRequests
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.client.client import Client
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.ring.ownership import RingTransport, Turn
from controller_runtime.ring.records import CLAIM, Assignment, annotations_of
from controller_runtime.ring.slots import ALL, SLOTS
from controller_runtime.testing.simulation import Simulation
from controller_runtime.testing.simulation.network_transport import NetworkTransport


@pytest.fixture
def replicas() -> Iterator[Replicas]:
    with Simulation(7) as sim:
        yield Replicas(sim)


@pytest.mark.scenario("RG-01")
def test_replicas_share_the_objects_and_each_is_seen_by_one(replicas: Replicas) -> None:
    for name in ("a", "b", "c"):
        replicas.start(name)
    replicas.sim.advance(JOIN)

    assert sorted(replicas.owners().values()) == [85, 85, 86]
    assert {name for _, name in replicas.log} == {f"n{number:02d}" for number in range(OBJECTS)}
    assert set(replicas.touch()) == {"a", "b", "c"}


@pytest.mark.scenario("RG-02")
def test_a_new_replica_takes_its_share_without_a_gap_longer_than_a_hand_off(replicas: Replicas) -> None:
    replicas.start("a")
    replicas.sim.advance(JOIN)
    assert replicas.owners() == {"a": SLOTS}

    replicas.start("b")
    gaps = 0.0
    for _ in range(600):
        replicas.sim.advance(0.05)
        gaps += 0.05 * (SLOTS - replicas.owners().total() > 0)
    assert replicas.owners() == {"a": 128, "b": 128}
    assert gaps <= 2.0


@pytest.mark.scenario("RG-03")
def test_the_slots_of_a_replica_that_stops_are_taken_at_once(replicas: Replicas) -> None:
    replicas.start("a")
    replicas.start("b")
    replicas.sim.advance(JOIN)

    replicas.stops["b"].set()
    replicas.sim.advance(2.0)

    assert replicas.owners()["a"] == SLOTS
    replicas.sim.advance(20.0)  # each other member has had one duration in which to see that it left
    left = [lease["metadata"]["name"] for lease in replicas.user.list(LEASES, "default", view=dict)]
    assert left == [replicas.rings["a"].member.identity]
    assert replicas.touch() == {"a": OBJECTS}


@pytest.mark.scenario("RG-04")
def test_the_slots_of_a_replica_that_was_killed_are_taken_when_its_lease_has_expired(replicas: Replicas) -> None:
    replicas.start("a")
    replicas.start("b")
    replicas.sim.advance(JOIN)

    replicas.sim.crash(replicas.hosts["b"])
    replicas.sim.advance(12.0)
    assert replicas.owners() == {"a": 128}
    replicas.sim.advance(15.0 + 2 * 2.0 - 12.0)
    assert replicas.owners() == {"a": SLOTS}


@pytest.mark.scenario("RG-05")
def test_a_slot_is_handed_over_only_when_its_reconciles_have_ended(replicas: Replicas) -> None:
    replicas.start("a")
    replicas.sim.advance(JOIN)
    replicas.slow_down("a", 5.0)
    replicas.start("b")
    replicas.sim.advance(15.0)
    replicas.user.patch(NODES, ObjectKey("n00"), {"metadata": {"labels": {"at": "slow"}}})
    for _ in range(100):
        replicas.sim.advance(0.2)
        replicas.owners()
    assert replicas.owners() == {"a": 128, "b": 128}


@pytest.mark.scenario("RG-06")
def test_a_reconcile_of_a_lost_membership_can_send_nothing(replicas: Replicas) -> None:
    ring = replicas.start("a")
    replicas.sim.advance(JOIN)
    turn = ring.ownership.turn(3)
    assert turn is not None
    ring.ownership.end_all("it is over")
    host = replicas.hosts["a"]
    client = Client(host, RingTransport(NetworkTransport(replicas.network, host)))
    host.spawn("work", lambda: send(turn, client))
    replicas.sim.settle()


def test_work_outside_of_reconciles_can_be_bound_to_the_membership(replicas: Replicas) -> None:
    ring = replicas.start("a")
    with pytest.raises(LeadershipLost, match="there is no membership in the ring"), ring.as_member():
        pass
    replicas.sim.advance(JOIN)
    host = replicas.hosts["a"]
    client = replicas.managers["a"].client

    def work() -> None:
        with ring.as_member():
            client.get(NODES, ObjectKey("n00"))
            ring.ownership.end_all("it is over")
            with pytest.raises(LeadershipLost, match="n00 was not sent: the membership in the ring is over, it is"):
                client.get(NODES, ObjectKey("n00"))
        with ring.unbound():
            client.get(NODES, ObjectKey("n00"))
        with pytest.raises(LeadershipLost, match="the membership in the ring is over, it is over"), ring.as_member():
            pass
        done.append(True)

    done: list[bool] = []
    host.spawn("work", work)
    replicas.sim.advance(0.5)
    assert done


def test_bodies_are_bound_to_the_membership(replicas: Replicas) -> None:
    ring = replicas.start("a")
    host, manager = replicas.hosts["a"], replicas.managers["a"]
    informers, stop = Informers(host, manager.transport, CacheOptions(bodies=Bodies())), Stop(host)
    informers.fetch_bodies(BodyRequests(lambda: manager.client.transport, RequestThreads(host)))
    namespaces = Lister(informers.of(Collection(NAMESPACES)).reads, NAMESPACES)
    informers.start(stop)
    replicas.sim.advance(JOIN)

    def work() -> None:
        with ring.as_member():
            assert namespaces.get(ObjectKey("default")) is not None
            ring.ownership.end_all("it is over")
            assert namespaces.get(ObjectKey("default")) is not None  # it is at hand
            with pytest.raises(LeadershipLost, match="kube-system was not sent: the membership in the ring is over"):
                namespaces.get(ObjectKey("kube-system"))
        done.append(True)

    done: list[bool] = []
    host.spawn("work", work)
    replicas.sim.advance(0.5)
    assert done
    stop.set()
    replicas.sim.settle()


def send(turn: Turn, client: Client) -> None:
    with turn, pytest.raises(LeadershipLost, match="the membership in the ring is over, it is over"):
        client.get(NODES, ObjectKey("n00"))
    assert client.get(NODES, ObjectKey("n00"), dict)["metadata"]["name"] == "n00"


@pytest.mark.scenario("RG-17")
def test_the_later_owner_of_an_object_has_the_greater_fencing_token(replicas: Replicas) -> None:
    for name in "ab":
        replicas.start(name)
    replicas.sim.advance(JOIN)
    replicas.touch()
    replicas.start("c")
    replicas.sim.advance(JOIN)
    replicas.touch()
    replicas.stops["b"].set()
    replicas.sim.advance(JOIN)
    replicas.touch()

    owners = {name: [found[0]] for name, found in replicas.tokens.items()}
    for name, found in replicas.tokens.items():
        for replica, token in found:
            last, before = owners[name][-1]
            assert token.ring == before.ring
            assert (token.order == before.order) if replica == last else (token.order > before.order)
            owners[name].append((replica, token))
    assert len({replica for each in owners.values() for replica, _ in each}) == 3
    with pytest.raises(UsageError, match="has a token only in reconciles that it shares"):
        replicas.rings["a"].token()


@pytest.mark.scenario("RG-07")
def test_weights_decide_about_the_shares(replicas: Replicas) -> None:
    replicas.start("a", weight=3)
    replicas.start("b")
    replicas.sim.advance(JOIN)

    assert replicas.owners() == {"a": 192, "b": 64}


def test_a_lease_that_someone_has_changed_ends_the_membership_and_a_new_one_begins(replicas: Replicas) -> None:
    ring = replicas.start("a")
    replicas.start("b")
    replicas.sim.advance(JOIN)
    key = ObjectKey(ring.member.identity, "default")

    replicas.user.delete(LEASES, key)
    replicas.sim.advance(2.5)
    assert replicas.owners()["a"] == 0
    replicas.sim.advance(2 * JOIN)
    assert replicas.owners() == {"a": 128, "b": 128}
    assert CLAIM in annotations_of(replicas.user.get(LEASES, key, dict))


@pytest.mark.parametrize(
    "options", [{"weight": 0}, {"identity": "A b"}, {"lease_duration": 9.0}, {"retry_period": 5.0}]
)
def test_options_that_contradict_each_other_are_refused(replicas: Replicas, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be|cannot name"):
        replicas.start("a", **options)


def test_a_lease_that_is_deleted_by_hand_gives_no_slot_to_another_while_its_member_works(replicas: Replicas) -> None:
    replicas.start("a")
    cut = replicas.start("b")
    replicas.sim.advance(JOIN)

    replicas.network.cut("b", 60.0)
    replicas.user.delete(LEASES, ObjectKey(cut.member.identity, "default"))

    while cut.ownership.owned:
        replicas.owners()  # no slot has two owners
        replicas.sim.advance(0.25)
    replicas.sim.advance(8.0)
    assert replicas.owners()["a"] == SLOTS


def test_a_reconcile_gets_the_token_of_the_ownership_under_which_it_began(replicas: Replicas) -> None:
    ring = replicas.start("a")
    replicas.sim.advance(JOIN)
    old = ring.ownership.turn(7)
    assert old is not None
    again = Assignment(99, (ring.member.identity,) * SLOTS, (99,) * SLOTS, old.token.ring, old.token.incarnation)
    ring.ownership.own(ALL, again)  # the slot was another member's meanwhile
    new = ring.ownership.turn(7)
    assert new is not None

    with old:
        assert ring.token() == old.token
    with new:
        assert ring.token().order == (old.token.incarnation, 99)
