# SPDX-License-Identifier: Apache-2.0
"""Runs a system in a simulation, and returns the invariant that was violated and the script of the faults."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from controller_runtime.testing.simulation import Hang, LockHeld, Simulation
from controller_runtime.testing.simulation.system_faults import Script, SystemFault
from kit.fault_runs.invariants import Violated


@attrs.frozen
class Outcome:
    """The result of one run.

    Attributes:
        seed: The seed.
        invariant: The name of the invariant that does not hold; empty if all hold.
        message: How and when it was violated.
        script: The faults that happened, in order.
        digest: A hash over every step.
        steps: The number of steps.
    """

    seed: int
    invariant: str
    message: str
    script: Script
    digest: str
    steps: int


def observe(seed: int, live: Callable[[Simulation, list[SystemFault]], None]) -> Outcome:
    """Run a system in a simulation, and return the outcome.

    Args:
        seed: Determines the schedule and all random choices.
        live: Makes the system and runs it; raises `Violated`, and appends each fault that happens to the list.
    """
    invariant = message = ""
    sim = Simulation(seed)
    fired: list[SystemFault] = []
    try:
        with sim:
            live(sim, fired)
    except Violated as error:
        invariant, message = error.invariant, f"at {sim.time:.1f} s: {error}"
    except (Hang, LockHeld) as error:
        invariant, message = type(error).__name__, str(error)
    return Outcome(seed, invariant, message, tuple(fired), sim.digest, sim.steps)
