# SPDX-License-Identifier: Apache-2.0
"""Expressions of Prometheus, from a metric and labels."""

from __future__ import annotations

from collections.abc import Sequence


def per_second(metric: str, selector: str, window: str, by: Sequence[str]) -> str:
    """Return the PromQL expression for the increase per second of a counter, grouped by labels."""
    return f"sum by ({', '.join(by)}) (rate({metric}{{{selector}}}[{window}]))"


def total(metric: str, selector: str, by: Sequence[str]) -> str:
    """Return the PromQL expression for the sum of a gauge, grouped by labels."""
    return f"sum by ({', '.join(by)}) ({metric}{{{selector}}})"


def maximum(metric: str, selector: str, by: Sequence[str]) -> str:
    """Return the PromQL expression for the largest value of a gauge, grouped by labels."""
    return f"max by ({', '.join(by)}) ({metric}{{{selector}}})"


def minimum(metric: str, selector: str, by: Sequence[str]) -> str:
    """Return the PromQL expression for the smallest value of a gauge, grouped by labels."""
    return f"min by ({', '.join(by)}) ({metric}{{{selector}}})"


def quantile(share: float, metric: str, selector: str, window: str, by: Sequence[str]) -> str:
    """Return the PromQL expression for a quantile of a histogram, grouped by labels. `share` is from 0 to 1."""
    inner = f"sum by ({', '.join(('le', *by))}) (rate({metric}_bucket{{{selector}}}[{window}]))"
    return f"histogram_quantile({share:g}, {inner})"
