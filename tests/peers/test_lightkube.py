# SPDX-License-Identifier: Apache-2.0
"""lightkube against the embedded server; in a process of its own, for it leaves connections open."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightkube", reason="lightkube is not installed: tox -e peers")

PROGRAM = """
import sys
import lightkube
from lightkube.models.coordination_v1 import LeaseSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.coordination_v1 import Lease

client = lightkube.Client(config=lightkube.KubeConfig.from_file(sys.argv[1]))
lease = Lease(metadata=ObjectMeta(name="light", namespace="default"), spec=LeaseSpec(holderIdentity="a"))
created = client.create(lease)
assert client.get(Lease, "light", namespace="default").metadata.uid == created.metadata.uid
assert [one.metadata.name for one in client.list(Lease, namespace="default")] == ["light"]
client.patch(Lease, "light", {"spec": {"holderIdentity": "b"}}, namespace="default")
client.delete(Lease, "light", namespace="default")
watched = client.watch(Lease, namespace="default", resource_version=created.metadata.resourceVersion)
seen = [(kind, one.spec.holderIdentity) for kind, one in (next(watched), next(watched))]
assert seen == [("MODIFIED", "b"), ("DELETED", "b")], seen
print("done")
"""


def test_a_round_trip_of_a_lease(kubeconfig: Path) -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(kubeconfig)], capture_output=True, text=True, check=False
    )

    assert outcome.stdout.strip() == "done", outcome.stderr
