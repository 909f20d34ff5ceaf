# SPDX-License-Identifier: Apache-2.0
"""Compares the effects of a replayed reconcile with the recorded ones, and decides the verdict."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import attrs

from apimachinery.texts import kept_text
from controller_runtime.incidents.incident import End, Error, Incident, Line, Sent
from controller_runtime.testing.replay.attempt import Written


class Verdict(enum.IntEnum):
    """The verdict of a replay; its value is the exit status of the command `replay`."""

    SAME = 0
    DIFFERS = 3
    UNDECIDED = 4


@attrs.frozen(kw_only=True)
class Replayed:
    """The result of running the present code with the answers of an incident, which is a recorded reconcile.

    Attributes:
        incident: The incident.
        reads: The reads and their results, as text.
        writes: The writes.
        unsent: The recorded writes that were not sent.
        end: The outcome of the reconcile.
        unknown: The reads and answers that were not recorded.
        lines: The log lines.
        error: The error that the reconcile raised; None if it raised none.
        is_async: True if the reconcile is a coroutine, whose requests may overlap.
        clocks: The places at which the code asked a real clock, whose times are not recorded.
        taken: The places at which the code used random numbers or environment variables that are not recorded.
    """

    incident: Incident
    reads: Sequence[str]
    writes: Sequence[Written]
    unsent: Sequence[Sent]
    end: End
    unknown: Sequence[str]
    lines: Sequence[Line]
    error: BaseException | None = None
    is_async: bool = False
    clocks: Sequence[str] = ()
    taken: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict.

        It is `UNDECIDED` if the recorded reconcile was cancelled, or a part other than log lines was cut from its
        record. Otherwise, if neither the writes nor the end differ, it is `SAME`; or `UNDECIDED` if a read was not
        recorded, because its result is not known.

        If they differ, it is `DIFFERS`; or `UNDECIDED` if the difference may come from a value that was not recorded:
        that of a real clock, a random number, an environment variable, a call to another service, or a read before the
        first write that was not recorded (any read, if all writes were recorded).
        """
        if self.incident.end.outcome == "cancelled" or self.incident.is_cut:
            return Verdict.UNDECIDED
        if not self.differs:
            return Verdict.UNDECIDED if self.unknown else Verdict.SAME
        if self.clocks or self.taken:
            return Verdict.UNDECIDED
        first = next((each for each in self.writes if not each.is_recorded), None)
        before = len(self.unknown) if first is None or self._calls_outside else first.unknown
        return Verdict.UNDECIDED if before else Verdict.DIFFERS

    @property
    def differs(self) -> bool:
        """True if the writes, their order or the end differ from the record."""
        return not self._writes_are_same or not is_same_end(self.incident.end, self.end)

    @property
    def has_same_failure(self) -> bool:
        """True if the reconcile fails as recorded: with the same error, or with any unexpected error where one was
        recorded.
        """
        recorded, present = self.incident.end.error, self.end.error
        if self.incident.end.outcome == self.end.outcome == "panic":
            return True
        return recorded is not None and present is not None and _head(recorded) == _head(present)

    @property
    def _calls_outside(self) -> bool:
        return any(each.startswith("the world outside") for each in self.unknown)

    @property
    def _writes_are_same(self) -> bool:
        if self.unsent or not all(each.is_recorded for each in self.writes):
            return False
        if self.is_async:  # requests of a coroutine may overlap, so their order says nothing
            return True
        sent = [(each.request.method, each.request.path) for each in self.writes]
        return sent == [(each.method, each.path) for each in self.incident.writes]


def is_same_end(recorded: End, present: End) -> bool:
    """Return whether two reconciles ended alike: with the same outcome, delay, and class and text of the error."""
    heads = [None if each.error is None else _head(each.error) for each in (recorded, present)]
    return (recorded.outcome, recorded.requeue_after, heads[0]) == (present.outcome, present.requeue_after, heads[1])


def _head(error: Error) -> tuple[str, str]:
    return error.type, kept_text(error.text)
