# SPDX-License-Identifier: Apache-2.0
"""What a node has, and what of it pods could use: capacity, and allocatable after what is kept back."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from controllers.agent.machine import Machine
from controllers.agent.pressure import Signal
from controllers.agent.settings import Settings
from controllers.shared.quantities import in_bytes, in_units, parse_quantity

HUGE_PAGES = "hugepages-"
REQUIRED = ("cpu", "memory", "pods", "ephemeral-storage")
"""Without these in its capacity a node is not ready."""
_IN_BYTES = ("memory", "ephemeral-storage", HUGE_PAGES)

Resources = dict[str, str]


def capacity(machine: Machine, settings: Settings, before: Mapping[str, str]) -> Resources:
    """All there is; what others have put in `before` stays."""
    found = {name: amount for name, amount in before.items() if not name.startswith(HUGE_PAGES)}
    found |= {"cpu": str(machine.cores or 0), "memory": in_bytes(machine.memory or 0), "pods": str(settings.max_pods)}
    if machine.disk is not None:
        found["ephemeral-storage"] = in_bytes(machine.disk)
    return found | {f"{HUGE_PAGES}{in_bytes(size)}": in_bytes(n) for size, n in (machine.huge_pages or {}).items()}


def allocatable(total: Mapping[str, str], machine: Machine, settings: Settings) -> Resources:
    """What of `total` is not kept back, at least nothing."""
    kept = _kept_back(machine, settings)
    kept["memory"] += sum(parse_quantity(amount) for name, amount in total.items() if name.startswith(HUGE_PAGES))
    left = dict(total)
    for name, amount in kept.items():
        if amount and name in total:
            rest = max(parse_quantity(total[name]) - amount, Decimal(0))
            left[name] = in_bytes(int(rest)) if name.startswith(_IN_BYTES) else in_units(rest)
    return left


def _kept_back(machine: Machine, settings: Settings) -> dict[str, Decimal]:
    kept = dict.fromkeys(REQUIRED, Decimal(0))
    for reserved in (settings.system_reserved, settings.kube_reserved):
        for name, amount in reserved.items():
            kept[name] = kept.get(name, Decimal(0)) + amount
    for threshold in settings.thresholds:
        match threshold.signal:
            case Signal.MEMORY:
                kept["memory"] += threshold.of(machine.memory or 0)
            case Signal.DISK:
                kept["ephemeral-storage"] += threshold.of(machine.disk or 0)
            case _:
                pass  # of inodes and processes there is no resource
    return kept
