# SPDX-License-Identifier: Apache-2.0
"""Renewals of one lease with lightkube, over TLS: KUBECONFIG COUNT."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime

from lightkube import Client, KubeConfig
from lightkube.models.coordination_v1 import LeaseSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.coordination_v1 import Lease

from benchmarks.harness import report


def main() -> None:
    """Renew COUNT times after a warm-up, and print the microseconds of one renewal."""
    client, count = Client(config=KubeConfig.from_file(sys.argv[1])), int(sys.argv[2])
    spec = LeaseSpec(holderIdentity="bench", leaseDurationSeconds=40, renewTime=datetime.now(UTC))
    lease = client.create(Lease(metadata=ObjectMeta(generateName="lightkube-", namespace="default"), spec=spec))

    def renew(lease: Lease) -> Lease:
        assert lease.spec is not None
        lease.spec.renewTime = datetime.now(UTC)
        return client.replace(lease)

    for _ in range(50):
        lease = renew(lease)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        lease = renew(lease)
    cpu_us, wall_us = (time.process_time() - cpu) / count * 1e6, (time.perf_counter() - wall) / count * 1e6
    report({"cpu_us": cpu_us, "wall_us": wall_us})


if __name__ == "__main__":
    main()
