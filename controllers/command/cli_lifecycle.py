# SPDX-License-Identifier: Apache-2.0
"""The flags of the node lifecycle controller, with the names that kube-controller-manager gives them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)", re.ASCII)


def seconds(text: str) -> float:
    """Return the seconds in a text: a plain number, or a duration in Go's notation, such as `50s` or `1m30s`.

    Raises:
        BadParameter: The text has another form.
    """
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII):
        return float(text)
    if not text or _PART.sub("", text):
        raise click.BadParameter(f"{text!r} is not a duration: give seconds, such as 50, or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


FLAGS: tuple[tuple[str, Any, str, str], ...] = (
    ("node-monitor-period", seconds, "TIME", "Time between checks for what no change reports; 5s by default."),
    ("node-monitor-grace-period", seconds, "TIME", "Silence after which a node is Unknown; 50s by default."),
    ("node-startup-grace-period", seconds, "TIME", "The same for a node without a status; 60s by default."),
    ("node-eviction-rate", float, "RATE", "Nodes per second to evict in a zone; 0.1 by default."),
    ("secondary-node-eviction-rate", float, "RATE", "The same if the zone is disrupted; 0.01 by default."),
    ("large-cluster-size-threshold", int, "N", "Evict nothing in a disrupted zone up to this size; 50 by default."),
    ("unhealthy-zone-threshold", float, "SHARE", "Share of unready nodes that is a disruption; 0.55 by default."),
)
"""The name, the type, the metavar and the help text of each flag."""

F = Callable[..., Any]


def lifecycle_flags(command: F) -> F:
    """Add the flags of the node lifecycle controller to a command, without defaults; `LifecycleConfig` has them."""
    for name, kind, metavar, text in reversed(FLAGS):
        command = click.option(f"--{name}", type=kind, metavar=metavar, help=text)(command)
    return command


def take_lifecycle_flags(options: dict[str, Any]) -> dict[str, float]:
    """Remove the flags of `lifecycle_flags` from a command's options, and return the values that were given."""
    found = {key: options.pop(key) for name, *_ in FLAGS if (key := name.replace("-", "_")) in options}
    return {key: value for key, value in found.items() if value is not None}
