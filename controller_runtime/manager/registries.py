# SPDX-License-Identifier: Apache-2.0
"""Merges the metrics of several Prometheus registries into one text, in which no name may come twice.

Prometheus refuses a whole scrape if a name comes twice, so the later metric is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, GCCollector, PlatformCollector, ProcessCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from apimachinery.errors import UsageError
from apimachinery.log import get_logger

log = get_logger(__name__)


class Merged(Collector):
    """The metrics of a manager and its process, then those of other registries.

    Collectors of the process, the platform and the garbage collector are in both the manager's and the default registry
    of `prometheus_client`; the duplicates are left out silently.

    Args:
        own: The manager's registry, to which these three collectors are added.
        others: The other registries.

    Threads: any.
    """

    def __init__(self, own: CollectorRegistry, others: Sequence[CollectorRegistry]) -> None:
        self._registries = (own, *others)
        collectors: list[Collector] = [
            kind(registry=own) for kind in (ProcessCollector, PlatformCollector, GCCollector)
        ]
        self._of_the_process = {metric.name for collector in collectors for metric in collector.collect()}
        self._reported: set[str] = set()

    def collect(self) -> Iterator[Metric]:
        """Yield each metric. A second metric of the same name is left out, and logged as an error the first time."""
        for metric, taken in self._compared():
            if not taken:
                yield metric
            elif taken not in self._reported:
                self._reported.add(taken)
                log.error("metric left out: another one has its name; rename one of them", metric=taken)

    def refuse_double_names(self) -> None:
        """Check that no two current metrics have the same name.

        Raises:
            UsageError: Two metrics have the same name.
        """
        for _, taken in self._compared():
            if taken:
                raise UsageError(
                    f"two metrics are called {taken}, among those of the manager, of its reconcilers and of the "
                    "registries of prometheus_client: rename one of them"
                )

    def _compared(self) -> Iterator[tuple[Metric, str]]:
        """Yield each metric with the first of its names that an earlier one has; empty if all are its own."""
        seen: set[str] = set()
        for position, registry in enumerate(self._registries):
            for metric in registry.collect():
                if position and metric.name in self._of_the_process:
                    continue
                names = {metric.name, *(sample.name for sample in metric.samples)}
                yield metric, min(names & seen, default="")
                seen |= names
