# SPDX-License-Identifier: Apache-2.0
"""Other orders of a test's actions that a program has seen if it missed a status: their results are correct, too.

The state that declared objects lead to must not depend on whether the program saw each version of them. A status is
different: a program that waits until something is ready before it creates an object does not create it if it sees only
the status after that, and is correct. So if the test without the missed status, or with it after a later step, leads to
the same state in a run without a fault, that state is correct.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller_runtime.testing.perturbation.plans import Missed, Plan
from controller_runtime.testing.perturbation.record import STORY, Landed, Run

_MOVES = 3
"""The most later steps after which the missed step is placed instead, each in a separate run."""

LEFT_OUT = 0
"""The number in place of a step that is left out."""

Order = tuple[int, ...]
"""The numbers of a test's steps, from 1, in the order in which they are made; `LEFT_OUT` in place of one left out."""


def other_orders(plan: Plan, calm: Run, steps: int) -> Sequence[Order]:
    """Return the orders of a test's steps that a program cannot tell from the original order under a plan.

    There are none if the missed change is not a status that the test wrote.

    Args:
        plan: The plan.
        calm: The unperturbed run to which the plan refers.
        steps: The number of steps of the test.
    """
    if not isinstance(plan, Missed):
        return ()
    of_it = [each for each in calm.landed if each.name == plan.name and each.version >= plan.version]
    if not of_it or of_it[0].version != plan.version or not _is_status(of_it[0]):
        return ()
    missed, own = of_it[0], range(1, steps + 1)
    seen = next((each for each in of_it[1:] if each.writer == STORY or not plan.by_story), missed)
    without = tuple(LEFT_OUT if step == missed.number else step for step in own)
    return without, *(_moved(own, missed.number, step) for step in range(missed.number + 1, seen.step + 1)[:_MOVES])


def parts_in(order: Order, calm: Run) -> tuple[int, ...] | None:
    """Return the numbers of a test's actions, from the start of the manager on, with its steps in another order.

    None if a step before the start of the manager would move, because those are not repeated.
    """
    acts = [at for at, told in enumerate(calm.story) if told.step is not None]
    moved = dict(zip(acts, order, strict=True))
    prelude = calm.prelude or 0
    if any(acts[step - 1] != at for at, step in moved.items() if at < prelude):
        return None
    told = [acts[moved[at] - 1] if moved.get(at) else at for at in range(prelude, len(calm.story)) if moved.get(at, 1)]
    return tuple(at - prelude for at in told)


def _moved(steps: Sequence[int], one: int, behind: int) -> Order:
    """Return steps with one of them behind a later one."""
    others = [step for step in steps if step != one]
    place = others.index(behind) + 1
    return (*others[:place], one, *others[place:])


def _is_status(change: Landed) -> bool:
    """Return whether the story changed nothing but a status."""
    parts = {field.partition(".")[0] for field in change.fields}
    return change.writer == STORY and parts == {"status"} and not change.creates and not change.deletes
