# SPDX-License-Identifier: Apache-2.0
"""The volume of a claim goes with it."""

from __future__ import annotations

import pytest

from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.simulation import Simulation

CLAIM = {
    "metadata": {"name": "data", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
OF_OTHERS = {
    "metadata": {"name": "of-others"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Delete",
        "hostPath": {"path": "/data"},
        "claimRef": {"namespace": "default", "name": "data", "uid": "gone"},
    },
}


@pytest.mark.embedded_cluster(workloads=True)
def test_a_volume_goes_with_its_claim_and_those_of_other_makers_stay(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    def volumes() -> list[str]:
        return [each["metadata"]["name"] for each in cluster.user.list(PERSISTENT_VOLUMES, view=dict)]

    cluster.start()
    cluster.user.create(PERSISTENT_VOLUMES, OF_OTHERS)
    uids = []
    for _ in range(2):
        uids.append(cluster.user.create(PERSISTENT_VOLUME_CLAIMS, CLAIM).uid)
        simulation.advance(5.0)
        assert volumes() == ["of-others", f"pvc-{uids[-1]}"]
        cluster.user.delete(PERSISTENT_VOLUME_CLAIMS, ObjectKey("data", "default"))
        simulation.advance(5.0)

    assert volumes() == ["of-others"]
