# SPDX-License-Identifier: Apache-2.0
"""The life of the leases of API servers; `tox -e perturb` runs it perturbed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from apimachinery.objects import microtime
from controller_runtime import Manager, ObjectKey
from controller_runtime.resources import LEASES
from controller_runtime.testing import EmbeddedCluster, Simulation, a_lease
from controllers.expiry.apiserver_lease_gc import NAMESPACE, SELECTOR, apiserver_lease_gc

pytestmark = pytest.mark.story


def setup(manager: Manager) -> None:
    manager.add(apiserver_lease_gc(manager))


def test_the_lease_of_an_api_server_that_is_gone_is_deleted(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    clock = simulation.host("apiservers")
    cluster.run(setup)
    for name, duration in (("short", 60), ("long", 86400)):
        lease = a_lease(name, NAMESPACE, holder=name, duration=duration, renew_time=microtime(clock.now()))
        lease["metadata"]["labels"] = dict([SELECTOR.split("=")])
        cluster.user.create(LEASES, lease)
    simulation.advance(30.0)
    assert names(cluster) == ["long", "short"]

    renewed = {"spec": {"renewTime": microtime(clock.now() + timedelta(seconds=20))}}
    cluster.user.patch(LEASES, ObjectKey("short", NAMESPACE), renewed)
    simulation.advance(45.0)
    assert names(cluster) == ["long", "short"]

    simulation.advance(60.0)
    assert names(cluster) == ["long"]


def names(cluster: EmbeddedCluster) -> list[str]:
    return sorted(lease["metadata"]["name"] for lease in cluster.user.list(LEASES, NAMESPACE, view=dict))
