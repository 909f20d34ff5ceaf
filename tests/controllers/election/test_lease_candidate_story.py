# SPDX-License-Identifier: Apache-2.0
"""The life of a coordinated election with replicas that come and go; `tox -e perturb` runs it perturbed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from kit.controllers.bystanders import SILENT, Replicas

from apimachinery.objects import microtime
from controller_runtime import Manager, ObjectKey
from controller_runtime.resources import LEASE_CANDIDATES, LEASES
from controller_runtime.testing import EmbeddedCluster, Simulation
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.lease_candidate_gc import lease_candidate_gc

pytestmark = pytest.mark.story

LEASE = ObjectKey("lease", "default")


def setup(manager: Manager) -> None:
    manager.add(lease_candidate_election(manager))
    manager.add(lease_candidate_gc(manager))


def stand(cluster: EmbeddedCluster, name: str, version: str, now: datetime) -> None:
    spec = {"leaseName": LEASE.name, "binaryVersion": "1.36.0", "emulationVersion": version}
    spec |= {"strategy": "OldestEmulationVersion", "renewTime": microtime(now)}
    cluster.user.create(LEASE_CANDIDATES, {"metadata": {"name": name, "namespace": LEASE.namespace}, "spec": spec})


def holder(cluster: EmbeddedCluster) -> Any:
    return cluster.user.get(LEASES, LEASE, dict)["spec"].get("holderIdentity")


@pytest.fixture
def replicas(simulation: Simulation, cluster: EmbeddedCluster) -> Iterator[Replicas]:
    with Replicas(simulation, cluster, LEASE) as replicas:
        yield replicas


def test_the_oldest_emulated_version_leads_and_another_follows_when_it_goes(
    simulation: Simulation, cluster: EmbeddedCluster, replicas: Replicas
) -> None:
    cluster.run(setup)
    # Renewed long ago, so pinged in each run: a cache that lacks a lease, or its renewal, leads to a ping as well.
    stand(cluster, "new", "1.36.0", replicas.host.now() - timedelta(seconds=10.0))
    simulation.advance(20.0)
    assert holder(cluster) == "new"

    stand(cluster, "old", "1.35.0", replicas.host.now())
    simulation.advance(60.0)
    assert holder(cluster) == "old"

    hangs = {"metadata": {"annotations": {SILENT: "yes"}}}
    cluster.user.patch(LEASE_CANDIDATES, ObjectKey("old", LEASE.namespace), hangs)
    simulation.advance(60.0)
    assert holder(cluster) == "new"
