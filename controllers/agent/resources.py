# SPDX-License-Identifier: Apache-2.0
"""A node's resources: its capacity, and its allocatable, which is the capacity without what is reserved."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from apimachinery.quantities import parse_quantity
from controllers.agent.machine import Machine
from controllers.agent.pressure import Signal
from controllers.agent.settings import Settings
from controllers.shared.quantities import format_bytes, format_count

HUGE_PAGES = "hugepages-"
"""Prefix of the resources of huge pages; the size of a page follows."""
REQUIRED = ("cpu", "memory", "pods", "ephemeral-storage")
"""Resources without which in its capacity a node is not ready."""
_IN_BYTES = ("memory", "ephemeral-storage", HUGE_PAGES)

Resources = dict[str, str]


def capacity(machine: Machine, settings: Settings, before: Mapping[str, str]) -> Resources:
    """Return the capacity of `machine`; resources in `before` that the agent does not measure are kept.

    Huge pages in `before` are replaced, so that a size that the machine no longer has disappears.
    """
    found = {name: amount for name, amount in before.items() if not name.startswith(HUGE_PAGES)}
    found["cpu"] = str(machine.cores or 0)
    found["memory"] = format_bytes(machine.memory or 0)
    found["pods"] = str(settings.max_pods)
    if machine.disk is not None:
        found["ephemeral-storage"] = format_bytes(machine.disk)
    for size, amount in (machine.huge_pages or {}).items():
        found[HUGE_PAGES + format_bytes(size)] = format_bytes(amount)
    return found


def allocatable(total: Mapping[str, str], machine: Machine, settings: Settings) -> Resources:
    """Return the allocatable resources: `total` without the reserved amounts, at least zero of each.

    Memory is also reduced by the huge pages, because the kernel has set that memory aside.
    """
    reserved = _reserved(machine, settings)
    reserved["memory"] += sum(parse_quantity(amount) for name, amount in total.items() if name.startswith(HUGE_PAGES))
    left = dict(total)
    for name, amount in reserved.items():
        if amount and name in total:
            rest = max(parse_quantity(total[name]) - amount, Decimal(0))
            left[name] = format_bytes(int(rest)) if name.startswith(_IN_BYTES) else format_count(rest)
    return left


def _reserved(machine: Machine, settings: Settings) -> dict[str, Decimal]:
    """Return the reservations of both options and the thresholds of memory and disk, by resource."""
    reserved = dict.fromkeys(REQUIRED, Decimal(0))
    for amounts in (settings.system_reserved, settings.kube_reserved):
        for name, amount in amounts.items():
            reserved[name] = reserved.get(name, Decimal(0)) + amount
    for threshold in settings.thresholds:
        match threshold.signal:
            case Signal.MEMORY:
                reserved["memory"] += threshold.of(machine.memory or 0)
            case Signal.DISK:
                reserved["ephemeral-storage"] += threshold.of(machine.disk or 0)
            case _:
                pass  # inodes and processes are not resources of a node
    return reserved
