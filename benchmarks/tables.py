# SPDX-License-Identifier: Apache-2.0
"""The tables of README.md and benchmarks/README.md, made from the rows of one run.

A document holds each table between `<!-- figures: NAME -->` and `<!-- end of figures -->`. A figure that was not
measured is shown as a dash and named below its table; a table without any figure is left as it is.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence

from benchmarks import cache_suite, event_suite
from benchmarks.control_tables import control, queue, real, rings, server, shards, webhooks
from benchmarks.figures import OURS, About, Measured, bold, grid

_PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_GROWTH = (OURS, "lightkube (list only)", "official informer", "kr8s (list only)", "kopf (index)")
_EVENTS = tuple(event_suite.PEERS)
_RENEWALS = ("controller-runtime, LeaseHeartbeat", OURS + ", client", "official typed", "lightkube", "kr8s (patch)")


def about(run: Measured) -> str:
    """Return the sentences that say how the figures were obtained."""
    it = run.about
    if not run.is_any:
        return ""
    server = f" The server of your own is {it.server}, on the same machine." if it.server else ""
    text = (
        f"One run of `{it.command}` on {it.when}, commit {it.commit}: Python {it.python}, {it.packages}; {it.machine}, "
        f"with a load of {it.load[0]:.1f} at the start and {it.load[1]:.1f} at the end.{server} Figures are medians of "
        f"{it.runs} runs, and of one for the slower peers and for TTL. CPU and memory are those of the peer's process. "
        "Python's bytecode was compiled before."
    )
    return textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False) + "\n"


def growth(counts: Sequence[int]) -> Callable[[Measured], str]:
    """Return the table of initial syncs by the number of nodes."""

    def made(run: Measured) -> str:
        works = [f"sync of {count} nodes of {cache_suite.SMALL} bytes" for count in counts]
        head = ["CPU s / peak MiB of the process", *(f"{count:,}" for count in counts)]
        return grid(head, ([bold(who), *(run.text(w, who, "cpu_s", "peak_mib") for w in works)] for who in _GROWTH))

    return made


def big(run: Measured) -> str:
    """Return the table of initial syncs of large nodes."""
    work, names = "sync of 10000 nodes of 7 KB", ("cpu_s", "peak_mib", "json_mib")
    peers = (OURS, f"{OURS}, paged", f"{OURS}, no managedFields", "lightkube (list only)", "official informer")
    lines = ([bold(who), *(run.text(work, who, name) for name in names)] for who in peers)
    return grid(["initial sync of 10,000 nodes of 7 KB", "CPU s", "peak MiB", "MiB of JSON in the cache"], lines)


def events(run: Measured) -> str:
    """Return the table of watch events."""
    lines = ([bold(who), run.text(event_suite.WORK, who, "cpu_us")] for who in _EVENTS)
    return grid(["CPU of one watch event of 7 KB, over TLS, to the handler", "µs"], lines)


def lease(run: Measured) -> str:
    """Return the table of renewals of a lease."""
    lines = ([bold(who), run.text("lease renewal over TLS", who, "cpu_us")] for who in _RENEWALS)
    return grid(["CPU of one lease renewal over TLS", "µs"], lines)


def cache(run: Measured) -> str:
    """Return the table of stores."""
    lines = []
    for kind, size, count, budget in cache_suite.STORES:
        work = f"cache of {count} {kind.lower()}s of {size} bytes"
        names = ("json_bytes", "bytes_per_object", "times_its_json", "event_us", "gc_full_ms_more")
        each, weight, times, event, more = (run.text(work, OURS, name) for name in names)
        lines.append([f"{count:,} {kind.lower()}s of {each} bytes", weight, times, f"{budget:g}", event, more])
    head = ["cached objects", "bytes per object", "multiple of its JSON", "budget", "event, line to handler, µs"]
    return grid([*head, "added to a full garbage collection, ms"], lines)


def peers(run: Measured) -> str:
    """Return the table of one initial sync by peers, without its origin, which is on the page of the benchmarks."""
    work = f"sync of 10000 nodes of {cache_suite.SMALL} bytes"
    head = ["initial sync of 10,000 nodes, [measured](benchmarks/README.md)", *(bold(who) for who in _GROWTH[:4])]
    lines = (("CPU seconds", "cpu_s"), ("peak MiB", "peak_mib"))
    return grid(head, ([title, *(run.text(work, who, name) for who in _GROWTH[:4])] for title, name in lines))


TABLES: Mapping[str, Callable[[Measured], str]] = {
    "about": about,
    "growth": growth(cache_suite.COUNTS),
    "peers": peers,
    "big": big,
    "events": events,
    "lease": lease,
    "cache": cache,
    "control": control,
    "server": server,
    "queue": queue,
    "webhooks": webhooks,
    "rings": rings,
    "shards": shards,
    "real": real,
}


def rewritten(document: str, run: Measured) -> str:
    """Return a document with new tables where the run has figures for them, each with its origin below it."""

    def made(found: re.Match[str]) -> str:
        make = TABLES[found[2]]
        run.absent.clear()
        table, absent = make(run), tuple(run.absent)
        if table == make(Measured(run.about, ())):
            return found[0]
        return f"{found[1]}{table}{'' if make in (about, peers) else origin(run.about, absent)}\n{found[3]}"

    return _PLACE.sub(made, document)


def origin(it: About, absent: Sequence[str]) -> str:
    """Return the lines below a table: which run it is from, and which works that run did not measure."""
    text = f"Commit {it.commit} on {it.when}, with a load of {it.load[0]:.0f} to {it.load[1]:.0f}."
    if absent:
        text += f" Not measured in that run: {'; '.join(absent)}."
    return f"\n{textwrap.fill(text, 120, break_on_hyphens=False, break_long_words=False)}\n"
