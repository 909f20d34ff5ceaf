# SPDX-License-Identifier: Apache-2.0
"""Two replicas of a program, of which one leads, and the takeover when it stops: `python examples/two_replicas.py`.

Both fill their caches; only the leader reconciles. It releases its lease when it stops, so the
other replica leads as soon as it reads the lease again. The example ends after a few seconds.
`--plot FILE` draws who led when, as SVG.
"""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from controller_runtime import Controller, Host, LeaderElectionConfig, Reconciler, Request, Result, Stop, SystemHost
from controller_runtime import Timeline as Drawn
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster

ELECTION = LeaderElectionConfig(
    name="two-replicas", namespace="default", lease_duration=3.0, renew_deadline=2.0, retry_period=0.5
)
TIMEOUT = 5.0


@attrs.frozen
class Timeline:
    """Prints what happens and when, and notes it for a picture."""

    host: Host
    began: float
    drawn: Drawn

    def print(self, who: str, what: str, state: str | None = None) -> None:
        self.drawn.mark(f"{who} {what}")
        self.drawn.note({who: state})
        print(f"{self.host.monotonic() - self.began:6.2f} s  {who:<10} {what}")


@attrs.frozen
class Greet(Reconciler):
    """Prints the name of each node that it reconciles."""

    name: str
    timeline: Timeline
    greeted: dict[str, Stop]

    def reconcile(self, request: Request) -> Result:
        self.timeline.print(self.name, f"reconciles {request}", "leads")
        self.greeted[request.name].set()
        return Result()


def play(first: Host, second: Host, plot: Path | None = None) -> None:
    """Let the first replica lead, stop it, and wait until the second has taken over; draw that if a file is named."""
    timeline, asleep = Timeline(first, first.monotonic(), Drawn(first)), Stop(first, "asleep")
    greeted = {name: Stop(first, name) for name in ("node-1", "node-2", "node-3")}
    a = EmbeddedCluster(first, leader_election=ELECTION)
    b = EmbeddedCluster(second, server=a.server, leader_election=ELECTION)
    with a, b:
        for cluster in (a, b):
            greet = Greet(cluster.host.name, timeline, greeted)
            cluster.manager.add(Controller("greet", greet).watch(NODES))
        a.start()
        a.user.create(NODES, {"metadata": {"name": "node-1"}})
        greeted["node-1"].wait(TIMEOUT)

        b.start()
        asleep.wait(2.0)
        timeline.print(second.name, f"waits: {b.manager.elector.leader if b.manager.elector else ''} leads", "waits")
        a.user.create(NODES, {"metadata": {"name": "node-2"}})
        greeted["node-2"].wait(TIMEOUT)

        timeline.print(first.name, "is asked to stop")
        a.stop()
        a.user.create(NODES, {"metadata": {"name": "node-3"}})
        greeted["node-3"].wait(TIMEOUT)
        asleep.wait(1.0)
    timeline.print(second.name, "has stopped too")
    if plot is not None:
        timeline.drawn.write(plot, "Two replicas, of which one leads")


@click.command()
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the run to this file.")
def main(plot: Path | None) -> None:
    """Run the example."""
    play(SystemHost("replica-a"), SystemHost("replica-b"), plot)


if __name__ == "__main__":
    main()
