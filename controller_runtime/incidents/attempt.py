# SPDX-License-Identifier: Apache-2.0
"""A running reconcile that is recorded: references to all that it reads, sends and logs, within bounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import attrs
import msgspec

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.incidents.chance import seeded
from controller_runtime.incidents.standins import is_confidential
from controller_runtime.incidents.steps import (
    Answer,
    ask_step,
    error_of,
    get_step,
    select_step,
    sent_step,
    state_step,
    stream_step,
    time_step,
)

T = TypeVar("T")

MOST_KEPT = 800 * 1024
"""Bytes of one attempt that are kept: with what JSON adds they fit in an incident's file."""

LONG = 100
"""From more objects than these on, only the bodies that were read are kept of a selection; of keys none are."""

MOST_LINES = 200
"""Lines of the log that are kept of one attempt."""

UNTOUCHED = 1000
"""Bytes of an attempt that did nothing, about."""

_STEP = 120  # bytes of a step without its bodies, about
_KEY = 41  # bytes of an object of a selection without its body and names, about
_UNCOUNTED = 64  # steps that are counted at a time


@attrs.define
class Source:
    """The owner of attempts.

    Attributes:
        host: Its clock, and the source of seeds.
        owner: The recorder.
        controller: The controller's name.
        timeout: Seconds that one is allowed to take; None is any time.
        floor: Seconds that one must exceed to be one of the controller's slowest.
    """

    host: Host
    owner: object
    controller: str
    timeout: float | None
    floor: float = -1.0


class RecordedAttempt:
    """An `Attempt` that records reads, requests and answers, and changes none of them.

    Each thread or coroutine of a controller has one, and gets a new one after each reconcile that did anything. It
    keeps references alone. A step is a plain tuple: the function of `steps` that makes its value, and the arguments.
    Bodies of cached objects are kept by reference as well, so as long as the cache holds an object its body is there
    once. The bytes are counted, and what is too much is left out, at the end, and after every 64 steps.

    Args:
        source: The owner.

    Attributes:
        source: As given.
        steps: Its steps, in order.
        is_noted: Whether it has anything beside its steps.
        is_open: Whether its reconcile runs. A step at any other time belongs to a thread that its reconcile left
            behind, and is not noted.
        lines: Its lines of the log: level, logger and text.
        reasons: The reasons for which it is kept longer than others.
        is_confidential: Whether it has seen a Secret or a token, once it is counted.
        size: About how many bytes of it are kept, once it is counted.
        cut: How many parts of each kind are left out.
        seed: The seed of its random numbers; empty if it asked for none.

    Threads: those of its reconcile. Appending to a list is one operation; a size that two threads add to at once may be
    too small by one step.
    """

    # Those that most attempts never change are the class's, so that a new attempt sets few.
    is_open = False
    is_noted = False
    lines: Sequence[tuple[str, str, str]] = ()
    reasons: Sequence[str] = ()
    is_confidential = False
    size = UNTOUCHED
    cut: Mapping[str, int] = MappingProxyType({})
    seed = ""
    _chance: random.Random | None = None
    _counted = 0
    _limit = _UNCOUNTED
    _bodies: set[int] | None = None  # the ids of those that are kept: the steps hold them

    def __init__(self, source: Source) -> None:
        self.source = source
        self.steps: list[tuple[Any, ...]] = []

    # Steps.

    def get(self, resource: Any, key: ObjectKey, read: Callable[[ObjectKey], Cached | None]) -> Cached | None:
        """See `Attempt.get`."""
        found = read(key)
        if self.is_open:
            steps = self.steps
            steps.append((get_step, resource, key, found))
            if len(steps) >= self._limit:
                self.count()
        return found

    def select(self, resource: Any, verb: str, what: str, read: Callable[[], Sequence[Cached]]) -> Sequence[Cached]:
        """See `Attempt.select`."""
        found = read()
        self._add((select_step, resource, verb, what, found, True))
        return found

    def ask(self, resource: Any, what: str, ask: Callable[[], T]) -> T:
        """See `Attempt.ask`."""
        answer = ask()
        self._add((ask_step, resource, what, answer))
        return answer

    def send(self, request: HTTPRequest, send: Callable[[], HTTPResponse]) -> HTTPResponse:
        """See `Attempt.send`."""
        answer = Answer()
        self._add((sent_step, request, answer))
        try:
            response = send()
        except ControllerRuntimeError as error:
            if self.is_open:
                answer.error, answer.at = error_of(error), self.source.host.monotonic()
            raise
        if self.is_open:
            answer.response, answer.at = response, self.source.host.monotonic()
            if answer.is_counted:
                self._count_answer(answer)
        return response

    def stream(self, request: HTTPRequest) -> None:
        """See `Attempt.stream`."""
        if self.is_open:
            self._leave_out("streams")
        self._add((stream_step, request.path))

    def clock(self, name: str, ask: Callable[[], T]) -> T:
        """See `Attempt.clock`."""
        at = ask()
        self._add((time_step, name, at))
        return at

    def chance(self) -> random.Random:
        """See `Attempt.chance`. The seed is drawn at the first use."""
        if not self.is_open:
            return self.source.host.random
        if self._chance is None:
            self.is_noted = True
            self.seed = self.source.host.uuid()
            self._chance = seeded(self.seed)
        return self._chance

    def state(self, name: str, snapshot: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        """See `Attempt.state`. The first one of a name counts."""
        if self.is_open and not any(step[0] is state_step and step[1] == name for step in self.steps):
            self._add((state_step, name, msgspec.json.encode(snapshot())))

    def note(self, reason: str) -> None:
        """See `Attempt.note`."""
        if self.is_open and reason not in self.reasons:
            self.is_noted = True
            self.reasons = [*self.reasons, reason]

    def log(self, level: str, logger: str, text: str) -> None:
        """Note a line of the log."""
        if not self.is_open:
            return
        if len(self.lines) >= MOST_LINES:
            self._leave_out("lines of the log")
        elif self._has_room(_STEP + len(text), "lines of the log"):
            self.is_noted = True
            self.lines = [*self.lines, (level, logger, text)]

    def _add(self, step: tuple[Any, ...]) -> None:
        if self.is_open:
            self.steps.append(step)
            if len(self.steps) >= self._limit:
                self.count()

    # Its bounds.

    def count(self) -> None:
        """Add the steps since the last call to the size of the record, and drop those that exceed its bound."""
        first, last = self._counted, len(self.steps)
        bodies = self._bodies = self._bodies or set()
        kept: list[tuple[Any, ...]] = []
        for step in self.steps[first:last]:
            if step[0] is get_step:  # most are, so these call little
                found, size = step[3], self.size + _STEP
                if found is not None and id(found) not in bodies:
                    size += found.size
                if size > MOST_KEPT:
                    self._leave_out("reads")
                    continue
                bodies.add(id(found))
                self.size = size
                if step[1].kind == "Secret":
                    self._see(step[1])
                kept.append(step)
            elif (other := self._counted_step(step)) is not None:
                kept.append(other)
        self.steps[first:last] = kept
        self._counted = first + len(kept)
        self._limit = self._counted + _UNCOUNTED
        if not self.is_open:
            self._bodies = None

    def _counted_step(self, step: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return a step, or the same without its bodies; None if there is no room for it."""
        make = step[0]
        if make is select_step:
            self._see(step[1])
            return self._counted_selection(step)
        if make is sent_step:
            return self._counted_request(step)
        if make is state_step:
            return step if self._has_room(_STEP + len(step[2]), "states") else None
        return step if self._has_room(_STEP, "times" if make is time_step else "reads") else None

    def _counted_selection(self, step: tuple[Any, ...]) -> tuple[Any, ...] | None:
        verb, found = step[2], step[4]
        size = _STEP + _KEY * len(found)
        if self.size + size < MOST_KEPT:
            size += sum(len(each.name) + len(each.namespace) for each in found)
        has_bodies = not (verb.startswith("keys") and len(found) > LONG)
        bodies = self._weight(found) if has_bodies and self.size + size <= MOST_KEPT else 0
        if bodies and self.size + size + bodies > MOST_KEPT:
            has_bodies, bodies = False, 0
            self._leave_out("bodies of a selection")
        if not self._has_room(size + bodies, "reads", found if has_bodies else ()):
            return None
        return step if has_bodies else (*step[:5], False)

    def _counted_request(self, step: tuple[Any, ...]) -> tuple[Any, ...] | None:
        request, answer = step[1], step[2]
        self.is_confidential = self.is_confidential or is_confidential(request.path)
        answer.is_counted = True
        if not self._has_room(_STEP + len(request.path) + len(request.body), "requests"):
            return None
        self._count_answer(answer)
        return step

    def _count_answer(self, answer: Answer) -> None:
        if not self._has_room(len(answer.response.body), "answers"):
            answer.response, answer.error, answer.at = Answer().response, None, None

    def _see(self, resource: Any) -> None:
        if resource.kind == "Secret" and not resource.group:
            self.is_confidential = True

    def _weight(self, found: Sequence[Cached | None]) -> int:
        """Return the bytes of the bodies that are not kept yet."""
        return sum(each.size for each in found if each is not None and id(each) not in (self._bodies or ()))

    def _has_room(self, size: int, what: str, bodies: Sequence[Cached | None] = ()) -> bool:
        if self.size + size > MOST_KEPT:
            self._leave_out(what)
            return False
        self.size += size
        if self._bodies is not None:
            self._bodies.update(map(id, bodies))
        return True

    def _leave_out(self, what: str) -> None:
        self.is_noted = True
        self.cut = {**self.cut, what: self.cut.get(what, 0) + 1}
