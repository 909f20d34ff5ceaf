# SPDX-License-Identifier: Apache-2.0
"""A running reconcile that is recorded: references to what it reads, and bounded copies of what it sends and logs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.core.version import __version__
from controller_runtime.incidents.bodies import Bodies
from controller_runtime.incidents.chance import seeded
from controller_runtime.incidents.incident import (
    FORMAT,
    VERSION,
    Ask,
    End,
    Error,
    Incident,
    Line,
    Step,
    Stream,
    Time,
)
from controller_runtime.incidents.standins import is_confidential, without_tokens
from controller_runtime.incidents.steps import (
    Answer,
    Ended,
    bounded_error,
    error_of,
    get_step,
    kind_of,
    select_step,
    sent_step,
)

T = TypeVar("T")

MOST_KEPT = 800 * 1024
"""Bytes of one attempt that are kept: with what JSON adds they fit in an incident's file."""

LONG = 100
"""From more objects than these on, only the bodies that were read are kept of a selection; of keys none are."""

MOST_LINES = 200
"""Lines of the log that are kept of one attempt."""

_STEP = 120  # bytes of a step without its bodies, about


class RecordedAttempt:
    """An `Attempt` that notes what passes, and changes nothing.

    Bodies of cached objects are kept by reference, so as long as the cache holds an object its body is there once.

    Args:
        host: Its clock, and the source of the seed.
        owner: The recorder that began it.
        controller: The controller's name.
        request: The request.
        timeout: Seconds that it is allowed to take; None is any time.

    Attributes:
        owner: As given.
        reasons: Why it is worth to be kept longer.
        is_confidential: Whether it has seen a Secret or a token.
        size: About how many bytes of it are kept.

    Threads: those of its reconcile. Appending to a list is one operation; a size that two threads add to at once may be
    too small by one step.
    """

    def __init__(self, host: Host, owner: object, controller: str, request: ObjectKey, timeout: float | None) -> None:
        self.owner = owner
        self.reasons: list[str] = []
        self.is_confidential = False
        self.size = 1000
        self._host = host
        self._controller, self._request, self._timeout = controller, request, timeout
        self._started, self._monotonic = host.now(), host.monotonic()
        self._steps: list[Callable[[Bodies], Step]] = []
        self._lines: list[tuple[str, str, str]] = []
        self._cut: dict[str, int] = {}
        self._bodies: set[int] = set()
        self._seed = ""
        self._chance: random.Random | None = None
        self._is_over = False

    # Steps.

    def get(self, resource: Any, key: ObjectKey, read: Callable[[ObjectKey], Cached | None]) -> Cached | None:
        """See `Attempt.get`."""
        found = read(key)
        self._see(resource)
        if self._has_room(_STEP + (0 if found is None else self._weight([found])), "reads"):
            self._note_bodies([found])
            self._steps.append(lambda bodies: get_step(bodies, resource, key, found))
        return found

    def select(self, resource: Any, verb: str, what: str, read: Callable[[], Sequence[Cached]]) -> Sequence[Cached]:
        """See `Attempt.select`."""
        found = read()
        self._see(resource)
        keys = _STEP + sum(len(each.name) + len(each.namespace) + 40 for each in found)
        has_bodies = not (verb.startswith("keys") and len(found) > LONG)
        size = keys + (self._weight(found) if has_bodies and keys < MOST_KEPT else 0)
        if size > keys and self.size + size > MOST_KEPT and self.size + keys <= MOST_KEPT:
            has_bodies, size = False, keys
            self._leave_out("bodies of a selection")
        if self._has_room(size, "reads"):
            self._note_bodies(found if has_bodies else ())
            self._steps.append(lambda bodies: select_step(bodies, resource, verb, what, found, has_bodies))
        return found

    def ask(self, resource: Any, what: str, ask: Callable[[], T]) -> T:
        """See `Attempt.ask`."""
        answer: Any = ask()
        if self._has_room(_STEP, "reads"):
            self._steps.append(lambda bodies: Ask(kind_of(resource), what, answer))
        return answer  # type: ignore[no-any-return]

    def send(self, request: HTTPRequest, send: Callable[[], HTTPResponse]) -> HTTPResponse:
        """See `Attempt.send`."""
        self.is_confidential = self.is_confidential or is_confidential(request.path)
        answer = Answer()
        body = without_tokens(request.body)
        if self._has_room(_STEP + len(request.path) + len(body), "requests"):
            self._steps.append(lambda bodies: sent_step(bodies, request, body, answer))
        try:
            response = send()
        except ControllerRuntimeError as error:
            self._answered(answer, HTTPResponse(0), error_of(error))
            raise
        self._answered(answer, response, None)
        return response

    def stream(self, request: HTTPRequest) -> None:
        """See `Attempt.stream`."""
        self._leave_out("streams")
        if self._has_room(_STEP, "requests"):
            self._steps.append(lambda bodies: Stream(request.path))

    def clock(self, name: str, ask: Callable[[], T]) -> T:
        """See `Attempt.clock`."""
        at: Any = ask()
        if self._has_room(_STEP, "times"):
            self._steps.append(lambda bodies: Time(name, at.isoformat() if isinstance(at, datetime) else at))
        return at  # type: ignore[no-any-return]

    def chance(self) -> random.Random:
        """See `Attempt.chance`. The seed is drawn at the first use."""
        if self._chance is None:
            self._seed = self._host.uuid()
            self._chance = seeded(self._seed)
        return self._chance

    def note(self, reason: str) -> None:
        """See `Attempt.note`."""
        if reason not in self.reasons:
            self.reasons.append(reason)

    def log(self, level: str, logger: str, text: str) -> None:
        """Note a line of the log."""
        if len(self._lines) >= MOST_LINES:
            self._leave_out("lines of the log")
        elif self._has_room(_STEP + len(text), "lines of the log"):
            self._lines.append((level, logger, without_tokens(text.encode(errors="replace")).decode()))

    # Its end.

    def end(self) -> None:
        """Note nothing from now on: a step that comes later belongs to a thread that its reconcile left behind."""
        self._is_over = True

    def incident(self, ended: Ended, replaced: Callable[[bytes], bytes] = without_tokens) -> Incident:
        """Return the record.

        Args:
            ended: How it ended.
            replaced: Puts stand-ins into texts before these are cut to their bounds, which could cut a value in two.
        """
        bodies = Bodies(replaced)
        steps = [step(bodies) for step in self._steps]
        return Incident(
            format=FORMAT,
            version=VERSION,
            written_by=__version__,
            controller=self._controller,
            name=self._request.name,
            namespace=self._request.namespace,
            started=self._started.isoformat(),
            monotonic=self._monotonic,
            took=ended.took,
            end=End(ended.outcome, ended.requeue_after, bounded_error(bodies, ended.error)),
            causes=[*ended.causes],
            timeout=self._timeout,
            host=self._host.name,
            seed=self._seed,
            reasons=self.reasons,
            cut=[f"{count} {what}" for what, count in self._cut.items()],
            steps=steps,
            objects=bodies.kept,
            lines=[Line(level, logger, bodies.text(text)) for level, logger, text in self._lines],
        )

    def summary(self) -> tuple[str, ObjectKey, datetime]:
        """Return the controller, the request, and when it began."""
        return self._controller, self._request, self._started

    def _see(self, resource: Any) -> None:
        self.is_confidential = self.is_confidential or (resource.kind == "Secret" and not resource.group)

    def _weight(self, found: Iterable[Cached]) -> int:
        """Return the bytes of the bodies that are not kept yet."""
        return sum(each.size for each in found if id(each) not in self._bodies)

    def _note_bodies(self, found: Iterable[Cached | None]) -> None:
        self._bodies.update(id(each) for each in found)  # the steps hold them, so no other object gets their ids

    def _answered(self, answer: Answer, response: HTTPResponse, error: Error | None) -> None:
        if self._has_room(len(response.body), "answers"):
            answer.response = response._replace(body=without_tokens(response.body))
            answer.error = error
            answer.at = self._host.monotonic() - self._monotonic

    def _has_room(self, size: int, what: str) -> bool:
        if self._is_over:
            return False
        if self.size + size > MOST_KEPT:
            self._leave_out(what)
            return False
        self.size += size
        return True

    def _leave_out(self, what: str) -> None:
        self._cut[what] = self._cut.get(what, 0) + 1
