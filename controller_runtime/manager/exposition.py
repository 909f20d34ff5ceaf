# SPDX-License-Identifier: Apache-2.0
"""Makes Prometheus metrics from tables: each row describes one metric, with a series for each thing, such as a
controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import attrs
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from controller_runtime.core.counters import Histogram

T = TypeVar("T")
V = TypeVar("V")

Labels = Sequence[str]
Make = Callable[[str, str, Labels, Iterable[tuple[Labels, V]]], Metric]
"""Makes a metric from its name, its help text, its label names, and its series: label values with the series' value."""


@attrs.frozen
class Row(Generic[T]):
    """One metric of all things of a kind, such as controllers.

    Attributes:
        make: `counter`, `gauge` or `histogram`.
        name: The name of the metric; a counter's name ends in `_total`.
        text: The help text.
        value: Returns the value for one thing; None omits the thing.
    """

    make: Make[Any]
    name: str
    text: str
    value: Callable[[T], Any]


def metrics_of(rows: Iterable[Row[T]], labels: Labels, things: Sequence[tuple[Labels, T]]) -> Iterator[Metric]:
    """Yield one metric for each row of a table, with one series for each thing.

    Args:
        rows: The table.
        labels: The label names.
        things: Each thing with its label values, in the order of the label names.
    """
    for row in rows:
        series = [(values, row.value(thing)) for values, thing in things]
        yield row.make(row.name, row.text, labels, [(values, value) for values, value in series if value is not None])


def counter(name: str, text: str, labels: Labels, series: Iterable[tuple[Labels, float]]) -> Metric:
    """Return a Prometheus counter with one sample for each tuple of label values."""
    family = CounterMetricFamily(name, text, labels=labels)
    for values, value in series:
        family.add_metric(values, value)
    return family


def gauge(name: str, text: str, labels: Labels, series: Iterable[tuple[Labels, float]]) -> Metric:
    """Return a Prometheus gauge with one sample for each tuple of label values."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in series:
        family.add_metric(values, value)
    return family


def histogram(name: str, text: str, labels: Labels, series: Iterable[tuple[Labels, Histogram]]) -> Metric:
    """Return a Prometheus histogram for each tuple of label values."""
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, value in series:
        edges = [*map(bucket_text, value.bounds), "+Inf"]
        family.add_metric(values, list(zip(edges, value.cumulative(), strict=True)), value.total)
    return family


def bucket_text(bound: float) -> str:
    """Return a bucket's bound as Go prints it (`1`, not `1.0`), so that dashboards can add up series of both.

    `bound` must be below a million; Go prints larger numbers differently.
    """
    return repr(bound).removesuffix(".0")
