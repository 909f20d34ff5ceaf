# SPDX-License-Identifier: Apache-2.0
"""Three replicas share the slots of a ring while they come and go: `python examples/shared_work.py`.

Each slot is one replica's at a time. A replica that joins gets its share after one lease, and one that stops gives its
slots back. The example ends after half a minute; `--plot FILE` draws the slots of each replica, as SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import click

from controller_runtime import Controller, Host, Reconciler, Request, Result, Ring, RingBy, Stop, SystemHost, Timeline
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster

SLOTS = 256
TIMEOUT = 30.0


class Pass(Reconciler):
    """Does nothing: the example is about which replica is asked."""

    def reconcile(self, request: Request) -> Result:
        return Result()


@attrs.frozen
class Watcher:
    """Prints and notes how many slots each replica has."""

    host: Host
    rings: dict[str, Ring]
    timeline: Timeline
    asleep: Stop
    began: float

    def slots(self) -> dict[str, int]:
        return {name: ring.ownership.owned.bit_count() for name, ring in self.rings.items()}

    def until(self, what: str, holds: Callable[[dict[str, int]], bool]) -> None:
        """Look four times a second until `holds` does for the slots of each replica."""
        self.timeline.mark(what)
        deadline, now = self.host.monotonic() + TIMEOUT, self.slots()
        while self.host.monotonic() < deadline:
            now = self.slots()
            assert sum(now.values()) <= SLOTS, "no slot has two owners"
            self.timeline.note(now)
            if holds(now):
                break
            self.asleep.wait(0.25)
        shares = ", ".join(f"{name} {count}" for name, count in now.items())
        print(f"{self.host.monotonic() - self.began:6.2f} s  {what}: {shares}")


def shared_by(*names: str) -> Callable[[dict[str, int]], bool]:
    """Return whether all slots are shared by these replicas, evenly."""

    def holds(now: dict[str, int]) -> bool:
        counts = [now[name] for name in names]
        return sum(counts) == SLOTS and max(counts) - min(counts) <= 1 and sum(now.values()) == SLOTS

    return holds


def play(hosts: Sequence[Host], plot: Path | None = None) -> None:
    """Start three replicas one after another, stop the second, and print the slots of each; draw them if asked to."""
    clusters = [EmbeddedCluster(hosts[0])]
    clusters += [EmbeddedCluster(host, server=clusters[0].server) for host in hosts[1:]]
    rings = {}
    for cluster in clusters:
        manager = cluster.manager
        ring = manager.ring("work", RingBy.NAME, lease_duration=3.0, renew_deadline=2.0, retry_period=0.5)
        nodes = manager.lister(NODES)
        manager.add(Controller("pass", ring.shared(Pass())).watch(NODES).receive(ring.requests(nodes)))
        rings[cluster.host.name] = ring
    host, (a, b, c) = hosts[0], rings
    watcher = Watcher(host, rings, Timeline(host), Stop(host, "asleep"), host.monotonic())
    with clusters[0], clusters[1], clusters[2]:
        clusters[0].start()
        watcher.until(f"{a} starts", shared_by(a))
        clusters[1].start()
        watcher.until(f"{b} joins", shared_by(a, b))
        clusters[2].start()
        watcher.until(f"{c} joins", shared_by(a, b, c))
        clusters[1].stop()
        watcher.until(f"{b} has stopped", shared_by(a, c))
        watcher.asleep.wait(2.0)
    if plot is not None:
        watcher.timeline.write(plot, "The slots of a ring of three replicas")


@click.command()
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the run to this file.")
def main(plot: Path | None) -> None:
    """Run the example."""
    play([SystemHost(f"replica-{letter}") for letter in "abc"], plot)


if __name__ == "__main__":
    main()
