# SPDX-License-Identifier: Apache-2.0
"""The node lifecycle controller beside hollow nodes that renew, and when a tenth of them dies.

Arguments: KUBECONFIG NODES PODS SECONDS CONTROL, the last one being the socket of the hollow nodes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.harness import metered, report
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.cache.store import Delta
from controller_runtime.core.stop import Stop, spawn
from controller_runtime.manager.manager import Manager
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.hollow.control import command
from controllers.hollow.selection import Selection
from controllers.lean import keep_little
from controllers.node_lifecycle.health import Graces
from controllers.node_lifecycle.node_lifecycle import NodeLifecycle, node_lifecycle
from controllers.node_lifecycle.views import NodeView

WARM_UP = 15.0
PATIENCE = 180.0


def main() -> None:
    """Run the controller, first in quiet, then through the death of a tenth, and print the figures."""
    kubeconfig, nodes, pods, seconds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    manager, figures, quiet = Manager.from_kubeconfig(kubeconfig), dict[str, float](), dict[str, float]()
    keep_little(manager)
    controller = node_lifecycle(manager)
    manager.add(controller)
    reconciler = controller.reconciler
    assert isinstance(reconciler, NodeLifecycle)
    monitor, read = reconciler.monitor, decoder_for(NodeView, NODES)
    stop, marked, lags = Stop(manager.host), Stop(manager.host), dict[str, float]()
    killed: list[str] = []

    def observe(delta: Delta) -> None:
        node = read(delta.object.raw)
        health = monitor.health(node)
        if node.ready is not None and node.ready.is_ours and health is not None and not delta.initial:
            # Once: its taint comes later, in its turn.
            lags.setdefault(node.name, manager.host.monotonic() - health.heard - Graces().monitor)
            if killed and lags.keys() >= set(killed):
                marked.set()

    manager.informer(NODES).subscribe(observe, name="marks")
    thread = spawn(manager.host, stop, "manager", lambda: manager.run(stop))
    deadline = manager.host.monotonic() + PATIENCE
    there = [
        (manager.lister(NODES, dict), nodes), (manager.lister(PODS, dict), pods),
        (manager.lister(LEASES, dict, namespace=NAMESPACE), nodes),
    ]  # fmt: skip
    while any(len(lister) < count for lister, count in there) and manager.host.monotonic() < deadline:
        stop.wait(1.0)
    assert all(len(lister) == count for lister, count in there), "not all nodes, pods and leases are there"
    stop.wait(WARM_UP)
    with metered(quiet):
        stop.wait(seconds)
    figures["quiet_cores"] = quiet["cpu_s"] / quiet["wall_s"]
    with metered(figures):
        killed += command("kill", Selection(random=nodes // 10), Path(sys.argv[5]))
        marked.wait(120)
    figures["killed_and_marked"] = sum(name in lags for name in killed)
    figures["last_marked_after_grace_s"] = max((lags.get(name, PATIENCE) for name in killed), default=PATIENCE)
    stop.set()
    thread.join_until(None)
    report(figures)


if __name__ == "__main__":
    main()
