# SPDX-License-Identifier: Apache-2.0
"""Counts the objects that a perturbed run deleted or created more often than the unperturbed one."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence

from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Landed
from embedded_apiserver.perturbation import Name

_FLAPS = 2
"""The number of times that a perturbed run may create an object that disappears again."""


def lost(calm: Sequence[Landed], here: Sequence[Landed], lasting: Collection[Name]) -> list[tuple[Name, str]]:
    """Return the objects that were deleted more often than in the unperturbed run, by any writer but the test's user.

    An object that did not exist when the cluster was last at rest does not count: a program with a stale cache may
    create it, and the program or the garbage collection deletes it again. All deletions of the unperturbed run count,
    because a perturbed run rests longer: it may come to rest before a deletion that the other run made without a rest.

    Args:
        calm: The changes of the unperturbed run.
        here: The changes of the perturbed run.
        lasting: The objects at the end of the unperturbed run.

    Returns:
        The objects, each with a sentence for the report.
    """
    before = Counter(each.name for each in calm if each.deletes and each.writer != STORY)
    return [
        (
            name,
            f"{name} was deleted, and lives to the end of a calm run"
            if not before[name] and name in lasting
            else f"{name} was deleted {_times(count)}, and {_times(before[name])} in a calm run",
        )
        for name, count in sorted(_deleted(here).items())
        if count > before[name]
    ]


def made(calm: Sequence[Landed], here: Sequence[Landed]) -> list[tuple[Name, str]]:
    """Return the objects that the manager created more often than in the unperturbed run, each with a sentence for the
    report.

    Up to two creations of an object that disappears again do not count, because a stale cache may lack it.

    Args:
        calm: The changes of the unperturbed run.
        here: The changes of the perturbed run.
    """
    before, here_made = _created(calm), _created(here)
    went_before, went = _went(calm), _went(here)
    return [
        (name, f"{name} was created {_times(count)}, and {_times(before[name])} in a calm run")
        for name, count in sorted(here_made.items())
        if count - min(_FLAPS, max(0, went[name] - went_before[name])) > before[name]
    ]


def _deleted(landed: Sequence[Landed]) -> Counter[Name]:
    """Return how often each object was deleted that had been there when the world was at rest.

    Objects whose names the server generates count as one object here: the oldest of them is taken for the deleted one.
    """
    born: defaultdict[Name, deque[int]] = defaultdict(deque)
    found: Counter[Name] = Counter()
    for each in landed:
        if each.creates:
            born[each.name].append(each.phase)
        elif each.deletes:
            oldest = born[each.name].popleft() if born[each.name] else -1
            found[each.name] += each.writer != STORY and oldest < each.phase
    return found


def _created(landed: Sequence[Landed]) -> Counter[Name]:
    return Counter(each.name for each in landed if each.creates and each.writer == MANAGER)


def _went(landed: Sequence[Landed]) -> Counter[Name]:
    """Return how often an object that the manager created went before the world was at rest, or was collected later."""
    created: defaultdict[Name, deque[int]] = defaultdict(deque)
    found: Counter[Name] = Counter()
    for each in landed:
        if each.creates and each.writer == MANAGER:
            created[each.name].append(each.phase)
        elif each.deletes:
            oldest = created[each.name].popleft() if created[each.name] else None
            found[each.name] += oldest == each.phase or each.writer == OTHER
    return found


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
