# SPDX-License-Identifier: Apache-2.0
"""Correlation for events.k8s.io/v1: repetitions of an event become a series, which is one event with a count.

The first repetition is written at once. Later ones are counted, and the count is written every half
hour, or when the note changes; a series without repetitions ends. Two things differ from
client-go: a changed note is written too, and the writes about one object are bounded.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import attrs
from cachetools import TTLCache

from apimachinery.objects import microtime
from controller_runtime.api.resources import CORE_EVENTS, EVENTS
from controller_runtime.events.occurrence import CACHED, Occurrence, OccurrenceFate, Reporter, Write
from controller_runtime.events.spam import SpamFilter

REFRESH = 1800.0
"""Seconds between two writes of a count that grows, as in client-go."""

IDLE = 360.0
"""Seconds without a repetition after which a series has ended, as in client-go."""


@attrs.define
class _Series:
    """One event: its first and last occurrence and their number, now and as they were at the last write."""

    first: Occurrence
    last: Occurrence
    count: int
    written: Occurrence
    """The last occurrence at the time of the last write."""
    written_count: int
    written_at: float

    @classmethod
    def of(cls, occurrence: Occurrence) -> _Series:
        return cls(occurrence, occurrence, 1, occurrence, 1, occurrence.at)

    @property
    def is_worth_writing(self) -> bool:
        return (
            self.written_count == 1 or self.last.at - self.written_at >= REFRESH or self.last.note != self.written.note
        )

    @property
    def has_unwritten(self) -> bool:
        return self.count > self.written_count


class SeriesCorrelator:
    """Turns repetitions into series: an `occurrence.Correlator` for events.k8s.io/v1.

    Args:
        reporter: The reporter of the events.
        spam: Limits the number of writes.
    """

    def __init__(self, reporter: Reporter, spam: SpamFilter) -> None:
        self._reporter = reporter
        self._spam = spam
        self._now = 0.0
        # Ordered by the last occurrence: the first one is the first to end.
        self._series: TTLCache[Hashable, _Series] = TTLCache(CACHED, IDLE, timer=lambda: self._now)

    def next_due(self) -> float | None:
        """Return when the next series of equal events ends, in monotonic seconds; None if there is no series."""
        first = next(iter(self._series), None)
        return None if first is None else self._series[first].last.at + IDLE

    def due(self, now: float) -> list[Write]:
        """Return the writes of counts that are not written yet, for series that ended or must make room."""
        self._now = now
        ended = [series for _, series in self._series.expire(now)]
        if len(self._series) == CACHED:  # make room for one more here, because the cache would drop a count
            ended.append(self._series.popitem()[1])
        return self._last_writes(ended)

    def close(self) -> list[Write]:
        """Return the writes of unwritten counts, for all series."""
        return self._last_writes([*self._series.values()])

    def observe(self, occurrence: Occurrence) -> Write | OccurrenceFate:
        """Count an occurrence, and return the write that it causes, or its fate if it causes none.

        A new event and a first repetition are written, and a count if the note has changed or `REFRESH` has passed.
        Other repetitions, and those that the limit forbids, are `HELD`: a later write will contain them. A new event
        that the limit forbids is `SPAM` and is lost.
        """
        self._now = occurrence.at
        key = (occurrence.regarding, occurrence.type, occurrence.reason, occurrence.action)
        series = self._series.get(key)
        if series is None:
            if not self._spam.allows(occurrence):
                return OccurrenceFate.SPAM
            self._series[key] = series = _Series.of(occurrence)
            return Write(body=self._body(series), resource=EVENTS, through=EVENTS)
        series.last = occurrence
        series.count += 1
        self._series[key] = series  # put in again, so that it ends IDLE seconds from now
        if series.is_worth_writing and self._spam.allows(occurrence):
            return self._write(series)
        return OccurrenceFate.HELD

    def _last_writes(self, ended: list[_Series]) -> list[Write]:
        return [self._write(series) for series in ended if series.has_unwritten]

    def _write(self, series: _Series) -> Write:
        patch: dict[str, Any] = {"series": _count_of(series)}
        through: Any = EVENTS
        if series.last.note != series.written.note:
            # events.k8s.io does not let a note change; the core group, which has the same object, does.
            patch["message"] = series.last.note
            through = CORE_EVENTS
        series.written, series.written_count, series.written_at = series.last, series.count, series.last.at
        return Write(body=self._body(series), resource=EVENTS, patch=patch, through=through)

    def _body(self, series: _Series) -> dict[str, Any]:
        first = series.first
        body = {
            "metadata": {"name": first.name, "namespace": first.namespace},
            "eventTime": microtime(first.time),
            "reportingController": self._reporter.controller,
            "reportingInstance": self._reporter.instance,
            "action": first.action,
            "reason": first.reason,
            "regarding": first.regarding.body(),
            "note": series.last.note,
            "type": first.type,
        }
        return body if series.count == 1 else {**body, "series": _count_of(series)}


def _count_of(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": microtime(series.last.time)}
