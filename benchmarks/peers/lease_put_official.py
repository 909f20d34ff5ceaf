# SPDX-License-Identifier: Apache-2.0
"""Renewals of one lease with the official typed client, over TLS: KUBECONFIG COUNT."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta

import kubernetes
from kubernetes.client import V1Lease, V1LeaseSpec, V1ObjectMeta

from benchmarks.harness import report


def whole_second_safe() -> datetime:
    """Return the present time, never a whole second: the client would omit the fraction, which the server refuses."""
    now = datetime.now(UTC)
    return now if now.microsecond else now + timedelta(microseconds=1)


def main() -> None:
    """Renew COUNT times after a warm-up, and print the microseconds of one renewal."""
    kubernetes.config.load_kube_config(sys.argv[1])
    api, count = kubernetes.client.CoordinationV1Api(), int(sys.argv[2])
    spec = V1LeaseSpec(holder_identity="bench", lease_duration_seconds=40, renew_time=whole_second_safe())
    lease = api.create_namespaced_lease("default", V1Lease(metadata=V1ObjectMeta(generate_name="official-"), spec=spec))

    def renew(lease: V1Lease) -> V1Lease:
        assert lease.spec is not None
        lease.spec.renew_time = whole_second_safe()
        assert lease.metadata is not None
        assert lease.metadata.name is not None
        return api.replace_namespaced_lease(lease.metadata.name, "default", lease)

    for _ in range(50):
        lease = renew(lease)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        lease = renew(lease)
    cpu_us, wall_us = (time.process_time() - cpu) / count * 1e6, (time.perf_counter() - wall) / count * 1e6
    report({"cpu_us": cpu_us, "wall_us": wall_us})


if __name__ == "__main__":
    main()
