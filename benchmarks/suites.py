# SPDX-License-Identifier: Apache-2.0
"""What can be measured, by name: each suite returns its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import attrs

from benchmarks import (
    agent_suite,
    cache_suite,
    event_suite,
    eviction_suite,
    lifecycle_suite,
    manager_suite,
    server_suite,
)
from benchmarks.harness import PeerFailed, Row, budgeted, cpu_seconds_of, ratio, repeated, run_peer
from benchmarks.nodes import filled_server
from controller_runtime.core.host import Host
from controller_runtime.testing.server_process import APIServerProcess


@attrs.frozen
class Sizes:
    """How much of everything.

    Attributes:
        nodes: Nodes of about 7 KB.
        runs: Runs of each peer; the median counts.
    """

    nodes: int = 10000
    runs: int = 3


def _rows(work: str, peers: Mapping[str, Callable[[], Mapping[str, float]]]) -> list[Row]:
    rows = []
    for who, measure in peers.items():
        try:
            rows.append(Row(work, who, measure()))
        except PeerFailed as error:
            rows.append(Row(work, who, {}, f"not measured: {error}"))
    return rows


def _noted(rows: list[Row], figure: str, ours: str, budgets: Mapping[str, float]) -> list[Row]:
    """The rows, with the ratio to each peer beside the budget for it on our own row."""
    notes = []
    for peer, budget in budgets.items():
        found = ratio(rows, figure, ours, peer)
        if found is not None:
            notes.append(f"{figure} {found:.2f}x of {peer} (budget {budget:g}x)")
    return [attrs.evolve(row, note=row.note or "; ".join(notes)) if row.who == ours else row for row in rows]


def sync(host: Host, sizes: Sizes) -> list[Row]:
    """Initial sync of the nodes into a cache, from the embedded server over TLS."""
    with filled_server(host, sizes.nodes) as server:
        arguments = (str(server.kubeconfig), str(sizes.nodes))

        def peer(name: str, runs: int, *more: str) -> Callable[[], Mapping[str, float]]:
            return lambda: repeated(runs, lambda: run_peer(f"benchmarks.peers.sync_{name}", *arguments, *more))

        peers = {
            "controller-runtime": peer("ours", sizes.runs, "streamed"),
            "controller-runtime, paged": peer("ours", sizes.runs, "paged"),
            "lightkube (list only)": peer("lightkube", sizes.runs),
            "official informer": peer("official", 1),
        }
        rows = _rows(f"sync of {sizes.nodes} nodes of 7 KB", peers)
    return _noted(rows, "cpu_s", "controller-runtime", {"lightkube (list only)": 0.5, "official informer": 0.1})


def ttl(host: Host, sizes: Sizes) -> list[Row]:
    """The TTL annotation of every node, from the controller's start to the last patch seen."""
    with filled_server(host, sizes.nodes) as server:

        def measure() -> Mapping[str, float]:
            before = cpu_seconds_of(server.pid)
            figures = run_peer("benchmarks.peers.ttl_ours", str(server.kubeconfig), str(sizes.nodes))
            return {**figures, "server_cpu_s": cpu_seconds_of(server.pid) - before}

        return _rows(f"TTL annotation of {sizes.nodes} nodes of 7 KB", {"controller-runtime": measure})


def queue(host: Host, sizes: Sizes) -> list[Row]:
    """Cycles of the work queue, alone and with many keys waiting."""

    def row(depth: int) -> Row:
        work, arguments = f"queue cycle, {depth} keys waiting", ("20000", str(depth))
        measure = partial(run_peer, "benchmarks.peers.queue_cycle", *arguments)
        return budgeted(work, "controller-runtime", measure, {"cpu_us": "<= 4"})

    return [row(depth) for depth in (0, 100_000, 1_000_000)]


def manager(host: Host, sizes: Sizes) -> list[Row]:
    """What the control path costs, beside its budgets."""
    return manager_suite.manager(host, sizes.runs)


def lease(host: Host, sizes: Sizes) -> list[Row]:
    """The renewal of one lease over TLS: CPU of the client."""
    with APIServerProcess(host) as server:

        def peer(name: str) -> Callable[[], Mapping[str, float]]:
            module, arguments = f"benchmarks.peers.lease_{name}", (str(server.kubeconfig), "1000")
            return lambda: repeated(sizes.runs, lambda: run_peer(module, *arguments))

        peers = {
            "controller-runtime, LeaseHeartbeat": peer("heartbeat_ours"),
            "controller-runtime, client": peer("put_ours"),
            "official typed": peer("put_official"),
            "lightkube": peer("put_lightkube"),
            "kr8s (patch)": peer("patch_kr8s"),
        }
        rows = _rows("lease renewal over TLS", peers)
    for ours in ("controller-runtime, LeaseHeartbeat", "controller-runtime, client"):
        rows = _noted(rows, "cpu_us", ours, {"official typed": 0.4})
    return rows


def eviction(host: Host, sizes: Sizes) -> list[Row]:
    """What the taint eviction costs when a zone dies, beside its budgets."""
    return eviction_suite.eviction(host)


def lifecycle(host: Host, sizes: Sizes) -> list[Row]:
    """What the node lifecycle controller costs in a large cluster, beside its budgets."""
    return lifecycle_suite.lifecycle(host)


HOLLOW_NODES = 5000
HOLLOW_SECONDS = 40


def hollow(host: Host, sizes: Sizes) -> list[Row]:
    """Hollow nodes that renew their leases every 10 s, over TLS: their process's CPU and memory, the server's CPU."""
    with APIServerProcess(host) as server:

        def measure() -> Mapping[str, float]:
            before = cpu_seconds_of(server.pid)
            arguments = (str(server.kubeconfig), str(HOLLOW_NODES), str(HOLLOW_SECONDS))
            figures = run_peer("benchmarks.peers.hollow_ours", *arguments)
            return {**figures, "server_cpu_s": cpu_seconds_of(server.pid) - before}

        rows = _rows(f"{HOLLOW_NODES} hollow nodes at 10 s", {"controller-runtime": measure})
    return [attrs.evolve(row, note=row.note or "budget 0.35 cores, 200 MiB") for row in rows]


def server(host: Host, sizes: Sizes) -> list[Row]:
    """What the embedded server costs, beside its budgets."""
    return server_suite.server(host, sizes.nodes, sizes.runs)


def agent(host: Host, sizes: Sizes) -> list[Row]:
    """One node's agent at rest, for three minutes."""
    return [agent_suite.agent(host)]


def cache(host: Host, sizes: Sizes) -> list[Row]:
    """What a cached object weighs, and what an event and a collection of garbage cost."""
    return cache_suite.cache(sizes.runs)


def events(host: Host, sizes: Sizes) -> list[Row]:
    """Watch events of large nodes over TLS, by everybody."""
    with APIServerProcess(host) as server:
        return _rows(event_suite.WORK, event_suite.measures(host, server))


def growth(host: Host, sizes: Sizes) -> list[Row]:
    """Initial sync of 1,000 to 100,000 small nodes, by everybody; for `--plot`."""
    return cache_suite.sizes(host, sizes.runs)


SUITES: Mapping[str, Callable[[Host, Sizes], list[Row]]] = {
    "sync": sync,
    "growth": growth,
    "cache": cache,
    "events": events,
    "ttl": ttl,
    "queue": queue,
    "manager": manager,
    "lease": lease,
    "hollow": hollow,
    "eviction": eviction,
    "lifecycle": lifecycle,
    "agent": agent,
    "server": server,
}
