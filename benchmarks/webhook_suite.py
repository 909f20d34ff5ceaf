# SPDX-License-Identifier: Apache-2.0
"""The cost of webhooks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from benchmarks.harness import Figures, Row, budgeted, repeated, run_peer

REQUESTS = 2000


def webhooks(runs: int) -> list[Row]:
    """Measure admissions over TLS: the CPU of both ends together, and how many one replica answers.

    Both ends are in one process and both are Python, so the replica alone needs less than what is shown.
    """

    def peer(connections: int) -> Callable[[], Figures]:
        return partial(run_peer, "benchmarks.peers.webhook_tls", str(REQUESTS), str(connections))

    return [
        budgeted(
            f"admission over TLS, {connections} connections",
            "controller-runtime",
            partial(repeated, runs, peer(connections)),
            {"cpu_ms": "<= 1", "per_cpu_s": ">= 1000"},
        )
        for connections in (1, 4)
    ]
