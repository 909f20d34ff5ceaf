# SPDX-License-Identifier: Apache-2.0
"""Correlation for core/v1 events: counts and combined events."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from kit.occurrences import REPORTER, happened, tell

from controller_runtime.api.resources import CORE_EVENTS
from controller_runtime.events.counting import COMBINED, CountingCorrelator
from controller_runtime.events.occurrence import Occurrence, OccurrenceFate, Write, by_object
from controller_runtime.events.spam import SpamFilter


@pytest.fixture
def correlator() -> CountingCorrelator:
    return CountingCorrelator(REPORTER, SpamFilter())


def body_of(decision: Write | OccurrenceFate) -> dict[str, Any]:
    assert isinstance(decision, Write), decision
    return decision.body


def counts(decisions: list[Write | OccurrenceFate]) -> list[int]:
    return [body_of(decision)["count"] for decision in decisions]


@pytest.mark.scenario("EV-01")
def test_the_same_event_twice_is_one_with_a_count(correlator: CountingCorrelator) -> None:
    """The first event is created; the second patches the count, the time and the message of the first."""
    first = tell(correlator, happened(0))
    second = tell(correlator, happened(1.5))

    assert isinstance(first, Write)
    assert (first.patch, first.resource) == (None, CORE_EVENTS)
    assert first.body == {
        "metadata": {"name": "p.0", "namespace": "ns"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "ns", "uid": "u-p"},
        "reason": "R",
        "message": "n",
        "type": "Normal",
        "source": {"component": "example.com/c", "host": "h"},
        "reportingComponent": "example.com/c",
        "reportingInstance": "example.com/c-h",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }
    assert isinstance(second, Write)
    assert second.patch == {"message": "n", "lastTimestamp": "2026-01-01T00:00:01Z", "count": 2}
    assert second.body == {**first.body, **second.patch}


@pytest.mark.scenario("EV-02")
def test_the_same_message_is_never_combined(correlator: CountingCorrelator) -> None:
    """Eleven equal events, half a minute apart, are one event with a count of 11."""
    decisions = [tell(correlator, happened(30.0 * number)) for number in range(11)]

    assert counts(decisions) == [*range(1, 12)]
    assert {body_of(decision)["message"] for decision in decisions} == {"n"}


@pytest.mark.scenario("EV-04")
def test_unrelated_events_are_created_each(correlator: CountingCorrelator) -> None:
    """Thirty events of different objects, reasons and messages are thirty events."""
    decisions = [tell(correlator, happened(0, pod=f"p{n}", reason=f"R{n}", note=f"n{n}")) for n in range(30)]

    assert counts(decisions) == [1] * 30
    assert len({body_of(decision)["metadata"]["name"] for decision in decisions}) == 30


@pytest.mark.scenario("EV-05")
def test_from_the_tenth_message_on_events_that_are_alike_are_combined(correlator: CountingCorrelator) -> None:
    """Nine different messages make nine events; the tenth makes a combined event, which the eleventh is counted in."""
    decisions = [tell(correlator, happened(number, note=f"message {number}")) for number in range(11)]

    assert counts(decisions) == [1] * 10 + [2]
    messages = [body_of(decision)["message"] for decision in decisions]
    assert messages[8:] == ["message 8", f"{COMBINED}message 9", f"{COMBINED}message 10"]
    assert body_of(decisions[10])["metadata"] == body_of(decisions[9])["metadata"]
    assert isinstance(decisions[10], Write)
    assert decisions[10].patch is not None


def test_the_first_messages_keep_their_own_events(correlator: CountingCorrelator) -> None:
    for number in range(12):
        tell(correlator, happened(number, note=f"message {number}"))

    again = body_of(tell(correlator, happened(12, note="message 3")))

    assert (again["message"], again["count"], again["metadata"]["name"]) == ("message 3", 2, "p.3")


@pytest.mark.scenario("EV-06")
def test_the_same_message_about_another_part_of_the_object_is_another_event(correlator: CountingCorrelator) -> None:
    """One message about twelve containers of a pod is twelve events, none of them combined."""
    decisions = [tell(correlator, happened(n, field_path=f"spec.containers{{c{n}}}")) for n in range(12)]

    assert counts(decisions) == [1] * 12
    assert {body_of(decision)["message"] for decision in decisions} == {"n"}


@pytest.mark.scenario("EV-07")
@pytest.mark.parametrize(
    ("seconds", "is_combined"), [pytest.param(599.0, True, id="within"), pytest.param(600.0, False, id="outside")]
)
def test_messages_are_forgotten_after_ten_minutes_without_one(
    correlator: CountingCorrelator, seconds: float, is_combined: bool
) -> None:
    """Different messages 600 seconds apart are never combined; those that follow sooner are."""
    decisions = [tell(correlator, happened(seconds * n, note=f"message {n}")) for n in range(12)]

    assert body_of(decisions[11])["message"].startswith(COMBINED) is is_combined


@pytest.mark.scenario("EV-08")
def test_by_default_all_events_of_an_object_share_a_bound(correlator: CountingCorrelator) -> None:
    """After 25 writes about one object, events with another reason are lost too; one is allowed after five minutes."""
    first = [tell(correlator, happened(0, reason=f"R{n % 5}")) for n in range(25)]

    assert all(isinstance(decision, Write) for decision in first)
    assert tell(correlator, happened(0, reason="other")) is OccurrenceFate.SPAM
    assert tell(correlator, happened(0, reason="R0")) is OccurrenceFate.HELD
    assert counts([tell(correlator, happened(0, pod="q"))]) == [1]
    assert tell(correlator, happened(299, reason="R1")) is OccurrenceFate.HELD
    assert counts([tell(correlator, happened(301, reason="R0"))]) == [7]
    assert tell(correlator, happened(302, reason="R0")) is OccurrenceFate.HELD


@pytest.mark.scenario("EV-08")
def test_what_shares_a_bound_can_be_chosen() -> None:
    """If the key is the object and the reason, events with another reason have a bound of their own."""

    def by_reason(occurrence: Occurrence) -> object:
        return by_object(occurrence), occurrence.reason

    correlator = CountingCorrelator(REPORTER, SpamFilter(by_reason))
    for _ in range(25):
        tell(correlator, happened(0))

    assert tell(correlator, happened(0)) is OccurrenceFate.HELD
    assert counts([tell(correlator, happened(0, reason="other"))]) == [1]


def test_a_long_silence_does_not_allow_more_than_a_burst(correlator: CountingCorrelator) -> None:
    tell(correlator, happened(0))

    later = [tell(correlator, happened(1e6)) for _ in range(30)]

    assert sum(isinstance(decision, Write) for decision in later) == 25


def test_all_parts_of_an_object_share_its_bound() -> None:
    assert by_object(happened(0, field_path="spec")) == by_object(happened(0))
    assert by_object(happened(0, pod="q")) != by_object(happened(0))


def test_nothing_is_due_and_nothing_is_left(correlator: CountingCorrelator) -> None:
    for _ in range(40):
        correlator.observe(happened(0))

    assert correlator.next_due() is None
    assert correlator.due(10_000.0) == []
    assert correlator.close() == []


def test_an_object_without_a_namespace_has_its_events_in_default(correlator: CountingCorrelator) -> None:
    node = attrs.evolve(happened(0), regarding=attrs.evolve(happened(0).regarding, kind="Node", namespace=""))

    assert body_of(tell(correlator, node))["metadata"]["namespace"] == "default"
