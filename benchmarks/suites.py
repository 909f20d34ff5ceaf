# SPDX-License-Identifier: Apache-2.0
"""The benchmarks by name; each returns its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import attrs

from apimachinery.host import Host
from benchmarks import (
    agent_suite,
    cache_suite,
    event_suite,
    eviction_suite,
    lean_suite,
    lifecycle_suite,
    manager_suite,
    ring_suite,
    server_suite,
    shard_suite,
    webhook_suite,
    workloads_suite,
)
from benchmarks.harness import PeerFailed, Row, budgeted, cpu_seconds_of, ratio, repeated, run_peer
from benchmarks.nodes import FRAMED, filled_server
from controller_runtime.testing.server_process import APIServerProcess


@attrs.frozen
class Sizes:
    """The sizes of a benchmark.

    Attributes:
        nodes: The number of nodes, of about 7 KB each.
        runs: The number of runs of each peer, of which the median is reported.
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
    """Return the rows; the note of our own compares it with each peer, beside the budget for that ratio."""
    notes = []
    for peer, budget in budgets.items():
        found = ratio(rows, figure, ours, peer)
        if found is not None:
            notes.append(f"{figure} {found:.2f}x of {peer} (budget {budget:g}x)")
    return [attrs.evolve(row, note=row.note or "; ".join(notes)) if row.who == ours else row for row in rows]


def sync(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the initial sync of the nodes into a cache, from the embedded server over TLS."""
    with filled_server(host, sizes.nodes) as server:
        arguments = (str(server.kubeconfig), str(sizes.nodes))

        def peer(name: str, runs: int, *more: str) -> Callable[[], Mapping[str, float]]:
            return lambda: repeated(runs, lambda: run_peer(f"benchmarks.peers.sync_{name}", *arguments, *more))

        peers = {
            "controller-runtime": peer("ours", sizes.runs, "streamed"),
            "controller-runtime, paged": peer("ours", sizes.runs, "paged"),
            "controller-runtime, no managedFields": peer("ours", sizes.runs, "dropping"),
            "lightkube (list only)": peer("lightkube", sizes.runs),
            "official informer": peer("official", 1),
        }
        rows = _rows(f"sync of {sizes.nodes} nodes of 7 KB", peers)
    return _noted(rows, "cpu_s", "controller-runtime", {"lightkube (list only)": 0.5, "official informer": 0.1})


def ttl(host: Host, sizes: Sizes) -> list[Row]:
    """Measure node-ttl from its start until every node is seen with its annotation."""
    with filled_server(host, sizes.nodes) as server:

        def measure() -> Mapping[str, float]:
            before = cpu_seconds_of(server.pid)
            figures = run_peer("benchmarks.peers.ttl_ours", str(server.kubeconfig), str(sizes.nodes))
            return {**figures, "server_cpu_s": cpu_seconds_of(server.pid) - before}

        return _rows(f"TTL annotation of {sizes.nodes} nodes of 7 KB", {"controller-runtime": measure})


QUEUES = (0, 100_000, 1_000_000)
"""How many keys wait in the queue whose cycle is measured."""


def queue(host: Host, sizes: Sizes) -> list[Row]:
    """Measure cycles of the work queue, empty and with many keys waiting."""

    def row(depth: int) -> Row:
        work, arguments = f"queue cycle, {depth} keys waiting", ("20000", str(depth))
        measure = partial(run_peer, "benchmarks.peers.queue_cycle", *arguments)
        return budgeted(work, "controller-runtime", measure, {"cpu_us": "<= 4"})

    return [row(depth) for depth in QUEUES]


def manager(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the control path."""
    return manager_suite.manager(host, sizes.runs)


def webhooks(host: Host, sizes: Sizes) -> list[Row]:
    """Measure admissions by a webhook over TLS."""
    return webhook_suite.webhooks(sizes.runs)


def lease(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the client's CPU for the renewal of one lease over TLS."""
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
    """Measure taint-eviction when a zone fails."""
    return eviction_suite.eviction(host)


def lifecycle(host: Host, sizes: Sizes) -> list[Row]:
    """Measure node-lifecycle in a large cluster."""
    return lifecycle_suite.lifecycle(host)


HOLLOW_NODES = 5000
HOLLOW_SECONDS = 40


def hollow(host: Host, sizes: Sizes) -> list[Row]:
    """Measure hollow nodes that renew their leases every 10 s over TLS: their process, and the server's CPU."""
    with APIServerProcess(host) as server:

        def measure() -> Mapping[str, float]:
            before = cpu_seconds_of(server.pid)
            arguments = (str(server.kubeconfig), str(HOLLOW_NODES), str(HOLLOW_SECONDS))
            figures = run_peer("benchmarks.peers.hollow_ours", *arguments)
            return {**figures, "server_cpu_s": cpu_seconds_of(server.pid) - before}

        rows = _rows(f"{HOLLOW_NODES} hollow nodes at 10 s", {"controller-runtime": measure})
    return [attrs.evolve(row, note=row.note or "budget 0.35 cores, 200 MiB") for row in rows]


def server(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the embedded server."""
    return server_suite.server(host, sizes.nodes, sizes.runs)


def agent(host: Host, sizes: Sizes) -> list[Row]:
    """Measure an idle node agent, for three minutes."""
    return [agent_suite.agent(host)]


def cache(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the memory of a cached object, and the CPU of an event and of a garbage collection."""
    return cache_suite.cache(sizes.runs)


def lean(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the memory of up to a million objects in one cache, compressed."""
    return lean_suite.lean()


def events(host: Host, sizes: Sizes) -> list[Row]:
    """Measure watch events of large nodes over TLS, by all peers."""
    with APIServerProcess(host, program=FRAMED) as server:
        return _rows(event_suite.WORK, event_suite.measures(host, server))


def growth(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the initial sync of 1,000 to 100,000 small nodes, by all peers; for `--plot`."""
    return cache_suite.sizes(host, sizes.runs)


def shards(host: Host, sizes: Sizes) -> list[Row]:
    """Measure the memory and the bytes of each replica of a ring by uid."""
    return shard_suite.shards(host)


def rings(host: Host, sizes: Sizes) -> list[Row]:
    """Measure what the replicas of a ring do together, and their hand-overs."""
    return ring_suite.rings(host)


def workloads(host: Host, sizes: Sizes) -> list[Row]:
    """Measure rollouts of workloads, and what they cost."""
    return workloads_suite.workloads(host)


def published(host: Host, sizes: Sizes) -> list[Row]:
    """Repeat an experiment that another project published, at its size."""
    return ring_suite.published(host)


SUITES: Mapping[str, Callable[[Host, Sizes], list[Row]]] = {
    "sync": sync,
    "growth": growth,
    "cache": cache,
    "events": events,
    "ttl": ttl,
    "queue": queue,
    "manager": manager,
    "webhooks": webhooks,
    "lease": lease,
    "hollow": hollow,
    "eviction": eviction,
    "lifecycle": lifecycle,
    "agent": agent,
    "server": server,
    "shards": shards,
    "rings": rings,
    "workloads": workloads,
    "lean": lean,
    "published": published,
}

LONG = ("lean", "published")
"""Those that take a quarter of an hour or more; they run only if they are named."""
