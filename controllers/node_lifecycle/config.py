# SPDX-License-Identifier: Apache-2.0
"""The settings of the node lifecycle controller, and their names on the command line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Self

import attrs

from controllers.node_lifecycle.health import Graces
from controllers.node_lifecycle.zones import ZonePolicy


@attrs.frozen
class LifecycleConfig:
    """The settings of the node lifecycle controller; the defaults are upstream's.

    Attributes:
        graces: How long a node may be silent.
        zones: When zones count as disrupted, and how fast nodes are evicted.
        monitor_period: Seconds until pods that could not be marked are tried again, and until a zone that is about to
            fall silent is checked again; also the longest time that one reconcile spends on marking a node's pods.

    Raises:
        ValueError: `monitor_period` is not positive.
    """

    graces: Graces = attrs.field(factory=Graces)
    zones: ZonePolicy = attrs.field(factory=ZonePolicy)
    monitor_period: float = 5.0

    def __attrs_post_init__(self) -> None:
        if not 0 < self.monitor_period < math.inf:
            raise ValueError(f"the node monitor period ({self.monitor_period:g} s) must be positive")

    @classmethod
    def of(cls, flags: Mapping[str, float]) -> Self:
        """Return the settings for flags with kube-controller-manager's names, such as `node_eviction_rate`.

        Args:
            flags: Numbers by flag name, with underscores; a missing flag has its default. Times in seconds.

        Raises:
            ValueError: A number is out of range.
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
