# SPDX-License-Identifier: Apache-2.0
"""A running reconcile that is recorded: references to all that it reads, sends and logs, within bounds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
import msgspec

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.incidents.bounds import STEP, UNTOUCHED, Bounds
from controller_runtime.incidents.chance import seeded
from controller_runtime.incidents.incident import LINES
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

MOST_LINES = 200
"""Lines of the log that are kept of one attempt."""

_UNCOUNTED = 64  # steps that are counted at a time


@attrs.define
class Source:
    """The data that all attempts of one controller share.

    Attributes:
        host: The source of time and of seeds.
        owner: The recorder to which the attempts belong.
        controller: The controller's name.
        timeout: The timeout of a reconcile in seconds; None for none.
        hides_all: True if objects of every kind may have confidential values, and not only Secrets.
        has_told: True once a message has said that a reconcile of this controller is not kept.
        floor: Seconds that a reconcile must exceed to count as one of the controller's slowest.
    """

    host: Host
    owner: object
    controller: str
    timeout: float | None
    hides_all: bool = False
    has_told: bool = False
    floor: float = -1.0


class RecordedAttempt:
    """An `Attempt` that records reads, requests and answers without changing them.

    Each thread or coroutine of a controller has one, and gets a new one after each reconcile of which anything was
    recorded. It keeps references: a step is a tuple of a function in `steps`, which makes the recorded value later, and
    its arguments. Only states and errors are made texts at once. The size in bytes is counted at the end, and after
    every 64 steps; steps beyond the limit are dropped.

    Args:
        source: The common data of the controller's attempts.

    Attributes:
        source: As given.
        steps: The recorded steps, in order.
        is_noted: Whether anything other than steps was recorded.
        is_open: Whether the reconcile is running. A step at another time comes from a thread that outlived the
            reconcile, and is not recorded.
        lines: The logged lines: level, logger and text.
        reasons: The reasons to keep the record longer than others.
        size: The approximate size in bytes; known after the end.
        bounds: The dropped parts, and whether it is confidential. If it is None after the end, nothing was dropped, and
            no Secret was seen.
        seed: The seed of the random numbers; empty if none were used.

    Threads: those of its reconcile. If two threads record at the same moment, the size may be too small by one step.
    """

    # Those that most attempts never change are the class's, so that a new attempt sets few.
    is_open = False
    is_noted = False
    lines: Sequence[tuple[str, str, str]] = ()
    reasons: Sequence[str] = ()
    size = UNTOUCHED
    bounds: Bounds | None = None
    seed = ""
    _chance: random.Random | None = None
    _counted = 0
    _limit = _UNCOUNTED

    def __init__(self, source: Source) -> None:
        self.source = source
        self.steps: list[tuple[Any, ...]] = []

    # Steps.

    def get(self, resource: Any, key: ObjectKey, read: Callable[[ObjectKey], Cached | None]) -> Cached | None:
        """Return the object that `read` finds in a cache for `key`, and record it; None if there is none."""
        found = read(key)
        if self.is_open:
            steps = self.steps
            steps.append((get_step, resource, key, found))
            if len(steps) >= self._limit:
                self.count()
        return found

    def select(self, resource: Any, verb: str, what: str, read: Callable[[], Sequence[Cached]]) -> Sequence[Cached]:
        """Return the objects that `read` finds in a cache, and record them; see `Attempt.select`."""
        found = read()
        self._add((select_step, resource, verb, what, found, True))
        return found

    def ask(self, resource: Any, what: str, ask: Callable[[], T]) -> T:
        """Return the fact about a cache that `ask` finds, such as its version, and record it; see `Attempt.ask`."""
        answer = ask()
        self._add((ask_step, resource, what, answer))
        return answer

    def send(self, request: HTTPRequest, send: Callable[[], HTTPResponse]) -> HTTPResponse:
        """Send `request` by calling `send`, return the answer, and record both; a `ControllerRuntimeError` also is."""
        answer = Answer()
        step = (sent_step, request, answer)
        self._add(step)
        try:
            response = send()
        except ControllerRuntimeError as error:
            if self.is_open:
                answer.error, answer.at = error_of(error), self.source.host.monotonic()
            raise
        if self.is_open:
            answer.response, answer.at = response, self.source.host.monotonic()
            if answer.is_counted:
                self._bound().count_answer(step)
        return response

    def stream(self, request: HTTPRequest) -> None:
        """Record that `request` opens a stream, whose lines are not recorded."""
        if self.is_open:
            self._bound().cut["streams"] += 1
        self._add((stream_step, request.path))

    def clock(self, name: str, ask: Callable[[], T]) -> T:
        """Return the time that `ask` reads from the clock `name`, and record it."""
        at = ask()
        self._add((time_step, name, at))
        return at

    def chance(self) -> random.Random:
        """Return the random number generator of this attempt; that of the host once the reconcile has ended.

        Its seed is chosen and recorded at the first use.
        """
        if not self.is_open:
            return self.source.host.random
        if self._chance is None:
            self.is_noted = True
            self.seed = self.source.host.uuid()
            self._chance = seeded(self.seed)
        return self._chance

    def state(self, name: str, snapshot: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        """Record the value of `snapshot`, at the first call for each name; see `Attempt.state`."""
        if self.is_open and not any(step[0] is state_step and step[1] == name for step in self.steps):
            self._add((state_step, name, msgspec.json.encode(snapshot())))

    def note(self, reason: str) -> None:
        """Add a reason to keep the record of this reconcile longer than others."""
        if self.is_open and reason not in self.reasons:
            self.is_noted = True
            self.reasons = [*self.reasons, reason]

    def log(self, level: str, logger: str, text: str) -> None:
        """Record a logged line."""
        if not self.is_open:
            return
        bounds = self._bound()
        if len(self.lines) >= MOST_LINES:
            bounds.cut[LINES] += 1
        elif bounds.has_room(STEP + len(msgspec.json.encode(text.encode(errors="replace").decode())), LINES):
            self.lines = [*self.lines, (level, logger, text)]

    def count(self) -> None:
        """Add the steps since the last call to the size of the record, and drop steps beyond its limit."""
        first, last = self._counted, len(self.steps)
        bounds = self._bound()
        kept = bounds.kept(self.steps[first:last])
        self.steps[first:last] = kept
        self.size = bounds.size
        self._counted = first + len(kept)
        self._limit = self._counted + _UNCOUNTED

    def _add(self, step: tuple[Any, ...]) -> None:
        if self.is_open:
            self.steps.append(step)
            if len(self.steps) >= self._limit:
                self.count()

    def _bound(self) -> Bounds:
        if self.bounds is None:
            self.is_noted = True
            self.bounds = Bounds(self.source.hides_all)
        return self.bounds
