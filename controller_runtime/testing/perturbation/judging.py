# SPDX-License-Identifier: Apache-2.0
"""Compares a perturbed run with the calm one."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Run
from controller_runtime.testing.perturbation.world import differences
from embedded_apiserver.perturbation import Name

_HOT = 3
_FREE = 20
"""A perturbed run may send so many times the requests of the calm one while nothing happens, and so many more."""

_FLAPS = 2
"""So often a perturbed run may create an object in vain."""


def complaints(calm: Run, here: Run, ignored: frozenset[tuple[Name, str]]) -> list[str]:
    """Return what a perturbed run did that a correct program would not have done, the most telling first.

    Args:
        calm: The calm run.
        here: The perturbed one.
        ignored: The values that differ between calm runs.
    """
    varies = {name for name, path in ignored if not path}
    found = [each for name, each in [*_lost(calm, here), *_made(calm, here)] if name not in varies]
    found = [*here.broken, *found]
    if here.rests:
        found += [str(each) for each in differences(calm.rests[-1], here.rests[-1], ignored)]
    found += [f"{name} still fails at the end" for name in here.failing if name not in calm.failing]
    if here.idle > _HOT * calm.idle + _FREE:
        found.append(f"{here.idle} requests were sent while nothing happened, and {calm.idle} in a calm run")
    return found


def _lost(calm: Run, here: Run) -> list[tuple[Name, str]]:
    """Return the objects that were deleted more often than in the calm run, by any writer but the story.

    An object that was not there when the world was last at rest does not count: it goes again when the program, or the
    cluster's garbage collection, learns better.
    """
    before = _deleted(calm)
    return [
        (
            name,
            f"{name} was deleted {_times(count)}, and {_times(before[name])} in a calm run"
            if before[name]
            else f"{name} was deleted, and lives to the end of a calm run",
        )
        for name, count in sorted(_deleted(here).items())
        if count > before[name]
    ]


def _made(calm: Run, here: Run) -> list[tuple[Name, str]]:
    """Return the objects that the manager created more often than in the calm run.

    A few of those that go again do not count, as in `_lost`: a view that is late may well lack what there is.
    """
    before, here_made = _created(calm), _created(here)
    went_before, went = _went(calm), _went(here)
    return [
        (name, f"{name} was created {_times(count)}, and {_times(before[name])} in a calm run")
        for name, count in sorted(here_made.items())
        if count - min(_FLAPS, max(0, went[name] - went_before[name])) > before[name]
    ]


def _deleted(run: Run) -> Counter[Name]:
    """Return how often each object was deleted that had been there when the world was at rest.

    Objects whose names the server generates count as one object here: the oldest of them is taken for the deleted one.
    """
    born: defaultdict[Name, deque[int]] = defaultdict(deque)
    found: Counter[Name] = Counter()
    for each in run.landed:
        if each.creates:
            born[each.name].append(each.phase)
        elif each.deletes:
            oldest = born[each.name].popleft() if born[each.name] else -1
            found[each.name] += each.writer != STORY and oldest < each.phase
    return found


def _created(run: Run) -> Counter[Name]:
    return Counter(each.name for each in run.landed if each.creates and each.writer == MANAGER)


def _went(run: Run) -> Counter[Name]:
    """Return how often an object that the manager created went before the world was at rest, or was collected later."""
    created: defaultdict[Name, deque[int]] = defaultdict(deque)
    found: Counter[Name] = Counter()
    for each in run.landed:
        if each.creates and each.writer == MANAGER:
            created[each.name].append(each.phase)
        elif each.deletes:
            oldest = created[each.name].popleft() if created[each.name] else None
            found[each.name] += oldest == each.phase or each.writer == OTHER
    return found


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
