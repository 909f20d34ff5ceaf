# SPDX-License-Identifier: Apache-2.0
"""The leases of a snapshot."""

from __future__ import annotations

import pytest

from apimachinery.objects import Cached, Received, cached_from_bytes
from controller_runtime.cache.store import Delta
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from controllers.command.snapshot import LeaseTracker


def lease(name: str, renewed: str, *, namespace: str = "kube-node-lease", holder: str = "h") -> Cached:
    return cached_from_bytes(
        f'{{"metadata":{{"name":"{name}","namespace":"{namespace}"}},"spec":{{"holderIdentity":"{holder}",'
        f'"leaseDurationSeconds":40,"renewTime":"{renewed}"}}}}'.encode()
    )


@pytest.fixture
def host(sim: Simulation) -> SimulatedHost:
    return sim.host("here")


def test_a_lease_is_silent_once_it_was_not_renewed_for_longer_than_it_lasts(
    sim: Simulation, host: SimulatedHost
) -> None:
    watch = LeaseTracker(host)
    watch.observe(Delta(None, lease("a", "t0")))
    watch.observe(Delta(None, lease("b", "t0")))

    sim.advance(30.0)
    watch.observe(Delta(lease("a", "t0"), lease("a", "t1")))
    sim.advance(15.0)

    seen = watch.summary()
    assert (seen.nodes, seen.silent) == (2, 1)
    assert seen.oldest == pytest.approx(45.0)


def test_a_change_that_is_no_renewal_does_not_make_a_lease_young(sim: Simulation, host: SimulatedHost) -> None:
    watch = LeaseTracker(host)
    watch.observe(Delta(None, lease("a", "t0")))
    sim.advance(50.0)

    watch.observe(Delta(lease("a", "t0"), lease("a", "t0", holder="other")))

    assert watch.summary().silent == 1


def test_a_deleted_lease_is_forgotten(host: SimulatedHost) -> None:
    watch = LeaseTracker(host)
    watch.observe(Delta(None, lease("a", "t0")))

    watch.observe(Delta(lease("a", "t0"), None))

    assert watch.summary().nodes == 0


def test_other_leases_say_who_leads_until_they_are_released(host: SimulatedHost) -> None:
    watch = LeaseTracker(host)
    held = lease("controllers", "t0", namespace="kube-system", holder="one")

    watch.observe(Delta(None, held))
    assert watch.summary().leaders == {"controllers": "one"}
    watch.observe(Delta(held, lease("controllers", "t1", namespace="kube-system", holder="")))

    assert watch.summary().leaders == {}


def test_an_api_servers_own_lease_is_no_leadership(host: SimulatedHost) -> None:
    watch = LeaseTracker(host)
    raw = lease("apiserver-a", "t0", namespace="kube-system").raw
    labelled = raw.replace(
        b'"metadata":{', b'"metadata":{"labels":{"apiserver.kubernetes.io/identity":"kube-apiserver"},'
    )

    watch.observe(Delta(None, cached_from_bytes(labelled)))

    assert watch.summary().leaders == {}


def test_a_lease_that_cannot_be_read_is_counted_all_the_same(host: SimulatedHost) -> None:
    watch = LeaseTracker(host)

    watch.observe(Delta(None, Received(b'{"spec":3}', "a", "kube-node-lease", "", "1")))

    assert watch.summary().nodes == 1


def test_the_changes_of_a_leader_are_kept_newest_first(sim: Simulation, host: SimulatedHost) -> None:
    watch = LeaseTracker(host)
    first = lease("sched", "t0", holder="a", namespace="kube-system")
    renewed = lease("sched", "t1", holder="a", namespace="kube-system")
    second = lease("sched", "t2", holder="b", namespace="kube-system")
    watch.observe(Delta(None, first))
    sim.advance(10.0)
    watch.observe(Delta(first, renewed))
    watch.observe(Delta(renewed, second))
    watch.observe(Delta(second, None))

    assert watch.summary().changes == ((0.0, "sched", ""), (0.0, "sched", "b"), (10.0, "sched", "a"))
