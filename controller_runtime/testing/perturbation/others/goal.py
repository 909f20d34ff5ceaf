# SPDX-License-Identifier: Apache-2.0
"""The state that a perturbed run has to reach, and how long that may take."""

from __future__ import annotations

from typing import Protocol

from controller_runtime.testing.perturbation.others.settings import Settings
from controller_runtime.testing.perturbation.others.triggers import AtCall, Point
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.world import State

_FOLLOWING = 4
"""The divisor of the waits for the expected state after it was not reached at one rest: the run has failed then."""
_TRIED_AGAIN = 4
"""The factor of these waits if a call to an outside service fails: kopf tries again after a minute."""


class Goal(Protocol):
    """The states that a perturbed run has to reach; a `Baseline` is one."""

    @property
    def run(self) -> Run:
        """The first of the runs without a fault."""

    def is_at(self, number: int, run: Run, state: State) -> bool:
        """Return whether `state` is the expected one when `run` has come to rest for the time `number`, counted from
        0.
        """


def patience_of(settings: Settings, trigger: Point | None, *, is_astray: bool) -> float:
    """Return the seconds to wait for the expected state.

    Args:
        settings: The settings of the run.
        trigger: The point at which the fault happens.
        is_astray: True if the state was not reached at an earlier rest since the fault.
    """
    times = _TRIED_AGAIN if isinstance(trigger, AtCall) else 1
    return times * settings.patience / (_FOLLOWING if is_astray else 1)
