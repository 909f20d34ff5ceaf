# SPDX-License-Identifier: Apache-2.0
"""A recorded reconcile that has ended. It is kept as references, from which the record is made when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import NamedTuple, TypeAlias

import attrs
import msgspec

from apimachinery.texts import kept_text
from controller_runtime.core.attempts import Ended
from controller_runtime.core.version import __version__
from controller_runtime.incidents.attempt import RecordedAttempt, Source
from controller_runtime.incidents.bodies import Bodies
from controller_runtime.incidents.bounds import UNTOUCHED, Bounds
from controller_runtime.incidents.files import file_name
from controller_runtime.incidents.incident import (
    FORMAT,
    MOST_BYTES,
    VERSION,
    End,
    Error,
    Incident,
    Line,
    compact,
    decode,
)
from controller_runtime.incidents.standins import without_tokens
from controller_runtime.incidents.steps import bounded_error
from controller_runtime.queue.causes import Cause

Note: TypeAlias = "tuple[int, Source, RecordedAttempt | None, Ended, Enum, object, float]"
"""The fields of a `Finished` as a plain tuple, because each reconcile makes one, and few are ever read."""

Anchor: TypeAlias = tuple[datetime, float]
"""The wall clock's time at some monotonic seconds, from which the start times of later reconciles are computed."""


@attrs.frozen(eq=False)
class Kept:
    """The summary of one recorded reconcile.

    Attributes:
        number: The number of the reconcile in its manager, from 1 on.
        controller: The controller's name.
        request: The request, as text.
        started: When it began, by the host's wall clock.
        took: Its duration in seconds.
        outcome: The outcome, in lower case.
        error: The error in one line; empty if there was none.
        reasons: The reasons to keep it longer than others.
        size: The approximate size of the record in bytes.
        incident: Returns the whole record.
    """

    number: int
    controller: str
    request: str
    started: datetime
    took: float
    outcome: str
    error: str
    reasons: Sequence[str]
    size: int
    incident: Callable[[], Incident]

    @property
    def file_name(self) -> str:
        """The name of the file to which the record would be written."""
        return file_name(self.controller, self.started)

    def file(self) -> bytes | None:
        """Return the content of the incident's file: indented JSON, or compact JSON if indented it would be too long.

        None if it would be longer than `MOST_BYTES` even so, since no replay reads such a file.
        """
        found = without_tokens(compact(self.incident()))
        if len(pretty := msgspec.json.format(found, indent=1)) < MOST_BYTES:
            return pretty + b"\n"
        return found if len(found) <= MOST_BYTES else None


class Finished(NamedTuple):
    """A recorded reconcile that has ended.

    Attributes:
        number: The number of the reconcile in its manager, from 1 on.
        source: Its controller and recorder.
        attempt: The record of its reads, requests and logged lines; None if nothing was recorded.
        ended: Its request, when it ended, and why it was requested.
        outcome: The outcome, whose name is shown in lower case.
        end: The result of the reconcile, or the `Error` that it raised.
        took: Its duration in seconds.
    """

    number: int
    source: Source
    attempt: RecordedAttempt | None
    ended: Ended
    outcome: Enum
    end: object
    took: float

    @property
    def error(self) -> Error | None:
        """The error that the reconcile raised; None if it raised none."""
        return self.end if isinstance(self.end, Error) else None

    def started(self, anchor: Anchor) -> datetime:
        """Return when the reconcile began, by the wall clock."""
        return anchor[0] + timedelta(seconds=self.ended[1] - self.took - anchor[1])

    def incident(
        self, anchor: Anchor, replaced: Callable[[bytes], bytes] = without_tokens, *, with_hidden: bool = False
    ) -> Incident:
        """Return the record of the reconcile in the form for files.

        Args:
            anchor: The time of the wall clock at some monotonic seconds; it gives the start time.
            replaced: Replaces confidential values in texts by stand-ins, before the texts are shortened, which could
                cut a value in two.
            with_hidden: True to include the steps in `Bounds.hidden`, to find the confidential values in them.
        """
        attempt, source = self.attempt or RecordedAttempt(self.source), self.source
        bounds = attempt.bounds or Bounds(hides_all=False)
        (request, at, causes), bodies = self.ended, Bodies(replaced)
        began = at - self.took
        return Incident(
            format=FORMAT,
            version=VERSION,
            written_by=__version__,
            controller=source.controller,
            name=request.name,
            namespace=request.namespace,
            started=self.started(anchor).isoformat(),
            monotonic=began,
            took=self.took,
            end=End(
                self.outcome.name.lower(), getattr(self.end, "requeue_after", None), bounded_error(bodies, self.error)
            ),
            causes=[str(Cause._make(cause)) for cause in causes],
            timeout=source.timeout,
            host=source.host.name,
            seed=attempt.seed,
            reasons=[*attempt.reasons],
            cut=[f"{count} {what}" for what, count in bounds.cut.items()],
            steps=[
                make(bodies, began, *step) for make, *step in [*attempt.steps, *(bounds.hidden if with_hidden else ())]
            ],
            objects=bodies.kept,
            lines=[Line(level, logger, bodies.text(text)) for level, logger, text in attempt.lines],
        )

    def kept(self, anchor: Anchor) -> Kept:
        """Return the summary of the record."""
        attempt = self.attempt
        text = "" if self.error is None else kept_text(f"{self.error.type}: {self.error.text}")
        return Kept(
            number=self.number,
            controller=self.source.controller,
            request=str(self.ended[0]),
            started=self.started(anchor),
            took=self.took,
            outcome=self.outcome.name.lower(),
            error=without_tokens(text.encode(errors="replace")).decode(errors="replace"),
            reasons=() if attempt is None else attempt.reasons,
            size=UNTOUCHED if attempt is None else attempt.size,
            incident=partial(self.incident, anchor),
        )


@attrs.frozen
class Encoded:
    """A recorded reconcile with confidential values, of which only the encoded record with stand-ins is kept.

    Attributes:
        number: The number of the reconcile in its manager, from 1 on.
        raw: The encoded record.
    """

    number: int
    raw: bytes

    def incident(self) -> Incident:
        """Return the record."""
        return decode(self.raw, "record")

    def kept(self) -> Kept:
        """Return the summary of the record."""
        found = self.incident()
        error = found.end.error
        return Kept(
            number=self.number,
            controller=found.controller,
            request=found.request,
            started=found.began,
            took=found.took,
            outcome=found.end.outcome,
            error="" if error is None else kept_text(f"{error.type}: {error.text}"),
            reasons=found.reasons,
            size=len(self.raw),
            incident=self.incident,
        )
