# SPDX-License-Identifier: Apache-2.0
"""The values that pass between the recorder and a correlator: occurrences, and the writes that they cause."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Protocol

import attrs

from controller_runtime.api.references import Reference
from controller_runtime.api.resources import Resource

CACHED = 4096
"""The number of series, of records, of groups and of buckets to remember; the least recently used are dropped."""


@attrs.frozen(kw_only=True)
class Occurrence:
    """Something that happened once to one object.

    Attributes:
        regarding: The object.
        type: `Normal` or `Warning`.
        reason: The reason, in one word.
        action: The action that was taken or tried, in one word.
        note: The message for people.
        name: The name of the event object, if this occurrence creates one.
        time: The wall-clock time, which is written to the server.
        at: The same time in monotonic seconds, which decisions use.
    """

    regarding: Reference
    type: str
    reason: str
    action: str
    note: str
    name: str
    time: datetime
    at: float

    @property
    def namespace(self) -> str:
        """The namespace of the event object: that of `regarding`, or `default` if that has none."""
        return self.regarding.namespace or "default"


@attrs.frozen(kw_only=True)
class Reporter:
    """The reporter of all events of one recorder.

    Attributes:
        controller: The name of the component.
        instance: The name of the process.
        node: The name of the host on which the process runs.
    """

    controller: str
    instance: str
    node: str


@attrs.frozen(kw_only=True)
class Write:
    """A write to send: create or patch an event.

    Attributes:
        body: The whole event, which is created if `patch` is None or the event to patch is gone.
        resource: The collection to create `body` in.
        patch: The fields to change in an existing event; None to create one.
        through: The collection in which the event is patched.
    """

    body: dict[str, Any]
    resource: Resource[Any]
    patch: dict[str, Any] | None = None
    through: Resource[Any]


class OccurrenceFate(enum.Enum):
    """The result of an occurrence, or of the write that it caused."""

    WRITTEN = enum.auto()
    """The server has accepted it."""

    HELD = enum.auto()
    """It is counted, and will be part of a later write."""

    SPAM = enum.auto()
    """It is lost, because its object has had too many events lately."""

    DROPPED = enum.auto()
    """It is lost, because too many were waiting or the recorder had stopped."""

    FAILED = enum.auto()
    """It is lost, because the server refused it or could not be reached."""


class Correlator(Protocol):
    """Turns many occurrences into few writes, which its caller sends.

    Times that are passed to it never decrease. Threads: one.
    """

    def due(self, now: float) -> list[Write]:
        """Return the writes that are due at `now` (monotonic seconds), without a new occurrence."""

    def next_due(self) -> float | None:
        """Return when (monotonic seconds) `due` next has writes, if nothing is observed before; None if never."""

    def observe(self, occurrence: Occurrence) -> Write | OccurrenceFate:
        """Return the write for one occurrence, or `HELD` or `SPAM` if there is none.

        Call `due` with `occurrence.at` first.
        """

    def close(self) -> list[Write]:
        """Return the writes of all event counts that are not written yet. Call it last, after every `observe`."""


SpamKey = Callable[[Occurrence], Hashable]
"""Returns the key of an occurrence; occurrences with equal keys share a bound of writes."""


def by_object(occurrence: Occurrence) -> Hashable:
    """Return the object of an occurrence as the key, so that all events about the object share one limit."""
    return attrs.evolve(occurrence.regarding, field_path="")
