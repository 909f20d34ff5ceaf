# SPDX-License-Identifier: Apache-2.0
"""When a machine is short of memory, disk or processes: thresholds, what they say now, and for how long that holds."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from controller_runtime.core.errors import UsageError
from controllers.agent.machine import Machine
from controllers.shared.quantities import parse_quantity

HOLD = 300.0
"""Seconds that a shortage counts after it was seen last."""


class Signal(enum.Enum):
    """What is measured, by the kubelet's names."""

    MEMORY = "memory.available"
    DISK = "nodefs.available"
    INODES = "nodefs.inodesFree"
    TASKS = "pid.available"


SIGNALS: Mapping[str, Sequence[Signal]] = {
    "MemoryPressure": (Signal.MEMORY,),
    "DiskPressure": (Signal.DISK, Signal.INODES),
    "PIDPressure": (Signal.TASKS,),
}
"""What each condition of a node depends on."""


@attrs.frozen
class Threshold:
    """How little may be left: an amount, or a share of the whole."""

    signal: Signal
    amount: Decimal
    is_share: bool = False

    def of(self, capacity: int) -> int:
        """The amount, in what the signal counts, rounded down."""
        return int(self.amount * capacity if self.is_share else self.amount)


def parse_thresholds(text: str) -> tuple[Threshold, ...]:
    """Thresholds as the kubelet's option has them: `memory.available<100Mi,nodefs.available<10%`; empty for none.

    Raises:
        UsageError: A signal there is not, one given twice, or an amount that is none.
    """
    found: dict[Signal, Threshold] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        name, _, amount = part.partition("<")
        try:
            threshold = _threshold(Signal(name.strip()), amount.strip())
        except ValueError as error:
            known = ", ".join(signal.value for signal in Signal)
            raise UsageError(
                f"--eviction-hard: {part!r} is no threshold such as memory.available<100Mi or nodefs.available<10%: "
                f"signals are {known}, amounts are positive quantities or percentages"
            ) from error
        if threshold.signal in found:
            raise UsageError(f"--eviction-hard: {threshold.signal.value} is given twice: give it once")
        found[threshold.signal] = threshold
    return tuple(found.values())


def _threshold(signal: Signal, amount: str) -> Threshold:
    is_share = amount.endswith("%")
    value = parse_quantity(amount.removesuffix("%"))
    if value < 0 or (is_share and value > 100):
        raise ValueError(amount)
    return Threshold(signal, value / 100 if is_share else value, is_share)


DEFAULTS = parse_thresholds("memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%")
"""The kubelet's own, but for those of a file system of images, which there is none of."""


def reading(machine: Machine, signal: Signal) -> tuple[int, int] | None:
    """What is left and what there is at all; None where the machine does not tell."""
    available, capacity = {
        Signal.MEMORY: (machine.memory_available, machine.memory),
        Signal.DISK: (machine.disk_available, machine.disk),
        Signal.INODES: (machine.inodes_available, machine.inodes),
        Signal.TASKS: (
            None if machine.tasks is None or machine.tasks_limit is None else machine.tasks_limit - machine.tasks,
            machine.tasks_limit,
        ),
    }[signal]
    return None if available is None or capacity is None else (available, capacity)


def is_short(machine: Machine, threshold: Threshold) -> bool:
    """Whether less is left than the threshold; exactly as much is enough."""
    found = reading(machine, threshold.signal)
    return found is not None and threshold.of(found[1]) > found[0]


def last_short(
    machine: Machine, thresholds: Sequence[Threshold], before: Mapping[str, float], now: float
) -> dict[str, float]:
    """When each condition was last seen to be so, this look at the machine included; absent: never."""
    short = {threshold.signal for threshold in thresholds if is_short(machine, threshold)}
    return {**before, **{kind: now for kind, signals in SIGNALS.items() if short.intersection(signals)}}


def pressures(machine: Machine, last: Mapping[str, float], now: float, hold: float = HOLD) -> dict[str, bool | None]:
    """Whether each condition holds now; None where the machine does not tell.

    Args:
        machine: As seen now.
        last: When each condition was seen to be so, this look included.
        now: Monotonic seconds.
        hold: Seconds that it counts after that.
    """
    found: dict[str, bool | None] = {}
    for kind, signals in SIGNALS.items():
        if kind in last and (now <= last[kind] or now - last[kind] < hold):
            found[kind] = True
        else:
            found[kind] = False if any(reading(machine, signal) for signal in signals) else None
    return found
