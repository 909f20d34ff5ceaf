# SPDX-License-Identifier: Apache-2.0
"""The cost of a cache, alone and beside its peers, as the collection grows."""

from __future__ import annotations

from collections.abc import Callable

from apimachinery.host import Host
from benchmarks.harness import Figures, PeerFailed, Row, budgeted, repeated, run_peer
from benchmarks.nodes import filled_server
from controller_runtime.testing.server_process import APIServerProcess

COUNTS = (1_000, 3_000, 10_000, 30_000, 100_000)
SMALL = 1_500
"""Bytes of a node where peers are compared by the number of nodes."""
LIMIT = 150
"""Seconds of CPU for one run of a peer; a peer that needs more is not measured with more objects."""
KOPF_LIMIT = 90
"""The same for kopf, whose index takes longer with each further object; the row gives the objects it had by then."""
TIMEOUT = 900.0
"""Seconds of wall time for one run, much more than `LIMIT`, because the machine may be busy with other work."""

Run = Callable[[str, int], Figures]


def _peer(name: str, runs: int, *more: str) -> Run:
    def once(kubeconfig: str, count: int) -> Figures:
        arguments = (kubeconfig, str(count), *more)
        return run_peer(f"benchmarks.peers.sync_{name}", *arguments, timeout=TIMEOUT, cpu_limit=LIMIT)

    return lambda kubeconfig, count: repeated(runs, lambda: once(kubeconfig, count))


def sizes(host: Host, runs: int) -> list[Row]:
    """Measure the initial sync of more and more nodes, by all peers."""
    peers: dict[str, Run] = {
        "controller-runtime": _peer("ours", runs, "streamed"),
        "lightkube (list only)": _peer("lightkube", 1),
        "official informer": _peer("official", 1),
        "kr8s (list only)": _peer("kr8s", 1),
        "kopf (index)": _peer("kopf", 1, str(KOPF_LIMIT)),
    }
    rows, given_up = list[Row](), dict[str, str]()
    for count in COUNTS:
        work = f"sync of {count} nodes of {SMALL} bytes"
        with filled_server(host, count, SMALL) as server:
            for who, run in peers.items():
                row = Row(work, who, {}, given_up[who]) if who in given_up else _measured(work, who, run, server, count)
                if row.note:
                    given_up.setdefault(who, f"not run: it did not do {count}")
                rows.append(row)
    return rows


def _measured(work: str, who: str, run: Run, server: APIServerProcess, count: int) -> Row:
    try:
        figures = run(str(server.kubeconfig), count)
    except PeerFailed as error:
        # Without its kubeconfig a peer fails with errors that do not say so.
        return Row(work, who, {}, f"failed: {error if server.kubeconfig.exists() else 'the server has ended'}")
    reached = int(figures.get("objects", count))
    note = "" if reached == count else f"{reached} of them with {figures['cpu_s']:.0f} s of CPU"
    return Row(work, who, figures, note)


STORES = (("Pod", 700, 100_000, 2.2), ("Node", 1_500, 100_000, 1.8), ("Node", 7_000, 10_000, 1.2))
"""Kind, bytes of an object, number of objects, and the budget of memory as a multiple of the object's JSON."""


def cache(runs: int) -> list[Row]:
    """Measure the memory of an object, the CPU of an event from line to handler, and of a full garbage collection."""
    return [_stored(runs, *store) for store in STORES]


def _stored(runs: int, kind: str, size: int, count: int, weight: float) -> Row:
    def measure() -> Figures:
        return repeated(runs, lambda: run_peer("benchmarks.peers.cache_ours", kind, str(size), str(count)))

    budgets = {"times_its_json": f"<= {weight:g}", "event_us": "<= 15", "gc_full_ms_more": "<= 2"}
    return budgeted(f"cache of {count} {kind.lower()}s of {size} bytes", "controller-runtime", measure, budgets)
