# SPDX-License-Identifier: Apache-2.0
"""The tables of README.md and benchmarks/README.md, made from the rows of one run.

A document holds each table between `<!-- figures: NAME -->` and `<!-- end of figures -->`. A figure that was not
measured is shown as a dash, and a table without any figure is left as it is.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from benchmarks import cache_suite, event_suite, real_suite
from benchmarks.harness import Row

_PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_MISSING = "–"
_OURS = "controller-runtime"
_GROWTH = (_OURS, "lightkube (list only)", "official informer", "kr8s (list only)", "kopf (index)")
_EVENTS = tuple(event_suite.PEERS)
_RENEWALS = ("controller-runtime, LeaseHeartbeat", _OURS + ", client", "official typed", "lightkube", "kr8s (patch)")


@attrs.frozen
class About:
    """How the figures of a run were obtained.

    Attributes:
        when: The day.
        commit: The commit of the project.
        command: The command line.
        python: Python's version.
        machine: The processor, and how many of them.
        packages: The versions of the peers.
        server: The release of the server of `--kubeconfig`; empty without one.
        load: The average load of the machine at the begin and at the end, which is 1 or less on a quiet machine.
        runs: The number of runs whose median is reported.
    """

    when: str
    commit: str
    command: str
    python: str
    machine: str
    packages: str
    server: str
    load: tuple[float, float]
    runs: int


class Measured:
    """The rows of a run, by work and peer.

    Attributes:
        about: How they were obtained.
        is_any: Whether there are any.
    """

    def __init__(self, about: About, rows: Iterable[Row]) -> None:
        self.about = about
        self._rows = {(row.work, row.who): row for row in rows}
        self.is_any = bool(self._rows)

    def number(self, work: str, who: str, figure: str) -> float | None:
        """Return a figure; None if it was not measured."""
        row = self._rows.get((work, who))
        return None if row is None else row.figures.get(figure)

    def text(self, work: str, who: str, *figures: str) -> str:
        """Return figures with slashes between them, or why there are none."""
        row = self._rows.get((work, who))
        if row is None or not row.figures:
            return _MISSING
        if "objects" in row.figures and row.note:
            return f"{row.figures['objects']:,.0f} of them with {row.figures['cpu_s']:.0f} s"
        return " / ".join(shown(row.figures[figure]) if figure in row.figures else _MISSING for figure in figures)


def shown(number: float) -> str:
    """Return a number with two significant digits below ten, and as a whole number from there on."""
    if abs(number) >= 10:
        return f"{number:,.0f}"
    return f"{number:.2g}" if abs(number) < 1 else f"{number:.1f}"


def grid(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    rows = (head, ["---"] * len(head), *lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def about(run: Measured) -> str:
    """Return the sentences that say how the figures were obtained."""
    it = run.about
    if not run.is_any:
        return ""
    server = f" The server of your own is {it.server}, on the same machine." if it.server else ""
    text = (
        f"One run of `{it.command}` on {it.when}, commit {it.commit}: Python {it.python}, {it.packages}; {it.machine}, "
        f"with a load of {it.load[0]:.1f} at the begin and {it.load[1]:.1f} at the end.{server} Figures are medians of "
        f"{it.runs} runs, and of one for the slower peers and for TTL. CPU and memory are those of the peer's process. "
        "Python's bytecode was compiled before."
    )
    return textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False) + "\n"


def growth(counts: Sequence[int]) -> Callable[[Measured], str]:
    """Return the table of initial syncs by the number of nodes."""

    def made(run: Measured) -> str:
        works = [f"sync of {count} nodes of {cache_suite.SMALL} bytes" for count in counts]
        head = ["CPU s / peak MiB of the process", *(f"{count:,}" for count in counts)]
        return grid(head, ([_bold(who), *(run.text(w, who, "cpu_s", "peak_mib") for w in works)] for who in _GROWTH))

    return made


def big(run: Measured) -> str:
    """Return the table of initial syncs of large nodes."""
    work = "sync of 10000 nodes of 7 KB"
    peers = (_OURS, f"{_OURS}, paged", "lightkube (list only)", "official informer")
    lines = ([_bold(who), run.text(work, who, "cpu_s"), run.text(work, who, "peak_mib")] for who in peers)
    return grid(["initial sync of 10,000 nodes of 7 KB", "CPU s", "peak MiB"], lines)


def events(run: Measured) -> str:
    """Return the table of watch events."""
    lines = ([_bold(who), run.text(event_suite.WORK, who, "cpu_us")] for who in _EVENTS)
    return grid(["CPU of one watch event of 7 KB, over TLS, to the handler", "µs"], lines)


def lease(run: Measured) -> str:
    """Return the table of renewals of a lease."""
    lines = ([_bold(who), run.text("lease renewal over TLS", who, "cpu_us")] for who in _RENEWALS)
    return grid(["CPU of one lease renewal over TLS", "µs"], lines)


def cache(run: Measured) -> str:
    """Return the table of stores."""
    lines = []
    for kind, size, count, budget in cache_suite.STORES:
        work = f"cache of {count} {kind.lower()}s of {size} bytes"
        names = ("json_bytes", "bytes_per_object", "times_its_json", "event_us", "gc_full_ms_more")
        each, weight, times, event, more = (run.text(work, _OURS, name) for name in names)
        lines.append([f"{count:,} {kind.lower()}s of {each} bytes", weight, times, f"{budget:g}", event, more])
    head = ["cached objects", "bytes per object", "multiple of its JSON", "budget", "event, line to handler, µs"]
    return grid([*head, "added to a full garbage collection, ms"], lines)


def control(run: Measured) -> str:
    """Return the table of the control path and the controllers."""
    figures = (
        ("reconciles that do nothing, a second of CPU: one worker", "no-op reconciles, 1 worker", "per_cpu_s"),
        ("reconciles that do nothing, a second of CPU: four workers", "no-op reconciles, 4 workers", "per_cpu_s"),
        ("from a write to its reconcile, ms: median", "write to reconcile, in process", "median_ms"),
        ("from a write to its reconcile, ms: 99th percentile", "write to reconcile, in process", "p99_ms"),
        ("the same beside a thread that never waits: median", "write to reconcile, one busy thread", "median_ms"),
        ("the same: 99th percentile", "write to reconcile, one busy thread", "p99_ms"),
        ("a manager of 10 controllers, idle: cores", "idle manager, 10 controllers", "cores"),
        ("a node's agent, at rest: percent of a core", "a node's agent at rest", "percent_of_a_core"),
        ("a node's agent, at rest: peak MiB", "a node's agent at rest", "peak_mib"),
        ("5,000 hollow nodes: cores", "5000 hollow nodes at 10 s", "cores"),
        ("5,000 hollow nodes: peak MiB", "5000 hollow nodes at 10 s", "peak_mib"),
    )
    lifecycle = "node-lifecycle and taint-eviction, 5000 nodes of 7 KB at 10 s, 50000 pods of 6 KB"
    over = "node lifecycle and taint eviction over 5,000 nodes and 50,000 pods"
    lines = [[text, run.text(work, _OURS, figure)] for text, work, figure in figures]
    lines += [[f"{over}: {what}", run.text(lifecycle, _OURS, name)] for what, name in _LIFECYCLE]
    lines += [[f"embedded server: {what}", run.text(SERVER_START, "embedded server", name)] for what, name in _START]
    return grid(["**controller-runtime**", ""], (line for line in lines if line[1] != _MISSING))


SERVER_START = "server: start to ready"
_LIFECYCLE = (("cores", "quiet_cores"), ("peak MiB", "peak_mib"))
_START = (("start to ready, s", "ready_s"), ("the same, CPU s", "cpu_s"), ("empty, MiB", "empty_mib"))


def real(run: Measured) -> str:
    """Return the table of a real server, each row beside its anchor."""
    go, manager, paged = "client-go", "kube-controller-manager", f"{_OURS}, paged"
    sync = ("wall_s", "cpu_s", "peak_mib")
    rows = (
        ("initial sync, streamed: wall s / CPU s / peak MiB", real_suite.SYNC, go, _OURS, sync),
        ("initial sync, paged (beside client-go's stream)", real_suite.SYNC, go, paged, sync),
        ("a lease renewal by the client: CPU µs", real_suite.LEASE, go, _OURS, ("cpu_us",)),
        ("the same beside protobuf", real_suite.LEASE, f"{go}, protobuf", _OURS, ("cpu_us",)),
        ("by `LeaseHeartbeat`: CPU µs", real_suite.LEASE, go, f"{_OURS}, LeaseHeartbeat", ("cpu_us",)),
        ("TTL of all nodes, with the start: wall s / CPU s / peak MiB", real_suite.TTL, manager, _OURS, sync),
        ("idle manager, one controller: CPU s / peak MiB", real_suite.IDLE, go, _OURS, ("cpu_s", "peak_mib")),
    )
    lines = [
        [text, run.text(work, anchor, *names), run.text(work, who, *names), _ratios(run, work, who, anchor, names)]
        for text, work, anchor, who, names in rows
    ]
    return grid(
        ["work on a real server", "client-go, kube-controller-manager", "**controller-runtime**", "ratio"], lines
    )


def _ratios(run: Measured, work: str, who: str, anchor: str, figures: Iterable[str]) -> str:
    pairs = [(run.number(work, who, name), run.number(work, anchor, name)) for name in figures]
    return " / ".join(f"{ours / theirs:.2f}" if ours is not None and theirs else _MISSING for ours, theirs in pairs)


def _bold(who: str) -> str:
    return who.replace(_OURS, f"**{_OURS}**")


TABLES: Mapping[str, Callable[[Measured], str]] = {
    "about": about,
    "growth": growth(cache_suite.COUNTS),
    "summary": growth((1_000, 10_000, 100_000)),
    "big": big,
    "events": events,
    "lease": lease,
    "cache": cache,
    "control": control,
    "real": real,
}


def rewritten(document: str, run: Measured) -> str:
    """Return a document with new tables where the run has figures for them, each with its origin below it."""

    def made(found: re.Match[str]) -> str:
        make = TABLES[found[2]]
        table = make(run)
        if table == make(Measured(run.about, ())):
            return found[0]
        return f"{found[1]}\n{table}{origin(run.about) if make is not about else ''}\n{found[3]}"

    return _PLACE.sub(made, document)


def origin(it: About) -> str:
    """Return the line below a table that says which run it is from."""
    return f"\nCommit {it.commit} on {it.when}, with a load of {it.load[0]:.0f} to {it.load[1]:.0f}.\n"
