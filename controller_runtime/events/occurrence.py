# SPDX-License-Identifier: Apache-2.0
"""What happened, and what follows of it: values that pass from the recorder to a correlator and back."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable
from datetime import datetime
from typing import Any, Protocol

import attrs

from controller_runtime.api.references import Reference
from controller_runtime.api.resources import Resource

CACHED = 4096
"""How many series, records, groups and buckets are remembered, each; the least recently used go first."""


@attrs.frozen(kw_only=True)
class Occurrence:
    """Something that happened once to one object.

    Attributes:
        regarding: The object.
        type: `Normal` or `Warning`.
        reason: Why, in one word.
        action: What was done or tried, in one word.
        note: For people.
        name: What an event object of its own would be called.
        time: When, as it is told to the server.
        at: When, in monotonic seconds, as it is decided on.
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
        """Where its event object lives: beside its object, or in `default`."""
        return self.regarding.namespace or "default"


@attrs.frozen(kw_only=True)
class Reporter:
    """Who reports; the same for all events of one recorder.

    Attributes:
        controller: The component.
        instance: Which of its processes.
        node: The host that it runs on.
    """

    controller: str
    instance: str
    node: str


@attrs.frozen(kw_only=True)
class Write:
    """One request to make.

    Attributes:
        body: The whole event: created if there is no patch, or if what should be patched is gone.
        resource: The collection of `body`.
        patch: What changes in the event that is there.
        through: The collection to patch in.
    """

    body: dict[str, Any]
    resource: Resource[Any]
    patch: dict[str, Any] | None = None
    through: Resource[Any]


class Fate(enum.Enum):
    """What becomes of an occurrence, or of the write it caused."""

    WRITTEN = enum.auto()
    """The server has taken it."""

    HELD = enum.auto()
    """It is counted, and goes with a later write."""

    SPAM = enum.auto()
    """Its object has had too many events lately; it is lost."""

    DROPPED = enum.auto()
    """Too many waited already, or the recorder had stopped; it is lost."""

    FAILED = enum.auto()
    """The server refused it, or was not to be reached; it is lost."""


class Correlator(Protocol):
    """Makes few writes of many occurrences. It is given instants in their order and calls nobody; one thread's own."""

    def due(self, now: float) -> list[Write]:
        """What must be written by now whether or not anything happens."""

    def next_due(self) -> float | None:
        """When there will be something `due` again, as far as can be told now; None is never."""

    def observe(self, occurrence: Occurrence) -> Write | Fate:
        """What to make of one occurrence: a write, `HELD` or `SPAM`. What was due by then has been taken before."""

    def close(self) -> list[Write]:
        """What would be lost if nothing were written any more."""


SpamKey = Callable[[Occurrence], Hashable]


def by_object(occurrence: Occurrence) -> Hashable:
    """All that happens to one object shares a bucket."""
    return attrs.evolve(occurrence.regarding, field_path="")
