# SPDX-License-Identifier: Apache-2.0
"""The state that a perturbed run has to reach."""

from __future__ import annotations

from typing import Protocol

from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.world import State


class Goal(Protocol):
    """The states that a perturbed run has to reach; a `Baseline` is one."""

    @property
    def run(self) -> Run:
        """The first of the runs without a fault."""

    def is_at(self, number: int, run: Run, state: State) -> bool:
        """Return whether `state` is the expected one when `run` has come to rest for the time `number`, counted from
        0.
        """
