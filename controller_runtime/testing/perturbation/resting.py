# SPDX-License-Identifier: Apache-2.0
"""Waits until the cluster of one run is at rest, applies a fault there if the plan says so, and records the state."""

from __future__ import annotations

from typing import Protocol

import attrs

from controller_runtime.testing.checks import ClusterChecks
from controller_runtime.testing.perturbation.judging import Baseline
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.recorder import Recorder
from controller_runtime.testing.perturbation.server import ManagersServer
from controller_runtime.testing.perturbation.striking import AWAY, Striker
from controller_runtime.testing.perturbation.striking import LATE as LATE_RESTART
from controller_runtime.testing.perturbation.waits import OwnWaits
from controller_runtime.testing.simulation import Simulation

IDLE = 60.0
"""Virtual seconds after the end of the test in which errors and requests are counted."""

DWELL = AWAY + LATE_RESTART + 1.0
"""Virtual seconds by which rests of one unperturbed run are longer, because those of perturbed runs are, too. Values
that change in this time are not compared.
"""

_PAUSES = (0.1, 0.4, 0.5, 1.0, 3.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
# Virtual seconds until a perturbed run must be where the calm one was: ten minutes in all, which covers the backoff of
# a failing reconcile and a lease that has to expire.


class Judged(Protocol):
    """The cluster of a test, as far as it is judged."""

    @property
    def failing(self) -> list[str]:
        """The manager's objects that wait for a retry, and the changes that cannot be mapped to requests."""

    @property
    def checks(self) -> ClusterChecks:
        """The test's own checks, such as `always` and `eventually`."""


@attrs.frozen
class Resting:
    """Waits until the cluster of one run is at rest: program and cluster have nothing more to do.

    Attributes:
        run: The record.
        baseline: The results of the unperturbed runs; None if this is one.
        dwell: Virtual seconds by which each rest of an unperturbed run is longer.
        cluster: The cluster of the test.
        simulation: The simulation, in which time advances.
        seen: The server as the manager sees it.
        recorder: Records the state.
        striker: Applies the fault.
        waits: Lets time pass.
    """

    run: Run
    baseline: Baseline | None
    dwell: float
    cluster: Judged
    simulation: Simulation
    seen: ManagersServer
    recorder: Recorder
    striker: Striker
    waits: OwnWaits

    def rest(self, *, is_last: bool = False) -> None:
        """Apply a fault if it is due, wait until the state is the expected one, and record the state.

        The wait ends after about ten virtual minutes in any case. An unperturbed run waits for `dwell` seconds instead,
        and there is no wait while the test's code must not continue because a change is hidden.

        Args:
            is_last: True at the end of the test.
        """
        number = len(self.run.rests)
        is_withheld = self.striker.leaves_the_story and not is_last
        with self.waits.own():
            if self.baseline is None and self.dwell:
                self.simulation.advance(self.dwell)
            elif self.baseline is not None and not is_withheld:
                self.striker.at_rest(number)
                self._come_to(self.baseline, len(self.baseline.rests) - 1 if is_last else number)
            self.recorder.rest(is_withheld=is_withheld)

    def end(self) -> None:
        """Wait for the last rest, check the conditions for the end, and count requests and errors while nothing should
        happen.
        """
        with self.waits.own():
            self.waits.settle()
            self.rest(is_last=True)
            self.run.broken = self.cluster.checks.take_broken()
            before = self.seen.requests
            self.striker.story_is_over()
            self.simulation.advance(IDLE)
            self.run.idle = self.seen.requests - before
            self.run.failing = self.cluster.failing

    def _come_to(self, baseline: Baseline, number: int) -> None:
        for pause in _PAUSES:
            if not self._reacts(baseline) and baseline.is_at(number, self.run, self.recorder.present()):
                return
            self.simulation.advance(pause)

    def _reacts(self, baseline: Baseline) -> bool:
        """Return whether the program has not yet dealt with a call to an outside service that went wrong.

        The state may be that of the unperturbed run until it calls again.
        """
        if any(line.is_awaited for line in self.recorder.lines):
            return True
        return self.striker.has_diverted_a_call and any(
            each not in baseline.run.failing for each in self.cluster.failing
        )
