# SPDX-License-Identifier: Apache-2.0
"""How patient the node lifecycle controller is: its numbers, and what the command line calls them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Self

import attrs

from controllers.node_lifecycle.health import Graces
from controllers.node_lifecycle.zones import ZonePolicy


@attrs.frozen
class LifecycleConfig:
    """How patient the controller is; upstream's numbers by default. All times in seconds.

    Attributes:
        graces: For how long a node may be silent.
        zones: When and how fast nodes are evicted.
        monitor_period: Between two looks at what no change will tell: pods that could not be
            marked, and nodes that are about to fall silent with others.

    Raises:
        ValueError: A period that is not positive.
    """

    graces: Graces = attrs.field(factory=Graces)
    zones: ZonePolicy = attrs.field(factory=ZonePolicy)
    monitor_period: float = 5.0

    def __attrs_post_init__(self) -> None:
        if not 0 < self.monitor_period < math.inf:
            raise ValueError(f"the node monitor period ({self.monitor_period:g} s) must be positive")

    @classmethod
    def of(cls, flags: Mapping[str, float]) -> Self:
        """What flags named as kube-controller-manager's ask for, such as `node_monitor_grace_period`.

        Raises:
            ValueError: A number that makes no sense.
        """
        graces, zones = Graces(), ZonePolicy()
        return cls(
            Graces(
                monitor=flags.get("node_monitor_grace_period", graces.monitor),
                startup=flags.get("node_startup_grace_period", graces.startup),
            ),
            ZonePolicy(
                rate=flags.get("node_eviction_rate", zones.rate),
                secondary_rate=flags.get("secondary_node_eviction_rate", zones.secondary_rate),
                large=int(flags.get("large_cluster_size_threshold", zones.large)),
                threshold=flags.get("unhealthy_zone_threshold", zones.threshold),
            ),
            flags.get("node_monitor_period", 5.0),
        )
