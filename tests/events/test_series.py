# SPDX-License-Identifier: Apache-2.0
"""Correlation for events.k8s.io/v1: series."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.occurrences import REPORTER, happened, tell

from controller_runtime.api.resources import CORE_EVENTS, EVENTS
from controller_runtime.events.occurrence import CACHED, OccurrenceFate, Write
from controller_runtime.events.series import IDLE, REFRESH, SeriesCorrelator
from controller_runtime.events.spam import SpamFilter


@pytest.fixture
def correlator() -> SeriesCorrelator:
    return SeriesCorrelator(REPORTER, SpamFilter())


def written(decision: Write | OccurrenceFate) -> Write:
    assert isinstance(decision, Write), decision
    return decision


def count_in(write: Write) -> Any:
    return None if write.patch is None else write.patch["series"]["count"]


def test_a_first_event_has_what_the_api_requires(correlator: SeriesCorrelator) -> None:
    write = written(tell(correlator, happened(0.25)))

    assert (write.resource, write.patch) == (EVENTS, None)
    assert write.body == {
        "metadata": {"name": "p.0.25", "namespace": "ns"},
        "eventTime": "2026-01-01T00:00:00.250000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "example.com/c-h",
        "action": "A",
        "reason": "R",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "ns", "uid": "u-p"},
        "note": "n",
        "type": "Normal",
    }


@pytest.mark.scenario("EV-13")
def test_the_same_again_is_a_series_of_two_and_then_counts_in_silence(correlator: SeriesCorrelator) -> None:
    """The second occurrence patches the first one's event to a series with a count of 2; the third is held."""
    tell(correlator, happened(0))

    second = written(tell(correlator, happened(1)))
    third = tell(correlator, happened(2))

    assert second.patch == {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}}
    assert second.through == EVENTS
    assert (second.body["metadata"]["name"], second.body["series"]) == ("p.0", second.patch["series"])
    assert third is OccurrenceFate.HELD


@pytest.mark.scenario("EV-13")
def test_a_long_series_is_written_every_half_hour(correlator: SeriesCorrelator) -> None:
    """One occurrence per minute for two hours is written at counts 1 and 2, then every 30 minutes."""
    writes = [(at, tell(correlator, happened(60.0 * at))) for at in range(121)]

    assert [(at, count_in(write)) for at, write in writes if isinstance(write, Write)] == [
        (0, None),
        (1, 2),
        (31, 32),
        (61, 62),
        (91, 92),
    ]
    assert REFRESH == 1800.0


@pytest.mark.scenario("EV-13")
def test_a_series_without_news_ends_with_its_last_count(correlator: SeriesCorrelator) -> None:
    """After six minutes without a repetition the count is written and the series ends; the next is a new event."""
    for at in (0, 1, 2, 3):
        tell(correlator, happened(at))

    assert correlator.next_due() == 3 + IDLE
    assert correlator.due(3 + IDLE - 0.001) == []
    [last] = correlator.due(3 + IDLE)
    assert count_in(last) == 4
    assert correlator.next_due() is None
    assert written(tell(correlator, happened(3 + IDLE))).patch is None


def test_a_single_event_ends_without_a_write(correlator: SeriesCorrelator) -> None:
    tell(correlator, happened(0))

    assert correlator.due(IDLE) == []
    assert written(tell(correlator, happened(IDLE))).patch is None


def test_what_differs_in_more_than_its_note_is_another_event(correlator: SeriesCorrelator) -> None:
    others = [happened(1, pod="q"), happened(1, type="Warning"), happened(1, reason="S"), happened(1, action="B")]
    others.append(happened(1, field_path="spec.containers{web}"))
    tell(correlator, happened(0))

    assert [written(tell(correlator, other)).patch for other in others] == [None] * 5


def test_a_changed_note_is_written_at_once_and_through_the_core_group(correlator: SeriesCorrelator) -> None:
    for at in (0, 1, 2):
        tell(correlator, happened(at))

    changed = written(tell(correlator, happened(3, note="new")))
    again = tell(correlator, happened(4, note="new"))

    assert changed.patch == {
        "message": "new",
        "series": {"count": 4, "lastObservedTime": "2026-01-01T00:00:03.000000Z"},
    }
    assert changed.through == CORE_EVENTS
    assert (changed.resource, changed.body["note"]) == (EVENTS, "new")
    assert again is OccurrenceFate.HELD


def test_the_writes_of_one_object_are_bounded_and_nothing_counted_is_lost(correlator: SeriesCorrelator) -> None:
    notes = [tell(correlator, happened(at, note=f"note {at}")) for at in range(100)]

    assert sum(isinstance(decision, Write) for decision in notes) == 25
    assert notes[25:] == [OccurrenceFate.HELD] * 75
    assert tell(correlator, happened(100, reason="S")) is OccurrenceFate.SPAM
    assert written(tell(correlator, happened(100, pod="q"))).patch is None
    assert count_in(written(tell(correlator, happened(325, note="late")))) == 101
    assert tell(correlator, happened(326, note="later")) is OccurrenceFate.HELD
    assert [(count_in(write), write.body["note"]) for write in correlator.close()] == [(102, "later")]


def test_the_series_heard_of_longest_ago_makes_room_and_keeps_its_count(correlator: SeriesCorrelator) -> None:
    for at in range(3):
        tell(correlator, happened(at * 0.001))
    for number in range(CACHED - 1):
        tell(correlator, happened(1, pod=f"pod-{number}"))

    [last] = correlator.due(2)

    assert (last.body["metadata"]["name"], count_in(last)) == ("p.0", 3)
    assert written(correlator.observe(happened(2))).patch is None


@given(st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from("ab"), st.integers(0, 400)), max_size=60))
def test_every_occurrence_is_counted_in_the_end(story: list[tuple[str, str, int]]) -> None:
    correlator, now, told = SeriesCorrelator(REPORTER, SpamFilter()), 0.0, 0
    on_server: dict[str, int] = {}

    def send(write: Write) -> None:
        name, count = write.body["metadata"]["name"], count_in(write) or 1
        assert on_server.get(name, 0) < count
        on_server[name] = count

    for pod, text, pause in story:
        now += pause + 0.5
        for write in correlator.due(now):
            send(write)
        decision = correlator.observe(happened(now, pod=pod, note=text))
        told += decision is not OccurrenceFate.SPAM
        if isinstance(decision, Write):
            send(decision)
    for write in correlator.close():
        send(write)

    assert sum(on_server.values()) == told
