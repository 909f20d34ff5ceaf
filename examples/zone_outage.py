# SPDX-License-Identifier: Apache-2.0
"""A node fails, then a rack, then a zone, then all nodes, and all return: `python examples/zone_outage.py`.

120 nodes without machines in three zones carry 240 pods. The times are a tenth of Kubernetes' own, so
that it takes about a minute: a node is Unknown after 5 s of silence, and a zone evicts one node per second.
`--plot FILE` draws it, as SVG.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import click

from controller_runtime import Host, Stop, SystemHost, Timeline
from controller_runtime.resources import NODES
from controller_runtime.testing import EmbeddedCluster
from controllers.command.snapshot import ClusterSnapshot, ClusterSource
from controllers.command.zone_states import disrupted_zones, zone_states
from controllers.hollow.node import RACK_SIZE, ZONES, node_name, rack_of
from controllers.hollow.nodes import HollowNodes
from controllers.hollow.pod_maker import PodMaker
from controllers.hollow.pods import HollowPods
from controllers.hollow.selection import Selection
from controllers.node_lifecycle.config import LifecycleConfig
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.taint_eviction.taint_eviction import taint_eviction

CONFIG = LifecycleConfig.of(
    {
        "node_monitor_period": 0.5,
        "node_monitor_grace_period": 5.0,
        "node_startup_grace_period": 6.0,
        "node_eviction_rate": 1.0,
        "secondary_node_eviction_rate": 0.1,
    }
)
RENEW_INTERVAL = 1.0
TOLERATION_SECONDS = 2
PODS_PER_NODE = 2
TIMEOUT = 30.0


def summary(snapshot: ClusterSnapshot) -> str:
    """Return one line about a snapshot."""
    nodes, pods = snapshot.nodes, snapshot.pods
    states = ", ".join(f"{zone} {state.value}" for zone, state in disrupted_zones(nodes).items())
    return (
        f"ready {nodes.ready.get('True', 0)}/{nodes.nodes}, unknown {nodes.ready.get('Unknown', 0)}, "
        f"evicting {nodes.evicting}; pods ready {pods.ready}, going {pods.going}" + (f"; {states}" if states else "")
    )


def facts(snapshot: ClusterSnapshot) -> dict[str, object]:
    """Return what is drawn of a snapshot."""
    nodes, pods = snapshot.nodes, snapshot.pods
    zones = {zone: state.value for zone, state in zone_states(nodes).items()}
    ready = nodes.ready.get("True", 0)
    return {
        **zones,
        "nodes ready": ready,
        "nodes evicting": nodes.evicting,
        "pods ready": pods.ready,
        "pods going": pods.going,
    }


@attrs.frozen
class Watcher:
    """Prints a summary whenever it has changed, at most twice per second."""

    host: Host
    take: Callable[[], ClusterSnapshot]
    asleep: Stop
    began: float
    timeline: Timeline

    def print(self, what: str) -> None:
        print(f"{self.host.monotonic() - self.began:6.1f} s  {what}")
        if not what.startswith(" "):
            self.timeline.mark(what)

    def until(self, condition: Callable[[ClusterSnapshot], bool], what: str) -> None:
        """Print summaries until `condition` holds; after `TIMEOUT` seconds print that it still does not."""
        deadline, printed = self.host.monotonic() + TIMEOUT, ""
        while self.host.monotonic() < deadline:
            snapshot = self.take()
            self.timeline.note(facts(snapshot))
            if (text := summary(snapshot)) != printed:
                self.print(f"  {text}")
                printed = text
            if condition(snapshot):
                return
            self.asleep.wait(0.5)
        self.print(f"  after {TIMEOUT:g} s still not: {what}")


def ready(count: int) -> Callable[[ClusterSnapshot], bool]:
    return lambda seen: seen.nodes.ready.get("True", 0) == count


def evicting(count: int) -> Callable[[ClusterSnapshot], bool]:
    return lambda seen: seen.nodes.evicting == count


def play(host: Host, nodes: int = 120, plot: Path | None = None) -> None:
    """Let the nodes fail and return, and print the state of the cluster meanwhile; draw it if a file is named."""
    with EmbeddedCluster(host) as cluster:
        manager = cluster.manager
        manager.add(node_lifecycle(manager, config=CONFIG))
        manager.add(taint_eviction(manager))
        source = ClusterSource(manager)
        informer = manager.informer(NODES)
        hollow = HollowNodes(host, manager.client, nodes, spread=1.0, renew_interval=RENEW_INTERVAL, nodes=informer)
        manager.add(hollow)
        manager.add(HollowPods(manager, hollow.is_running))
        pods = nodes * PODS_PER_NODE
        manager.add(PodMaker(host, manager.client, pods, nodes, toleration_seconds=TOLERATION_SECONDS))
        cluster.start()
        watcher = Watcher(host, source.take, Stop(host, "asleep"), host.monotonic(), Timeline(host))

        watcher.print(f"{nodes} nodes join")
        watcher.until(lambda seen: ready(nodes)(seen) and seen.pods.ready == pods, "all are ready")

        watcher.print("one node fails")
        hollow.kill(Selection((node_name(0),)))
        watcher.until(lambda seen: seen.pods.going == PODS_PER_NODE, "its pods go")

        watcher.print(f"a rack of zone-b fails, with its {RACK_SIZE} nodes")
        hollow.kill(Selection(rack=rack_of(1)))
        watcher.until(lambda seen: seen.pods.going == PODS_PER_NODE * (1 + RACK_SIZE), "its pods go, node by node")

        watcher.print("all of zone-c fails")
        hollow.kill(Selection(zone="zone-c"))
        watcher.until(evicting(1 + RACK_SIZE + 3), "the first of its nodes are evicted")

        watcher.print("all others fail: no node is evicted any more")
        for zone in ("zone-a", "zone-b"):
            hollow.kill(Selection(zone=zone))
        watcher.until(lambda seen: ready(0)(seen) and evicting(0)(seen), "all evictions are cancelled")

        watcher.print("all nodes return")
        for zone in ZONES:
            hollow.revive(Selection(zone=zone))
        watcher.until(lambda seen: ready(nodes)(seen) and seen.pods.going == 0, "all are ready again")
        watcher.print("done")
        watcher.asleep.wait(2.0)
    if plot is not None:
        watcher.timeline.write(plot, f"{nodes} nodes in three zones fail and return")


@click.command()
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the run to this file.")
def main(plot: Path | None) -> None:
    """Run the example."""
    play(SystemHost("zone-outage"), plot=plot)


if __name__ == "__main__":
    main()
