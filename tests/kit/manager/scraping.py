# SPDX-License-Identifier: Apache-2.0
"""Metrics, parsed from their text as Prometheus does."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from controller_runtime.manager.manager import Manager
from controller_runtime.manager.metrics import Metrics

Series = tuple[str, frozenset[tuple[str, str]]]


def lines_of(manager: Manager) -> list[str]:
    """Return the lines of the exposition text."""
    return Metrics(manager).text().decode().splitlines()


def series_of(manager: Manager) -> dict[Series, float]:
    """Return the value of each series. A series that comes twice is an error, as it is to Prometheus."""
    found: dict[Series, float] = {}
    for family in text_string_to_metric_families("\n".join(lines_of(manager)) + "\n"):
        for sample in family.samples:
            series = (sample.name, frozenset(sample.labels.items()))
            assert series not in found, f"twice: {sample}"
            found[series] = sample.value
    return found


def value_of(manager: Manager, metric: str, /, **labels: str) -> float | None:
    """Return the value of the only series of a metric that has these labels (among others), or None."""
    wanted = set(labels.items())
    found = [value for (name, pairs), value in series_of(manager).items() if name == metric and pairs >= wanted]
    assert len(found) <= 1, f"{metric}{labels} is {len(found)} series"
    return found[0] if found else None
