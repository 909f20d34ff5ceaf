# SPDX-License-Identifier: Apache-2.0
"""Counts which objects a perturbed run deleted and created more often than the calm one."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Sequence

from controller_runtime.testing.perturbation.record import MANAGER, OTHER, STORY, Landed
from embedded_apiserver.perturbation import Name

_FLAPS = 2
"""So often a perturbed run may create an object in vain."""


def lost(calm: Sequence[Landed], here: Sequence[Landed], lasting: Collection[Name]) -> list[tuple[Name, str]]:
    """Return the objects that were deleted more often than in the calm run, by any writer but the story.

    An object that was not there when the world was last at rest does not count: it goes again when the program, or the
    cluster's garbage collection, learns better. All deletions of the calm run count, because a perturbed run rests
    longer: the world may be at rest before a deletion that in the calm run came without a rest.

    Args:
        calm: The changes of the calm run.
        here: Those of the perturbed one.
        lasting: The objects at the end of the calm run.
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
    """Return the objects that the manager created more often than in the calm run.

    A few of those that go again do not count, as in `lost`: a view that is late may well lack what there is.
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
