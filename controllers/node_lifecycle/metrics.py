# SPDX-License-Identifier: Apache-2.0
"""The metrics of the node lifecycle controller: upstream's, and the state and queue of each zone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.metrics_core import Metric

from controller_runtime.manager.exposition import Row, counter, gauge, metrics_of
from controllers.node_lifecycle.zones import ZoneReport, ZoneState

# fmt: off
_OF_ZONES: tuple[Row[ZoneReport], ...] = (
    Row(gauge, "node_collector_zone_size",
        "Nodes that count for the zone.", lambda z: z.ready + z.not_ready),
    Row(gauge, "node_collector_zone_health",
        "Percentage of these nodes that are ready.", lambda z: 100.0 * z.ready / (z.ready + z.not_ready)),
    Row(gauge, "node_collector_unhealthy_nodes_in_zone",
        "Nodes that count for the zone and are not ready.", lambda z: z.not_ready),
    Row(counter, "node_collector_evictions_total",
        "Nodes of the zone that were admitted to eviction.", lambda z: z.evictions),
    Row(gauge, "node_lifecycle_zone_eviction_rate",
        "Nodes per second that may be evicted in the zone at present.", lambda z: z.rate),
    Row(gauge, "node_lifecycle_zone_waiting_nodes",
        "Nodes of the zone that wait for their eviction.", lambda z: z.waiting),
)
# fmt: on


def metrics_of_zones(zones: Iterable[ZoneReport]) -> Iterator[Metric]:
    """Yield the metrics of zones from their reports."""
    named: Sequence[tuple[tuple[str], ZoneReport]] = [((zone_label(zone.zone),), zone) for zone in zones]
    yield from metrics_of(_OF_ZONES, ("zone",), named)
    states = [((*name, state.value), float(zone.state is state)) for name, zone in named for state in ZoneState]
    yield gauge("node_lifecycle_zone_state", "1 for the state that the zone is in.", ("zone", "state"), states)


def zone_label(key: str) -> str:
    """Return the label value for a zone: region and zone with a colon between; `-` for nodes without labels."""
    return key.replace(":\0:", ":").strip(":") or "-"
