# SPDX-License-Identifier: Apache-2.0
"""Decides by thresholds whether a machine is short of memory, disk or processes, and how long a shortage counts."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from decimal import Decimal

import attrs

from apimachinery.errors import UsageError
from apimachinery.quantities import parse_quantity
from controllers.agent.machine import Machine

HOLD = 300.0
"""Seconds for which a shortage counts after it was last measured, so that a condition does not flap."""


class Signal(enum.Enum):
    """The quantities to which thresholds apply, by the kubelet's names."""

    MEMORY = "memory.available"
    DISK = "nodefs.available"
    INODES = "nodefs.inodesFree"
    TASKS = "pid.available"


SIGNALS: Mapping[str, Sequence[Signal]] = {
    "MemoryPressure": (Signal.MEMORY,),
    "DiskPressure": (Signal.DISK, Signal.INODES),
    "PIDPressure": (Signal.TASKS,),
}
"""The signals on which each pressure condition of a node depends."""


@attrs.frozen
class Threshold:
    """The least amount of a resource that must be available.

    Attributes:
        signal: The quantity.
        amount: A number of bytes, inodes or tasks; if `is_share`, a fraction of the capacity, from 0 to 1.
        is_share: Whether `amount` is a fraction.
    """

    signal: Signal
    amount: Decimal
    is_share: bool = False

    def of(self, capacity: int) -> int:
        """Return the threshold for this capacity in absolute numbers, rounded down."""
        return int(self.amount * capacity if self.is_share else self.amount)


def parse_thresholds(text: str) -> tuple[Threshold, ...]:
    """Parse thresholds in a kubelet's notation, such as `memory.available<100Mi,nodefs.available<10%`.

    An empty text gives no thresholds.

    Raises:
        UsageError: A signal is unknown or given twice, or an amount is malformed.
    """
    found: dict[Signal, Threshold] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        name, _, amount = part.partition("<")
        try:
            threshold = _threshold(Signal(name.strip()), amount.strip())
        except ValueError as error:
            known = ", ".join(signal.value for signal in Signal)
            raise UsageError(
                f"--eviction-hard: {part!r} is not a threshold such as memory.available<100Mi or nodefs.available<10%: "
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
"""The defaults of a kubelet, without those for images, because there is no file system of images."""


def reading(machine: Machine, signal: Signal) -> tuple[int, int] | None:
    """Return the available amount and the capacity of a signal; None if one of them is unknown."""
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
    """Return whether less than the threshold is available; False if that is unknown."""
    found = reading(machine, threshold.signal)
    return found is not None and threshold.of(found[1]) > found[0]


def last_short(
    machine: Machine, thresholds: Sequence[Threshold], before: Mapping[str, float], now: float
) -> dict[str, float]:
    """Return when each pressure condition was last measured to hold, this measurement included.

    Args:
        machine: The machine as measured now.
        thresholds: The thresholds in force.
        before: The result for the previous measurement.
        now: The time in monotonic seconds.

    Returns:
        The time in monotonic seconds by condition; conditions that were never measured to hold are absent.
    """
    short = {threshold.signal for threshold in thresholds if is_short(machine, threshold)}
    return {**before, **{kind: now for kind, signals in SIGNALS.items() if short.intersection(signals)}}


def pressures(machine: Machine, last: Mapping[str, float], now: float, hold: float = HOLD) -> dict[str, bool | None]:
    """Return whether each pressure condition holds now; None if the machine does not report its signals.

    Args:
        machine: The machine as measured now.
        last: The result of `last_short` for this measurement.
        now: The time in monotonic seconds.
        hold: Seconds for which a condition holds after it was last measured to hold.
    """
    found: dict[str, bool | None] = {}
    for kind, signals in SIGNALS.items():
        if kind in last and (now <= last[kind] or now - last[kind] < hold):
            found[kind] = True
        else:
            found[kind] = False if any(reading(machine, signal) for signal in signals) else None
    return found
