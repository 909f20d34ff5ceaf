# SPDX-License-Identifier: Apache-2.0
"""The cost of webhooks: of admissions over TLS, at both ends and at one replica, and of a check in process."""

from __future__ import annotations

from functools import partial

from benchmarks.harness import Row, budgeted, repeated, run_peer

REQUESTS = 2000
RATE_REQUESTS = 6000
WRITES = 4000
KEPT = 8


def webhooks(runs: int) -> list[Row]:
    """Measure admissions over TLS, and writes that a check in process sees.

    The CPU is that of both ends together, which are in one process and both Python; the rate is that of one replica,
    asked by another process on kept connections.
    """

    def over_tls(connections: int) -> Row:
        peer = partial(run_peer, "benchmarks.peers.webhook_tls", str(REQUESTS), str(connections))
        return budgeted(
            f"admission over TLS, {connections} connections",
            "controller-runtime",
            partial(repeated, runs, peer),
            {"cpu_ms": "<= 1", "per_cpu_s": ">= 1000"},
        )

    rate = partial(run_peer, "benchmarks.peers.webhook_rate", str(RATE_REQUESTS), str(KEPT))
    write = partial(run_peer, "benchmarks.peers.webhook_write", str(WRITES))
    return [
        *(over_tls(connections) for connections in (1, 4)),
        budgeted(
            f"admissions by one replica, {KEPT} kept connections of one process",
            "controller-runtime",
            partial(repeated, runs, rate),
            {"per_s": ">= 1000", "replica_per_cpu_s": ">= 1000"},
        ),
        budgeted(
            "write with one check in process",
            "controller-runtime",
            partial(repeated, runs, write),
            {"times": "<= 1.3"},
        ),
    ]
