# SPDX-License-Identifier: Apache-2.0
"""The flags of the node lifecycle controller, named as kube-controller-manager's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)", re.ASCII)


def seconds(text: str) -> float:
    """The seconds that are meant: a plain number, or as Go writes it, such as `50s` or `1m30s`.

    Raises:
        BadParameter: Neither of the two.
    """
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text, re.ASCII):
        return float(text)
    if not text or _PART.sub("", text):
        raise click.BadParameter(f"{text!r} is no time: give seconds, such as 50, or 1m30s")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


FLAGS: tuple[tuple[str, Any, str, str], ...] = (
    ("node-monitor-period", seconds, "TIME", "Between two looks at what no change will tell; 5s by default."),
    ("node-monitor-grace-period", seconds, "TIME", "Silence after which a node is Unknown; 50s by default."),
    ("node-startup-grace-period", seconds, "TIME", "The same for one without a status; 60s by default."),
    ("node-eviction-rate", float, "RATE", "Nodes a second evicted in a zone; 0.1 by default."),
    ("secondary-node-eviction-rate", float, "RATE", "The same if the zone is disrupted; 0.01 by default."),
    ("large-cluster-size-threshold", int, "N", "A disrupted zone up to this size evicts nobody; 50 by default."),
    ("unhealthy-zone-threshold", float, "SHARE", "Share of silent nodes that is a disruption; 0.55 by default."),
)
"""Name, type, what to show for it, and help of each."""

F = Callable[..., Any]


def lifecycle_flags(command: F) -> F:
    """Add them to a command, all of them without a default of their own."""
    for name, kind, metavar, text in reversed(FLAGS):
        command = click.option(f"--{name}", type=kind, metavar=metavar, help=text)(command)
    return command


def given(options: dict[str, Any]) -> dict[str, float]:
    """Take those that were given out of a command's options."""
    found = {key: options.pop(key) for name, *_ in FLAGS if (key := name.replace("-", "_")) in options}
    return {key: value for key, value in found.items() if value is not None}
