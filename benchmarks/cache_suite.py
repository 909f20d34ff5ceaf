# SPDX-License-Identifier: Apache-2.0
"""What a cache costs, by itself and beside its peers, as the collection grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.harness import Figures, PeerFailed, Row, repeated, run_peer
from benchmarks.nodes import filled_server
from controller_runtime.core.host import Host
from controller_runtime.testing.server_process import APIServerProcess

COUNTS = (1_000, 3_000, 10_000, 30_000, 100_000)
SMALL = 1_500
"""Bytes of a node in the comparison by count."""
LIMIT = 180.0
"""Seconds that one run of a peer may take; one that did not come to an end is not asked about more objects."""

Run = Callable[[str, int], Figures]


def _peer(name: str, runs: int, *more: str) -> Run:
    def run(kubeconfig: str, count: int) -> Figures:
        arguments = (kubeconfig, str(count), *more)
        return repeated(runs, lambda: run_peer(f"benchmarks.peers.sync_{name}", *arguments, timeout=LIMIT + 20.0))

    return run


def sizes(host: Host, runs: int) -> list[Row]:
    """Initial sync of more and more nodes, by everybody."""
    peers: dict[str, Run] = {
        "controller-runtime": _peer("ours", runs, "streamed"),
        "lightkube (list only)": _peer("lightkube", 1),
        "official informer": _peer("official", 1),
        "kr8s (list only)": _peer("kr8s", 1),
        "kopf (index)": _peer("kopf", 1, str(LIMIT)),
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
        # A peer that finds no kubeconfig may blame anything.
        return Row(work, who, {}, f"failed: {error if server.kubeconfig.exists() else 'the server has ended'}")
    reached = int(figures.get("objects", count))
    note = "" if reached == count else f"{reached} of them in {LIMIT:g} s"
    return Row(work, who, figures, note)


BUDGETS: Mapping[str, float] = {"1500": 1.8, "7000": 1.2}
"""Times its JSON that an object may weigh, by its size in bytes."""


def cache(runs: int) -> list[Row]:
    """Memory of an object, the cost of an event from its line to the handler, and of a full collection of garbage."""
    rows = []
    for size, count in (("1500", 100_000), ("7000", 10_000)):
        figures = repeated(runs, lambda s=size, c=count: run_peer("benchmarks.peers.cache_ours", s, str(c)))  # type: ignore[misc]
        note = f"budget {BUDGETS[size]:g} times its JSON, an event 15 us, a collection 2 ms more"
        rows.append(
            Row(f"cache of {count} nodes of {figures['json_bytes']:.0f} bytes", "controller-runtime", figures, note)
        )
    return rows
