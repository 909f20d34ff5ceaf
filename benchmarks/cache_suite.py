# SPDX-License-Identifier: Apache-2.0
"""What a cache costs, by itself and beside its peers, as the collection grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.harness import Figures, PeerFailed, Row, repeated, run_peer
from benchmarks.nodes import filled_server
from controller_runtime.core.host import Host

COUNTS = (1_000, 10_000, 100_000)
SMALL = 1_500
"""Bytes of a node in the comparison by count."""
PATIENCE = 120.0
"""Seconds that one run of a peer may take; one that took longer is not asked about more objects."""

Run = Callable[[str, int], Figures]


def _peer(name: str, runs: int, *more: str) -> Run:
    def run(kubeconfig: str, count: int) -> Figures:
        arguments = (kubeconfig, str(count), *more)
        return repeated(runs, lambda: run_peer(f"benchmarks.peers.sync_{name}", *arguments, timeout=PATIENCE + 30.0))

    return run


def sizes(host: Host, runs: int) -> list[Row]:
    """Initial sync of more and more nodes, by everybody."""
    peers: dict[str, Run] = {
        "controller-runtime": _peer("ours", runs, "streamed"),
        "lightkube (list only)": _peer("lightkube", 1),
        "official informer": _peer("official", 1),
        "kr8s (list only)": _peer("kr8s", 1),
        "kopf (index)": _peer("kopf", 1, str(PATIENCE)),
    }
    rows: list[Row] = []
    for count in COUNTS:
        with filled_server(host, count, SMALL) as server:
            for who in list(peers):
                row = _measured(
                    f"sync of {count} nodes of {SMALL} bytes", who, peers[who], str(server.kubeconfig), count
                )
                rows.append(row)
                if row.figures.get("wall_s", PATIENCE) >= PATIENCE / 4:  # ten times as many would be past all patience
                    del peers[who]
    return rows


def _measured(work: str, who: str, run: Run, kubeconfig: str, count: int) -> Row:
    try:
        figures = run(kubeconfig, count)
    except PeerFailed as error:
        return Row(work, who, {}, f"not measured: {error}")
    reached = int(figures.get("objects", count))
    note = "" if reached == count else f"{reached} after {PATIENCE:g} s"
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
