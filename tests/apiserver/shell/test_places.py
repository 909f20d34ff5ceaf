# SPDX-License-Identifier: Apache-2.0
"""The decision which connections stay open and which are closed, without sockets."""

from __future__ import annotations

import pytest

from controller_runtime.apiserver.shell.places import (
    ANONYMOUS_GRACE,
    ANONYMOUS_TIMEOUT,
    IDLE_TIMEOUT,
    MOST_ANONYMOUS,
    Places,
)


def places_with(limit: int, *, strangers: int = 0, idle: int = 0, busy: int = 0) -> Places[str]:
    """Return `Places` with connections that were opened one per second from time 0: busy, idle, then anonymous ones."""
    places: Places[str] = Places(limit)
    names = [f"{state}{n}" for state, count in (("busy", busy), ("idle", idle)) for n in range(count)]
    for now, name in enumerate(names):
        places.enter(name, now)
        places.begin(name, now, known=True)
        if name.startswith("idle"):
            places.end(name, now)
    for now in range(len(names), len(names) + strangers):
        places.enter(f"stranger{now - len(names)}", now)
    return places


@pytest.mark.parametrize(
    ("places", "is_full"),
    [
        pytest.param(places_with(10, strangers=4, idle=2, busy=3), False, id="one place is free"),
        pytest.param(places_with(10, strangers=4, idle=3, busy=3), True, id="none is free"),
        pytest.param(places_with(10, strangers=5), True, id="half of the places, strangers have no more"),
        pytest.param(
            places_with(MOST_ANONYMOUS * 10, strangers=MOST_ANONYMOUS), True, id="as many strangers as there may be"
        ),
    ],
)
def test_a_house_is_full_of_all_connections_or_of_strangers(places: Places[str], is_full: bool) -> None:
    assert places.is_full() is is_full


def test_the_oldest_stranger_makes_room_for_the_next() -> None:
    assert places_with(10, strangers=5, idle=2, busy=2).spare(100) == "stranger0"


def test_a_stranger_that_asks_without_a_token_stays_one_and_counts_as_the_last() -> None:
    places = places_with(10, strangers=5)
    places.begin("stranger0", 50, known=False)
    places.end("stranger0", 51)

    assert places.spare(100) == "stranger1"


def test_strangers_that_have_just_come_are_not_sent_away_for_others_that_come() -> None:
    places = places_with(10, strangers=5)  # opened from time 0 on

    assert places.spare(ANONYMOUS_GRACE - 0.1) is None
    assert places.spare(ANONYMOUS_GRACE - 0.1, urgent=True) == "stranger0"
    assert places.spare(ANONYMOUS_GRACE) == "stranger0"


def test_too_many_strangers_send_no_known_connection_away() -> None:
    places = places_with(10, idle=1, strangers=5)

    assert places.spare(2) is None


def test_without_a_stranger_to_spare_the_connection_idle_for_longest_goes() -> None:
    assert places_with(5, idle=2, busy=3).spare(100) == "idle0"
    assert places_with(5, idle=2, busy=2, strangers=1).spare(5) == "idle0"


def test_a_connection_that_is_being_answered_is_never_spared() -> None:
    assert places_with(5, busy=5).spare(100, urgent=True) is None


def test_places_are_free_again_when_their_connections_are_gone() -> None:
    places = places_with(6, strangers=2, idle=2, busy=2)
    for name in ("stranger0", "idle0", "busy0", "busy0", "never there"):
        places.leave(name)

    assert len(places) == 3
    assert not places.is_full()


def test_a_stranger_has_less_time_than_an_idle_connection_and_a_busy_one_has_any() -> None:
    places = places_with(10, strangers=1, idle=1, busy=1)  # opened at the times 2, 1 and 0

    assert list(places.overdue(ANONYMOUS_TIMEOUT + 1.9)) == []
    assert list(places.overdue(ANONYMOUS_TIMEOUT + 2)) == ["stranger0"]
    assert list(places.overdue(IDLE_TIMEOUT + 1)) == ["stranger0", "idle0"]


def test_each_answer_gives_an_idle_connection_its_time_again() -> None:
    places = places_with(10, idle=2)
    places.begin("idle0", 80, known=True)
    places.end("idle0", 80)

    assert list(places.overdue(IDLE_TIMEOUT + 1)) == ["idle1"]


def test_a_known_connection_does_not_become_a_stranger() -> None:
    places = places_with(10, idle=1)
    places.begin("idle0", 1, known=False)
    places.end("idle0", 1)

    assert list(places.overdue(ANONYMOUS_TIMEOUT + 1)) == []


def test_a_request_on_a_connection_that_is_gone_takes_no_place() -> None:
    places = places_with(10, strangers=1)
    places.leave("stranger0")
    places.begin("stranger0", 1, known=True)
    places.end("stranger0", 1)

    assert len(places) == 0
