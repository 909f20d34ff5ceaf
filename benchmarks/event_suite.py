# SPDX-License-Identifier: Apache-2.0
"""The cost of watch events, beside the peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apimachinery.host import Host
from benchmarks.harness import Figures, run_peer
from benchmarks.nodes import change, fill
from controller_runtime.api.resources import NODES
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.server_process import APIServerProcess

COUNT, ROUNDS, SIZE = 500, 20, 7_000
EVENTS = COUNT * ROUNDS
WORK = f"{EVENTS} watch events of {COUNT} nodes of 7 KB"
PEERS: Mapping[str, str] = {
    "controller-runtime": "ours",
    "lightkube (watch only)": "lightkube",
    "official informer": "official",
    "kr8s (watch only)": "kr8s",
    "kopf (handler)": "kopf",
}
LIMIT = 180.0
"""Seconds of wall time for one peer."""


def measures(host: Host, server: APIServerProcess) -> dict[str, Callable[[], Figures]]:
    """Fill the server with nodes, and return a function for each peer that measures its CPU of one event over TLS."""
    client = Manager.from_kubeconfig(server.kubeconfig).client
    fill(host, client, COUNT, SIZE)

    def measure(who: str) -> Figures:
        last = f"last-for-{who}"

        def send() -> None:
            change(host, client, COUNT, ROUNDS)
            client.create(NODES, {"metadata": {"name": last}})

        arguments = (who, str(server.kubeconfig), str(COUNT), last)
        figures = run_peer("benchmarks.peers.events", *arguments, timeout=LIMIT, once_ready=send)
        return {"cpu_us": figures["cpu_s"] / EVENTS * 1e6}

    return {name: lambda who=who: measure(who) for name, who in PEERS.items()}  # type: ignore[misc]
