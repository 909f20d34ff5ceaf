# SPDX-License-Identifier: Apache-2.0
"""Compares a perturbed run with the calm one."""

from __future__ import annotations

from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.world import Name, differences

_HOT = 3
_FREE = 20
"""A perturbed run may send so many times the requests of the calm one while nothing happens, and so many more."""


def complaints(calm: Run, here: Run, ignored: frozenset[tuple[Name, str]]) -> list[str]:
    """Return what a perturbed run did that a correct program would not have done, the most telling first.

    Args:
        calm: The calm run.
        here: The perturbed one.
        ignored: The values that differ between calm runs.
    """
    varies = {name for name, path in ignored if not path}
    found = [
        f"{name} was deleted by the manager, and lives to the end of a calm run"
        for name in sorted(here.deleted(by_manager=True))
        if name not in calm.deleted(by_manager=False) and name not in varies
    ]
    found += [
        f"{name} was created {count} times, and {calm.created()[name]} times in a calm run"
        for name, count in sorted(here.created().items())
        if count > calm.created()[name] and name not in varies
    ]
    found += [
        f"{name} was deleted {count} times, and {calm.deleted(by_manager=False)[name]} times in a calm run"
        for name, count in sorted(here.deleted(by_manager=True).items())
        if name in calm.deleted(by_manager=False) and count > calm.deleted(by_manager=False)[name]
    ]
    found = [*here.broken, *found]
    if here.rests:
        found += [str(each) for each in differences(calm.rests[-1], here.rests[-1], ignored)]
    found += [f"the controller {name} still has errors at the end" for name in here.failing if name not in calm.failing]
    if here.idle > _HOT * calm.idle + _FREE:
        found.append(f"{here.idle} requests were sent while nothing happened, and {calm.idle} in a calm run")
    return found
