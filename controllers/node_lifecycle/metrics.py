# SPDX-License-Identifier: Apache-2.0
"""The metrics of the node lifecycle controller: upstream's, and the state of each zone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.metrics_core import Metric

from controller_runtime.manager.exposition import Row, counter, gauge, metrics_of
from controllers.node_lifecycle.zones import ZoneReport, ZoneState

# fmt: off
_OF_ZONES: tuple[Row[ZoneReport], ...] = (
    Row(gauge, "node_collector_zone_size",
        "Nodes that the zone counts.", lambda z: z.ready + z.not_ready),
    Row(gauge, "node_collector_zone_health",
        "How many of them are ready, in percent.", lambda z: 100.0 * z.ready / (z.ready + z.not_ready)),
    Row(gauge, "node_collector_unhealthy_nodes_in_zone",
        "How many of them are not ready.", lambda z: z.not_ready),
    Row(counter, "node_collector_evictions_total",
        "Turns to be evicted that its nodes were given.", lambda z: z.evictions),
    Row(gauge, "node_lifecycle_zone_eviction_rate",
        "Nodes a second that may be evicted in the zone now.", lambda z: z.rate),
    Row(gauge, "node_lifecycle_zone_waiting_nodes",
        "Nodes that wait for their turn to be evicted.", lambda z: z.waiting),
)
# fmt: on


def metrics_of_zones(zones: Iterable[ZoneReport]) -> Iterator[Metric]:
    """All there is to tell of the zones."""
    named: Sequence[tuple[tuple[str], ZoneReport]] = [((zone_label(zone.zone),), zone) for zone in zones]
    yield from metrics_of(_OF_ZONES, ("zone",), named)
    states = [((*name, state.value), float(zone.state is state)) for name, zone in named for state in ZoneState]
    yield gauge("node_lifecycle_zone_state", "1 for the state that the zone is in.", ("zone", "state"), states)


def zone_label(key: str) -> str:
    """A zone's key, as people write it: region and zone with a colon between; `-` for no labels."""
    return key.replace(":\0:", ":").strip(":") or "-"
