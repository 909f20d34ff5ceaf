# SPDX-License-Identifier: Apache-2.0
"""Expressions of Prometheus, from a metric and labels."""

from __future__ import annotations

from collections.abc import Sequence


def per_second(metric: str, selector: str, window: str, by: Sequence[str]) -> str:
    """Return the increase of a counter per second, by labels."""
    return f"sum by ({', '.join(by)}) (rate({metric}{{{selector}}}[{window}]))"


def total(metric: str, selector: str, by: Sequence[str]) -> str:
    """Return the sum of a gauge, by labels."""
    return f"sum by ({', '.join(by)}) ({metric}{{{selector}}})"


def maximum(metric: str, selector: str, by: Sequence[str]) -> str:
    """Return the largest value of a gauge, by labels."""
    return f"max by ({', '.join(by)}) ({metric}{{{selector}}})"


def minimum(metric: str, selector: str, by: Sequence[str]) -> str:
    """Return the smallest value of a gauge, by labels."""
    return f"min by ({', '.join(by)}) ({metric}{{{selector}}})"


def quantile(share: float, metric: str, selector: str, window: str, by: Sequence[str]) -> str:
    """Return a quantile of a histogram's observations, by labels."""
    inner = f"sum by ({', '.join(('le', *by))}) (rate({metric}_bucket{{{selector}}}[{window}]))"
    return f"histogram_quantile({share:g}, {inner})"
