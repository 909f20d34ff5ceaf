# SPDX-License-Identifier: Apache-2.0
"""The bounds of one attempt: which of its steps are kept, how many bytes they hold, and what is left out of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from apimachinery.objects import Cached
from controller_runtime.cache.packed import PLAIN, Packed
from controller_runtime.incidents.standins import is_confidential
from controller_runtime.incidents.steps import (
    Answer,
    get_step,
    select_step,
    sent_step,
    state_step,
    stream_step,
    time_step,
)

MOST_KEPT = 800 * 1024
"""The most bytes that are kept of one attempt. With what JSON adds, they fit into an incident's file."""

LONG = 100
"""The largest number of objects for which a selection is recorded whole. Of a larger one only the bodies that were read
are kept, and of a larger selection of keys no bodies.
"""

MOST_HIDDEN = 100
"""The most objects and requests of one attempt that may be left out of its record because they are too large, although
they have confidential values. With more of them, nothing of the attempt is kept.
"""

UNTOUCHED = 1000
"""The approximate size of an attempt without steps, in bytes."""

STEP = 120
"""The approximate size of a step without its bodies, in bytes."""

_KEY = 41  # bytes of an object of a selection without its body and names, about
_SMALL = 64 * 1024  # bytes up to which the steps of an attempt that has ended are not looked at one by one

Step: TypeAlias = tuple[Any, ...]
"""The function of `steps` that makes the value of a step, and its arguments."""


def plain_size(steps: Iterable[Step]) -> int:
    """Return the bytes of an attempt that has ended, if all of its steps are kept and none is confidential.

    Most attempts are such, so this is all that they cost. 0 if its steps have to be looked at by `Bounds`. A body
    that is read twice counts twice.
    """
    size = UNTOUCHED
    for step in steps:
        make = step[0]
        if make is get_step:
            found = step[3]
            if type(found) is Packed and found.codec is PLAIN:  # as its `size`, without a call
                size += STEP + len(found.body)
            else:
                size += STEP if found is None else STEP + found.size
            if step[1].kind == "Secret":
                return 0
        elif make is sent_step:
            request, path = step[1], step[1].path
            size += STEP + len(path) + len(request.body) + len(step[2].response.body)
            if "secret" in path or "token" in path:
                return 0
        elif make is not time_step:
            return 0
        else:
            size += STEP
    return size if size <= _SMALL else 0


class Bounds:
    """Counts the bytes of one attempt, and leaves out what is too much.

    Args:
        hides_all: Whether objects of any kind may have confidential values, and not Secrets alone.

    Attributes:
        size: About how many bytes are kept.
        cut: How many parts of each kind are left out.
        is_confidential: Whether the attempt has seen a Secret or a token.
        hidden: Steps that are left out, but whose confidential values may stand in texts that are kept. They are
            dropped as soon as these have stand-ins.
        is_unsafe: Whether it saw confidential values that are in none of these, so that nothing of it may be kept.

    Threads: those of the attempt's reconcile.
    """

    def __init__(self, hides_all: bool) -> None:
        self._hides_all = hides_all
        self.size = UNTOUCHED
        self.cut: Counter[str] = Counter()
        self.is_confidential = False
        self.hidden: list[Step] = []
        self.is_unsafe = False
        self._hidden = 0  # objects and requests
        self._bodies: set[int] = set()  # the ids of those that are kept: the steps hold them

    def kept(self, steps: Iterable[Step]) -> list[Step]:
        """Return the next steps of the attempt, without those for which there is no room; count the others.

        A read of several objects may lose the objects and keep their keys, and a request may lose its answer.
        """
        return [kept for step in steps if (kept := self._kept(step)) is not None]

    def has_room(self, size: int, what: str, bodies: Sequence[Cached | None] = ()) -> bool:
        """Return whether a part may be kept, and count its bytes if so; otherwise count one left-out part of its kind.

        Args:
            size: The size of the part in bytes.
            what: The kind of the part, in words.
            bodies: The bodies of the part.
        """
        if self.size + size > MOST_KEPT:
            self.cut[what] += 1
            return False
        self.size += size
        self._bodies.update(map(id, bodies))
        return True

    def count_answer(self, step: Step) -> None:
        """Count the answer of a request that is kept, and leave it out if there is no room for it."""
        answer = step[2]
        if not self.has_room(len(answer.response.body), "answers"):
            self._hide((sent_step, step[1], Answer(answer.response)))
            answer.response, answer.error, answer.at = Answer().response, None, None

    def _kept(self, step: Step) -> Step | None:
        make = step[0]
        if make is get_step:
            return self._kept_get(step)
        if make is select_step:
            return self._kept_selection(step)
        if make is sent_step:
            return self._kept_request(step)
        if make is state_step:
            return step if self.has_room(STEP + len(step[2]), "states") else None
        if make is stream_step:  # its lines are not kept, so their values are not known
            self.is_unsafe = self.is_unsafe or is_confidential(step[1])
        return step if self.has_room(STEP, "times" if make is time_step else "reads") else None

    def _kept_get(self, step: Step) -> Step | None:
        self._see(step[1])
        size = STEP + self._weight((step[3],))
        if self.has_room(size, "reads", (step[3],)):
            return step
        self._hide(step)
        return None

    def _kept_selection(self, step: Step) -> Step | None:
        self._see(step[1])
        verb, found = step[2], step[4]
        size = STEP + _KEY * len(found)
        if self.size + size < MOST_KEPT:
            size += sum(len(each.name) + len(each.namespace) for each in found)
        is_short = not (verb.startswith("keys") and len(found) > LONG)
        bodies = self._weight(found) if is_short and self.size + size <= MOST_KEPT else 0
        has_bodies = is_short and self.size + size + bodies <= MOST_KEPT
        if is_short and not has_bodies:
            if self.size + size <= MOST_KEPT:
                self.cut["bodies of a selection"] += 1
            self._hide(step)
        if not self.has_room(size + (bodies if has_bodies else 0), "reads", found if has_bodies else ()):
            return None
        return step if has_bodies else (*step[:5], False)

    def _kept_request(self, step: Step) -> Step | None:
        request, answer = step[1], step[2]
        self.is_confidential = self.is_confidential or is_confidential(request.path)
        answer.is_counted = True
        if not self.has_room(STEP + len(request.path) + len(request.body), "requests"):
            self._hide(step)
            return None
        self.count_answer(step)
        return step

    def _see(self, resource: Any) -> None:
        if resource.kind == "Secret" and not resource.group:
            self.is_confidential = True

    def _weight(self, found: Sequence[Cached | None]) -> int:
        """Return the bytes of the bodies that are not kept yet."""
        return sum(each.size for each in found if each is not None and id(each) not in self._bodies)

    def _hide(self, step: Step) -> None:
        """Hold a step that is left out until its confidential values have stand-ins in what is kept."""
        if not (self._hides_all or self.is_confidential):
            return
        if step[0] is get_step and any(each[0] is get_step and each[3] is step[3] for each in self.hidden):
            return
        self._hidden += len(step[4]) if step[0] is select_step else 1
        if self._hidden <= MOST_HIDDEN:
            self.hidden.append(step)
        else:
            self.is_unsafe = True
