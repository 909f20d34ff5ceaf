# SPDX-License-Identifier: Apache-2.0
"""Correlation for core/v1 events: equal events become one with a count, and many similar ones are combined.

Events are equal if they differ in their times only, and similar if they differ in their times and messages.
Of similar events, each of the first nine different messages gets an event; all other messages share
one combined event. This is what client-go's older recorder does, with its numbers. Kubelets
report this way, so the node agent does; so should components whose events are compared with theirs.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import attrs
from cachetools import LRUCache

from apimachinery.objects import timestamp
from controller_runtime.api.resources import CORE_EVENTS
from controller_runtime.events.occurrence import CACHED, Occurrence, OccurrenceFate, Reporter, Write
from controller_runtime.events.spam import SpamFilter

SIMILAR = 10
"""The number of different messages from which on similar events are combined."""

WINDOW = 600.0
"""Seconds without a similar event after which their messages are forgotten."""

COMBINED = "(combined from similar events): "
"""The prefix of the message of a combined event."""


@attrs.define
class _Group:
    """A group of similar events: the messages that are not combined, and when the last occurrence happened."""

    notes: set[str]
    last_at: float


@attrs.define
class _EventRecord:
    """One event on the server: its first occurrence, and the number of its occurrences."""

    first: Occurrence
    count: int = 0


class CountingCorrelator:
    """Counts equal occurrences and combines similar ones: an `occurrence.Correlator` for core/v1.

    Args:
        reporter: The reporter of the events.
        spam: Limits the number of writes.
    """

    def __init__(self, reporter: Reporter, spam: SpamFilter) -> None:
        self._reporter = reporter
        self._spam = spam
        self._groups: LRUCache[Hashable, _Group] = LRUCache(CACHED)
        self._records: LRUCache[Hashable, _EventRecord] = LRUCache(CACHED)

    def next_due(self) -> float | None:
        """Return None: counts are never written later without a new occurrence."""
        return None

    def due(self, now: float) -> list[Write]:
        """Return an empty list; see `next_due`."""
        return []

    def close(self) -> list[Write]:
        """Return an empty list; see `next_due`."""
        return []

    def observe(self, occurrence: Occurrence) -> Write | OccurrenceFate:
        """Count an occurrence, and return the write of the new event or of the new count.

        If the limit forbids the write, return `SPAM` for a new event, which is lost, or `HELD` for a count, which a
        later write will contain.
        """
        group = (attrs.evolve(occurrence.regarding, field_path=""), occurrence.type, occurrence.reason)
        key: Hashable = (occurrence.regarding, *group, occurrence.note)
        if self._has_many_alike(group, occurrence):
            key, occurrence = group, attrs.evolve(occurrence, note=COMBINED + occurrence.note)
        record = self._records.get(key)
        is_allowed = self._spam.allows(occurrence)
        if record is None:
            if not is_allowed:
                return OccurrenceFate.SPAM
            self._records[key] = record = _EventRecord(occurrence)
        record.count += 1
        if not is_allowed:
            return OccurrenceFate.HELD
        return self._write(record, occurrence)

    def _has_many_alike(self, key: Hashable, occurrence: Occurrence) -> bool:
        group = self._groups.get(key)
        if group is None or occurrence.at - group.last_at >= WINDOW:
            self._groups[key] = group = _Group(set(), occurrence.at)
        group.last_at = occurrence.at
        if occurrence.note in group.notes:
            return False
        if len(group.notes) == SIMILAR - 1:
            return True
        group.notes.add(occurrence.note)
        return False

    def _write(self, record: _EventRecord, last: Occurrence) -> Write:
        first = record.first
        changing = {"message": last.note, "lastTimestamp": timestamp(last.time), "count": record.count}
        body: dict[str, Any] = {
            "metadata": {"name": first.name, "namespace": first.namespace},
            "involvedObject": first.regarding.body(),
            "reason": first.reason,
            "type": first.type,
            "source": {"component": self._reporter.controller, "host": self._reporter.node},
            "reportingComponent": self._reporter.controller,
            "reportingInstance": self._reporter.instance,
            "firstTimestamp": timestamp(first.time),
            **changing,
        }
        patch = changing if record.count > 1 else None
        return Write(body=body, resource=CORE_EVENTS, patch=patch, through=CORE_EVENTS)
