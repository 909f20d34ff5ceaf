# SPDX-License-Identifier: Apache-2.0
"""The lease as an object: the fields that a write keeps and drops, and the writes that are refused."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from apimachinery.errors import AlreadyExists, Conflict, ConnectionLost, NotFound, UsageError
from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.election.lease_lock import LeaseLock
from controller_runtime.election.record import LeaseRecord
from embedded_apiserver.server import APIServer

LEASE = ObjectKey("program", "default")
STAMP = "2026-01-01T00:00:00.000000Z"
OURS = LeaseRecord("me", 15, STAMP, STAMP, 3)


@pytest.fixture
def host() -> SystemHost:
    return SystemHost("r0")


@pytest.fixture
def client(host: Host) -> Client:
    return Client(host, InProcessTransport(host, APIServer(host)))


def lock_of(host: Host, client: Client, **labels: str) -> LeaseLock:
    return LeaseLock(client, LEASE, labels)


def soon(host: Host) -> float:
    return host.monotonic() + 60.0


def lease(client: Client) -> dict[str, Any]:
    return client.get(LEASES, LEASE, dict)


@pytest.mark.scenario("LE-18")
def test_a_lease_is_missing_made_once_and_known_by_its_name(host: Host, client: Client) -> None:
    """Reading a missing lease raises NotFound, and creating it twice AlreadyExists; its text is namespace/name."""
    lock = lock_of(host, client)
    with pytest.raises(NotFound):
        lock.read(soon(host))

    lock.create(OURS, soon(host))

    with pytest.raises(AlreadyExists):
        lock_of(host, client).create(OURS, soon(host))
    assert lock.read(soon(host)) == OURS
    assert str(lock) == "default/program"


@pytest.mark.scenario("E-26")
def test_a_lease_is_not_written_before_it_was_read_or_made(host: Host, client: Client) -> None:
    """An update before a read is refused without a request, because there is no version to write with."""
    lock = lock_of(host, client)
    with pytest.raises(UsageError, match="default/program cannot be updated before it is read or created"):
        lock.update(OURS, soon(host))

    lock.create(OURS, soon(host))
    client.delete(LEASES, LEASE)
    with pytest.raises(NotFound):
        lock.read(soon(host))

    with pytest.raises(UsageError):
        lock.update(OURS, soon(host))


def test_a_write_fails_if_anybody_wrote_in_between(host: Host, client: Client) -> None:
    lock = lock_of(host, client)
    lock.create(OURS, soon(host))
    client.patch(LEASES, LEASE, {"metadata": {"labels": {"a": "b"}}})

    with pytest.raises(Conflict):
        lock.update(OURS, soon(host))


def test_writes_follow_each_other_without_a_read(host: Host, client: Client) -> None:
    lock = lock_of(host, client)
    lock.create(OURS, soon(host))

    for transitions in (4, 5):
        lock.update(LeaseRecord("me", 15, STAMP, STAMP, transitions), soon(host))

    assert lease(client)["spec"]["leaseTransitions"] == 5


@pytest.mark.scenario("E-27")
def test_what_others_put_on_the_lease_stays(host: Host, client: Client) -> None:
    """Our labels are added and win; other labels and annotations stay."""
    client.create(
        LEASES,
        {
            "metadata": {
                "name": "program",
                "namespace": "default",
                "labels": {"a": "0", "b": "2"},
                "annotations": {"c": "3"},
            }
        },
    )
    lock = lock_of(host, client, a="1")
    lock.read(soon(host))

    lock.update(OURS, soon(host))

    assert lease(client)["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert lease(client)["metadata"]["annotations"] == {"c": "3"}


@pytest.mark.scenario("E-18")
def test_a_lease_taken_without_coordination_says_nothing_of_it(host: Host, client: Client) -> None:
    """A write removes the strategy and the preferred holder."""
    spec = {**OURS.spec(), "strategy": "OldestEmulationVersion", "preferredHolder": "other"}
    client.create(LEASES, {"metadata": {"name": "program", "namespace": "default"}, "spec": spec})
    lock = lock_of(host, client)

    assert lock.read(soon(host)) == attrs.evolve(OURS, strategy="OldestEmulationVersion", preferred="other")
    lock.update(OURS, soon(host))

    assert LeaseRecord.of(lease(client)) == OURS
    assert not {"strategy", "preferredHolder"} & {*lease(client)["spec"]}


def test_no_request_begins_after_its_deadline(host: Host, client: Client) -> None:
    with pytest.raises(ConnectionLost, match="its deadline has passed"):
        lock_of(host, client).create(OURS, host.monotonic())

    with pytest.raises(NotFound):
        lease(client)
