# SPDX-License-Identifier: Apache-2.0
"""The world to which a perturbed run has to come."""

from __future__ import annotations

from typing import Protocol

from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.world import State


class Goal(Protocol):
    """The world that a perturbed run has to come to; a `Baseline` is one."""

    @property
    def run(self) -> Run:
        """The calm run."""

    def is_at(self, number: int, run: Run, state: State) -> bool:
        """Return whether a state is right at the rest with a number."""
