# SPDX-License-Identifier: Apache-2.0
"""Records what a real controller manager makes of the stories: `python tests/workloads/record.py --kubeconfig FILE`.

Needs an API server with a kube-controller-manager (its controllers of workloads, garbage collection and namespaces),
and neither kubelets nor a scheduler: nodes, kubelets and scheduler are those of this project.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from kit.controllers.workload_states import play, state_of
from kit.controllers.workload_stories import STORIES

from apimachinery.stop import Stop, spawn
from apimachinery.system import SystemHost
from controller_runtime.api.resources import NAMESPACES
from controller_runtime.client.client import Client
from controller_runtime.manager.manager import Manager
from controllers.workloads.fixed_nodes import FixedNodes
from controllers.workloads.kubelet import LivingPods
from controllers.workloads.scheduler import scheduler

QUIET = 2.5
"""Seconds without a change after which everything is at rest."""
RECORDINGS = Path(__file__).resolve().parent / "data" / "recordings.json.gz"


def main() -> None:
    """Play each story in a namespace of its own, and write the states."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--only", default="", help="only the stories whose names contain this text")
    chosen = parser.parse_args()
    host = SystemHost()
    manager = Manager.from_kubeconfig(chosen.kubeconfig)
    nodes = FixedNodes(manager, 3)
    manager.add(nodes)
    manager.add(LivingPods(manager, nodes.is_running))
    manager.add(scheduler(manager))
    stop = Stop(host)
    spawn(host, stop, "manager", lambda: manager.run(stop))
    client = Client.from_kubeconfig(chosen.kubeconfig)
    found: dict[str, Any] = {}
    if RECORDINGS.exists():
        found = json.loads(gzip.decompress(RECORDINGS.read_bytes()))
    for number, (name, story) in enumerate(STORIES.items()):
        if chosen.only not in name:
            continue
        namespace = f"story-{number}-{int(host.now().timestamp())}"
        client.create(NAMESPACES, {"metadata": {"name": namespace}})

        def rest(seconds: float, namespace: str = namespace) -> None:
            stop.wait(seconds)
            before, since = "", host.monotonic()
            while host.monotonic() - since < QUIET:
                now = json.dumps(state_of(client, namespace))
                if now != before:
                    before, since = now, host.monotonic()
                stop.wait(0.2)

        found[name] = play(client, namespace, story, rest)
        sys.stdout.write(f"{name}\n")
        sys.stdout.flush()
    stop.set()
    RECORDINGS.write_bytes(gzip.compress(json.dumps(found, indent=0).encode(), mtime=0))


if __name__ == "__main__":
    main()
