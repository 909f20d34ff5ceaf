# SPDX-License-Identifier: Apache-2.0
"""One recorded reconcile as a value, and its file: JSON that is read strictly, within bounds, and holds no code."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NoReturn, TypeAlias

import msgspec

from apimachinery.errors import DecodeError, UsageError
from apimachinery.objects import cached_from_bytes
from apimachinery.texts import kept_text

FORMAT = "controller-runtime/incident"
"""The name of the format. A document without it is not an incident."""

VERSION = 1
"""The version of the format; a file of a later one is refused."""

MOST_BYTES = 1024 * 1024
"""The largest file in bytes, written or read. The number is ours: such a file can still be mailed, and shown by an
editor.
"""

NULL = msgspec.Raw(b"null")
"""Stands for a body that is absent, or that was not kept."""

NOTHING = -1
"""The index that stands for no body: the object was absent, or its body was not kept."""

LINES = "lines of the log"
"""The name of the only part of a record that may be missing without making its replay uncertain."""

Found: TypeAlias = tuple[str, str, str, int]
"""An object that a read returned: its name, namespace and version, and the index of its body in `Incident.objects`."""


class Kind(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The kind of objects that were read, with the fields of `Resource`."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True
    partial: bool = False


class Get(msgspec.Struct, frozen=True, tag="get", rename="camel", forbid_unknown_fields=True):
    """A read of one key from a cache. `body` is an index of `Incident.objects`; `version` is empty for an absence."""

    kind: Kind
    name: str
    namespace: str
    version: str
    body: int


class Select(msgspec.Struct, frozen=True, tag="select", rename="camel", forbid_unknown_fields=True):
    """A read of several objects from a cache, such as `list` of a namespace; `whole`: `found` has all of them."""

    kind: Kind
    verb: str
    what: str
    found: list[Found]
    whole: bool = True


class Ask(msgspec.Struct, frozen=True, tag="ask", rename="camel", forbid_unknown_fields=True):
    """A read of a fact about a cache, such as its version or its age."""

    kind: Kind
    what: str
    answer: str | int | float | bool | None


class Time(msgspec.Struct, frozen=True, tag="time", rename="camel", forbid_unknown_fields=True):
    """A reading of a clock of the host: `now` as text, other clocks in seconds."""

    clock: str
    at: str | float


class Error(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An error: the name of its class, its text, and its stack if that was kept."""

    type: str
    text: str
    stack: str = ""


class Sent(msgspec.Struct, frozen=True, tag="request", rename="camel", forbid_unknown_fields=True):
    """A request of the manager's client and its answer.

    The status is 0 without an answer: then `error` is set, or the attempt ended before the answer, or it was too large
    to be kept. `at` is the time of the answer or error, in seconds since the start; None if neither was kept.
    """

    method: str
    path: str
    query: list[tuple[str, str]] = []
    headers: dict[str, str] = {}
    body: msgspec.Raw = NULL
    status: int = 0
    answer_headers: dict[str, str] = {}
    answer: msgspec.Raw = NULL
    text: str = ""
    error: Error | None = None
    at: float | None = None


class Stream(msgspec.Struct, frozen=True, tag="stream", rename="camel", forbid_unknown_fields=True):
    """The opening of a stream. Its lines are not recorded, so the attempt cannot be replayed completely."""

    path: str


class State(msgspec.Struct, frozen=True, tag="state", rename="camel", forbid_unknown_fields=True):
    """The state that a reconciler, or a part of it, had kept from earlier reconciles when this one first used it."""

    name: str
    value: msgspec.Raw


Step: TypeAlias = Get | Select | Ask | Time | Sent | Stream | State


class Line(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A logged line, with its level."""

    level: str
    logger: str
    text: str


class End(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The end of the reconcile: its outcome, its `requeue_after` in seconds, and the error that it raised."""

    outcome: str
    requeue_after: float | None = None
    error: Error | None = None


class Incident(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """One recorded reconcile.

    Attributes:
        format: Always `FORMAT`.
        version: Always `VERSION`.
        written_by: The version of this library that wrote it.
        controller: The controller's name.
        name: The name of the request.
        namespace: The namespace of the request.
        started: When it began, by the host's wall clock.
        monotonic: The start in monotonic seconds.
        took: Its duration in seconds.
        causes: Why it was requested.
        timeout: The timeout of the reconcile in seconds; None for none.
        host: The name of the host.
        seed: The seed of the random numbers; empty if none were used.
        end: How it ended.
        reasons: The reasons for which it was kept longer than others, or written to a file.
        cut: The parts that are missing. If any is not lines of the log, a replay is not certain; see `is_cut`.
        steps: The reads, other questions and requests, in order.
        objects: The bodies of the objects that were read from caches.
        lines: The logged lines.
    """

    format: str
    version: int
    written_by: str
    controller: str
    name: str
    namespace: str
    started: str
    monotonic: float
    took: float
    end: End
    causes: list[str] = []
    timeout: float | None = None
    host: str = ""
    seed: str = ""
    reasons: list[str] = []
    cut: list[str] = []
    steps: list[Step] = []
    objects: list[msgspec.Raw] = []
    lines: list[Line] = []

    @property
    def began(self) -> datetime:
        """The time at which the reconcile began."""
        return datetime.fromisoformat(self.started)

    @property
    def request(self) -> str:
        """The request as text."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_cut(self) -> bool:
        """Whether parts are missing without which a replay cannot be certain: all but lines of the log."""
        return not all(each.endswith(LINES) for each in self.cut)

    @property
    def writes(self) -> list[Sent]:
        """The requests that change something, in order."""
        return [step for step in self.steps if isinstance(step, Sent) and step.method != "GET"]


_LONGEST = 1e9  # seconds that an answer can have taken
_LONGEST_VERSION = 255  # characters, as the cache keeps them


class _Head(msgspec.Struct):
    format: Any = None
    version: Any = None
    test: Any = None
    plan: Any = None


_head = msgspec.json.Decoder(_Head)
_whole = msgspec.json.Decoder(Incident)
_any = msgspec.json.Decoder(Any)
_encoder = msgspec.json.Encoder()


def compact(incident: Incident) -> bytes:
    """Return an incident as compact JSON, for keeping it in memory."""
    return _encoder.encode(incident)


def decode(raw: bytes, name: str) -> Incident:
    """Return the incident in a file.

    Args:
        raw: The bytes of the file, or its first `MOST_BYTES` + 1.
        name: The name of the file, for messages.

    Raises:
        UsageError: The bytes are not an incident, are damaged or too long, or have a newer version.
    """

    def refuse(why: object) -> NoReturn:
        raise UsageError(f"{name}: {kept_text(why)}")

    if len(raw) > MOST_BYTES:
        refuse(f"not an incident: it is longer than {MOST_BYTES} bytes")
    try:
        head = _head.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        refuse(f"not an incident: {error}")
    if head.format != FORMAT:
        if head.plan is not None and head.test is not None:
            refuse("a plan of --perturb, not an incident: run `pytest --perturb-script=FILE`")
        refuse(f"not an incident: its field format is not {FORMAT!r}")
    if type(head.version) is not int or head.version < 1:
        refuse("not an incident: its field version is not a number from 1 on")
    if head.version > VERSION:
        refuse(f"an incident of version {head.version}, and this library reads up to {VERSION}: upgrade it")
    try:
        found = _whole.decode(raw)
        _check(found)
    except (msgspec.DecodeError, DecodeError, UnicodeDecodeError, ValueError, OverflowError, RecursionError) as error:
        refuse(f"a damaged incident: {error}")
    return found


def _check(found: Incident) -> None:
    """Raise an error unless places, times and bodies are such as a recorder writes."""
    if found.began.tzinfo is None:
        raise ValueError(f"its time {found.started!r} has no zone")
    for body in found.objects:
        if len(cached_from_bytes(bytes(body)).resource_version) > _LONGEST_VERSION:
            raise ValueError("an object has a resourceVersion that no server gives")
    for step in found.steps:
        _check_step(step, len(found.objects))


def _check_step(step: Step, bodies: int) -> None:
    if isinstance(step, Get | Select):
        places = [step.body] if isinstance(step, Get) else [each[3] for each in step.found]
        if any(not NOTHING <= place < bodies for place in places):
            raise ValueError("a read names a body that is not there")
    elif isinstance(step, Time):
        if isinstance(step.at, str) is not (step.clock == "now"):
            raise ValueError(f"{step.at!r} is no time of the clock {step.clock}")
        if isinstance(step.at, str) and datetime.fromisoformat(step.at).tzinfo is None:
            raise ValueError(f"the time {step.at!r} has no zone")
    elif isinstance(step, Sent):
        if abs(step.at or 0.0) > _LONGEST:
            raise ValueError(f"an answer after {step.at:g} s")
        _any.decode(step.body)
        _any.decode(step.answer)
    elif isinstance(step, State):
        _any.decode(step.value)
