# SPDX-License-Identifier: Apache-2.0
"""Writes docs/metrics.md, from the metrics of a program that uses everything: `python tests/tools/metrics_page.py`.

With --check nothing is written and a difference is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from prometheus_client.metrics_core import Metric

from apimachinery.stop import Stop, spawn
from controller_runtime import CacheScope
from controller_runtime.caches import Bodies
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.deletions import DeletionBudget
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics
from controller_runtime.resources import NODES, SECRETS
from controller_runtime.testing import EmbeddedCluster, FaultyTransport, Simulation, a_node
from controller_runtime.testing.faults import Refused, scripted
from controller_runtime.webhooks import Checks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"

HEAD = """# Metrics

Generated from the metrics of a program by `python tests/tools/metrics_page.py`; a test keeps it current. The texts are
those that `/metrics` shows; [operations](operations.md#metrics) says what to watch.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
"""


class Idle(Reconciler):
    """Does nothing."""

    def reconcile(self, request: Request) -> Result:
        return Result()


def families() -> list[Metric]:
    """Return the metrics of a manager that leads, follows, watches and was refused at first, in virtual time."""
    with Simulation(0) as simulation:
        cluster = EmbeddedCluster(simulation.host("server"))
        host = simulation.host("manager")
        refusals = scripted(dict.fromkeys(range(4), Refused()))
        transport = FaultyTransport(host, InProcessTransport(host, cluster.server), refusals)
        election = LeaderElectionConfig(name="shared", namespace="default")
        manager = Manager(host, transport, leader_election=election)
        manager.scope_caches(kinds={SECRETS: CacheScope(bodies=Bodies())})
        manager.lister(SECRETS)
        manager.recorder("idle")
        manager.webhooks.add(Checks(NODES, lambda *_: None))
        manager.add(Controller("idle", Idle()).watch(NODES).follow(NODES, lambda delta: ()).receive(Channel(host)))
        manager.ring("shares")
        manager.deletions.limit(DeletionBudget(NODES, most=1))
        cluster.user.create(NODES, a_node("a"))
        stop = Stop(host)
        thread = spawn(host, stop, "manager", lambda: manager.run(stop))
        simulation.advance(60.0)
        found = [*Metrics(manager).registry.collect()]
        stop.set()
        thread.join_until(None)
        return found


def rows(found: list[Metric]) -> Iterator[str]:
    """Yield the row of each metric, without those of the process and of Python.

    Raises:
        AssertionError: A metric has no series, so that its labels are unknown.
    """
    for family in found:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if not name.startswith(("process_", "python_")):
            assert family.samples, f"{name} has no series"
            labels = ", ".join(f"`{label}`" for label in family.samples[0].labels if label != "le")
            yield f"| `{name}` | {family.type} | {labels} | {family.documentation.rstrip('.')} |\n"


def main() -> int:
    """Write the page, or check it."""
    text = HEAD + "".join(rows(families()))
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print("docs/metrics.md is out of date: run python tests/tools/metrics_page.py", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
