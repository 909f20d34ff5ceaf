# SPDX-License-Identifier: Apache-2.0
"""Makes the drawn pictures of the documents again: timelines of the examples, and the live view at two widths.

The examples run on simulated hosts, so the pictures are the same each time. Those of the status page are screenshots,
which `tox -e browser` makes.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

import shared_work  # noqa: E402
import two_replicas  # noqa: E402
import zone_outage  # noqa: E402
from rich.console import Console  # noqa: E402

from controller_runtime.program.live_view import render  # noqa: E402
from controller_runtime.program.snapshot import ControllerStatus, Snapshot  # noqa: E402
from controller_runtime.testing import Simulation  # noqa: E402
from controllers.command.panel import NodePanel  # noqa: E402
from controllers.command.snapshot import ClusterSnapshot, LeaseSummary  # noqa: E402
from controllers.command.snapshot_counters import NodeCounts, PodCounts  # noqa: E402
from controllers.hollow.node import node_name  # noqa: E402
from controllers.node_ttl import STEPS, advance  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"

ZONES = {"zone-a": (1667, 0), "zone-b": (1655, 12), "zone-c": (0, 1666)}
CLUSTER = ClusterSnapshot(
    NodeCounts(5000, {"True": 3322, "Unknown": 1678}, {str(STEPS[advance(0, 5000)].ttl): 5000}, 14, ZONES),
    LeaseSummary(5000, 1678, 61.0, {"controllers": "host-a_1"}),
    PodCounts(10_000, 6640, 24),
)


def snapshot(seconds: float, reconciles: int) -> Snapshot:
    """Return what the view of a cluster of 5,000 nodes may show, in the middle of the loss of a zone."""
    names = ("node-lifecycle", "taint-eviction", "node-ttl")
    controllers = tuple(ControllerStatus(name, reconciles * n, 0, 3 * n) for n, name in enumerate(names, 1))
    name = node_name(17)  # of zone-c
    events = (f"Normal NodeNotReady node/{name}: Node {name} status is now: NodeNotReady",)
    return Snapshot(seconds, controllers, (), "", events, (NodePanel(lambda: CLUSTER),))


def live_view(width: int) -> str:
    """Return the live view at a width, as SVG that loads nothing from elsewhere."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(render("controllers on embedded API server", snapshot(10.0, 4000), snapshot(10.5, 4220)))
    made = console.export_svg(title="controllers run --hollow-nodes 5000", unique_id=f"live{width}")
    text = re.sub(r"@font-face \{.*?\}", "", made, flags=re.DOTALL)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines() if line.strip())


def main() -> None:
    """Write the pictures."""
    FOLDER.mkdir(exist_ok=True)
    with contextlib.redirect_stdout(io.StringIO()):
        with Simulation(0) as sim:
            two_replicas.play(sim.host("replica-a"), sim.host("replica-b"), FOLDER / "election.svg")
        with Simulation(0) as sim:
            shared_work.play([sim.host(f"replica-{letter}") for letter in "abc"], FOLDER / "ring.svg")
        with Simulation(0) as sim:
            zone_outage.play(sim.host("outage"), nodes=30, plot=FOLDER / "zones.svg")
    for width in (80, 200):
        (FOLDER / f"live-view-{width}.svg").write_text(live_view(width), encoding="utf-8")
    for _path in sorted(FOLDER.glob("*.svg")):
        pass


if __name__ == "__main__":
    main()
