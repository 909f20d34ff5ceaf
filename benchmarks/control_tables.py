# SPDX-License-Identifier: Apache-2.0
"""The tables of the control path, of a real server, of the embedded one, of webhooks and of rings."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import real_suite, ring_suite, shard_suite, webhook_suite
from benchmarks.figures import MISSING, OURS, Measured, grid
from benchmarks.suites import QUEUES

LIFECYCLE = "node-lifecycle and taint-eviction, 5000 nodes of 7 KB at 10 s, 50000 pods of 6 KB"
EVICTION = "eviction of a zone's pods, 5000 nodes of 7 KB, 50000 pods of 6 KB"
TTL = "TTL annotation of 10000 nodes of 7 KB"
SERVER_START = "server: start to ready"
AGENT, HOLLOW = "a node's agent at rest", "5000 hollow nodes at 10 s"
_BUSY = "write to reconcile, one busy thread"
_OVER = "node lifecycle and taint eviction over 5,000 nodes and 50,000 pods"
_CONTROL = (
    ("reconciles that do nothing, a second of CPU: one worker", "no-op reconciles, 1 worker", "per_cpu_s"),
    ("reconciles that do nothing, a second of CPU: four workers", "no-op reconciles, 4 workers", "per_cpu_s"),
    ("from a write to its reconcile, ms: median", "write to reconcile, in process", "median_ms"),
    ("from a write to its reconcile, ms: 99th percentile", "write to reconcile, in process", "p99_ms"),
    ("the same beside a thread that never waits: median", _BUSY, "median_ms"),
    ("the same: 99th percentile", _BUSY, "p99_ms"),
    ("the same with Python's switch interval of 5 ms: 99th percentile", f"{_BUSY}, Python's turns", "p99_ms"),
    ("a manager of 10 controllers, idle: cores", "idle manager, 10 controllers", "cores"),
    ("another replica leads after SIGKILL, s", "failover, leader ended by SIGKILL", "s"),
    ("another replica leads after SIGTERM, s", "failover, leader ended by SIGTERM", "s"),
    ("a node's agent, at rest: percent of a core", AGENT, "percent_of_a_core"),
    ("a node's agent, at rest: peak MiB", AGENT, "peak_mib"),
    ("TTL annotations of 10,000 nodes of 7 KB: CPU s", TTL, "cpu_s"),
    ("TTL annotations of 10,000 nodes of 7 KB: peak MiB", TTL, "peak_mib"),
    ("5,000 hollow nodes: cores", HOLLOW, "cores"),
    ("5,000 hollow nodes: peak MiB", HOLLOW, "peak_mib"),
    (f"{_OVER}: cores", LIFECYCLE, "quiet_cores"),
    (f"{_OVER}: peak MiB", LIFECYCLE, "peak_mib"),
    (
        f"{_OVER}: the last of 500 dead nodes is marked after its grace period, s",
        LIFECYCLE,
        "last_marked_after_grace_s",
    ),
    ("taint eviction of a failed zone's 16,700 pods: CPU µs a pod", EVICTION, "cpu_us_each"),
    ("taint eviction of a failed zone's 16,700 pods: peak MiB", EVICTION, "death_peak_mib"),
)
_PARTS = "wall s / CPU s / peak MiB"
_WATCH = "server: events of 1 KB to 500 watchers"
_SERVER = (
    ("start to ready, s", SERVER_START, "ready_s"),
    ("start to ready, CPU s", SERVER_START, "cpu_s"),
    ("empty, MiB", SERVER_START, "empty_mib"),
    ("a lease renewal in process, CPU µs", "server: lease renewal, in process", "cpu_us"),
    ("lease renewals in a second, 8 TLS connections", "server: lease renewal, 8 TLS connections", "per_s"),
    ("the same, CPU µs of the server", "server: lease renewal, 8 TLS connections", "server_cpu_us"),
    (
        "one event of 1 KB to one of 500 watchers, CPU µs",
        "server: events of 1 KB to 500 watchers, plain",
        "server_cpu_us",
    ),
    ("the same over TLS", "server: events of 1 KB to 500 watchers, TLS", "server_cpu_us"),
    ("10,000 nodes of 7 KB in pages of 500, CPU s", "server: 10000 nodes of 7 KB in pages of 500", "server_cpu_s"),
)
_WEBHOOKS = (
    ("an admission over TLS, both ends together, on one kept connection: CPU ms", 1, "cpu_ms"),
    ("the same on four connections", 4, "cpu_ms"),
)
_ADMISSIONS = f"admissions by one replica, {webhook_suite.KEPT} kept connections of one process"
_WRITE = "write with one check in process"


def control(run: Measured) -> str:
    """Return the table of the control path and the controllers."""
    lines = [[text, run.text(work, OURS, figure)] for text, work, figure in _CONTROL]
    return grid(["**controller-runtime**", ""], [line for line in lines if line[1] != MISSING])


def server(run: Measured) -> str:
    """Return the table of the embedded server."""
    lines = [[text, *run.judged(work, figure, "embedded server")] for text, work, figure in _SERVER]
    return grid(["the embedded server", "budget", "measured"], lines)


def queue(run: Measured) -> str:
    """Return the table of the work queue."""
    works = [(f"{depth:,} keys waiting", f"queue cycle, {depth} keys waiting") for depth in QUEUES]
    lines = [[text, *run.judged(work, "cpu_us")] for text, work in works]
    return grid(["one cycle of the queue: add, get, done", "budget, CPU µs", "measured"], lines)


def webhooks(run: Measured) -> str:
    """Return the table of webhooks."""
    lines = [[text, *run.judged(f"admission over TLS, {count} connections", name)] for text, count, name in _WEBHOOKS]
    lines += [
        ["admissions in a second by one replica, asked by another process", *run.judged(_ADMISSIONS, "per_s")],
        ["admissions in a second of the replica's CPU", *run.judged(_ADMISSIONS, "replica_per_cpu_s")],
        ["a write to the embedded server, CPU µs", "", run.text(_WRITE, OURS, "plain_us")],
        ["the same if one check in process sees it", "", run.text(_WRITE, OURS, "checked_us")],
        ["the second as a multiple of the first", *run.judged(_WRITE, "times")],
    ]
    return grid(["", "budget", "measured"], lines)


def rings(run: Measured) -> str:
    """Return the table of what the replicas of a ring do together."""
    works = [f"reconciles of a ring of {members}, {ring_suite.OBJECTS} nodes of 7 KB" for members in ring_suite.RINGS]
    each = [run.number(work, OURS, "per_cpu_s") for work in works]
    lines = []
    for members, work, one in zip(ring_suite.RINGS, works, each, strict=True):
        text = f"reconciles of {members}, in a second of CPU of each"
        lines.append([text, run.text(work, OURS, "per_cpu_s"), _times(one, each[0], members)])
    gaps = run.text(ring_suite.HAND_OVERS, OURS, "gap_p50_s", "gap_p99_s")
    lines.append(["a slot that moves has no owner for, s: median / 99th percentile", gaps, ""])
    for created, pace in ring_suite.CREATED:
        work = f"{created} objects created for three replicas"
        text = f"{created:,} objects, {pace:g} a second, for three replicas: done in a second"
        lines.append([text, run.text(work, OURS, "per_s"), ""])
        lines.append(["the same: 99th percentile of the time in the queue, s", run.text(work, OURS, "queue_p99_s"), ""])
        lines.append(["the same: largest share of the CPU", run.text(work, OURS, "largest_share_of_cpu"), ""])
    return grid(["replicas of a ring", "measured", "together, as a multiple of one"], lines)


def _times(one: float | None, alone: float | None, members: int) -> str:
    return MISSING if one is None or not alone else f"{one * members / alone:.2f}"


def shards(run: Measured) -> str:
    """Return the table of what each replica of a divided ring keeps and receives."""
    lines = []
    for members in shard_suite.MEMBERS:
        work = f"a ring of {members} with {shard_suite.OBJECTS} nodes of {shard_suite.SIZE} bytes"
        cells = [run.text(work, who, name) for name in ("rss_mib", "received_mib") for who in shard_suite.SERVERS]
        lines.append([str(members), *cells])
    head = ["replicas", "MiB of memory, the server sends shards", "and all"]
    return grid([*head, "MiB of lists, the server sends shards", "and all"], lines)


def real(run: Measured) -> str:
    """Return the table of a real server, each row beside its anchor and the ratio that is wanted."""
    go, manager, paged = "client-go", "kube-controller-manager", f"{OURS}, paged"
    sync = ("wall_s", "cpu_s", "peak_mib")
    rows: tuple[tuple[str, str, str, str, dict[str, float]], ...] = (
        (f"initial sync, streamed: {_PARTS}", real_suite.SYNC, go, OURS, dict(zip(sync, (1.0, 0.5, 0.6), strict=True))),
        (f"initial sync, paged: {_PARTS}", real_suite.SYNC, go, paged, dict(zip(sync, (1.0, 0.5, 0.6), strict=True))),
        ("a lease renewal by the client: CPU µs", real_suite.LEASE, go, OURS, {"cpu_us": 0.9}),
        ("the same beside protobuf", real_suite.LEASE, f"{go}, protobuf", OURS, {"cpu_us": 0.9}),
        ("by `LeaseHeartbeat`: CPU µs", real_suite.LEASE, go, f"{OURS}, LeaseHeartbeat", {"cpu_us": 0.9}),
        (f"TTL of all nodes: {_PARTS}", real_suite.TTL, manager, OURS, dict(zip(sync, (0.7, 0.5, 0.35), strict=True))),
    )
    lines = [
        [text, run.text(work, anchor, *wanted), run.text(work, who, *wanted), *_ratios(run, work, who, anchor, wanted)]
        for text, work, anchor, who, wanted in rows
    ]
    idle = [run.text(real_suite.IDLE, who, "cpu_s", "peak_mib") for who in (go, OURS)]
    lines.append(["idle manager, one controller: CPU s / peak MiB", *idle, "", "0.3 s / 30 MiB"])
    head = ["work on a real server", "client-go, kube-controller-manager", "**controller-runtime**", "ratio", "wanted"]
    return grid(head, lines)


def _ratios(run: Measured, work: str, who: str, anchor: str, wanted: Mapping[str, float]) -> tuple[str, str]:
    found = []
    for name, most in wanted.items():
        ours, theirs = run.number(work, who, name), run.number(work, anchor, name)
        ratio = ours / theirs if ours is not None and theirs else None
        found.append(MISSING if ratio is None else f"**{ratio:.2f}**" if round(ratio, 2) > most else f"{ratio:.2f}")
    return " / ".join(found), " / ".join(f"{most:g}" for most in wanted.values())
