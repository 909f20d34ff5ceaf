# SPDX-License-Identifier: Apache-2.0
"""From counts to metrics: what a table of metrics says of each thing that is counted."""

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
"""Makes a metric from its name, its text, the names of its labels, and its series: their labels' values and theirs."""


@attrs.frozen
class Row(Generic[T]):
    """One metric of a kind of things.

    Attributes:
        make: `counter`, `gauge` or `histogram`.
        name: As Prometheus shows it; that of a counter ends in `_total`.
        text: What it tells.
        value: What it is for one thing; None for nothing to tell.
    """

    make: Make[Any]
    name: str
    text: str
    value: Callable[[T], Any]


def metrics_of(rows: Iterable[Row[T]], labels: Labels, things: Sequence[tuple[Labels, T]]) -> Iterator[Metric]:
    """The metrics of a table for all `things`, each given with its labels' values."""
    for row in rows:
        series = [(values, row.value(thing)) for values, thing in things]
        yield row.make(row.name, row.text, labels, [(values, value) for values, value in series if value is not None])


def counter(name: str, text: str, labels: Labels, series: Iterable[tuple[Labels, float]]) -> Metric:
    """What only grows."""
    family = CounterMetricFamily(name, text, labels=labels)
    for values, value in series:
        family.add_metric(values, value)
    return family


def gauge(name: str, text: str, labels: Labels, series: Iterable[tuple[Labels, float]]) -> Metric:
    """What goes up and down."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in series:
        family.add_metric(values, value)
    return family


def histogram(name: str, text: str, labels: Labels, series: Iterable[tuple[Labels, Histogram]]) -> Metric:
    """How observations are spread."""
    family = HistogramMetricFamily(name, text, labels=labels)
    for values, value in series:
        edges = [*map(bucket_text, value.bounds), "+Inf"]
        family.add_metric(values, list(zip(edges, value.cumulative(), strict=True)), value.total)
    return family


def bucket_text(bound: float) -> str:
    """A bound below a million as Go prints it, so that series of both can be added up: `1`, not `1.0`."""
    return repr(bound).removesuffix(".0")
