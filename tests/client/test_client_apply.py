# SPDX-License-Identifier: Apache-2.0
"""Server-side apply works with our own client, on the embedded server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apimachinery.errors import Conflict, Invalid
from apimachinery.objects import Cached, ObjectKey, labels_of
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.testing import EmbeddedCluster, Simulation


@pytest.fixture
def client(sim: Simulation) -> Iterator[Client]:
    with EmbeddedCluster(sim.host("here")) as cluster:
        yield cluster.client


def apply(client: Client, manager: str, labels: dict[str, str], *, force: bool = False) -> Cached:
    lease: dict[str, Any] = {"metadata": {"name": "a", "namespace": "default", "labels": labels}}
    return client.apply(LEASES, lease, field_manager=manager, force=force)


def test_applying_creates_and_applying_the_same_again_changes_nothing(client: Client) -> None:
    first = apply(client, "one", {"l": "1"})

    second = apply(client, "one", {"l": "1"})

    assert labels_of(first) == {"l": "1"}
    assert second.resource_version == first.resource_version


def test_a_field_that_its_manager_leaves_out_is_removed(client: Client) -> None:
    apply(client, "one", {"l": "1", "m": "1"})

    assert labels_of(apply(client, "one", {"m": "1"})) == {"m": "1"}


def test_another_managers_field_is_a_conflict_that_names_it_until_it_is_taken_over(client: Client) -> None:
    apply(client, "one", {"l": "1"})

    with pytest.raises(Conflict) as conflict:
        apply(client, "two", {"l": "2"})
    assert [cause["field"] for cause in conflict.value.details["causes"]] == [".metadata.labels.l"]
    assert labels_of(apply(client, "two", {"l": "2"}, force=True)) == {"l": "2"}


def test_applying_without_a_manager_is_refused(client: Client) -> None:
    with pytest.raises(Invalid, match="fieldManager"):
        apply(client, "", {})


def test_what_was_applied_is_what_is_read(client: Client) -> None:
    apply(client, "one", {"l": "1"})

    assert labels_of(client.get(LEASES, ObjectKey("a", "default"), dict)) == {"l": "1"}
