# SPDX-License-Identifier: Apache-2.0
"""The other stories that a program has seen if it missed a status: the worlds that they lead to are right, too.

The world that declarations lead to must not depend on whether one in between was seen. A status is another matter. A
program that waits until something is ready, and then makes what it keeps, makes nothing if it sees only the status
after that, and is right. So if the story without the missed status, or with it after a later step, leads to the same
world when it is played without a perturbation, nothing is wrong with that world.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller_runtime.testing.perturbation.plans import Missed, Plan
from controller_runtime.testing.perturbation.record import STORY, Landed, Run

_MOVES = 3
"""The most later steps after which the missed one is taken instead, each in a separate story."""

LEFT_OUT = 0
"""Stands for a step that is left out."""

Order = tuple[int, ...]
"""The numbers of a story's steps, from 1, in the order in which they are taken; `LEFT_OUT` stands for one left out."""


def other_orders(plan: Plan, calm: Run, steps: int) -> Sequence[Order]:
    """Return the orders of the steps of a story that a program under a plan cannot tell from their own one.

    There are none if the change that is missed is not a status that the story wrote.

    Args:
        plan: The plan.
        calm: The calm run in which it was found.
        steps: How many steps the story has.
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
    """Return the numbers of a story's parts, from the start of the manager on, with its steps in another order.

    None if a step that came before the manager started has another place, since that is not told again.
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
