# SPDX-License-Identifier: Apache-2.0
"""The states of a cluster's zones, as the panel and the live view show them."""

from __future__ import annotations

from controllers.command.snapshot_counters import NodeCounts
from controllers.node_lifecycle.zones import ZonePolicy, ZoneState


def disrupted_zones(nodes: NodeCounts) -> dict[str, ZoneState]:
    """Return the states of the zones that are not normal; see `zone_states`."""
    return {zone: state for zone, state in zone_states(nodes).items() if state is not ZoneState.NORMAL}


def zone_states(nodes: NodeCounts) -> dict[str, ZoneState]:
    """Return the state of each zone, by the default thresholds of the node lifecycle controller."""
    return {zone: ZonePolicy().state(ready, not_ready) for zone, (ready, not_ready) in nodes.zones.items()}
