# SPDX-License-Identifier: Apache-2.0
"""A running reconcile whose reads, times and requests are answered from an incident, which is a recorded reconcile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

import attrs
import msgspec

from apimachinery import errors
from apimachinery.errors import ConnectionLost, ControllerRuntimeError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.incidents.chance import seeded
from controller_runtime.incidents.incident import NULL, Incident, Kind, Line, Sent, State
from controller_runtime.testing.replay.memory import Memory, place_of
from controller_runtime.testing.replay.world import World

T = TypeVar("T")

_HARMLESS: dict[str, Any] = {"resets": 0, "is_partial": False, "version": "", "count": 0, "staleness": 0.0}
_TRUE = ("wait_for", "wait_until_fresh", "wait_for_deletion")
_NEVER = 24 * 3600.0  # seconds after which a request that had no answer when the attempt ended is given up


@attrs.frozen
class Written:
    """A write that the present code sends.

    Attributes:
        request: The request.
        is_recorded: True if the recorded reconcile sent the same request.
        unknown: The number of reads and answers before this write that are not recorded.
    """

    request: HTTPRequest
    is_recorded: bool
    unknown: int


class ReplayedAttempt:
    """An `Attempt` that answers from an incident, which is a recorded reconcile.

    Args:
        incident: The incident.
        host: The host on which the reconcile runs, in virtual time.
        world: Answers requests that were not recorded.

    Attributes:
        reads: The reads and their results as text, in order.
        writes: The writes, in order.
        unknown: The reads and answers that are not recorded.
        lines: The log lines.
        unsent: The recorded requests that have not been sent yet.

    Threads: those of its reconcile, in a simulation.
    """

    def __init__(self, incident: Incident, host: Host, world: World) -> None:
        self.reads: list[str] = []
        self.writes: list[Written] = []
        self.unknown: list[str] = []
        self.lines: list[Line] = []
        self.unsent: list[Sent] = [step for step in incident.steps if isinstance(step, Sent)]
        self._states = {step.name: bytes(step.value) for step in incident.steps if isinstance(step, State)}
        self._incident = incident
        self._memory = Memory(incident)
        self._host = host
        self._world = world
        self._began = host.monotonic()
        self._chance = seeded(incident.seed)
        self._condition = host.condition("replayed attempt")

    def get(self, resource: Any, key: ObjectKey, read: Callable[[ObjectKey], Cached | None]) -> Cached | None:
        """Return the recorded object of a cache for `key`; None if it had none, or if this is not recorded. See
        `Attempt.get`.
        """
        is_known, found = self._memory.get(_kind(resource), key)
        version = "absent" if found is None else f"at {found.resource_version}"
        self.reads.append(f"get {resource} {key}: {version if is_known else 'unknown'}")
        if not is_known:
            self.unknown.append(f"the cache of {resource}: {key}")
        return found

    def select(self, resource: Any, verb: str, what: str, read: Callable[[], Sequence[Cached]]) -> Sequence[Cached]:
        """Return the recorded objects of a selection; empty if it is not recorded. See `Attempt.select`."""
        found = self._memory.select(_kind(resource), verb, what)
        told = f"{verb} {resource} {what}".rstrip()
        self.reads.append(f"{told}: {'unknown' if found is None else f'{len(found)} objects'}")
        if found is None:
            self.unknown.append(f"the cache of {resource}: {verb} {what}".rstrip())
        return found or ()

    def ask(self, resource: Any, what: str, ask: Callable[[], T]) -> T:
        """Return the recorded answer to a question about a cache; a harmless value if it is not recorded. See
        `Attempt.ask`.
        """
        series = self._memory.asks.get(place_of(_kind(resource), what))
        if series is not None:
            answer: Any = series.next()
        elif what in ("resets", "is_partial"):
            answer = _HARMLESS[what]
        else:
            self.unknown.append(f"the cache of {resource}: {what}")
            answer = _HARMLESS.get(what, what.partition(" ")[0] in _TRUE)
        self.reads.append(f"{what} of {resource}: {answer}")
        return answer  # type: ignore[no-any-return]

    def send(self, request: HTTPRequest, send: Callable[[], HTTPResponse]) -> HTTPResponse:
        """Return the recorded answer to a request, after the recorded time; `send` answers one that is not recorded.

        See `Attempt.send`.

        Raises:
            ControllerRuntimeError: The recorded request failed with this error, or had no answer.
        """
        known = next((step for step in self.unsent if is_same(step, request)), None)
        if request.method == "GET":
            self.reads.append(f"GET {request.path}: {'unknown' if known is None else known.status}")
        else:
            self.writes.append(Written(request, known is not None, len(self.unknown)))
        if known is None:
            return self._live(request, send)
        self.unsent.remove(known)
        self._wait_until(self._began + (_NEVER if known.at is None else known.at))
        if known.error is not None or known.status == 0:
            raise _error(known)
        body = bytes(known.answer) if known.answer != NULL else known.text.encode()
        response = HTTPResponse(known.status, known.answer_headers, b"" if body == b"null" else body)
        self._world.saw(request, response)
        return response

    def stream(self, request: HTTPRequest) -> None:
        """Record that a stream is opened, which is not in the record. See `Attempt.stream`."""
        self.unknown.append(f"the stream of {request.path}")

    def clock(self, name: str, ask: Callable[[], T]) -> T:
        """Return the recorded time of a clock. See `Attempt.clock`.

        Monotonic seconds are moved to the origin of this host's clock; the time of the wall clock is returned as
        recorded. The clock `elapsed` and times that are not recorded follow this host's virtual time.
        """
        series = self._memory.times.get(name)
        if name == "now":
            at = self._incident.began + timedelta(seconds=self._host.monotonic() - self._began)
            return at if series is None else datetime.fromisoformat(series.next())  # type: ignore[return-value]
        if series is None or name == "elapsed":
            return ask()
        return series.next() - self._incident.monotonic + self._began  # type: ignore[no-any-return]

    def chance(self) -> Random:
        """Return a random number generator with the recorded seed. See `Attempt.chance`."""
        if not self._incident.seed and "random numbers of the host" not in self.unknown:
            self.unknown.append("random numbers of the host")
        return self._chance

    def state(self, name: str, snapshot: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        """Restore the recorded state of a reconciler; leave it new if none is recorded. See `Attempt.state`."""
        if (value := self._states.pop(name, None)) is not None:
            restore(msgspec.json.decode(value))

    def note(self, reason: str) -> None:
        """Do nothing: a replay makes no record. See `Attempt.note`."""

    def log(self, level: str, logger: str, text: str) -> None:
        """Record a log line."""
        self.lines.append(Line(level, logger, text))

    def _live(self, request: HTTPRequest, send: Callable[[], HTTPResponse]) -> HTTPResponse:
        if (why := self._world.unknown(request)) is not None:
            self.unknown.append(why)
        return send()

    def _wait_until(self, deadline: float) -> None:
        """Let virtual time pass until the recorded answer came."""
        with self._condition:
            while self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)


def is_same(step: Sent, request: HTTPRequest) -> bool:
    """Return whether a request equals the recorded one, regardless of the order of query parameters and of JSON
    fields.
    """
    if (step.method, step.path, sorted(step.query)) != (request.method, request.path, sorted(request.query)):
        return False
    return bool(document_of(bytes(step.body)) == document_of(request.body or b"null"))


def document_of(body: bytes) -> Any:
    """Return a body decoded from JSON; the body itself if it is not JSON."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body


def _kind(resource: Any) -> Kind:
    return Kind(resource.api_version, resource.kind, resource.plural, resource.namespaced, resource.is_partial)


def _error(step: Sent) -> ControllerRuntimeError:
    """Return the error of a request that had no answer, of a class of `apimachinery.errors`."""
    if step.error is None:
        return ConnectionLost("the attempt ended before the answer came")
    found: object = getattr(errors, step.error.type, None)
    is_plain = (
        isinstance(found, type) and issubclass(found, ControllerRuntimeError) and not issubclass(found, errors.APIError)
    )
    return (found if is_plain else ConnectionLost)(step.error.text)  # type: ignore[operator, no-any-return]
