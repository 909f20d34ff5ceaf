# SPDX-License-Identifier: Apache-2.0
"""One run of a system: a seed and its weather in, what was violated and the script of what went wrong out."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from controller_runtime.testing.fault_runs.invariants import Violated
from controller_runtime.testing.simulation import Hang, LockHeld, Simulation
from controller_runtime.testing.simulation.system_faults import Script, SystemFault


@attrs.frozen
class Outcome:
    """What came of a run.

    Attributes:
        seed: Its seed.
        invariant: What does not hold; empty if all does.
        message: How one sees it, and when.
        script: What went wrong with the system's surroundings, in order.
        digest: A hash over every step.
        steps: How many there were.
    """

    seed: int
    invariant: str
    message: str
    script: Script
    digest: str
    steps: int


def observe(seed: int, live: Callable[[Simulation, list[SystemFault]], None]) -> Outcome:
    """Let a system live in the simulation of `seed`.

    Args:
        seed: Of the schedule and all chance.
        live: Makes the system and runs it; raises `Violated`, and keeps the faults that fired in the list.
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
